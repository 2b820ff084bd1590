//! Attempts: answers of members to problems.

mod answers;
mod page;
mod place;
mod rewards;
mod row;
mod span;
mod write;

pub use answers::{Answers, answers};
pub use page::{AttemptFilter, page};
pub use place::{AttemptPlace, place};
pub use rewards::{MeanReward, mean_rewards};
pub use row::Attempt;
pub(crate) use write::write;

use lyceum_core::recipe::{Role, Side};

/// The roles of `side`, for queries. Attempts of planners and critics are rows, but not failed solutions.
pub(crate) fn roles_of(side: Side) -> Vec<Role> {
    side.roles().collect()
}
