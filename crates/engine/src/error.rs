//! The engine's one error type. Every message names the file, the tensor or the request, what was found and what would
//! fit.

use std::path::PathBuf;

use tch::TchError;

/// Shorthand for results of the engine.
pub type Result<T> = std::result::Result<T, EngineError>;

/// What can go wrong in the engine.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The operating system's answer.
        source: std::io::Error,
    },
    /// A file was read, but what it holds is malformed or does not fit.
    #[error("{}: {reason}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What was found and what was expected.
        reason: String,
    },
    /// A tensor is missing, misshapen, of the wrong type, or not finite.
    #[error("{}: tensor `{tensor}` {problem}", path.display())]
    Tensor {
        /// The file that holds, or should hold, the tensor.
        path: PathBuf,
        /// The tensor's name in the file.
        tensor: String,
        /// What was found and what was expected.
        problem: String,
    },
    /// An adapter or a population does not fit the model or the other members.
    #[error("{0}")]
    Population(String),
    /// A request cannot be served as it stands.
    #[error("request `{id}`: {reason}")]
    Request {
        /// The request's id.
        id: String,
        /// What is wrong and what would be valid.
        reason: String,
    },
    /// NaN or infinity where a finite number has to be.
    #[error("{what} is not finite (NaN or infinity)")]
    NonFinite {
        /// What was looked at: a loss, a gradient, the logits of a request.
        what: String,
    },
    /// The device that was asked for cannot be used.
    #[error("device `{asked}`: {reason}")]
    Device {
        /// The device as it was asked for.
        asked: String,
        /// Why it cannot be used.
        reason: String,
    },
    /// An evolution operator cannot be applied as it was asked for.
    #[error(transparent)]
    Operator(#[from] lyceum_core::evolution::OperatorError),
    /// A chat template could not be rendered.
    #[error("chat template: {0}")]
    ChatTemplate(String),
    /// Memory ran out, also after the batch was made as small as it can be.
    #[error("out of memory on {device}: {detail}")]
    OutOfMemory {
        /// The device whose memory ran out.
        device: String,
        /// What was tried.
        detail: String,
    },
    /// libtorch refused an operation.
    #[error("libtorch: {}", first_line(.0))]
    Torch(#[from] TchError),
}

impl EngineError {
    /// The operating system refused a file or folder.
    pub fn io(path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        Self::Io {
            path: path.into(),
            source,
        }
    }

    pub(crate) fn file(path: impl Into<PathBuf>, reason: impl Into<String>) -> Self {
        Self::File {
            path: path.into(),
            reason: reason.into(),
        }
    }

    /// `tensor` of a file `problem`, such as "is missing".
    pub fn tensor(path: impl Into<PathBuf>, tensor: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Tensor {
            path: path.into(),
            tensor: tensor.into(),
            problem: problem.into(),
        }
    }

    /// An adapter or a population does not fit.
    pub fn population(reason: impl Into<String>) -> Self {
        Self::Population(reason.into())
    }

    /// A request cannot be served.
    pub fn request(id: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Request {
            id: id.into(),
            reason: reason.into(),
        }
    }

    /// Whether memory ran out, so that a smaller batch may succeed.
    pub fn is_out_of_memory(&self) -> bool {
        match self {
            Self::OutOfMemory { .. } => true,
            Self::Torch(error) => {
                let text = error.to_string();
                // libtorch cannot tell what happened when there is no memory left for the words either.
                let told = [
                    "out of memory",
                    "can't allocate memory",
                    "bad_alloc",
                    "Error computing Error::what()",
                ];
                told.iter().any(|words| text.contains(words))
            }
            _ => false,
        }
    }
}

/// libtorch appends a C++ backtrace to its messages; people need the first line.
fn first_line(error: &TchError) -> String {
    let text = error.to_string();
    text.lines().next().unwrap_or(&text).to_owned()
}
