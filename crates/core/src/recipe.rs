//! A recipe is a pure function from what a run remembers and what its step has so far to everything that should exist now.

pub mod azr;
pub mod benchmark;
pub mod code;
mod config;
pub mod cross_play;
mod draft;
mod memo;
mod metric;
mod pause;
mod plan;
pub mod populora;
mod record;
mod registry;
pub mod rlvr;
mod role;
pub mod rows;
mod state;
mod view;

pub use metric::{COST, Chart, ChartGroup, LEARNING, Metric, PROPOSING, SOLVING};
pub use plan::{Plan, PlanError, WorkItem};
pub use record::{
    ArchiveInsertionRecord, AttemptRecord, BenchmarkResultRecord, BenchmarkSampleRecord, BirthRecord, DeathRecord,
    InsertionStatus, MatchupRecord, MemberRecord, MetricRecord, ParentRelation, PopulationRecord, ProblemOutcomeRecord,
    ProblemRecord, RatingRecord, Records, VersionRecord, Winner,
};
pub use registry::{Registry, UnknownRecipe};
pub use role::{Role, Side};
pub use state::RunState;
pub use view::{DatasetRow, StepView, Want, WorkState};

pub use azr::Azr;
pub use benchmark::{BenchmarkEvaluation, BenchmarkParameters, BenchmarkSubject, SuiteSlice};
pub use code::PoolFilter;
pub use config::{ItemConfig, LearningConfig, SamplingConfig};
pub use cross_play::{Contestant, CrossPlayCell, CrossPlayEvaluation, CrossPlayParameters};
pub use pause::{Pause, Progress, both, join};
pub use populora::Populora;
pub use rlvr::Rlvr;

pub(crate) use config::sampling_faults;
pub(crate) use draft::{
    Draft, Generation, Learner, Lesson, Living, Names, Sequence, founders, population_faults, read_parameters,
    single_population_fault, written_out,
};

use crate::{config::RunConfig, fault::Faults, id::ExecutionId};

/// Plans an execution: a run, or an evaluation. It does no I/O, knows no clock and draws only from seeds derived from
/// (run seed, path, item).
///
/// The coordinator calls [`Planner::plan`] after any item of the step ended, so order-sensitive decisions go by index,
/// never by completion: the same view must give the same plan, and a fuller view a plan that extends it.
pub trait Planner: Send + Sync {
    /// The name that is stored with an execution; a recipe's is what a config's `recipe` field gives.
    fn name(&self) -> &'static str;

    /// One sentence for lists and forms.
    fn summary(&self) -> &'static str;

    /// Checks what the schema cannot say and writes every default of `parameters` out.
    ///
    /// # Errors
    /// Every fault of `config` at once.
    fn resolve(&self, config: RunConfig) -> Result<RunConfig, Faults>;

    /// What a new execution remembers before step 0.
    fn begin(&self, run: ExecutionId, config: &RunConfig) -> Result<RunState, PlanError>;

    /// Everything that should exist now, given what the run remembers and what the step has so far.
    /// Answering again what exists already is harmless: identifiers are hashes of paths.
    fn plan(&self, run: &RunState, step: &StepView) -> Result<Plan, PlanError>;
}

/// An algorithm: a planner of runs.
pub trait Recipe: Planner {
    /// JSON Schema of the config's `parameters`, defaults and docs inside it.
    fn parameters_schema(&self) -> serde_json::Value {
        serde_json::json!({ "type": "object" })
    }

    /// The metrics that the recipe records, in the order in which a [`MetricRecord`] gives their values; none by default.
    /// Their names are stored with every run.
    fn metrics(&self) -> Vec<Metric> {
        Vec::new()
    }

    /// What its runs have besides problems, attempts and metrics; nothing by default. Pages and evaluations go by it.
    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    /// The names of [`Recipe::metrics`].
    fn metric_names(&self) -> Vec<&'static str> {
        self.metrics().iter().map(|metric| metric.name).collect()
    }
}

/// What the runs of a recipe have besides problems, attempts and metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Capabilities {
    /// Members meet in matchups and are rated by them.
    pub rates: bool,
    /// Members are born and die after step 0.
    pub evolves: bool,
    /// Valid problems are put into an archive.
    pub archives: bool,
    /// Any student can attempt any teacher's problems, so missing cells of the matrix can be filled.
    pub crosses: bool,
}
