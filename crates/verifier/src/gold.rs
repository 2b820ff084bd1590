//! Cache of computed outputs: a problem is answered many times.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use sha2::{Digest as _, Sha256};

use crate::execution::{Arguments, Outcome};
use crate::value::Value;

/// Maximum number of outputs before the cache is emptied.
const CAPACITY: usize = 4096;

/// Maximum length of a cached output, as source.
const MAX_LENGTH: usize = 16 << 10;

/// Maximum number of sets of expected outputs before the cache is emptied.
const EXPECTED_CAPACITY: usize = 512;

/// Maximum number of values, over all levels, in a cached set of expected outputs.
const MAX_VALUES: usize = 100_000;

/// Outputs by program and input. The cache lives no longer than a pool, so the version of Python never changes.
#[derive(Default)]
pub(crate) struct GoldCache {
    outputs: Mutex<HashMap<[u8; 32], Value>>,
    expected: Mutex<HashMap<[u8; 32], Arc<Vec<Outcome>>>>,
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
            .get(&key(program, input))
            .cloned()
    }

    pub(crate) fn put(&self, program: &str, input: &str, output: &Value) {
        if output.to_source().len() > MAX_LENGTH {
            return;
        }
        let mut outputs = self.outputs.lock().unwrap_or_else(PoisonError::into_inner);
        if outputs.len() >= CAPACITY {
            outputs.clear();
        }
        outputs.insert(key(program, input), output.clone());
    }

    /// The outputs of a reference program for these calls.
    pub(crate) fn expected(
        &self,
        reference: &str,
        entry_point: &str,
        calls: &[Arguments],
    ) -> Option<Arc<Vec<Outcome>>> {
        let expected = self.expected.lock().unwrap_or_else(PoisonError::into_inner);
        expected.get(&calls_key(reference, entry_point, calls)).cloned()
    }

    pub(crate) fn expect(&self, reference: &str, entry_point: &str, calls: &[Arguments], outcomes: &Arc<Vec<Outcome>>) {
        let size: usize = outcomes
            .iter()
            .map(|outcome| {
                if let Outcome::Value(value) = outcome {
                    value.count()
                } else {
                    1
                }
            })
            .sum();
        // A failure of the reference may be temporary.
        if size > MAX_VALUES || outcomes.iter().any(|outcome| matches!(outcome, Outcome::Failed(_))) {
            return;
        }
        let mut expected = self.expected.lock().unwrap_or_else(PoisonError::into_inner);
        if expected.len() >= EXPECTED_CAPACITY {
            expected.clear();
        }
        expected.insert(calls_key(reference, entry_point, calls), Arc::clone(outcomes));
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
