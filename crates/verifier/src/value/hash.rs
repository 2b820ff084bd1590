//! Hashing that agrees with Python's `==`, so that sets and dicts can be built and compared in linear time.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hash, Hasher};

use num_bigint::BigInt;
use num_traits::FromPrimitive as _;

use super::{Comparison, Value};

impl Value {
    /// Whether Python can hash this value.
    pub(crate) fn is_hashable(&self) -> bool {
        match self {
            Self::List(_) | Self::Set(_) | Self::Dict(_) | Self::Counter(_) | Self::Deque(..) => false,
            Self::Tuple(items) => items.iter().all(Self::is_hashable),
            _ => true,
        }
    }

    /// Whether this hashable value holds a NaN, so that it equals nothing under [`Comparison::Python`].
    fn holds_nan(&self) -> bool {
        match self {
            Self::Float(value) => value.is_nan(),
            Self::Complex(re, im) => re.is_nan() || im.is_nan(),
            Self::Tuple(items) | Self::FrozenSet(items) => items.iter().any(Self::holds_nan),
            _ => false,
        }
    }

    /// Feeds the hasher. Hashable values without NaN feed it equally exactly if they are equal, so that no choice of values
    /// makes them collide.
    fn feed(&self, hashing: &Hashing, state: &mut impl Hasher) {
        if hashing.comparison == Comparison::Strict {
            std::mem::discriminant(self).hash(state);
        }
        match self {
            Self::None => 0_u8.hash(state),
            Self::Ellipsis => 1_u8.hash(state),
            Self::Bool(value) => hashing.feed_number(f64::from(u8::from(*value)), 0.0, state),
            Self::Int(value) => feed_integer(value, state),
            Self::Float(value) => hashing.feed_number(*value, 0.0, state),
            Self::Complex(re, im) => hashing.feed_number(*re, *im, state),
            Self::Str(text) => (3_u8, text).hash(state),
            Self::Bytes(bytes) => (4_u8, bytes).hash(state),
            Self::Tuple(items) => hashing.feed_sequence(5, items, state),
            Self::List(items) => hashing.feed_sequence(6, items, state),
            Self::Deque(items, _) => hashing.feed_sequence(7, items, state),
            Self::Set(items) | Self::FrozenSet(items) => {
                let sum = items.iter().fold(0_u64, |sum, item| sum.wrapping_add(hashing.digest(item)));
                (8_u8, items.len(), sum).hash(state);
            }
            // Zero counts do not affect equality of counters, so the contents cannot be hashed.
            Self::Dict(_) | Self::Counter(_) => 9_u8.hash(state),
        }
    }
}

fn feed_integer(value: &BigInt, state: &mut impl Hasher) {
    (2_u8, value).hash(state);
}

/// A hash function that agrees with a comparison.
struct Hashing {
    comparison: Comparison,
    hashers: RandomState,
}

impl Hashing {
    fn digest(&self, value: &Value) -> u64 {
        let mut hasher = self.hashers.build_hasher();
        value.feed(self, &mut hasher);
        hasher.finish()
    }

    fn feed_sequence(&self, tag: u8, items: &[Value], state: &mut impl Hasher) {
        (tag, items.len()).hash(state);
        for item in items {
            item.feed(self, state);
        }
    }

    fn feed_number(&self, re: f64, im: f64, state: &mut impl Hasher) {
        let bits = |part: f64| match self.comparison {
            _ if part.is_nan() => f64::NAN.to_bits(),
            // Adding zero turns -0.0 into 0.0.
            Comparison::Python => (part + 0.0).to_bits(),
            Comparison::Strict => part.to_bits(),
        };
        if self.comparison == Comparison::Python
            && im == 0.0
            && re.fract() == 0.0
            && let Some(integer) = BigInt::from_f64(re)
        {
            feed_integer(&integer, state);
        } else {
            (10_u8, bits(re), bits(im)).hash(state);
        }
    }
}

/// Positions of values by equality, like the keys of a Python dict.
pub(crate) struct UniqueKeys<'a> {
    hashing: Hashing,
    buckets: HashMap<u64, Vec<(&'a Value, usize)>>,
}

impl<'a> UniqueKeys<'a> {
    pub(crate) fn new(comparison: Comparison) -> Self {
        Self { hashing: Hashing { comparison, hashers: RandomState::new() }, buckets: HashMap::new() }
    }

    /// Adds a key at a position, or returns the position of an equal key.
    pub(crate) fn insert(&mut self, key: &'a Value, position: usize) -> Option<usize> {
        let comparison = self.hashing.comparison;
        // In Python such a key is equal to none, and would never be found.
        if comparison == Comparison::Python && key.holds_nan() {
            return None;
        }
        let bucket = self.buckets.entry(self.hashing.digest(key)).or_default();
        let found = bucket.iter().find(|(other, _)| comparison.equal(other, key)).map(|(_, at)| *at);
        if found.is_none() {
            bucket.push((key, position));
        }
        found
    }

    /// The position of an equal key.
    pub(crate) fn find(&self, key: &Value) -> Option<usize> {
        let bucket = self.buckets.get(&self.hashing.digest(key))?;
        bucket.iter().find(|(other, _)| self.hashing.comparison.equal(other, key)).map(|(_, at)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::{Comparison, Value};

    /// All tuples of `length` items that are 1 or True, each with this item at its end.
    fn tuples(length: u32, last: &Value) -> Vec<Value> {
        let item = |set: bool| if set { Value::Bool(true) } else { Value::from(1) };
        let tuple = |bits: u32| {
            let items = (0..length).map(|at| item(bits >> at & 1 == 1));
            Value::Tuple(items.chain([last.clone()]).collect())
        };
        (0..1 << length).map(tuple).collect()
    }

    #[test]
    fn tuples_that_differ_in_type_and_hold_a_nan_do_not_collide() {
        // If they did, this would take the better part of an hour.
        let Some(Value::Set(items)) = Value::set_of(tuples(17, &Value::Float(f64::NAN))) else {
            panic!("they can be hashed")
        };
        assert_eq!(items.len(), 1 << 17);
        let set = Value::Set(items);
        assert!(Comparison::Strict.equal(&set, &set.clone()));
        assert!(!Comparison::Python.equal(&set, &set.clone()));
        let Some(Value::Set(same)) = Value::set_of(tuples(10, &Value::from(2))) else { panic!("they can be hashed") };
        assert_eq!(same.len(), 1, "without NaN they are equal");
    }

    #[test]
    fn strict_sets_tell_types_and_zeros_apart() {
        let set = |item: Value| Value::set_of(vec![item]).unwrap_or(Value::None);
        let zero = |zero: f64| set(Value::Tuple(vec![Value::Float(zero)]));
        for (left, right, python, strict) in [
            (set(Value::from(1)), set(Value::Bool(true)), true, false),
            (set(Value::from(1)), set(Value::Float(1.0)), true, false),
            (zero(0.0), zero(-0.0), true, false),
            (zero(f64::NAN), zero(f64::NAN), false, true),
            (zero(2.5), zero(2.5), true, true),
        ] {
            assert_eq!(Comparison::Python.equal(&left, &right), python, "{left} {right}");
            assert_eq!(Comparison::Strict.equal(&left, &right), strict, "{left} {right}");
        }
    }

    #[test]
    fn nested_counters_are_compared_once_a_level() {
        // If each level were compared twice, this would never end.
        let nested = |depth: usize, last: i64| {
            (0..depth).fold(Value::from(last), |inner, _| Value::Counter(vec![(Value::from(1), inner)]))
        };
        assert!(Comparison::Python.equal(&nested(90, 1), &nested(90, 1)));
        assert!(!Comparison::Python.equal(&nested(90, 1), &nested(90, 2)));
        let with_zero = Value::Counter(vec![(Value::from(1), nested(80, 1)), (Value::from(2), Value::from(0))]);
        let without = Value::Counter(vec![(Value::from(1), nested(80, 1))]);
        assert!(Comparison::Python.equal(&with_zero, &without) && Comparison::Python.equal(&without, &with_zero));
    }
}
