//! Ratings (TrueSkill) of members.

mod history;
mod rating;
mod standings;
mod write;

pub use history::{RatingPoint, history};
pub use rating::Rating;
pub use standings::{Standing, StandingFilter, standings};
pub(crate) use write::write;
