//! Pretraining of the bases.

mod pretrain;
mod pretraining;
