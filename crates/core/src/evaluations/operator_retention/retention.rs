//! How much of its parents a child retains, and regains when it trains further (PopuLoRA, section 4.6).

mod csv;
mod recovery;
mod result;

pub use self::{
    recovery::{PassRate, Recovery, RowCounts},
    result::{ChildPoint, ChildResult, ParentPoint, RetentionResult, SeedPoint, TaskResult},
};
