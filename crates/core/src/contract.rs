//! What the coordinator and a planner say to each other: a run's state and the view of its step go in, a plan comes out.
//! Imports none of the other rooms of planning (kit, recipes, evaluations).

mod gates;
mod memo;
pub mod metric;
pub mod phase;
mod plan;
mod planner;
mod record;
mod registry;
mod role;
mod rows_asked;
pub(crate) mod score;
mod stages;
mod state;
mod view;

pub(crate) use self::score::reaches;
pub use self::{
    gates::{Gates, SCORE_OF_PLAN, SCORE_OF_QUESTION},
    metric::{
        COST, Chart, ChartGroup, Expense, Growth, Highlight, JUDGING, LEARNING, Metric, PLANNING, PROPOSING, SOLVING,
    },
    phase::{CostClass, Phase},
    plan::{Plan, PlanError, WorkItem},
    planner::{Capabilities, Planner, Recipe},
    record::{
        ArchiveInsertionRecord, AttemptRecord, BenchmarkResultRecord, BenchmarkSampleRecord, BirthRecord,
        DatasetCheckRecord, DeathRecord, GeometryRecord, GoalpostCountRecord, HeldOutRecord, InsertionStatus,
        MatchupRecord, MemberRecord, MetricRecord, ParentRelation, PopulationRecord, ProblemOutcomeRecord,
        ProblemRecord, RatingRecord, Records, RowAnswersRecord, VersionRecord, Winner,
    },
    registry::{Registry, UnknownRecipe},
    role::{Role, Side},
    rows_asked::RowsAsked,
    score::ScoreScale,
    stages::{Stage, Stages},
    state::RunState,
    view::{DatasetRow, StepView, Want, WorkState},
};
