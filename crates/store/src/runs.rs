//! Runs.

mod begin;
mod column;
mod condition;
mod figures;
mod fork;
mod inherit;
mod outcome;
mod page;
mod present;
mod remove;
mod row;
mod update;

pub use begin::{NewRun, begin};
pub use column::{LastSteps, RunColumn, have_metric, have_parameter, newest_config, reward_parts};
pub use condition::{Condition, Operand, Operator, RunFilter};
pub use figures::{GroupBy, RunGroup, RunValue, groups, values};
pub use fork::{Fork, fork, state_at};
pub use outcome::{Outcome, Standing, costs, outcomes, standings, tags};
pub use page::{RunSort, page};
pub(crate) use present::present;
pub use remove::remove;
pub use row::{Run, RunDetail, called, find, names};
pub use update::{RunChanges, update};
