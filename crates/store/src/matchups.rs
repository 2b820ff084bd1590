//! Matchups of a teacher and a student.

mod outcomes;
mod page;
mod played;
mod write;

pub use outcomes::{MatchupOutcomes, Wins, outcomes, wins};
pub use page::{Matchup, MatchupFilter, page};
pub use played::played;
pub(crate) use write::write;
