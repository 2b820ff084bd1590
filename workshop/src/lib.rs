//! Pretraining of a small base model from scratch, used for the seedling. The binary `lyceum-workshop` adds the corpus,
//! the evaluation, and the benchmarks of the product. Nothing in the product depends on this package.

pub mod pretrain;
mod random;

pub use random::random_model;
