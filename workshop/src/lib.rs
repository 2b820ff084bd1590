//! Training all parameters of a small base model. The binary `lyceum-workshop` adds the command line and the benchmarks
//! of the product. Nothing in the product depends on this package.

pub mod pretrain;
mod random;

pub use random::random_model;
