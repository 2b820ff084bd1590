//! What need not be computed again: outputs of problems, which are answered many times, and programs that do not end.

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lyceum_core::verify::Verdict;
use sha2::{Digest as _, Sha256};

use crate::execution::{Arguments, Kept};
use crate::value::Value;

/// Maximum size of a cache before it is emptied, in bytes.
const CAPACITY: usize = 64 << 20;

/// Maximum length of a cached output, as source.
const MAX_LENGTH: usize = 16 << 10;

/// Maximum size of a cached set of expected outputs, in bytes of their encoding.
const MAX_EXPECTED: usize = 4 << 20;

/// Memory that a kept verdict is taken to need, in bytes.
const VERDICT: usize = 1 << 10;

/// What was found out before. It lives no longer than a pool, so the version of Python never changes.
#[derive(Default)]
pub(crate) struct GoldCache {
    outputs: Mutex<Bounded<Value>>,
    expected: Mutex<Bounded<Arc<Vec<Kept>>>>,
    endless: Mutex<Bounded<Verdict>>,
}

/// A hash of all that a kept value depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key([u8; 32]);

impl Key {
    /// The key of a value, by its contents as they are shown for debugging, where texts are quoted and so end at one place.
    pub(crate) fn of(value: &impl Debug) -> Self {
        Self(Sha256::digest(format!("{value:?}")).into())
    }
}

/// Values by hash, emptied when they are too large together.
struct Bounded<T> {
    values: HashMap<Key, T>,
    size: usize,
}

impl<T> Default for Bounded<T> {
    fn default() -> Self {
        Self { values: HashMap::new(), size: 0 }
    }
}

impl<T> Bounded<T> {
    fn put(&mut self, key: Key, value: T, size: usize) {
        if self.size + size > CAPACITY {
            *self = Self::default();
        }
        self.size += size;
        self.values.insert(key, value);
    }
}

impl GoldCache {
    /// The output of a program that ends within `cpu`.
    pub(crate) fn get(&self, program: &str, input: &str, cpu: Duration) -> Option<Value> {
        let key = texts_key([program, input], cpu);
        lock(&self.outputs).values.get(&key).cloned()
    }

    pub(crate) fn put(&self, program: &str, input: &str, cpu: Duration, output: &Value) {
        let length = output.to_source().len();
        if length > MAX_LENGTH {
            return;
        }
        let size = length + output.count() * size_of::<Value>();
        lock(&self.outputs).put(texts_key([program, input], cpu), output.clone(), size);
    }

    /// The verdict on a task whose program is known to use up its CPU time.
    pub(crate) fn endless(&self, key: &Key) -> Option<Verdict> {
        lock(&self.endless).values.get(key).cloned()
    }

    pub(crate) fn put_endless(&self, key: Key, verdict: &Verdict) {
        lock(&self.endless).put(key, verdict.clone(), VERDICT + verdict.reason.len());
    }

    /// The outputs of a reference program for these calls.
    pub(crate) fn expected(&self, reference: &str, entry_point: &str, calls: &[Arguments]) -> Option<Arc<Vec<Kept>>> {
        let key = calls_key(reference, entry_point, calls);
        lock(&self.expected).values.get(&key).cloned()
    }

    pub(crate) fn expect(&self, reference: &str, entry_point: &str, calls: &[Arguments], outcomes: &Arc<Vec<Kept>>) {
        let size: usize = outcomes.iter().map(|outcome| outcome.size() + size_of::<Kept>()).sum();
        // A failure of the reference may be temporary.
        if size > MAX_EXPECTED || outcomes.iter().any(|outcome| outcome.failed().is_some()) {
            return;
        }
        lock(&self.expected).put(calls_key(reference, entry_point, calls), Arc::clone(outcomes), size);
    }
}

fn lock<T>(cache: &Mutex<Bounded<T>>) -> MutexGuard<'_, Bounded<T>> {
    cache.lock().unwrap_or_else(PoisonError::into_inner)
}

fn calls_key(reference: &str, entry_point: &str, calls: &[Arguments]) -> Key {
    let texts = calls.iter().map(|call| match call {
        Arguments::Expression(text) | Arguments::Literal(text) => text.as_str(),
    });
    texts_key([reference, entry_point].into_iter().chain(texts), Duration::ZERO)
}

fn texts_key<'a>(texts: impl IntoIterator<Item = &'a str>, cpu: Duration) -> Key {
    let mut hash = Sha256::new();
    hash.update(cpu.as_nanos().to_le_bytes());
    for text in texts {
        hash.update(text.len().to_le_bytes());
        hash.update(text);
    }
    Key(hash.finalize().into())
}
