//! Why a worker can do no further work.

use lyceum_core::{id::ExecutionId, work::WorkKey};

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
