//! Folders of models and adapters, as far as no arithmetic is needed: where they are, their configuration, tokenizer and
//! chat template, adapters as archives, and batches of tokens. Needs no libtorch.

pub mod chat_template;
pub mod config;
mod error;
mod folder;
pub mod hub;
pub mod peft;
mod texts;
pub mod token_batch;
pub mod tokenizer;
pub mod weights;

pub use config::ModelConfig;
pub use error::{ModelError, Result};
pub use folder::{ModelsFolder, check_revision};
pub use texts::Texts;
pub use weights::refuse_pointer;
