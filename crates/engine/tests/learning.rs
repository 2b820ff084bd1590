//! Learning against PyTorch's autograd (`fixtures/make_learning.py`), and against its own promises.

#[path = "learning/batch.rs"]
mod batch;
#[path = "learning/fixtures.rs"]
mod fixtures;
#[path = "learning/golden.rs"]
mod golden;
#[path = "learning/layout.rs"]
mod layout;
