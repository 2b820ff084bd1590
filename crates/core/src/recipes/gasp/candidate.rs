//! What becomes of candidates, and what they earn.

use super::{Axis, ask::Ask, check::Checked, memory::Stone, novelty::Novelty, step::Step};
use crate::{contract::ProblemOutcomeRecord, id::ProblemId, kit::Sample, reward::Solved};

/// What becomes of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// Malformed, unsafe or not deterministic.
    Invalid,
    /// Too similar to another one.
    Duplicate,
    /// Solved too often, or not often enough.
    OutOfBand,
    /// To be accepted, as far as more are wanted.
    InBand,
}

/// A judged candidate, without its texts.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    /// Its number in the stage.
    pub(super) number: u32,
    pub(super) axis: Axis,
    pub(super) problem: ProblemId,
    pub(super) sample: Sample,
    /// Its row among the embeddings of its round, if it is valid.
    pub(super) row: Option<u32>,
    /// The highest cosine similarity to another one.
    pub(super) similarity: Option<f32>,
    /// Its mean dissimilarity to the global buffer of its kind.
    pub(super) dissimilarity: Option<f64>,
    /// How often it was solved, if it was attempted.
    pub(super) solved: Option<Solved>,
    pub(super) fate: Fate,
    pub(super) reward: f32,
}

impl Step<'_> {
    /// The judged candidates of a round; writes their outcomes. `solved` has those that were attempted.
    pub(super) fn judge(
        &mut self,
        stone: Stone,
        asks: &[Ask],
        checked: &[Checked],
        novelties: &[Option<Novelty>],
        solved: &[Solved],
    ) -> Vec<Candidate> {
        let run = self.draft.run.run;
        let mut solved = solved.iter();
        let mut candidates = Vec::with_capacity(asks.len());
        for ((ask, checked), novelty) in asks.iter().zip(checked).zip(novelties) {
            let attempted = novelty.as_ref().filter(|novelty| !novelty.is_duplicate);
            let solved = attempted.and_then(|_| solved.next().copied());
            let (fate, part, reward) = self.earned(stone, novelty.as_ref(), solved);
            let problem = checked.sample.problem(run);
            self.draft.plan.records.outcomes.push(ProblemOutcomeRecord {
                problem,
                solve_rate: solved.map(Solved::rate),
                attempts: solved.map_or(0, |solved| solved.attempts),
                reward,
                reward_parts: serde_json::json!({ part: reward }),
            });
            candidates.push(Candidate {
                number: ask.number,
                axis: ask.axis,
                problem,
                sample: checked.sample.clone(),
                row: novelty.as_ref().map(|novelty| novelty.row),
                similarity: novelty
                    .as_ref()
                    .and_then(|novelty| novelty.nearest)
                    .map(|(value, _)| value),
                dissimilarity: novelty.as_ref().and_then(|novelty| novelty.dissimilarity),
                solved,
                fate,
                reward,
            });
        }
        candidates
    }

    /// What becomes of a candidate, and its reward with the name of its only part (Eq. 4 and 5).
    fn earned(&self, stone: Stone, novelty: Option<&Novelty>, solved: Option<Solved>) -> (Fate, &'static str, f32) {
        let flaws = self.parameters.flaws;
        let learnability = self.parameters.learnability(stone);
        match (novelty, solved) {
            (None, _) => (Fate::Invalid, "invalid", flaws.invalid),
            (Some(_), None) => (Fate::Duplicate, "duplicate", flaws.duplicate),
            (Some(_), Some(solved)) if learnability.is_in_band(solved) => {
                let reward = learnability.at(f64::from(solved.solved) / f64::from(solved.attempts));
                (Fate::InBand, "learnability", reward as f32)
            }
            (Some(_), Some(_)) => (Fate::OutOfBand, "out_of_band", flaws.out_of_band),
        }
    }
}
