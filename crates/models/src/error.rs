//! Errors about folders of models and adapters. Every message names the file, the value found and the value expected.

use std::path::PathBuf;

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, ModelError>;

/// Errors about folders of models and adapters.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// A file's contents are malformed or do not fit.
    #[error("{}: {reason}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What was found and what was expected.
        reason: String,
    },
    /// A model is not on this machine, and the hub that may have it does not answer, or not now.
    #[error(
        "`{name}` is not in {}, and cannot be fetched from {endpoint} now ({problem}); try again when that can be reached, or \
         copy the model's folder here and name that",
        cache.display()
    )]
    Unreachable {
        /// The model's id on the hub.
        name: String,
        /// The hub's address.
        endpoint: String,
        /// Where fetched models are kept.
        cache: PathBuf,
        /// What happened.
        problem: String,
    },
    /// A base model cannot be used as asked.
    #[error("{0}")]
    Base(String),
    /// This machine does not have a base model as asked; another may.
    #[error("{0}")]
    Lacking(String),
    /// A text cannot be tokenized, or ids cannot be decoded.
    #[error("request `{id}`: {reason}")]
    Text {
        /// The beginning of the text, or the ids.
        id: String,
        /// The problem.
        reason: String,
    },
    /// A batch of tokens cannot be written or read.
    #[error("{0}")]
    Tokens(String),
    /// A chat template could not be rendered.
    #[error("chat template: {0}")]
    ChatTemplate(String),
}

impl ModelError {
    /// An I/O error on a file or folder.
    pub fn io(path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        Self::Io { path: path.into(), source }
    }

    /// A file's contents are malformed or do not fit.
    pub fn file(path: impl Into<PathBuf>, reason: impl Into<String>) -> Self {
        Self::File { path: path.into(), reason: reason.into() }
    }

    pub(crate) fn text(id: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Text { id: id.into(), reason: reason.into() }
    }

    /// Whether trying again may help: a file could not be read now, or the hub did not answer.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Io { .. } | Self::Unreachable { .. })
    }
}
