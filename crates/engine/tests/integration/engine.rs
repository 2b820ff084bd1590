//! The engine compared with transformers and peft (`fixtures/make.py`).

mod adapters;
mod bad_input;
mod chat;
mod embedding;
pub(crate) mod fixtures;
mod forward;
mod generation;
mod merging;
mod peft_roundtrip;
mod real_models;
mod tokens;
