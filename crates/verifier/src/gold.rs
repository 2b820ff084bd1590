//! Cache of computed outputs: a problem is answered many times.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use sha2::{Digest as _, Sha256};

use crate::execution::{Arguments, Kept};
use crate::value::Value;

/// Maximum size of a cache before it is emptied, in bytes.
const CAPACITY: usize = 64 << 20;

/// Maximum length of a cached output, as source.
const MAX_LENGTH: usize = 16 << 10;

/// Maximum size of a cached set of expected outputs, in bytes of their encoding.
const MAX_EXPECTED: usize = 4 << 20;

/// Outputs by program and input. The cache lives no longer than a pool, so the version of Python never changes.
#[derive(Default)]
pub(crate) struct GoldCache {
    outputs: Mutex<Bounded<Value>>,
    expected: Mutex<Bounded<Arc<Vec<Kept>>>>,
}

/// Values by hash, emptied when they are too large together.
struct Bounded<T> {
    values: HashMap<[u8; 32], T>,
    size: usize,
}

impl<T> Default for Bounded<T> {
    fn default() -> Self {
        Self {
            values: HashMap::new(),
            size: 0,
        }
    }
}

impl<T> Bounded<T> {
    fn put(&mut self, key: [u8; 32], value: T, size: usize) {
        if self.size + size > CAPACITY {
            *self = Self::default();
        }
        self.size += size;
        self.values.insert(key, value);
    }
}

fn key(program: &str, input: &str) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(program.len().to_le_bytes());
    hash.update(program);
    hash.update(input);
    hash.finalize().into()
}

impl GoldCache {
    pub(crate) fn get(&self, program: &str, input: &str) -> Option<Value> {
        self.outputs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .values
            .get(&key(program, input))
            .cloned()
    }

    pub(crate) fn put(&self, program: &str, input: &str, output: &Value) {
        let length = output.to_source().len();
        if length > MAX_LENGTH {
            return;
        }
        let size = length + output.count() * size_of::<Value>();
        let mut outputs = self.outputs.lock().unwrap_or_else(PoisonError::into_inner);
        outputs.put(key(program, input), output.clone(), size);
    }

    /// The outputs of a reference program for these calls.
    pub(crate) fn expected(&self, reference: &str, entry_point: &str, calls: &[Arguments]) -> Option<Arc<Vec<Kept>>> {
        let expected = self.expected.lock().unwrap_or_else(PoisonError::into_inner);
        expected.values.get(&calls_key(reference, entry_point, calls)).cloned()
    }

    pub(crate) fn expect(&self, reference: &str, entry_point: &str, calls: &[Arguments], outcomes: &Arc<Vec<Kept>>) {
        let size: usize = outcomes.iter().map(|outcome| outcome.size() + size_of::<Kept>()).sum();
        // A failure of the reference may be temporary.
        if size > MAX_EXPECTED || outcomes.iter().any(|outcome| outcome.failed().is_some()) {
            return;
        }
        let mut expected = self.expected.lock().unwrap_or_else(PoisonError::into_inner);
        expected.put(calls_key(reference, entry_point, calls), Arc::clone(outcomes), size);
    }
}

fn calls_key(reference: &str, entry_point: &str, calls: &[Arguments]) -> [u8; 32] {
    let mut hash = Sha256::new();
    let texts = calls.iter().map(|call| match call {
        Arguments::Expression(text) | Arguments::Literal(text) => text.as_str(),
    });
    for text in [reference, entry_point].into_iter().chain(texts) {
        hash.update(text.len().to_le_bytes());
        hash.update(text);
    }
    hash.finalize().into()
}
