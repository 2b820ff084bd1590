//! Matchups of a teacher and a student.

mod outcomes;
mod page;
mod write;

pub use outcomes::{MatchupOutcomes, Wins, outcomes, wins};
pub use page::{Matchup, MatchupFilter, page};
pub(crate) use write::write;
