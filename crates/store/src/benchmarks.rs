//! Results of benchmarks, and their samples.

mod progress;
mod renew;
mod results;
mod run_results;
mod samples;

pub use progress::{
    Answered, LevelAtStep, MeasuredRun, Measurement, Pace, ScoreAtStep, SuiteUse, answered, has_accelerator,
    measured_runs, measurements, pace, scores_by_level, scores_by_step, use_of_suites,
};
pub(crate) use renew::renew_held_out;
pub use renew::{renew, renew_next};
pub use results::{
    BenchmarkFilter, BenchmarkResult, leaderboard, measured_suites, population_results, results, results_by_step,
};
pub(crate) use results::{write_results, write_samples};
pub(crate) use run_results::RESULT_COLUMNS;
pub use run_results::{
    HELD_OUT_ROWS, LatestResult, RankedRun, RunResult, latest_results, run_leaderboard, run_results, usual_results,
};
pub use samples::{
    BenchmarkSample, Repeat, RowAnswer, RowChange, SampleFilter, repeats, row_answers, row_changes, samples,
    samples_of_subject,
};
