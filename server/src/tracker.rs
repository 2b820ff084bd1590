//! Curves of a run as the files of other tools: TensorBoard and Weights & Biases.

mod curves;
mod tensorboard;
mod tfrecord;
mod transaction_log;
mod wandb;

pub(crate) use curves::Curves;
use curves::StepScalars;
pub(crate) use tensorboard::TensorBoard;
pub(crate) use wandb::{WandbRun, path as wandb_path};
