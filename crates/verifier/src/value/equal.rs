//! Equality of values.

use num_bigint::BigInt;
use num_traits::{FromPrimitive as _, Zero as _};

use super::{UniqueKeys, Value};

/// How values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Comparison {
    /// Python's `==`: `1 == True == 1.0`, `0.0 == -0.0`, NaN is unequal to everything, a list differs from a tuple, a
    /// set equals a frozenset, a counter equals a dict with the same items, order matters only in sequences.
    #[default]
    Python,
    /// The same type at every level, `0.0` differs from `-0.0`, NaN equals NaN, and deques have the same `maxlen`. Keys that hold
    /// NaN may occur several times in one dict; the first of them is compared with the first, and so on.
    Strict,
}

impl Comparison {
    /// Whether two values are equal.
    #[must_use]
    pub fn equal(self, left: &Value, right: &Value) -> bool {
        use Value as V;
        if self == Self::Strict && std::mem::discriminant(left) != std::mem::discriminant(right) {
            return false;
        }
        match (left, right) {
            (V::None, V::None) | (V::Ellipsis, V::Ellipsis) => true,
            (V::Str(a), V::Str(b)) => a == b,
            (V::Bytes(a), V::Bytes(b)) => a == b,
            (V::List(a), V::List(b)) | (V::Tuple(a), V::Tuple(b)) => self.equal_sequences(a, b),
            (V::Deque(a, limit), V::Deque(b, other)) => {
                (self == Self::Python || limit == other) && self.equal_sequences(a, b)
            }
            (V::Set(a) | V::FrozenSet(a), V::Set(b) | V::FrozenSet(b)) => self.equal_sets(a, b),
            (V::Counter(a), V::Counter(b)) => self.equal_counters(a, b),
            (V::Dict(a) | V::Counter(a), V::Dict(b) | V::Counter(b)) => self.equal_dicts(a, b),
            _ => self.equal_numbers(left, right),
        }
    }

    fn equal_sequences(self, left: &[Value], right: &[Value]) -> bool {
        left.len() == right.len() && left.iter().zip(right).all(|(a, b)| self.equal(a, b))
    }

    fn equal_sets(self, left: &[Value], right: &[Value]) -> bool {
        left.len() == right.len() && {
            let mut keys = Occurrences::new(self, left.iter());
            right.iter().all(|item| keys.take(item).is_some())
        }
    }

    fn equal_dicts(self, left: &[(Value, Value)], right: &[(Value, Value)]) -> bool {
        left.len() == right.len() && {
            let mut keys = Occurrences::new(self, left.iter().map(|(key, _)| key));
            right.iter().all(|(key, value)| keys.take(key).is_some_and(|at| self.equal(&left[at].1, value)))
        }
    }

    /// As in Python 3.10 and later, a missing count is zero.
    fn equal_counters(self, left: &[(Value, Value)], right: &[(Value, Value)]) -> bool {
        let zero = Value::Int(BigInt::zero());
        let mut in_right = Occurrences::new(self, right.iter().map(|(key, _)| key));
        let mut in_left = Occurrences::new(self, left.iter().map(|(key, _)| key));
        // Counts that both have are compared once: they may be counters, too.
        left.iter().all(|(key, count)| {
            let other = in_right.take(key).map_or(&zero, |at| &right[at].1);
            self.equal(count, other)
        }) && right.iter().all(|(key, count)| in_left.take(key).is_some() || self.equal(&zero, count))
    }

    fn equal_numbers(self, left: &Value, right: &Value) -> bool {
        match (left, right) {
            (Value::Int(a), Value::Int(b)) => a == b,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Float(a), Value::Float(b)) => self.equal_floats(*a, *b),
            (Value::Complex(a, b), Value::Complex(c, d)) => self.equal_floats(*a, *c) && self.equal_floats(*b, *d),
            _ => match (Number::of(left), Number::of(right)) {
                (Some(a), Some(b)) => a == b,
                _ => false,
            },
        }
    }

    fn equal_floats(self, left: f64, right: f64) -> bool {
        match self {
            Self::Python => left == right,
            Self::Strict => {
                (left.is_nan() && right.is_nan())
                    || (left == right && left.is_sign_negative() == right.is_sign_negative())
            }
        }
    }
}

/// A number in a form that is independent of its Python type.
#[derive(PartialEq)]
enum Number {
    Integer(BigInt),
    /// Real and imaginary part, unless integral with imaginary part zero.
    Inexact(f64, f64),
}

impl Number {
    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Bool(value) => Some(Self::Integer(u8::from(*value).into())),
            Value::Int(value) => Some(Self::Integer(value.clone())),
            Value::Float(value) => Some(Self::of_parts(*value, 0.0)),
            Value::Complex(re, im) => Some(Self::of_parts(*re, *im)),
            _ => None,
        }
    }

    fn of_parts(re: f64, im: f64) -> Self {
        match BigInt::from_f64(re) {
            Some(integer) if im == 0.0 && re.fract() == 0.0 => Self::Integer(integer),
            _ => Self::Inexact(re, im),
        }
    }
}

/// Keys by equality and by how often they occurred before: only keys that hold NaN occur several times in one set or dict, as
/// they are equal to one another under [`Comparison::Strict`], but not in Python. Pairs equal keys in their order, since to look
/// for the best pairs would take a time that grows with the square of their number.
pub(super) struct Occurrences<'a> {
    keys: UniqueKeys<'a>,
    /// For the first of equal keys, the next one that has no partner yet.
    next: Vec<Option<usize>>,
    /// For each key, the next equal one.
    after: Vec<Option<usize>>,
}

impl<'a> Occurrences<'a> {
    pub(super) fn new(comparison: Comparison, keys: impl Iterator<Item = &'a Value>) -> Self {
        let mut unique = UniqueKeys::new(comparison);
        let (mut next, mut after) = (Vec::new(), Vec::new());
        let mut last = Vec::new();
        for (at, key) in keys.enumerate() {
            next.push(Some(at));
            after.push(None);
            last.push(at);
            if let Some(first) = unique.insert(key, at) {
                after[last[first]] = Some(at);
                last[first] = at;
            }
        }
        Self { keys: unique, next, after }
    }

    /// The position of the first equal key that has not been taken.
    pub(super) fn take(&mut self, key: &Value) -> Option<usize> {
        let next = &mut self.next[self.keys.find(key)?];
        let at = (*next)?;
        *next = self.after[at];
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAN: Value = Value::Float(f64::NAN);

    fn int(value: i32) -> Value {
        Value::Int(value.into())
    }

    fn dict<const N: usize>(values: [i32; N]) -> Value {
        Value::Dict(values.map(|value| (NAN, int(value))).into())
    }

    #[test]
    fn keys_that_hold_nan_occur_several_times() {
        let strict = |left: &Value, right: &Value| Comparison::Strict.equal(left, right);
        assert!(strict(&dict([1, 2]), &dict([1, 2])));
        assert!(!strict(&dict([1, 2]), &dict([2, 1])));
        assert!(!strict(&dict([1, 2]), &dict([1, 1])));
        assert!(!Comparison::Python.equal(&dict([1, 2]), &dict([1, 2])));

        let counter = |values: [i32; 2]| Value::Counter(values.map(|value| (NAN, int(value))).into());
        assert!(strict(&counter([1, 2]), &counter([1, 2])));
        assert!(!strict(&counter([1, 2]), &Value::Counter(vec![(NAN, int(1))])));

        let (twice, once) = (Value::Set(vec![NAN, NAN, int(1)]), Value::Set(vec![NAN, int(1), int(2)]));
        assert!(strict(&twice, &twice));
        assert!(!strict(&twice, &once) && !strict(&once, &twice));
    }

    #[test]
    fn many_of_them_take_linear_time() {
        let keys = vec![NAN; 300_000];
        let mut occurrences = Occurrences::new(Comparison::Strict, keys.iter());
        let found: Vec<_> = keys.iter().map(|key| occurrences.take(key)).collect();
        assert!(found.iter().zip(0..).all(|(found, at)| *found == Some(at)));
        assert_eq!(occurrences.take(&NAN), None);
    }
}
