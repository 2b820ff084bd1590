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

    /// Feeds the hasher. Values that are equal under [`Comparison::Python`] feed it equally.
    fn feed(&self, state: &mut impl Hasher, hashers: &RandomState) {
        match self {
            Self::None => 0_u8.hash(state),
            Self::Ellipsis => 1_u8.hash(state),
            Self::Bool(value) => feed_number(f64::from(u8::from(*value)), 0.0, state),
            Self::Int(value) => feed_integer(value, state),
            Self::Float(value) => feed_number(*value, 0.0, state),
            Self::Complex(re, im) => feed_number(*re, *im, state),
            Self::Str(text) => (3_u8, text).hash(state),
            Self::Bytes(bytes) => (4_u8, bytes).hash(state),
            Self::Tuple(items) => feed_sequence(5, items, state, hashers),
            Self::List(items) => feed_sequence(6, items, state, hashers),
            Self::Deque(items, _) => feed_sequence(7, items, state, hashers),
            Self::Set(items) | Self::FrozenSet(items) => {
                let sum = items
                    .iter()
                    .fold(0_u64, |sum, item| sum.wrapping_add(item.digest(hashers)));
                (8_u8, items.len(), sum).hash(state);
            }
            // Zero counts do not affect equality of counters, so the contents cannot be hashed.
            Self::Dict(_) | Self::Counter(_) => 9_u8.hash(state),
        }
    }

    fn digest(&self, hashers: &RandomState) -> u64 {
        let mut hasher = hashers.build_hasher();
        self.feed(&mut hasher, hashers);
        hasher.finish()
    }
}

fn feed_sequence(tag: u8, items: &[Value], state: &mut impl Hasher, hashers: &RandomState) {
    (tag, items.len()).hash(state);
    for item in items {
        item.feed(state, hashers);
    }
}

fn feed_integer(value: &BigInt, state: &mut impl Hasher) {
    (2_u8, value).hash(state);
}

fn feed_number(re: f64, im: f64, state: &mut impl Hasher) {
    let canonical = |part: f64| if part.is_nan() { f64::NAN } else { part };
    if im == 0.0
        && re.fract() == 0.0
        && let Some(integer) = BigInt::from_f64(re)
    {
        feed_integer(&integer, state);
    } else {
        // Adding zero turns -0.0 into 0.0.
        (10_u8, (canonical(re) + 0.0).to_bits(), (canonical(im) + 0.0).to_bits()).hash(state);
    }
}

/// Positions of values by equality, like the keys of a Python dict.
pub(crate) struct UniqueKeys<'a> {
    hashers: RandomState,
    buckets: HashMap<u64, Vec<(&'a Value, usize)>>,
}

impl<'a> UniqueKeys<'a> {
    pub(crate) fn new() -> Self {
        Self {
            hashers: RandomState::new(),
            buckets: HashMap::new(),
        }
    }

    /// Adds a key at a position, or returns the position of an equal key.
    pub(crate) fn insert(&mut self, key: &'a Value, position: usize) -> Option<usize> {
        let bucket = self.buckets.entry(key.digest(&self.hashers)).or_default();
        let found = bucket
            .iter()
            .find(|(other, _)| Comparison::Python.equal(other, key))
            .map(|(_, at)| *at);
        // NaN equals nothing, so every NaN would be added to the bucket and make the search quadratic; one is enough.
        if found.is_none() && !bucket.iter().any(|(other, _)| Comparison::Strict.equal(other, key)) {
            bucket.push((key, position));
        }
        found
    }

    /// The position of an equal key.
    pub(crate) fn find(&self, key: &Value, comparison: Comparison) -> Option<usize> {
        let bucket = self.buckets.get(&key.digest(&self.hashers))?;
        bucket
            .iter()
            .find(|(other, _)| comparison.equal(other, key))
            .map(|(_, at)| *at)
    }
}
