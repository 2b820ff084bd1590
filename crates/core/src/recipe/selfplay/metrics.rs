//! What is measured of a step: the catalogue, and its values. `docs/METRICS.md` says how to read each.

mod catalogue;
mod tally;

pub use catalogue::{METRICS, Metric, metric_names};
pub(crate) use tally::Tally;
