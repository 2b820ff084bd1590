//! Whole-system tests: real processes on a real Postgres. Engine and verifier are mostly scripted, so tests control
//! what happens when; `product` has the real ones.

pub mod coordinated;
pub mod handlers;
pub mod house;
pub mod lab;
pub mod ordeal;
pub mod process;
pub mod product;
pub mod programs;
pub mod relay;
pub mod script;
pub mod seminar;
