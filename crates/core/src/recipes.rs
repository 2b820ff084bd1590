//! The recipes: what their papers say, in terms of [`kit`](crate::kit).

pub mod azr;
pub mod gasp;
pub mod populora;
pub mod rlvr;
pub mod rzero;
pub mod sage;
#[cfg(test)]
pub(crate) mod small_run;

pub use self::azr::Azr;
pub use self::gasp::Gasp;
pub use self::populora::Populora;
pub use self::rlvr::Rlvr;
pub use self::rzero::RZero;
pub use self::sage::Sage;
