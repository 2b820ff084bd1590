//! Learning: all members of a population in the same passes over the shared base.
//!
//! An update takes each member's sequences through `epochs × minibatches` optimizer steps. The sequences of a step are
//! distributed over micro-batches with a token budget. Each passes forward through the layers, through the output
//! projection in chunks of rows, and backward through the layers, whose activations are kept or recomputed. Members
//! never mix: each has its own normaliser, gradient norm and optimizer step, so its result does not depend on the
//! others. The base is frozen, so the backward pass is hand-written and has no gradients for its weights.

mod adamw;
mod attention;
mod backbone;
mod batch;
mod diagnostics;
mod head;
mod layout;
mod learner;
mod linear;
mod loss;
mod optimizer_state;
mod padding;
mod pass;
mod piece;
mod rows;
mod update;

pub use adamw::{AdamW, clip_gradients};
pub use head::{HeadGradient, TokenWeights, Weigh, backward_through_head};
pub use optimizer_state::{Moments, OptimizerState, TrainedTensor};
pub use padding::Padding;
pub use piece::GradientPiece;
pub use rows::TrainingSequence;
pub use update::{Progress, Update, UpdateOptions, Updated};
