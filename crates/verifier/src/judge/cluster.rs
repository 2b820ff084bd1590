//! Answers to one question, grouped by mathematical equality.

use lyceum_core::verify::{Status, Verdict};

use super::{Bench, reading::Reading};
use crate::sandbox::SandboxError;

impl Bench<'_> {
    /// Greedy grouping in the order of the answers, as in R-Zero (arXiv 2508.05004): an answer joins the first cluster
    /// whose first member it equals in either direction, or opens one. Equality that cannot be decided is none.
    pub(super) fn cluster(&mut self, answers: &[String]) -> Result<Verdict, SandboxError> {
        let mut representatives: Vec<Reading<'_>> = Vec::new();
        let mut clusters = Vec::with_capacity(answers.len());
        for answer in answers {
            let Ok(answer) = Reading::of(answer) else {
                clusters.push(None);
                continue;
            };
            let place = self.place(&representatives, answer)?;
            if place == representatives.len() {
                representatives.push(answer);
            }
            clusters.push(u32::try_from(place).ok());
        }
        Ok(Verdict {
            clusters: Some(clusters),
            ..Verdict::bare(None, Status::Ok, "")
        })
    }

    /// The index of the first representative that equals the answer, or their number.
    fn place(&mut self, representatives: &[Reading<'_>], answer: Reading<'_>) -> Result<usize, SandboxError> {
        if let Some(same) = representatives.iter().position(|known| *known == answer) {
            return Ok(same);
        }
        for (place, known) in representatives.iter().enumerate() {
            for (gold, answer) in [(*known, answer), (answer, *known)] {
                if matches!(self.equal(gold, answer, false)?, Ok(true)) {
                    return Ok(place);
                }
            }
        }
        Ok(representatives.len())
    }
}
