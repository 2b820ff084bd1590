//! A step: one of the paper's phases (Algorithm 1).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use strum::{IntoStaticStr, VariantArray};

use super::Parameters;
use super::metrics::{Tally, records};
use super::parameters::{LEMMA, LIFT};
use super::templates::Sizes;
use crate::artifact::Digest;
use crate::contract::{Plan, PlanError, Role, RunState, Stage, StepView};
use crate::id::ProblemId;
use crate::kit::code::Problem;
use crate::kit::judge::prompt_error;
use crate::kit::rows::{Fitted, Rows, SamplerState, row_answers};
use crate::kit::{Draft, Member, Progress};
use crate::prompt::PromptSet;
use crate::recipes::rlvr;

/// A step being planned.
pub(super) struct Step<'a> {
    pub(super) draft: Draft<'a>,
    pub(super) parameters: &'a Parameters,
    pub(super) memory: Memory,
    stage: Stage,
    pub(super) prompts: Arc<PromptSet>,
    pub(super) sizes: Arc<Sizes>,
}

impl<'a> Step<'a> {
    pub(super) fn new(
        run: &'a RunState,
        view: &'a StepView,
        parameters: &'a Parameters,
        stage: Stage,
        mut memory: Memory,
    ) -> Result<Self, PlanError> {
        let prompts = view.once("prompts", || PromptSet::compile(&parameters.prompts).map_err(prompt_error))?;
        Ok(Self {
            draft: Draft::new(run, view, std::mem::take(&mut memory.members)),
            stage,
            sizes: view.once("sizes", || Sizes::measure(&prompts, parameters).map_err(prompt_error))?,
            prompts,
            parameters,
            memory,
        })
    }

    /// Make lemmas from goalposts, or lifts from lemmas, or train the student on both.
    pub(super) fn play(&mut self) -> Progress<RunState> {
        self.draft.born()?;
        let tally = match self.stage.name {
            LEMMA => self.make_lemmas()?,
            LIFT => self.make_lifts()?,
            _ => self.train_student()?,
        };
        self.finish(&tally)
    }

    /// Metrics, and the state before the next step.
    fn finish(&mut self, tally: &Tally<'_>) -> Progress<RunState> {
        let records = records(&self.draft, self.parameters, &self.memory, tally)?;
        self.draft.plan.records.metrics = records;
        self.memory.members = std::mem::take(&mut self.draft.members);
        self.parameters.next(self.draft.run, &self.memory)
    }

    /// The position of the member that plays `role`.
    pub(super) fn player(&self, role: Role) -> Result<usize, PlanError> {
        let place = self.draft.members.iter().position(|member| member.plays(role));
        place.ok_or_else(|| PlanError::Other(format!("nobody plays {}", role.name())))
    }

    /// A lemma or lift of an earlier step.
    pub(super) fn stone(&self, id: ProblemId) -> Result<Problem, PlanError> {
        let found = self.draft.view.problems.get(&id).and_then(Problem::of);
        found.ok_or_else(|| PlanError::Other(format!("problem {id} is not valid")))
    }
}

impl Parameters {
    /// The stage of a run's next step.
    pub(super) fn stage(&self, run: &RunState) -> Result<Stage, PlanError> {
        let over = || PlanError::Other(format!("step {} is after the last stage", run.step));
        self.stages().at(run.step).ok_or_else(over)
    }

    /// The state before the next step.
    pub(super) fn next(&self, run: &RunState, memory: &Memory) -> Progress<RunState> {
        let next = run.next(self.stages().name_at(run.step + 1), memory)?;
        Ok(next.keeping(memory.buffers.vectors()))
    }
}

/// Along what the difficulty of a problem is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[derive(Serialize, Deserialize, JsonSchema, IntoStaticStr, VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Axis {
    /// Inputs and outputs: the form of the data, and the examples.
    Io,
    /// The program itself.
    F,
}

crate::named!(Axis, "an axis of difficulty");

/// The two kinds of stepping stones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stone {
    Lemma,
    Lift,
}

/// What a run remembers between steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    pub(super) members: Vec<Member>,
    /// The accepted lemmas of the iteration.
    pub(super) lemmas: Vec<Lemma>,
    /// The accepted lifts of the iteration.
    pub(super) lifts: Vec<ProblemId>,
    /// The global buffers.
    pub(super) buffers: Buffers,
    /// The rows of real data that are known to fit into the context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) fitted: Option<Fitted>,
    /// The state of the sampler of real rows, by member.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) sampler: BTreeMap<String, SamplerState>,
}

/// An accepted lemma, and the axis that its lifts inherit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Lemma {
    pub(super) problem: ProblemId,
    pub(super) axis: Axis,
}

/// The global buffers: all accepted lemmas and lifts so far, as rows of embeddings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Buffers {
    /// The first embeddings of the run, whose mean centres similarities.
    pub(super) reference: Option<Digest>,
    pub(super) lemmas: Vec<Block>,
    pub(super) lifts: Vec<Block>,
}

/// The accepted problems of a round.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Block {
    /// The embeddings of the round's candidates.
    pub(super) vectors: Digest,
    /// Rows there, each with its problem.
    pub(super) rows: Vec<(u32, ProblemId)>,
}

impl Buffers {
    pub(super) fn of(&self, stone: Stone) -> &[Block] {
        match stone {
            Stone::Lemma => &self.lemmas,
            Stone::Lift => &self.lifts,
        }
    }

    pub(super) fn of_mut(&mut self, stone: Stone) -> &mut Vec<Block> {
        match stone {
            Stone::Lemma => &mut self.lemmas,
            Stone::Lift => &mut self.lifts,
        }
    }

    /// The number of problems in both.
    pub(super) fn len(&self) -> usize {
        self.blocks().map(|block| block.rows.len()).sum()
    }

    /// The blocks of lemmas, then those of lifts.
    pub(super) fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.lemmas.iter().chain(&self.lifts)
    }

    /// The embeddings that must be kept.
    pub(super) fn vectors(&self) -> impl Iterator<Item = Digest> {
        self.reference.into_iter().chain(self.blocks().map(|block| block.vectors))
    }
}

// RLVR on real data after an iteration (section 3.4): a step of the recipe `rlvr` on the student.

/// A step of the stage `real_data` being planned.
pub(super) struct RealData<'a> {
    rlvr: rlvr::step::Step<'a>,
    parameters: &'a Parameters,
    memory: Memory,
}

impl<'a> RealData<'a> {
    pub(super) fn new(
        run: &'a RunState,
        view: &'a StepView,
        (parameters, real): (&'a Parameters, &'a rlvr::Parameters),
        stage: &Stage,
        mut memory: Memory,
    ) -> Result<Self, PlanError> {
        let members = std::mem::take(&mut memory.members);
        let rows = Rows::new(run, view, &real.prompts, members)?;
        let batches = stage.iteration * stage.of + stage.index;
        let before = (memory.fitted.take(), std::mem::take(&mut memory.sampler));
        Ok(Self { rlvr: rlvr::step::Step::within(rows, real, before, batches), parameters, memory })
    }

    /// Draw → solve → grade → update, once every row is known to fit into the context.
    pub(super) fn play(&mut self) -> Progress<RunState> {
        self.rlvr.fit()?;
        let (answers, updated) = self.rlvr.learn()?;
        let draft = &mut self.rlvr.rows.draft;
        draft.adopt(&updated);
        draft.plan.records.row_answers = row_answers(&answers);
        let tally = Tally { answers, updated, ..Tally::default() };
        let records = records(draft, self.parameters, &self.memory, &tally)?;
        draft.plan.records.metrics = records;
        self.memory.members = std::mem::take(&mut draft.members);
        self.memory.fitted = self.rlvr.fitted.take();
        self.memory.sampler = std::mem::take(&mut self.rlvr.sampler);
        self.parameters.next(self.rlvr.rows.draft.run, &self.memory)
    }

    /// The plan of the step with this outcome.
    pub(super) fn close(self, outcome: Progress<RunState>) -> Result<Plan, PlanError> {
        self.rlvr.rows.draft.close(outcome)
    }
}
