//! What the coordinator and a planner say to each other: a run's state and the view of its step go in, a plan comes out.
//! Imports none of the other rooms of planning (kit, recipes, evaluations).

pub(crate) mod gates;
pub mod metric;
pub mod phase;
mod plan;
mod planner;
mod record;
mod registry;
mod role;
mod stages;
mod typed;
mod view;
mod warning;

pub use self::gates::{Gates, SCORE_OF_PLAN, SCORE_OF_QUESTION, ScoreScale};
pub use self::metric::{
    COST, Chart, ChartGroup, Expense, Growth, Highlight, JUDGING, LEARNING, Metric, PLANNING, PROPOSING, REWARD_PART,
    REWARD_PARTS, SOLVING,
};
pub use self::phase::{CostClass, Phase};
pub use self::plan::{Plan, PlanError, RunState, WorkItem};
pub use self::planner::{Capabilities, Planner, Recipe, RowsAsked};
pub use self::record::{
    ArchiveInsertionRecord, AttemptRecord, BenchmarkResultRecord, BenchmarkSampleRecord, BirthRecord,
    DatasetCheckRecord, DeathRecord, GeometryRecord, GoalpostCountRecord, HeldOutRecord, InsertionStatus,
    MatchupRecord, MemberRecord, MetricRecord, ParentRelation, PopulationRecord, ProblemOutcomeRecord, ProblemRecord,
    RatingRecord, Records, RowAnswersRecord, VersionRecord, Winner,
};
pub use self::registry::{Registry, UnknownRecipe};
pub use self::role::{Role, Side};
pub use self::stages::{Stage, Stages, WARM_UP};
pub use self::typed::{TypedPlanner, TypedRecipe, parameters};
pub use self::view::{DatasetRow, RowTags, StepView, Want, WorkState};
