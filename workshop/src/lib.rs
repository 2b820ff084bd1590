//! Pretraining of a small base model from nothing, as the seedling was made. The binary `lyceum-workshop` adds the corpus, the
//! evaluation, and the benches of the product. Nothing in the product depends on this package.

pub mod pretrain;
mod random;

pub use random::random_model;
