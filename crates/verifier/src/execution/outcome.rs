//! What a child answered: a value, or the reason there is none.

use sha2::{Digest as _, Sha256};

use lyceum_core::verify::Status;

use crate::sandbox::{Answer, Ending, Limits, Package, Report};
use crate::value::{DecodeError, Value, decode};

/// The outcome of one call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outcome {
    /// It returned this value.
    Value(Value),
    /// It returned a value too large to leave the sandbox; this is its digest.
    Large(Vec<u8>),
    Failed(Failed),
}

/// The outcome of a call whose value stays encoded until it is needed: decoded, it may take fifty times the memory.
#[derive(Clone, Debug)]
pub(crate) enum Kept {
    Encoded(Vec<u8>),
    Other(Outcome),
}

impl Kept {
    pub(crate) fn new(outcome: Outcome, encoded: Vec<u8>) -> Self {
        match outcome {
            Outcome::Value(_) => Self::Encoded(encoded),
            other => Self::Other(other),
        }
    }

    pub(crate) fn outcome(&self) -> Outcome {
        match self {
            Self::Encoded(data) => outcome(&Answer { kind: b'V', data: data.clone() }),
            Self::Other(outcome) => outcome.clone(),
        }
    }

    /// Size of the encoding, in bytes.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Encoded(data) => data.len(),
            Self::Other(_) => 0,
        }
    }

    pub(crate) fn failed(&self) -> Option<&Failed> {
        match self {
            Self::Other(Outcome::Failed(failed)) => Some(failed),
            _ => None,
        }
    }
}

/// The reason a call gave no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failed {
    pub(crate) status: Status,
    pub(crate) reason: String,
    /// The exception, if one was raised.
    pub(crate) exception: Option<Raised>,
}

/// An exception, as the process that raised it described it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Raised {
    pub(crate) class: String,
    /// The nearest of its class's bases that is a builtin.
    pub(crate) builtin: String,
    pub(crate) message: String,
}

impl Failed {
    pub(crate) fn new(status: Status, reason: impl Into<String>) -> Self {
        Self { status, reason: reason.into(), exception: None }
    }

    /// The child broke the protocol.
    pub(crate) fn protocol(violation: &str) -> Self {
        Self::new(Status::Error, format!("it broke the protocol of the sandbox: {violation}"))
    }

    /// The failure of a process that ended without answering.
    pub(crate) fn of_ending(report: Report, limits: Limits) -> Self {
        match report.ending {
            Ending::CpuTime => {
                Self::new(Status::Timeout, format!("it used more than {} s of CPU time", limits.cpu.as_secs_f64()))
            }
            Ending::Budget => Self::new(
                Status::Timeout,
                "its calls together used up the time of a task, several times the limit of a call",
            ),
            Ending::WallTime => Self::new(
                Status::Timeout,
                format!("it was not done after {} s, and waited rather than worked", limits.wall.as_secs_f64()),
            ),
            Ending::Signalled(libc::SIGKILL) => Self::new(Status::Memory, "it was killed for its memory"),
            Ending::Signalled(signal) => Self::new(Status::Error, format!("its process died of signal {signal}")),
            Ending::Exited(0) => Self::new(Status::Error, "it ended its process before it returned a value"),
            Ending::Exited(code) => Self::new(Status::Error, format!("its process ended with code {code}")),
            Ending::Stopped => Self::new(Status::Error, "it broke the protocol of the sandbox"),
        }
    }
}

/// Reads one answer.
pub(crate) fn outcome(answer: &Answer) -> Outcome {
    let failed = match answer.kind {
        b'V' => match decode(&answer.data) {
            Ok(value) => return Outcome::Value(value),
            Err(DecodeError::Memory) => return Outcome::Large(Sha256::digest(&answer.data).to_vec()),
            Err(error @ DecodeError::FrozenDepth) => Failed::new(Status::Unserialisable, error.to_string()),
            Err(error) => Failed::new(Status::Error, format!("its answer cannot be read: {error}")),
        },
        b'D' if answer.data.len() == 32 => return Outcome::Large(answer.data.clone()),
        b'U' => Failed::new(Status::Unserialisable, String::from_utf8_lossy(&answer.data)),
        kind => {
            let text = String::from_utf8_lossy(&answer.data);
            let mut parts = text.splitn(3, '\0');
            let [class, builtin, message] = std::array::from_fn(|_| parts.next().unwrap_or_default());
            let said = if message.is_empty() { class.to_owned() } else { format!("{class}: {message}") };
            let (status, reason) = match kind {
                b'M' => (Status::Malformed, format!("the program does not compile: {said}")),
                b'I' => (Status::Malformed, format!("the input cannot be evaluated: {said}")),
                b'X' if class == "ModuleNotFoundError"
                    && let Some(package) = Package::missing(message) =>
                {
                    (Status::Error, lacking(package))
                }
                b'X' if class == "MemoryError" => (Status::Memory, "it reached its memory limit".to_owned()),
                b'X' => (Status::Error, format!("it raised {said}")),
                _ => (Status::Error, "its answer is of no known kind".to_owned()),
            };
            Failed {
                status,
                reason,
                exception: Some(Raised {
                    class: class.to_owned(),
                    builtin: builtin.to_owned(),
                    message: message.to_owned(),
                }),
            }
        }
    };
    Outcome::Failed(failed)
}

/// Why a program fails that imports a package which this pool does not have.
pub(crate) fn lacking(package: Package) -> String {
    format!(
        "it imports `{package}`, which the verifier on this machine does not offer; that is the machine's fault, not the \
         program's: start the worker with `--packages {package}`"
    )
}
