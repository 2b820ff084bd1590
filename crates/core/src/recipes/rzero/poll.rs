//! Solvers vote on proposals.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;

use super::Labels;
use super::proposer::{Call, Proposal, Question};
use super::step::Step;
use crate::contract::{AttemptRecord, CostClass, Phase, PlanError, ProblemRecord, Role};
use crate::id::{MemberId, ProblemId, VersionId};
use crate::kit::judge::{read_answer, solve_prompt};
use crate::kit::rows::Reward;
use crate::kit::{Band, Generation, Progress, Sample, join};
use crate::problem::Values;
use crate::prompt::Answer;
use crate::verify::{Check, ProblemKind, Status, Task, Verdict};
use crate::vote::Vote;
use crate::work::{Completion, RolloutResult};

pub(super) const VOTE: Phase = Phase::new("vote", CostClass::Solve);
pub(super) const TALLY: Phase = Phase::new("tally", CostClass::Grade);

/// A proposal without its texts, and the vote on it.
#[derive(Clone, Debug)]
pub(super) struct Polled {
    /// The proposer: a position among the members.
    pub(super) proposer: usize,
    /// Its place in the work.
    pub(super) sample: Sample,
    /// Difference of masked and unmasked log-probabilities, in nats.
    pub(super) mask_mismatch: Option<f32>,
    pub(super) problem: ProblemId,
    /// Whether it has a question and an answer.
    pub(super) is_read: bool,
    /// Whether the stated answer is right; `None` if the question cannot be evaluated.
    pub(super) stated_right: Option<bool>,
    /// The vote; `None` if there is no question, or no answer to it could be read.
    pub(super) vote: Option<Vote>,
    /// Whether the majority's answer is the stated one.
    pub(super) agrees: bool,
    /// Answers that are right by the label.
    pub(super) correct: u32,
}

/// The answers to a question, by sample, as read.
type Ballot<'r> = Vec<(&'r Completion, Answer)>;

impl<'a> Step<'a> {
    /// The votes on a chunk's proposals, with rows for problems and answers.
    pub(super) fn poll(&mut self, call: Call<'_>, chunk: u32, proposals: &[Proposal]) -> Progress<Vec<Polled>> {
        let size = self.parameters.items.solve;
        // Every chunk sets aside as many parts as a full one has.
        let parts = (self.parameters.items.propose * call.n).div_ceil(size);
        let polled = join((0..).zip(proposals.chunks(size as usize)), |(part, proposals)| {
            self.poll_part(chunk * parts + part, proposals)
        })?;
        Ok(polled.iter().flat_map(|part| part.iter().cloned()).collect())
    }

    fn poll_part(&mut self, part: u32, proposals: &[Proposal]) -> Progress<Arc<Vec<Polled>>> {
        let voted = self.vote(part, proposals)?;
        let view = self.draft.view;
        view.once(&format!("polled/{part}"), || {
            let mut generated = voted.into_iter().flat_map(|voted| &voted.generated);
            let ballots = proposals.iter().map(|proposal| match proposal.question {
                Ok(_) => generated.next().map_or_else(Vec::new, |one| self.ballot(&one.completions)),
                Err(_) => Vec::new(),
            });
            let ballots: Vec<Ballot<'_>> = ballots.collect();
            let of = || (0..).zip(proposals.iter().zip(&ballots));
            let key = self.draft.key(TALLY, part);
            let verdicts = self.draft.verify_some(&key, ballots.iter().map(|ballot| is_counted(ballot)), || {
                of().filter_map(|(at, (proposal, ballot))| tally(at, proposal, ballot)).collect()
            })?;
            let mut polled = Vec::with_capacity(proposals.len());
            for ((number, (proposal, ballot)), verdict) in of().zip(verdicts) {
                let (counted, right, label) = self.counted(proposal, ballot, verdict);
                self.write_problem(counted.problem, proposal, label)?;
                let solver = self.draft.members[proposal.solver].playing(self.draft.run.run);
                self.write_answers((part, number), (counted.problem, solver), ballot, &right);
                polled.push(counted);
            }
            Ok(polled)
        })
    }

    /// The solvers' answers to a part's questions; none without a question.
    fn vote(&mut self, part: u32, proposals: &[Proposal]) -> Progress<Option<&'a RolloutResult>> {
        let asked = (0..).zip(proposals).filter_map(|(number, proposal)| {
            let question = proposal.question.as_ref().ok()?;
            Some((number, proposal.solver, question))
        });
        let asked: Vec<(u32, usize, &Question)> = asked.collect();
        if asked.is_empty() {
            return Ok(None);
        }
        let key = self.draft.key(VOTE, part);
        let prompts = Arc::clone(&self.prompts);
        let vote = &self.parameters.vote;
        let voted = self.draft.generate(&key, [asked.len(), vote.samples as usize], || {
            let requests = asked.iter().map(|(number, solver, question)| {
                let prompt = solve_prompt(&prompts, &question.text)?;
                Ok((*number, *solver, prompt))
            });
            Ok(Generation {
                sampling: vote.sampling.clone(),
                samples: vote.samples,
                keep_tokens: false,
                draws: None,
                requests: requests.collect::<Result<_, PlanError>>()?,
            })
        })?;
        Ok(Some(voted))
    }

    fn ballot<'r>(&self, completions: &'r [Completion]) -> Ballot<'r> {
        let read = completions.iter().map(|completion| (completion, read_answer(&self.prompts, completion)));
        read.collect()
    }

    /// The vote on a proposal; for each answer whether it is right; and the right answer.
    fn counted(
        &self,
        proposal: &Proposal,
        ballot: &Ballot<'_>,
        verdict: Option<&Verdict>,
    ) -> (Polled, Vec<bool>, Option<String>) {
        let (clusters, stated) = clusters(ballot, verdict);
        let vote = Vote::of(&clusters);
        let (cluster, label) = match self.parameters.labels {
            Labels::Stated => {
                let question = proposal.question.as_ref().ok();
                (stated, question.map(|question| question.stated.clone()))
            }
            Labels::Majority => {
                let label = vote.and_then(|vote| ballot.get(vote.label)?.1.clone().ok());
                (vote.map(|vote| vote.winner), label)
            }
        };
        let right: Vec<bool> = clusters.iter().map(|of| of.is_some() && *of == cluster).collect();
        let polled = Polled {
            proposer: proposal.proposer,
            sample: proposal.sample.clone(),
            mask_mismatch: proposal.mask_mismatch,
            is_read: proposal.question.is_ok(),
            stated_right: proposal.question.as_ref().ok().and_then(Question::is_right),
            problem: proposal.sample.problem(self.draft.run.run),
            vote,
            agrees: vote.is_some_and(|vote| stated == Some(vote.winner)),
            correct: right.iter().filter(|right| **right).count() as u32,
        };
        (polled, right, label)
    }

    fn write_problem(&mut self, id: ProblemId, proposal: &Proposal, label: Option<String>) -> Result<(), PlanError> {
        let Proposal { proposer, sample, text, question, .. } = proposal;
        let prompt = self.propose_prompt()?.text;
        let values = Values::Math {
            question: question.as_ref().map(|question| question.text.clone()).unwrap_or_default(),
            answer: label.unwrap_or_default(),
        };
        self.draft.plan.records.problems.push(ProblemRecord {
            proposer: Some(self.draft.members[*proposer].playing(self.draft.run.run)),
            source: Some(sample.source.clone()),
            prompt,
            proposal: text.clone(),
            valid: question.is_ok(),
            status: match question {
                Ok(_) => Status::Ok,
                Err(_) => Status::Malformed,
            },
            reason: question.as_ref().err().cloned().unwrap_or_default(),
            values: serde_json::to_value(values)?,
            ..ProblemRecord::new(id, sample.request * self.samples_per_prompt() + sample.index, ProblemKind::Math)
        });
        Ok(())
    }

    fn write_answers(
        &mut self,
        (part, number): (u32, u32),
        (problem, solver): (ProblemId, (MemberId, VersionId)),
        ballot: &Ballot<'_>,
        right: &[bool],
    ) {
        let run = self.draft.run.run;
        let source = self.draft.key(VOTE, part);
        for (sample, ((completion, answer), correct)) in (0..).zip(ballot.iter().zip(right)) {
            let of = Sample::of(&source, number, sample, completion);
            self.draft.plan.records.attempts.push(AttemptRecord {
                id: of.attempt(run),
                problem,
                solver,
                role: Role::Solver,
                sample,
                text: completion.text.clone(),
                answer: answer.clone().ok(),
                reading: None,
                well_formed: answer.is_ok(),
                status: match answer {
                    Ok(_) => Status::Ok,
                    Err(_) => Status::Malformed,
                },
                reason: answer.clone().err().unwrap_or_default(),
                correct: *correct,
                reward: 0.0,
                reward_parts: serde_json::json!({}),
                tokens: completion.tokens,
            });
        }
    }
}

fn is_counted(ballot: &Ballot<'_>) -> bool {
    ballot.iter().any(|(_, answer)| answer.is_ok())
}

/// The task that groups the readable answers to a question and, after them, its stated answer. It comes last, so that it
/// does not change the vote.
fn tally(number: u32, proposal: &Proposal, ballot: &Ballot<'_>) -> Option<Task> {
    let question = proposal.question.as_ref().ok().filter(|_| is_counted(ballot))?;
    let answers = ballot.iter().filter_map(|(_, answer)| answer.clone().ok());
    Some(Task { id: number.to_string(), check: Check::Cluster(answers.chain([question.stated.clone()]).collect()) })
}

/// The cluster of each answer, and that of the stated one.
fn clusters(ballot: &Ballot<'_>, verdict: Option<&Verdict>) -> (Vec<Option<u32>>, Option<u32>) {
    let mut found = verdict.into_iter().flat_map(|verdict| verdict.clusters.iter().flatten().copied());
    let clusters = ballot.iter().map(|(_, answer)| match answer {
        Ok(_) => found.next().flatten(),
        Err(_) => None,
    });
    let clusters = clusters.collect();
    (clusters, found.next().flatten())
}

/// What a proposal earns. The parts are named in an outcome's `reward_parts`, and the reward is their sum.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UncertaintyConfig {
    /// A question earns `uncertainty` = min(p, 1 − p), where p is the share of the solver's answers that agree with the
    /// majority, if p is within this band (arXiv 2604.03472, Eq. 2), else 0. [0, 1] is R-Zero's code, which has no band.
    pub band: Band,
    /// What repeating others costs (R-Zero).
    pub repetition: Repetition,
    /// Earned by a proposal without a readable question and answer: 0 in arXiv 2604.03472 (Algorithm 1), −1 in R-Zero's
    /// code. `format` in `reward_parts`.
    #[schemars(range(min = -10.0, max = 0.0))]
    pub unreadable: f32,
}

impl Default for UncertaintyConfig {
    fn default() -> Self {
        Self { band: Band([0.3, 0.7]), repetition: Repetition::default(), unreadable: 0.0 }
    }
}

/// The penalty of repeated wordings: every proposal of a step loses the share of its proposer's proposals that are in its
/// cluster (`repetition` in `reward_parts`). Clusters are those of average linkage of the distances 1 − BLEU.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Repetition {
    /// The penalty's weight; 0 for none, as in Algorithm 1 of arXiv 2604.03472, whose text keeps R-Zero's penalty.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub weight: f32,
    /// Clusters merge while their distance is below this.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub distance: f64,
}

impl Default for Repetition {
    fn default() -> Self {
        Self { weight: 1.0, distance: 0.5 }
    }
}

impl UncertaintyConfig {
    /// The reward of a proposal with this vote (`None` without one) that is among `share` of the proposals. `is_read`:
    /// whether it has a question and an answer.
    pub(super) fn reward(&self, is_read: bool, vote: Option<Vote>, share: f32) -> Reward {
        let uncertainty = match vote {
            Some(vote) if self.band.has(vote.count, vote.of) => vote.share().min(1.0 - vote.share()),
            _ => 0.0,
        };
        let repetition = -self.repetition.weight * share;
        let format = if is_read { 0.0 } else { self.unreadable };
        Reward {
            total: uncertainty + repetition + format,
            parts: json!({"uncertainty": uncertainty, "repetition": repetition, "format": format}),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vote(count: u32, of: u32) -> Vote {
        Vote { winner: 0, label: 0, count, of }
    }

    #[test]
    fn rewards_by_hand() {
        let config = UncertaintyConfig { unreadable: -1.0, ..UncertaintyConfig::default() };
        let total = |is_read, vote, share| config.reward(is_read, vote, share).total;
        assert!((total(true, Some(vote(6, 10)), 0.25) - 0.15).abs() < 1e-6);
        assert!((total(true, Some(vote(3, 10)), 0.0) - 0.3).abs() < 1e-6);
        assert_eq!(total(true, Some(vote(8, 10)), 0.0), 0.0, "outside of the band");
        assert_eq!(total(true, None, 0.5), -0.5, "nobody answered");
        assert_eq!(total(false, None, 0.25), -1.25);
        let free = UncertaintyConfig { band: Band([0.0, 1.0]), ..config };
        assert!((free.reward(true, Some(vote(8, 10)), 0.0).total - 0.2).abs() < 1e-6);
    }
}
