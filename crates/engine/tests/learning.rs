//! Learning compared with PyTorch's autograd (`fixtures/make_learning.py`).

#[path = "learning/bad_input.rs"]
mod bad_input;
#[path = "learning/batch.rs"]
mod batch;
#[path = "learning/fixtures.rs"]
mod fixtures;
#[path = "learning/golden.rs"]
mod golden;
#[path = "learning/layout.rs"]
mod layout;
#[path = "learning/members.rs"]
mod members;
#[path = "learning/memory.rs"]
mod memory;
#[path = "learning/observer.rs"]
mod observer;
#[path = "learning/task.rs"]
mod task;
