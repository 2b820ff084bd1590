//! The engine compared with transformers and peft (`fixtures/make.py`).

#[path = "engine/adapters.rs"]
mod adapters;
#[path = "engine/bad_input.rs"]
mod bad_input;
#[path = "engine/chat.rs"]
mod chat;
#[path = "engine/embedding.rs"]
mod embedding;
#[path = "engine/fixtures.rs"]
mod fixtures;
#[path = "engine/forward.rs"]
mod forward;
#[path = "engine/generation.rs"]
mod generation;
#[path = "engine/merging.rs"]
mod merging;
#[path = "engine/peft_roundtrip.rs"]
mod peft_roundtrip;
#[path = "engine/tokens.rs"]
mod tokens;
