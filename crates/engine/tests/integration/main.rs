//! The engine compared with transformers, peft and NumPy.

mod engine;
mod evolution;
mod learning;
