//! A step: one of the four stages.

use serde::{Deserialize, Serialize};
use std::sync::Arc;

use super::Parameters;
use super::metrics::{Tally, records};
use super::parameters::{CURRICULUM, PROPOSER, SOLVER};
use super::proposer::Call;
use crate::artifact::Digest;
use crate::contract::{CostClass, Phase, PlanError, Role, RunState, Stage, StepView};
use crate::diversity::PHASE;
use crate::id::ProblemId;
use crate::kit::judge::{prompt_error, question_of};
use crate::kit::{Draft, Learner, LearningConfig, Lesson, Member, Progress, Sequence};
use crate::prompt::{PromptSet, Rendered};
use crate::seed::derive;
use crate::vocabulary_dropout::Purpose;
use crate::work::{AdapterRef, DiversityRequest, EmbeddingBatch, MemberUpdated, RolloutPayload, Sampling};

/// A step being planned.
pub(super) struct Step<'a> {
    pub(super) draft: Draft<'a>,
    pub(super) parameters: &'a Parameters,
    pub(super) memory: Memory,
    pub(super) stage: Stage,
    pub(super) prompts: Arc<PromptSet>,
    /// Positions of the members that propose.
    pub(super) proposers: Vec<usize>,
    /// Positions of the members that solve.
    pub(super) solvers: Vec<usize>,
}

impl<'a> Step<'a> {
    pub(super) fn new(
        run: &'a RunState,
        view: &'a StepView,
        parameters: &'a Parameters,
        mut memory: Memory,
    ) -> Result<Self, PlanError> {
        let over = || PlanError::Other(format!("step {} is after the last stage", run.step));
        let draft = Draft::new(run, view, std::mem::take(&mut memory.members));
        let playing = |role: Role| -> Vec<usize> {
            let members = draft.members.iter().enumerate();
            members.filter(|(_, member)| member.plays(role)).map(|(place, _)| place).collect()
        };
        Ok(Self {
            stage: parameters.stages().at(run.step).ok_or_else(over)?,
            prompts: view.once("prompts", || PromptSet::compile(&parameters.prompts).map_err(prompt_error))?,
            proposers: playing(Role::Proposer),
            solvers: playing(Role::Solver),
            draft,
            parameters,
            memory,
        })
    }

    /// Train proposers, or generate a curriculum, or train solvers, or measure diversity.
    pub(super) fn play(&mut self) -> Progress<RunState> {
        self.draft.born()?;
        self.begin_stage();
        let tally = match self.stage.name {
            PROPOSER => self.train_proposers()?,
            CURRICULUM => self.generate_curriculum()?,
            SOLVER => self.train_solvers()?,
            _ => self.measure_diversity()?,
        };
        self.finish(&tally)
    }

    /// Remembers where the stage starts.
    fn begin_stage(&mut self) {
        if self.stage.index > 0 {
            return;
        }
        for member in &mut self.draft.members {
            if let Some(adapter) = member.adapter.as_mut().filter(|_| self.parameters.restart_optimizers) {
                adapter.optimizer = None;
            }
        }
        self.memory.stage_start = self.draft.members.iter().map(|member| member.adapter).collect();
    }

    /// Updates members, each from its own sequences; returns once all are there.
    pub(super) fn update(
        &mut self,
        learning: &LearningConfig,
        lessons: &[(usize, Sequence)],
    ) -> Progress<Vec<&'a MemberUpdated>> {
        let learners: Vec<Learner> =
            (0..self.draft.members.len()).map(|member| self.learner(member, learning, lessons)).collect();
        let items = &self.parameters.items;
        let updated = self.draft.update(Lesson { learning, items }, &learners)?;
        self.draft.adopt(&updated);
        Ok(updated)
    }

    fn learner(&self, member: usize, learning: &LearningConfig, lessons: &[(usize, Sequence)]) -> Learner {
        let own = lessons.iter().filter(|(learner, _)| *learner == member);
        let sequences: Vec<Sequence> = own.map(|(_, sequence)| sequence.clone()).collect();
        let mut batch: Vec<_> = sequences.iter().map(|sequence| ((), sequence.sampled)).collect();
        learning.alter(&mut batch, self.draft.run, &self.draft.members[member].name);
        let start = self.memory.stage_start.get(member).copied().flatten();
        Learner {
            member,
            advantages: self.parameters.advantages.advantages(&batch),
            sequences,
            kl_reference: start.filter(|_| self.parameters.kl_to_stage_start && learning.loss.kl != 0.0),
            ..Learner::default()
        }
    }

    /// Metrics, and the state before the next step.
    fn finish(&mut self, tally: &Tally<'_>) -> Progress<RunState> {
        let run = self.draft.run;
        let records = records(self, tally)?;
        self.draft.plan.records.metrics = records;
        self.memory.members = std::mem::take(&mut self.draft.members);
        let next = run.next(self.parameters.stages().name_at(run.step + 1), &self.memory)?;
        let vectors = self.memory.embedded.iter().map(|(vectors, _)| *vectors);
        Ok(next.keeping(vectors))
    }

    /// The prompt for a proposal, always the same.
    pub(super) fn propose_prompt(&self) -> Result<Rendered, PlanError> {
        self.prompts.render("propose", minijinja::context! {}).map_err(prompt_error)
    }

    /// Proposals for each prompt of the stage.
    pub(super) fn samples_per_prompt(&self) -> u32 {
        match self.stage.name {
            PROPOSER => self.parameters.proposer.n,
            _ => 1,
        }
    }
}

/// What a run remembers between steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    pub(super) members: Vec<Member>,
    /// Each member's version at the start of the stage.
    #[serde(default)]
    pub(super) stage_start: Vec<Option<AdapterRef>>,
    /// The valid questions of the last curriculum, in order.
    #[serde(default)]
    pub(super) curriculum: Vec<ProblemId>,
    /// The places in it of the questions that solvers learn from.
    #[serde(default)]
    pub(super) pool: Vec<u32>,
    /// The embeddings of each earlier curriculum, and the number of its questions.
    #[serde(default)]
    pub(super) embedded: Vec<(Digest, u32)>,
}

// The stage that generates questions: propose → vote → tally → keep those that solvers are unsure of.

impl<'a> Step<'a> {
    fn generate_curriculum(&mut self) -> Progress<Tally<'a>> {
        let stage = &self.parameters.curriculum;
        let call = Call { purpose: Purpose::Generation, prompts: stage.questions, n: 1, sampling: &stage.sampling };
        let polled = self.propose_and_poll(call)?;
        let (mut questions, mut pool) = (Vec::new(), Vec::new());
        for polled in polled.iter() {
            let outcome = polled.outcome(0.0, serde_json::json!({}));
            self.draft.plan.records.outcomes.push(outcome);
            if !polled.is_read {
                continue;
            }
            if polled.vote.is_some_and(|vote| stage.band.has(vote.count, vote.of)) {
                pool.extend(u32::try_from(questions.len()));
            }
            questions.push(polled.problem);
        }
        let accepted = pool.len();
        (self.memory.curriculum, self.memory.pool) = (questions, pool);
        Ok(Tally {
            polled: polled.to_vec(),
            curriculum: Some([self.memory.curriculum.len(), accepted]),
            ..Tally::default()
        })
    }
}

// The stage that measures how much the questions of the curriculum differ.

pub(super) const DIVERSITY: Phase = Phase::new(PHASE, CostClass::Diversity);

impl<'a> Step<'a> {
    /// All valid questions are measured, whether learned from or not; nothing if there are none.
    fn measure_diversity(&mut self) -> Progress<Tally<'a>> {
        let questions = self.memory.curriculum.clone();
        if questions.is_empty() {
            return Ok(Tally::default());
        }
        self.draft.problems(questions.iter().copied())?;
        let key = self.draft.key(DIVERSITY, 0);
        let proposer = self.proposers[0];
        let config = &self.parameters.diversity;
        let earlier = self.memory.embedded.clone();
        let view = self.draft.view;
        let texts = questions.iter().map(|problem| Ok(question_of(view, *problem)?.0));
        let texts = texts.collect::<Result<Vec<String>, PlanError>>()?;
        let result = self.draft.rollout(&key, |draft| {
            Ok(RolloutPayload {
                embedding: Some(EmbeddingBatch {
                    texts,
                    against: earlier.into_iter().map(|(vectors, count)| (vectors, (0..count).collect())).collect(),
                    centred: false,
                    diversity: Some(DiversityRequest {
                        novelty_distance: config.novelty_distance,
                        cumulative: config.cumulative,
                        observer: config.epiplexity.clone(),
                        seed: derive(draft.run.config.seed, &key.to_string(), 0),
                    }),
                }),
                ..RolloutPayload::new(
                    draft.population(proposer)?.1.base_model.clone(),
                    draft.run.config.compute,
                    Sampling::default(),
                )
            })
        })?;
        let missing = || PlanError::Other("the diversity of the curriculum was not measured".to_owned());
        let embedded = result.embedded.as_ref().ok_or_else(missing)?;
        let diversity = embedded.diversity.ok_or_else(missing)?;
        self.memory.embedded.push((embedded.vectors, questions.len() as u32));
        Ok(Tally { diversity: Some(diversity), ..Tally::default() })
    }
}
