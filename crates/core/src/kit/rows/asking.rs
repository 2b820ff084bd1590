//! How questions are put to members.

use super::RewardConfig;
use crate::{contract::Phase, work::Sampling};

/// How questions are put to members.
#[derive(Clone, Copy, Debug)]
pub struct Asking<'p> {
    /// The phase that samples answers, and the one that grades them.
    pub phases: [Phase; 2],
    /// Answers to each question.
    pub n: u32,
    /// How answers are sampled.
    pub sampling: &'p Sampling,
    /// What answers earn.
    pub reward: RewardConfig,
    /// Names the draws, so that answers to a row are drawn alike by every member and in every step; left out, each item
    /// has draws of its own.
    pub draws: Option<&'static str>,
    /// Whether members learn from the answers. Only such answers are recorded as attempts, and their tokens kept.
    pub is_learned: bool,
}
