//! How strong members are: TrueSkill (Herbrich et al. 2006), as PopuLoRA uses it (appendix 6).

mod table;
mod trueskill;
mod win;

pub use table::Ratings;
pub use trueskill::{Rating, TrueSkillConfig};
pub use win::winner;
