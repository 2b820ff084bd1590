//! The worker's commands and its work on a real queue.

mod by_hand;
mod grade;
mod rows;
mod torchrun;
mod verify;
mod work;
