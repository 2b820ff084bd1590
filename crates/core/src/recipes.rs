//! The recipes: what their papers say, in terms of [`kit`](crate::kit).

pub mod azr;
pub mod gasp;
pub mod populora;
pub mod rlvr;
pub mod rzero;
pub mod sage;
#[cfg(test)]
pub(crate) mod small_run;

pub use self::{azr::Azr, gasp::Gasp, populora::Populora, rlvr::Rlvr, rzero::RZero, sage::Sage};
