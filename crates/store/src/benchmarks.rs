//! Results of benchmarks, and their samples.

mod changes;
mod pace;
mod progress;
mod results;
mod run_results;
mod samples;
mod scores;
mod suites;
mod write;

pub use changes::{RowAnswer, RowChange, row_answers, row_changes};
pub use pace::{Pace, has_accelerator, pace};
pub use progress::{Answered, Measurement, answered, measurements};
pub use results::{
    BenchmarkFilter, BenchmarkResult, leaderboard, measured_suites, population_results, results, results_by_step,
};
pub(crate) use run_results::RESULT_COLUMNS;
pub use run_results::{
    HELD_OUT_ROWS, LatestResult, RankedRun, RunResult, latest_results, run_leaderboard, run_results, usual_results,
};
pub use samples::{BenchmarkSample, Repeat, SampleFilter, repeats, samples, samples_of_subject};
pub use scores::{MeasuredRun, ScoreAtStep, measured_runs, scores_by_step};
pub use suites::{SuiteUse, use_of_suites};
pub(crate) use write::{write_results, write_samples};
