//! Pairing the keys of two sets or dicts.

use super::{Comparison, UniqueKeys, Value};

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
        Self {
            keys: unique,
            next,
            after,
        }
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

        let (twice, once) = (
            Value::Set(vec![NAN, NAN, int(1)]),
            Value::Set(vec![NAN, int(1), int(2)]),
        );
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
