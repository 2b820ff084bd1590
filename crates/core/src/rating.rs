//! Strength of members: TrueSkill (Herbrich et al. 2006), as used by PopuLoRA (appendix 6).

mod frozen;
mod matchup;
mod table;
mod trueskill;
mod win;

pub use frozen::FrozenShare;
pub use matchup::{Decision, Game, RunRatings, Scores};
pub use table::Ratings;
pub use trueskill::{Rating, TrueSkillConfig};
pub use win::{MatchupScore, mean_solve_rate, winner};
