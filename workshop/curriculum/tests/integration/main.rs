//! The corpora of the bases.

mod arithmetic;
mod format;
mod programs;
mod steps;
mod tokens;
