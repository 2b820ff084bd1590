//! The stage in which proposers learn: propose → vote → tally → reward → update. Solvers are frozen.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::metrics::Tally;
use super::parameters::{CURRICULUM, PROPOSER};
use super::poll::Polled;
use super::resolve::MOST_COMPARED;
use super::step::Step;
use crate::contract::phase::PROPOSE;
use crate::contract::{CostClass, Phase, PlanError, ProblemOutcomeRecord};
use crate::kit::judge::{ANSWER, SOLVE, is_right, prompt_error};
use crate::kit::room::{Room, Written};
use crate::kit::{Generation, Progress, Sample, Sequence, both, completions, join};
use crate::prompt::{Field, PromptSet, Template};
use crate::seed::derive;
use crate::verify::{Task, Tolerance, Wordings};
use crate::vocabulary_dropout::Purpose;
use crate::work::{FinishReason, Sampling, VocabularyMask, WorkKey};

pub(super) const REPETITION: Phase = Phase::new("repetition", CostClass::Grade);

impl<'a> Step<'a> {
    pub(super) fn train_proposers(&mut self) -> Progress<Tally<'a>> {
        let stage = &self.parameters.proposer;
        let call = Call {
            purpose: Purpose::Train,
            prompts: stage.prompts * self.proposers.len() as u32,
            n: stage.n,
            sampling: &stage.sampling,
        };
        let polled = self.propose_and_poll(call);
        let repeated = self.proposals(call).and_then(|proposals| self.repeated(&proposals));
        let (polled, repeated) = both(polled, repeated)?;
        let rewards = self.reward(&polled, &repeated)?;
        let lessons = polled.iter().zip(rewards.iter()).map(|(polled, reward)| {
            let sequence = polled.sample.sequence(*reward, polled.sample.request);
            (polled.proposer, sequence)
        });
        let lessons: Vec<(usize, Sequence)> = lessons.collect();
        let updated = self.update(&stage.learning, &lessons)?;
        Ok(Tally {
            polled: polled.to_vec(),
            proposer_rewards: lessons.iter().map(|(_, of)| of.sampled.reward).collect(),
            repetition: if self.are_compared() { repeated.to_vec() } else { Vec::new() },
            updated,
            ..Tally::default()
        })
    }

    /// Every proposal of a call with the vote on it, in order.
    pub(super) fn propose_and_poll(&mut self, call: Call<'_>) -> Progress<Arc<Vec<Polled>>> {
        let view = self.draft.view;
        view.once("polled", || {
            let chunks = call.chunks(self.parameters.items.propose);
            let polled = join(chunks, |chunk| {
                let proposals = self.propose(call, chunk)?;
                self.poll(call, chunk.0, &proposals)
            })?;
            Ok(polled.into_iter().flatten().collect())
        })
    }

    /// The proposals of a call, by chunk.
    fn proposals(&mut self, call: Call<'_>) -> Progress<Vec<Arc<Vec<Proposal>>>> {
        let chunks = call.chunks(self.parameters.items.propose);
        join(chunks, |chunk| self.propose(call, chunk))
    }

    /// Whether wordings are compared: they are recorded without a penalty, too, unless there are too many.
    fn are_compared(&self) -> bool {
        let stage = &self.parameters.proposer;
        self.parameters.uncertainty.repetition.weight > 0.0 || stage.prompts.saturating_mul(stage.n) <= MOST_COMPARED
    }

    /// For each proposal the share of its proposer's proposals that repeat it, itself included; 0 if wordings are not
    /// compared. A proposal that could not be read repeats nothing.
    fn repeated(&mut self, proposals: &[Arc<Vec<Proposal>>]) -> Progress<Arc<Vec<f32>>> {
        let view = self.draft.view;
        let repetition = self.parameters.uncertainty.repetition;
        view.once("repeated", || {
            let proposals: Vec<&Proposal> = proposals.iter().flat_map(|chunk| chunk.iter()).collect();
            let mut shares = vec![0.0; proposals.len()];
            if !self.are_compared() {
                return Ok(shares);
            }
            let own = |proposer: usize| -> Vec<usize> {
                let own = proposals.iter().enumerate().filter(|(_, proposal)| proposal.proposer == proposer);
                own.map(|(at, _)| at).collect()
            };
            let batches: Vec<Vec<usize>> = self.proposers.iter().map(|proposer| own(*proposer)).collect();
            let text = |at: &usize| proposals[*at].question.as_ref().map_or("", |question| &question.text).to_owned();
            let task = |(number, batch): (u32, &Vec<usize>)| Task {
                id: number.to_string(),
                check: Wordings {
                    texts: batch.iter().map(text).collect(),
                    distance: Tolerance::new(repetition.distance).unwrap_or_default(),
                }
                .into(),
            };
            let key = self.draft.key(REPETITION, 0);
            let tasks = || (0..).zip(&batches).map(task).collect();
            let verdicts = self.draft.verify(&key, batches.len(), tasks)?;
            for (batch, verdict) in batches.iter().zip(verdicts) {
                let clusters = verdict.clusters.iter().flatten();
                let clusters: Vec<u32> = clusters.map(|cluster| cluster.unwrap_or_default()).collect();
                let mut sizes: BTreeMap<u32, u32> = BTreeMap::new();
                for cluster in &clusters {
                    *sizes.entry(*cluster).or_default() += 1;
                }
                for (at, cluster) in batch.iter().zip(&clusters) {
                    shares[*at] = sizes[cluster] as f32 / batch.len() as f32;
                }
            }
            Ok(shares)
        })
    }

    /// The rewards of the proposals, with a row for each outcome.
    fn reward(&mut self, polled: &[Polled], repeated: &[f32]) -> Progress<Arc<Vec<f32>>> {
        let view = self.draft.view;
        view.once("rewards", || {
            let uncertainty = self.parameters.uncertainty;
            let rewards = polled.iter().zip(repeated).map(|(polled, share)| {
                let reward = uncertainty.reward(polled.is_read, polled.vote, *share);
                let outcome = polled.outcome(reward.total, reward.parts);
                self.draft.plan.records.outcomes.push(outcome);
                reward.total
            });
            Ok(rewards.collect())
        })
    }
}

impl Polled {
    /// The row of its outcome. The solve rate is the share of answers that are right by the label.
    pub(super) fn outcome(&self, reward: f32, reward_parts: serde_json::Value) -> ProblemOutcomeRecord {
        let attempts = self.vote.map_or(0, |vote| vote.of);
        ProblemOutcomeRecord {
            problem: self.problem,
            solve_rate: self.vote.map(|vote| self.correct as f32 / vote.of as f32),
            attempts,
            reward,
            reward_parts,
        }
    }
}

/// The prompts of the recipe.
pub(super) const TEMPLATES: [Template; 2] =
    [Template { name: "propose", doc: "Asks the proposer for a question and its answer.", variables: &[] }, SOLVE];

const QUESTION: Field = Field::last("question");

/// Reads an answer to a template of [`TEMPLATES`].
pub(super) fn reads(prompts: &PromptSet, template: &str, answer: &str) -> Result<(), String> {
    match template == SOLVE.name {
        true => prompts.reads(&[ANSWER], answer),
        false => prompts.reads(&[QUESTION, ANSWER], answer),
    }
}

/// Some prompts for proposals.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call<'p> {
    /// What the proposals are for.
    pub(super) purpose: Purpose,
    /// Prompts over all proposers.
    pub(super) prompts: u32,
    /// Proposals for each.
    pub(super) n: u32,
    pub(super) sampling: &'p Sampling,
}

#[derive(Clone, Debug)]
pub(super) struct Proposal {
    /// The proposer: a position among the members.
    pub(super) proposer: usize,
    /// The solver that votes on it.
    pub(super) solver: usize,
    /// Its place in the work.
    pub(super) sample: Sample,
    /// The completion.
    pub(super) text: String,
    /// Difference of masked and unmasked log-probabilities, in nats.
    pub(super) mask_mismatch: Option<f32>,
    /// The question and its stated answer, or why they cannot be read.
    pub(super) question: Result<Question, String>,
}

/// A question as it was proposed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Question {
    pub(super) text: String,
    pub(super) stated: String,
}

impl Question {
    /// Whether the stated answer is right; `None` if only people can tell. Only for metrics.
    pub(super) fn is_right(&self) -> Option<bool> {
        is_right(&self.text, &self.stated)
    }

    /// The question, or why there is no room for it. It was written with `tokens`.
    fn within(self, room: Option<&Room>, tokens: u32) -> Result<Self, String> {
        let texts = [("question", self.text.as_str())];
        let written = Written { texts: &texts, tokens };
        match room.and_then(|room| room.misfit(written)) {
            Some(reason) => Err(reason),
            None => Ok(self),
        }
    }
}

impl Call<'_> {
    /// The chunks that the prompts are cut into, each with its first prompt and the one after its last.
    pub(super) fn chunks(&self, size: u32) -> Vec<(u32, u32, u32)> {
        let chunk = |chunk: u32| (chunk, chunk * size, self.prompts.min((chunk + 1) * size));
        (0..self.prompts.div_ceil(size)).map(chunk).collect()
    }
}

impl Step<'_> {
    /// The proposals of a chunk. Prompts go round the proposers, and the questions of a prompt to one solver.
    pub(super) fn propose(
        &mut self,
        call: Call<'_>,
        (chunk, first, end): (u32, u32, u32),
    ) -> Progress<Arc<Vec<Proposal>>> {
        let key = self.draft.key(PROPOSE, chunk);
        let members = |number: u32| {
            let (number, proposers) = (number as usize, self.proposers.len());
            let solver = (number / proposers) % self.solvers.len();
            (self.proposers[number % proposers], self.solvers[solver])
        };
        let asked: Vec<(u32, (usize, usize))> = (first..end).map(|number| (number, members(number))).collect();
        let sampling = self.masked(call, &key);
        let prompt = self.propose_prompt()?.prompt;
        let result = self.draft.generate(&key, [asked.len(), call.n as usize], || {
            let requests = asked.iter().map(|(number, (proposer, _))| (*number, *proposer, prompt.clone()));
            Ok(Generation {
                sampling,
                samples: call.n,
                keep_tokens: call.purpose == Purpose::Train,
                draws: None,
                requests: requests.collect(),
            })
        })?;
        self.draft.view.once(&format!("proposals/{chunk}"), || {
            let room = self.room()?;
            let read = completions(&asked, result).map(|((number, (proposer, solver)), index, completion)| Proposal {
                proposer: *proposer,
                solver: *solver,
                sample: Sample::of(&key, *number, index, completion),
                text: completion.text.clone(),
                mask_mismatch: completion.mask_mismatch,
                question: self
                    .question(&completion.text, completion.finish_reason)
                    .and_then(|question| question.within((*room).as_ref(), completion.tokens)),
            });
            Ok(read.collect())
        })
    }

    /// The room for a question in the prompts that put it to solvers, to vote on it and, if it may be in the curriculum, to
    /// learn from it; `None` if their context is not known.
    fn room(&self) -> Result<Arc<Option<Room>>, PlanError> {
        self.draft.view.once("room", || {
            let Some(room) = Room::of(&self.draft.population(self.solvers[0])?.1.base_model.name) else {
                return Ok(None);
            };
            let longest = match self.stage.name {
                CURRICULUM => self.parameters.solver.sampling.max_tokens,
                _ => 0,
            };
            let longest = longest.max(self.parameters.vote.sampling.max_tokens);
            let room = room.showing(&self.prompts, &SOLVE, &[], longest);
            Ok(Some(room.map_err(prompt_error)?))
        })
    }

    /// The sampling of a batch, with a mask of its own.
    fn masked(&self, call: Call<'_>, key: &WorkKey) -> Sampling {
        let seed = derive(self.draft.run.config.seed, &format!("{key}/vocabulary-mask"), 0);
        Sampling { vocabulary_mask: self.mask(call.purpose, seed), ..call.sampling.clone() }
    }

    /// The mask of a batch with this seed; `None` where nothing is hidden.
    fn mask(&self, purpose: Purpose, seed: u64) -> Option<VocabularyMask> {
        let dropout = self.parameters.vocabulary_dropout.as_ref()?;
        let keep_rate = dropout.keep_rate(self.stage.iteration, self.parameters.iterations);
        dropout.mask(purpose, keep_rate, seed)
    }

    /// The keep rate of the step's masks; `None` if it has none.
    pub(super) fn keep_rate(&self) -> Option<f64> {
        let purpose = match self.stage.name {
            PROPOSER => Purpose::Train,
            CURRICULUM => Purpose::Generation,
            _ => return None,
        };
        Some(self.mask(purpose, 0)?.keep_rate)
    }

    fn question(&self, text: &str, finish: FinishReason) -> Result<Question, String> {
        let reading = self.prompts.grammar.read(&[QUESTION, ANSWER], text, finish, self.prompts.opening());
        let text = reading.text(QUESTION.name)?.to_owned();
        let stated = reading.text(ANSWER.name)?.to_owned();
        match text.is_empty() || stated.is_empty() {
            true => Err("the question or its answer is empty".to_owned()),
            false => Ok(Question { text, stated }),
        }
    }
}
