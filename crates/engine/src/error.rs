//! The engine's error type. Every message names the file, tensor or request, the value found and the value expected.

use std::path::PathBuf;

use lyceum_models::ModelError;
use tch::{Device, TchError};

/// Shorthand for results of the engine.
pub type Result<T> = std::result::Result<T, EngineError>;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// A folder of a model or an adapter cannot be used.
    #[error(transparent)]
    Model(#[from] ModelError),
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
    /// A request is invalid.
    #[error("request `{id}`: {reason}")]
    Request {
        /// The request's id.
        id: String,
        /// The problem and the valid values.
        reason: String,
    },
    /// NaN or infinity where a finite number is required.
    #[error("{what} is not finite (NaN or infinity)")]
    NonFinite {
        /// The value in question: a loss, a gradient, the logits of a request.
        what: String,
    },
    /// The requested device cannot be used.
    #[error("device `{asked}`: {reason}")]
    Device {
        /// The device as requested.
        asked: String,
        /// Why it cannot be used.
        reason: String,
    },
    /// An adapter cannot have this shape.
    #[error(transparent)]
    Shape(#[from] lyceum_core::work::LoraShapeError),
    /// An evolution operator cannot be applied as requested.
    #[error(transparent)]
    Operator(#[from] lyceum_core::evolution::OperatorError),
    /// Memory ran out even with the smallest possible batch.
    #[error("out of memory on {device}: {detail}")]
    OutOfMemory {
        /// The device whose memory ran out.
        device: String,
        /// The last attempt.
        detail: String,
    },
    /// Keys and values would take more than [`cache_bytes`](crate::generate::GenerationOptions::cache_bytes); nothing was changed.
    #[error("{0}")]
    CacheLimit(String),
    /// libtorch refused an operation. Not a source: its text is in the message already, and has a C++ backtrace.
    #[error("libtorch: {}", first_line(.0))]
    Torch(TchError),
}

impl From<TchError> for EngineError {
    fn from(error: TchError) -> Self {
        Self::Torch(error)
    }
}

impl EngineError {
    /// An I/O error on a file or folder.
    pub fn io(path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        ModelError::io(path, source).into()
    }

    pub(crate) fn file(path: impl Into<PathBuf>, reason: impl Into<String>) -> Self {
        ModelError::file(path, reason).into()
    }

    /// `tensor` of a file has a `problem`, such as "is missing".
    pub fn tensor(path: impl Into<PathBuf>, tensor: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Tensor { path: path.into(), tensor: tensor.into(), problem: problem.into() }
    }

    /// An adapter or a population does not fit.
    pub fn population(reason: impl Into<String>) -> Self {
        Self::Population(reason.into())
    }

    /// A request is invalid.
    pub fn request(id: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Request { id: id.into(), reason: reason.into() }
    }

    /// If memory ran out, and nothing has said over what: `what` did not fit, and what would.
    pub(crate) fn if_out_of_memory(self, device: Device, what: impl FnOnce() -> String) -> Self {
        match self {
            Self::Torch(_) if self.is_out_of_memory() => {
                Self::OutOfMemory { device: format!("{device:?}"), detail: format!("{} ({self})", what()) }
            }
            other => other,
        }
    }

    /// Whether memory ran out, in which case a smaller batch may succeed.
    pub fn is_out_of_memory(&self) -> bool {
        match self {
            Self::OutOfMemory { .. } | Self::CacheLimit(_) => true,
            Self::Torch(error) => {
                let text = error.to_string();
                OUT_OF_MEMORY.iter().any(|words| text.contains(words))
            }
            _ => false,
        }
    }

    /// Whether the GPU refuses all further work of this process.
    pub fn is_device_lost(&self) -> bool {
        !self.is_out_of_memory() && matches!(self, Self::Torch(error) if tells_of_lost_device(&error.to_string()))
    }
}

/// How libtorch, CUDA and its libraries say that memory ran out. With no memory left for its message, libtorch reports an error
/// of `what()` itself. cuBLAS and cuDNN allocate workspaces of their own.
const OUT_OF_MEMORY: [&str; 5] =
    ["out of memory", "can't allocate memory", "bad_alloc", "Error computing Error::what()", "_STATUS_ALLOC_FAILED"];

/// Whether a message of libtorch, which it may also panic with, tells of an error after which every call of CUDA in this process
/// fails, whatever it is asked: such errors stay until the process ends (CUDA Runtime API, `cudaErrorIllegalAddress` and others).
pub fn tells_of_lost_device(message: &str) -> bool {
    let told = [
        "CUDA error:",
        "CUBLAS_STATUS_EXECUTION_FAILED",
        "CUBLAS_STATUS_NOT_INITIALIZED",
        "CUDNN_STATUS_EXECUTION_FAILED",
        "CUDNN_STATUS_INTERNAL_ERROR",
    ];
    // All errors of recording a CUDA graph speak of capturing, and nothing else fails after them.
    let stays = !message.contains("captur") && !OUT_OF_MEMORY.iter().any(|words| message.contains(words));
    stays && told.iter().any(|words| message.contains(words))
}

/// libtorch appends a C++ backtrace to its messages; only the first line is useful.
fn first_line(error: &TchError) -> String {
    let text = error.to_string();
    text.lines().next().unwrap_or(&text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_gpu_is_told_from_full_memory_and_from_a_wrong_operation() {
        let error = |text: &str| EngineError::from(TchError::Torch(text.to_owned()));
        for text in [
            "CUDA error: an illegal memory access was encountered\nCUDA kernel errors might be asynchronously reported",
            "CUDA error: device-side assert triggered",
            "CUDA error: uncorrectable ECC error encountered",
            "CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasSgemm( handle, opa)`",
            "cuDNN error: CUDNN_STATUS_EXECUTION_FAILED",
        ] {
            assert!(error(text).is_device_lost() && !error(text).is_out_of_memory(), "{text}");
        }
        for text in [
            "CUDA error: out of memory",
            "CUDA out of memory. Tried to allocate 20.00 MiB",
            "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
            "cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
        ] {
            assert!(error(text).is_out_of_memory() && !error(text).is_device_lost(), "{text}");
        }
        let recording = error("CUDA error: operation not permitted when stream is capturing");
        assert!(!recording.is_device_lost() && !recording.is_out_of_memory());
        let shapes = error("mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)");
        assert!(!shapes.is_device_lost() && !shapes.is_out_of_memory());
    }
}
