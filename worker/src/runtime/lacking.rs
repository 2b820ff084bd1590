//! Base models that this worker does not have as runs ask for them.

use lyceum_core::id::ExecutionId;
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// How long a worker leaves such items to others before it looks for the base again, which somebody may have added.
const LEAVE: Duration = Duration::from_secs(600);

/// Pairs of an execution and a base. Not bases alone: two runs may ask for different weights under one name.
#[derive(Debug, Default)]
pub(super) struct Lacking(Mutex<HashMap<(ExecutionId, String), Instant>>);

impl Lacking {
    /// Notes that an item of `execution` failed here for lack of `base`.
    pub(super) fn note(&self, execution: ExecutionId, base: String) {
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        noted.insert((execution, base), Instant::now());
    }

    /// What was noted and not long ago.
    pub(super) fn now(&self) -> Vec<(ExecutionId, String)> {
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        noted.retain(|_, since| since.elapsed() < LEAVE);
        noted.keys().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn a_base_is_looked_for_again_after_a_while() {
        let (lacking, run) = (Lacking::default(), ExecutionId(Uuid::from_u128(1)));
        lacking.note(run, "small".to_owned());
        lacking.note(run, "large".to_owned());
        let Some(then) = Instant::now().checked_sub(LEAVE) else {
            return;
        };
        lacking.0.lock().unwrap().insert((run, "small".to_owned()), then);
        assert_eq!(lacking.now(), [(run, "large".to_owned())]);
    }
}
