//! Outputs of programs that were computed before: a problem is answered many times.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use sha2::{Digest as _, Sha256};

use crate::execution::{Arguments, Outcome};
use crate::value::Value;

/// How many outputs are kept before the cache is emptied.
const CAPACITY: usize = 4096;

/// The longest output that is kept, as source.
const MAX_LENGTH: usize = 16 << 10;

/// How many sets of expected outputs are kept before they are thrown away.
const EXPECTED_CAPACITY: usize = 512;

/// How many values, counted through all levels, a set of expected outputs may hold to be kept.
const MAX_VALUES: usize = 100_000;

/// Outputs by program and input. It lives no longer than a pool, so the version of Python is always the same.
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

    /// What a reference program gave for these calls.
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
        // A failure of the reference may be one of the moment.
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
