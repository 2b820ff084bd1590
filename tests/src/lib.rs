//! Whole-system tests: real processes on a real Postgres. What engine and verifier do in the product is mostly scripted, so
//! that a test says what happens when and to whom; `product` brings the real ones.

pub mod handlers;
pub mod house;
pub mod lab;
pub mod product;
pub mod relay;
pub mod script;
