//! The engine against what transformers and peft compute (`fixtures/make.py`), and against its own promises.

#[path = "engine/adapters.rs"]
mod adapters;
#[path = "engine/bad_input.rs"]
mod bad_input;
#[path = "engine/fixtures.rs"]
mod fixtures;
#[path = "engine/forward.rs"]
mod forward;
#[path = "engine/generation.rs"]
mod generation;
#[path = "engine/tokens.rs"]
mod tokens;
