//! A recipe is a pure function from what a run remembers and what its step has so far to everything that should exist now.

pub mod azr;
pub mod benchmark;
pub mod cross_play;
mod plan;
pub mod populora;
mod record;
mod registry;
pub mod selfplay;
mod state;
mod view;

pub use plan::{Plan, PlanError, WorkItem};
pub use record::{
    ArchiveInsertionRecord, AttemptRecord, BenchmarkResultRecord, BenchmarkSampleRecord, BirthRecord, DeathRecord,
    InsertionStatus, MatchupRecord, MemberRecord, MetricRecord, ParentRelation, PopulationRecord, ProblemOutcomeRecord,
    ProblemRecord, RatingRecord, Records, Role, VersionRecord, Winner,
};
pub use registry::{Registry, UnknownRecipe, is_evaluation};
pub use state::RunState;
pub use view::{DatasetRow, Phase, StepView, Want, WorkState};

pub use azr::Azr;
pub use benchmark::{BenchmarkEvaluation, BenchmarkParameters, BenchmarkSubject, SuiteSlice};
pub use cross_play::{Contestant, CrossPlayCell, CrossPlayEvaluation, CrossPlayParameters};
pub use populora::Populora;
pub use selfplay::PoolFilter;

use crate::{config::RunConfig, fault::Faults, id::ExecutionId};

/// An algorithm. It does no I/O, knows no clock and draws only from seeds derived from (run seed, path, item).
///
/// The coordinator calls [`Recipe::plan`] after any item of the step ended, so order-sensitive decisions go by index,
/// never by completion: the same view must give the same plan, and a fuller view a plan that
/// extends it, less what the view shows to have been carried out.
pub trait Recipe: Send + Sync {
    /// The name that a config's `recipe` field gives.
    fn name(&self) -> &'static str;

    /// One sentence for lists and forms.
    fn summary(&self) -> &'static str;

    /// JSON Schema of the config's `parameters`, defaults and docs inside it. A planner whose parameters nobody writes by hand
    /// leaves them open, and checks them in [`Recipe::resolve`].
    fn parameters_schema(&self) -> serde_json::Value {
        serde_json::json!({ "type": "object" })
    }

    /// The metrics that the recipe records, in the order in which a [`MetricRecord`] gives their values; none by default.
    /// Stored with every run, so that a later release may reorder them.
    fn metrics(&self) -> &'static [&'static str] {
        &[]
    }

    /// Checks what the schema cannot say and writes every default of `parameters` out.
    ///
    /// # Errors
    /// Every fault of `config` at once.
    fn resolve(&self, config: RunConfig) -> Result<RunConfig, Faults>;

    /// What a new run remembers before step 0.
    fn begin(&self, run: ExecutionId, config: &RunConfig) -> Result<RunState, PlanError>;

    /// Everything that should exist now, given what the run remembers and what the step has so far.
    /// Answering again what exists already is harmless: identifiers are hashes of paths.
    fn plan(&self, run: &RunState, step: &StepView) -> Result<Plan, PlanError>;
}
