//! Lists, a page at a time. A page begins after the last key of the page before (keyset), so that it costs the same
//! anywhere in the list and skips or repeats nothing while rows are being added.

mod archive;
mod attempts;
mod backlog;
mod benchmarks;
mod evaluations;
mod filter;
mod lineage;
mod matchups;
mod members;
mod metrics;
mod pace;
mod problems;
mod runs;
mod seed;
mod steps;
mod window;
mod work;
mod workers;

pub use archive::{Cell, Insertion, archive_at, insertions};
pub use attempts::{Attempt, AttemptFilter, attempts};
pub use backlog::{Backlog, Throughput, backlog, throughput};
pub use benchmarks::{
    BenchmarkFilter, BenchmarkResult, BenchmarkSample, Repeat, SampleFilter, benchmark_results, benchmark_samples,
    leaderboard, population_results, repeats, results_by_step, samples_of_subject,
};
pub use evaluations::{Evaluation, EvaluationFilter, evaluation, evaluations};
pub use lineage::{Birth, Parent, births};
pub use matchups::{Matchup, MatchupFilter, matchups};
pub use members::{LatestVersion, Member, MemberFilter, Rating, member, members};
pub use metrics::{MetricRow, MetricRows, MetricsQuery, metrics};
pub use pace::{Pace, PhaseProgress, pace, phases, stalled_since};
pub use problems::{Problem, ProblemFilter, ProblemParent, ProblemSort, problem, problem_parents, problems};
pub use runs::{Run, RunDetail, RunFilter, RunSort, run, runs, runs_by};
pub use seed::Seed;
pub use steps::{Step, step, steps};
pub use window::{Key, Order, Page, Window};
pub(crate) use window::{Keyed, by_seq};
pub use work::{WorkDetail, WorkFilter, WorkItem, work, work_item};
pub use workers::{Worker, WorkerFilter, worker, workers};
