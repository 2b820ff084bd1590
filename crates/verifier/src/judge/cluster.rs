//! Answers to one question, grouped by mathematical equality.

use lyceum_core::verify::{Status, Verdict};

use super::mathematics::{decided, request, truth};
use super::{Bench, reading::Reading};
use crate::execution::Conversation;
use crate::rational::Rational;
use crate::sandbox::SandboxError;

impl Bench<'_> {
    /// Greedy grouping in the order of the answers, as in R-Zero (arXiv 2508.05004): an answer joins the first cluster
    /// whose first member it equals in either direction, or opens one. Equality that cannot be decided is none.
    ///
    /// All comparisons run in one process, which reads each answer once: with a process each, most of the time would go
    /// into making processes.
    pub(super) fn cluster(&mut self, answers: &[String]) -> Result<Verdict, SandboxError> {
        let answers: Vec<Option<Reading<'_>>> = answers.iter().map(|answer| Reading::of(answer).ok()).collect();
        let are_numbers = answers
            .iter()
            .flatten()
            .all(|answer| Rational::read(answer.text).is_some());
        let limits = self.slot.limits();
        let mut conversation = match are_numbers {
            true => None,
            false => Some(Conversation::new(self.slot.mathematics()?, limits)),
        };
        let mut representatives: Vec<Reading<'_>> = Vec::new();
        let mut clusters = Vec::with_capacity(answers.len());
        for answer in answers {
            let Some(answer) = answer else {
                clusters.push(None);
                continue;
            };
            let place = place(conversation.as_mut(), &representatives, answer)?;
            if place == representatives.len() {
                representatives.push(answer);
            }
            clusters.push(u32::try_from(place).ok());
        }
        let ended = conversation.map_or(Ok(Ok(())), Conversation::end)?;
        Ok(match ended {
            Ok(()) => Verdict {
                clusters: Some(clusters),
                ..Verdict::bare(None, Status::Ok, "")
            },
            Err(failed) => Verdict {
                clusters: Some(vec![None; clusters.len()]),
                ..Verdict::bare(None, failed.status, failed.reason)
            },
        })
    }
}

/// The index of the first representative that equals the answer, or their number.
fn place(
    mut conversation: Option<&mut Conversation<'_>>,
    representatives: &[Reading<'_>],
    answer: Reading<'_>,
) -> Result<usize, SandboxError> {
    if let Some(same) = representatives.iter().position(|known| *known == answer) {
        return Ok(same);
    }
    for (place, known) in representatives.iter().enumerate() {
        for (gold, answer) in [(*known, answer), (answer, *known)] {
            let is_equal = match (decided(gold, answer), &mut conversation) {
                (Some(is_equal), _) => is_equal,
                (None, Some(conversation)) => truth(conversation.ask(&request(gold, answer, false))?) == Ok(true),
                (None, None) => false,
            };
            if is_equal {
                return Ok(place);
            }
        }
    }
    Ok(representatives.len())
}
