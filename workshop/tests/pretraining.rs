//! Training all parameters, compared with PyTorch's autograd (`fixtures/make_pretraining.py`).

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
