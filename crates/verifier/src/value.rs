//! Python values as data, outside of any interpreter: values returned by programs and values in answers.

mod decode;
mod equal;
mod hash;
mod json;
mod repr;

use num_bigint::BigInt;

pub use decode::{DecodeError, MAX_FROZEN_DEPTH, MAX_MEMORY, decode};
pub use equal::Comparison;
pub(crate) use hash::UniqueKeys;
pub use repr::PyStr;

/// Maximum nesting of containers in values and literals. CPython's own parser stops at 200 brackets.
pub const MAX_DEPTH: usize = 100;

/// Maximum bits of an integer (some 39,000 decimal digits; CPython prints at most 4,300 by default).
pub const MAX_INT_BITS: u64 = 1 << 17;

/// A value of one of Python's exact built-in types.
#[derive(Clone, Debug)]
pub enum Value {
    None,
    Ellipsis,
    Bool(bool),
    Int(BigInt),
    Float(f64),
    /// `complex`: real and imaginary part.
    Complex(f64, f64),
    Str(PyStr),
    Bytes(Vec<u8>),
    List(Vec<Value>),
    Tuple(Vec<Value>),
    /// `set`, in iteration order, without equal elements.
    Set(Vec<Value>),
    /// `frozenset`, in iteration order, without equal elements.
    FrozenSet(Vec<Value>),
    /// `dict`, in insertion order, without equal keys.
    Dict(Vec<(Value, Value)>),
    /// `collections.Counter`, in insertion order, without equal keys.
    Counter(Vec<(Value, Value)>),
    /// `collections.deque` and its `maxlen`.
    Deque(Vec<Value>, Option<u64>),
}

impl Value {
    /// The name of the Python type.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::None => "NoneType",
            Self::Ellipsis => "ellipsis",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Float(_) => "float",
            Self::Complex(..) => "complex",
            Self::Str(_) => "str",
            Self::Bytes(_) => "bytes",
            Self::List(_) => "list",
            Self::Tuple(_) => "tuple",
            Self::Set(_) => "set",
            Self::FrozenSet(_) => "frozenset",
            Self::Dict(_) => "dict",
            Self::Counter(_) => "Counter",
            Self::Deque(..) => "deque",
        }
    }

    /// Whether the value can be written as a literal. Frozensets, and complex numbers with an infinite or NaN part,
    /// cannot.
    #[must_use]
    pub fn has_literal(&self) -> bool {
        match self {
            Self::FrozenSet(_) => false,
            Self::Complex(re, im) => re.is_finite() && im.is_finite(),
            Self::List(items) | Self::Tuple(items) | Self::Set(items) | Self::Deque(items, _) => {
                items.iter().all(Self::has_literal)
            }
            Self::Dict(pairs) | Self::Counter(pairs) => {
                pairs.iter().all(|(key, value)| key.has_literal() && value.has_literal())
            }
            _ => true,
        }
    }

    /// Python's `set(items)`; `None` if an item cannot be hashed.
    #[must_use]
    pub fn set_of(items: Vec<Self>) -> Option<Self> {
        if !items.iter().all(Self::is_hashable) {
            return None;
        }
        let mut keys = UniqueKeys::new(Comparison::Python);
        let kept: Vec<bool> = items.iter().enumerate().map(|(at, item)| keys.insert(item, at).is_none()).collect();
        Some(Self::Set(items.into_iter().zip(kept).filter_map(|(item, kept)| kept.then_some(item)).collect()))
    }

    /// The number of values in this one, including itself.
    pub(crate) fn count(&self) -> usize {
        1 + match self {
            Self::List(items)
            | Self::Tuple(items)
            | Self::Set(items)
            | Self::FrozenSet(items)
            | Self::Deque(items, _) => items.iter().map(Self::count).sum(),
            Self::Dict(pairs) | Self::Counter(pairs) => {
                pairs.iter().map(|(key, value)| key.count() + value.count()).sum()
            }
            _ => 0,
        }
    }

    /// Python's truth value.
    #[must_use]
    pub fn is_truthy(&self) -> bool {
        match self {
            Self::None => false,
            Self::Ellipsis => true,
            Self::Bool(value) => *value,
            Self::Int(value) => value.sign() != num_bigint::Sign::NoSign,
            Self::Float(value) => *value != 0.0,
            Self::Complex(re, im) => *re != 0.0 || *im != 0.0,
            Self::Str(text) => !text.is_empty(),
            Self::Bytes(bytes) => !bytes.is_empty(),
            Self::List(items)
            | Self::Tuple(items)
            | Self::Set(items)
            | Self::FrozenSet(items)
            | Self::Deque(items, _) => !items.is_empty(),
            Self::Dict(pairs) | Self::Counter(pairs) => !pairs.is_empty(),
        }
    }
}
