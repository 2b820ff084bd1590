//! Pretraining of the bases.

mod pretrain;
mod pretrain_arithmetic;
mod pretraining;
