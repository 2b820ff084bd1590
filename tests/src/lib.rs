//! Whole-system tests: real processes on a real Postgres. What engine and verifier do in the product is scripted here, so
//! that a test says what happens when and to whom.

pub mod handlers;
pub mod house;
pub mod relay;
pub mod script;
