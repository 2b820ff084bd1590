//! Lists, a page at a time. A page begins after the last key of the page before (keyset), so that it costs the same
//! anywhere in the list and skips or repeats nothing while rows are being added.

mod account;
mod archive;
mod attempts;
mod backlog;
mod benchmark_scores;
mod benchmarks;
mod cross_play;
mod evaluations;
mod family;
mod filter;
mod learnability;
mod lineage;
mod map;
mod matchups;
mod members;
mod metrics;
mod pace;
mod problems;
mod ratings;
mod runs;
mod seed;
mod standings;
mod steps;
mod stretch;
mod versions;
mod window;
mod work;
mod workers;

pub use account::{living_members, metric_sums, step_seconds};
pub use archive::{Cell, Insertion, archive_at, insertions};
pub use attempts::{Attempt, AttemptFilter, attempts};
pub use backlog::{Backlog, Throughput, backlog, throughput};
pub use benchmark_scores::{MeasuredRun, ScoreAtStep, measured_runs, scores_by_step};
pub use benchmarks::{
    BenchmarkFilter, BenchmarkResult, BenchmarkSample, Repeat, SampleFilter, benchmark_results, benchmark_samples,
    leaderboard, measured_suites, population_results, repeats, results_by_step, samples_of_subject,
};
pub use cross_play::{CrossPlay, CrossPlayFilter, attempted_types, cross_play, problems_to_play};
pub use evaluations::{Evaluation, EvaluationFilter, EvaluationProgress, evaluation, evaluation_progress, evaluations};
pub use family::{MemberName, Relative, Wins, children, family, lives, living, member_names, relative, wins};
pub(crate) use filter::{and, prefix};
pub use learnability::{Candidate, SolveBand, candidates, solve_bands};
pub use lineage::{Birth, Parent, births};
pub use map::{Growth, MapCell, growth, map_at};
pub use matchups::{Matchup, MatchupFilter, matchups};
pub use members::{LatestVersion, Member, MemberFilter, Rating, member, members};
pub use metrics::{MetricRow, MetricRows, MetricsQuery, metrics};
pub use pace::{Pace, PhaseProgress, pace, phases, stalled_since};
pub use problems::{
    FoundProblem, Problem, ProblemFilter, ProblemParent, ProblemSort, problem, problem_parents, problems,
    problems_by_id, problems_of_all_runs,
};
pub use ratings::{MatchupOutcomes, RatingPoint, matchup_outcomes, rating_history};
pub use runs::{Run, RunDetail, RunFilter, RunSort, run, run_names, runs, runs_by};
pub use seed::Seed;
pub use standings::{Standing, StandingFilter, standings};
pub use steps::{Step, step, steps};
pub use stretch::Stretch;
pub use versions::{Version, version, versions};
pub use window::{Key, Order, Page, Window};
pub(crate) use window::{Keyed, by_seq};
pub use work::{WorkDetail, WorkFilter, WorkItem, work, work_item};
pub use workers::{Worker, WorkerFilter, worker, workers};
