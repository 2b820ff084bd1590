//! Training all parameters, against PyTorch's autograd (`fixtures/make_pretraining.py`) and against its own promises.

#[path = "pretraining/fixtures.rs"]
mod fixtures;
#[path = "pretraining/folder.rs"]
mod folder;
#[path = "pretraining/golden.rs"]
mod golden;
#[path = "pretraining/refusals.rs"]
mod refusals;
#[path = "pretraining/resuming.rs"]
mod resuming;
