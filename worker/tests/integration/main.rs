//! The worker's commands and its work on a real queue.

mod by_hand;
mod grade;
#[cfg(feature = "engine")]
mod prompts;
mod rows;
mod torchrun;
mod verify;
mod work;
