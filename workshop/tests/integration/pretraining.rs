//! Training all parameters, compared with PyTorch's autograd (`fixtures/make_pretraining.py`).

mod fixtures;
mod folder;
mod golden;
mod refusals;
mod resuming;
