//! Metrics of runs and members.

mod read;
mod write;

pub use read::{MetricRow, MetricRows, MetricsQuery, ends, ends_of_each, means, rows, sums};
pub(crate) use write::write;
