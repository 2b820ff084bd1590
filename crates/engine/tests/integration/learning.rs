//! Learning compared with PyTorch's autograd (`fixtures/make_learning.py`).

mod bad_input;
pub(crate) mod batch;
mod fixtures;
mod golden;
mod layout;
pub(crate) mod lesson;
mod members;
mod memory;
mod observer;
mod task;
