//! Models, adapter populations, generation and learning on libtorch.
//!
//! One frozen base model and N LoRA adapters ("members") share every forward pass: the adapters of a projection are one
//! stacked pair of tensors, the rows of a batch are grouped by member, and a projection costs one product with the base
//! weights and one batched product with the stack.

pub mod device;
pub mod embeddings;
pub mod error;
pub mod evolve;
pub mod generate;
mod host;
pub mod lanes;
pub mod learn;
pub mod libtorch;
pub mod merge;
pub mod model;
pub mod observe;
mod passes;
pub mod peft;
pub mod population;
mod product;
pub mod score;
mod unwinding;
pub mod weights;

pub use device::{Placement, set_threads};
pub use error::{EngineError, Result};
pub use lyceum_models::{ModelConfig, chat_template, config, hub, token_batch, tokenizer};
pub use model::Model;
pub use population::Population;
