//! The engine compared with transformers, peft and NumPy.

mod device;
mod engine;
mod evolution;
mod gpus;
mod launches;
mod learning;
mod out_of_memory;
mod standin;
