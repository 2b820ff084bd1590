//! The sandbox: zygotes that are confined once, and one forked child for each program.
//!
//! A zygote is a Python interpreter that starts inside every layer the machine offers (namespaces, an empty file system
//! with the interpreter's files read-only, another user, Landlock, a system-call filter, resource limits, cgroups),
//! imports what programs use, and then forks a child for each program. The child adds a far stricter filter before it
//! reads its program. A child's output is only a claim about its own value; how it ended is reported by the kernel.

mod cgroup;
mod interpreter;
mod launch;
mod layers;
mod limits;
mod run;
mod seccomp;
mod selftest;
mod streams;
mod zygote;

use std::path::PathBuf;

pub use interpreter::{Interpreter, Package};
pub use layers::{Layers, Namespaces};
pub use limits::Limits;
pub(crate) use limits::{Allowance, Budget};
pub(crate) use run::{Answer, PRINTED_TOO_MUCH, Run, Watch};
pub use selftest::Escape;
pub(crate) use selftest::self_test;
pub use streams::{Ending, Report};
pub(crate) use zygote::{Role, Zygote, ZygotePlan};

/// The reason the sandbox could not be started.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The interpreter is missing or unfit.
    #[error("the Python interpreter {} cannot be used: {reason}; name another with --python or LYCEUM_PYTHON", python.display())]
    Interpreter {
        python: PathBuf,
        /// The reason it cannot be used.
        reason: String,
    },
    /// A system-call filter could not be built.
    #[error("the system-call filter cannot be built: {0}")]
    Filter(String),
    /// Landlock refused its rules.
    #[error("Landlock cannot be set up: {0}")]
    Landlock(String),
    /// A step of the confinement failed.
    #[error("the sandbox cannot be set up: {step}: {error}")]
    Confinement {
        step: String,
        /// The operating system's error.
        error: std::io::Error,
    },
    /// The sandbox's user cannot read the interpreter, and there are no namespaces to mount it in.
    #[error(
        "the sandbox runs as user {uid}, which cannot read {}, and this machine does not allow namespaces to mount it; \
         install Python where everyone can read it (such as /usr/bin/python3) or make the folder readable",
        path.display()
    )]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// The user.
        uid: u32,
    },
    /// The interpreter ended at startup or never answered.
    #[error("the confined interpreter did not start: {0}")]
    Start(String),
    /// Attacks of the self-test had an effect.
    #[error("the sandbox does not contain programs on this machine ({}); active layers: {layers}. \
             Run as root or allow user namespaces, on a kernel with seccomp and Landlock; or accept the risk with --insecure",
            escapes.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    NotContained {
        /// The attacks that had an effect.
        escapes: Vec<Escape>,
        /// The active layers.
        layers: Layers,
    },
    /// Nobody waits for the result any longer.
    #[error("nobody waits for this any longer")]
    Abandoned,
    /// The socket to the zygote failed.
    #[error("the sandbox does not answer: {0}")]
    Lost(#[from] std::io::Error),
}
