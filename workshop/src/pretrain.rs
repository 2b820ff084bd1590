//! Training all parameters of a small model from scratch, on packed rows.
//!
//! The trained weights are fp32; with bf16 the products use bf16 copies of them, like autocast. Rows hold several
//! samples that do not see each other. A sample may have continuations that share their beginning and do not see each
//! other either, so one pass over a program serves many questions about it.

mod batch;
mod sample;
mod trainer;
mod weights;

pub use batch::{PackedBatch, RowPacker};
pub use sample::{PackedSample, WeightedTokens};
pub use trainer::{Pretrainer, Schedule, StepReport};
pub use weights::write_model_folder;
