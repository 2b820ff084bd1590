//! Results of benchmarks, and their samples.

mod progress;
mod results;
mod samples;
mod scores;
mod write;

pub use progress::{Answered, AnsweredSuite, Measurement, answered, answered_by_step, measurements};
pub use results::{
    BenchmarkFilter, BenchmarkResult, latest_results, leaderboard, measured_suites, population_results, results,
    results_by_step,
};
pub use samples::{BenchmarkSample, Repeat, SampleFilter, repeats, samples, samples_of_subject};
pub use scores::{MeasuredRun, ScoreAtStep, measured_runs, scores_by_step};
pub(crate) use write::{write_results, write_samples};
