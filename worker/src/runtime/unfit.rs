//! What this worker cannot do: base models that runs ask for and it lacks, and why it can do no further work.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use lyceum_core::id::ExecutionId;
use lyceum_core::work::WorkKey;

/// Why a worker can do no further work: its process must end, and another one take its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// The device refuses all further work of this process.
    #[error(
        "the GPU refuses all further work of this process: {0}; start the worker again (`lyceum up` and a service manager do), \
         and if this recurs, see whether `nvidia-smi` still shows the GPU and what `dmesg | grep Xid` says of it"
    )]
    DeviceLost(String),
    /// It cannot read what another release planned.
    #[error(
        "this worker of release {ours} cannot read item {key} of {execution} ({error}), which was handed back; install the \
         server's release here",
        ours = env!("CARGO_PKG_VERSION")
    )]
    OtherRelease {
        /// The run or evaluation.
        execution: ExecutionId,
        /// The item.
        key: WorkKey,
        /// Why its payload cannot be read.
        error: String,
    },
}

/// How long a worker leaves such items to others before it looks for the base again, which somebody may have added.
const LEAVE: Duration = Duration::from_secs(600);

/// Pairs of an execution and a base. Not only bases: two runs may ask for different weights under one name.
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
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_base_is_looked_for_again_after_a_while() {
        let (lacking, run) = (Lacking::default(), ExecutionId(Uuid::from_u128(1)));
        lacking.note(run, "small".to_owned());
        lacking.note(run, "large".to_owned());
        let Some(then) = Instant::now().checked_sub(LEAVE) else { return };
        lacking.0.lock().unwrap().insert((run, "small".to_owned()), then);
        assert_eq!(lacking.now(), [(run, "large".to_owned())]);
    }
}
