//! Finding the answer in what a model wrote.

pub mod boxed;

pub use boxed::last_boxed;
