//! A step of RLVR.

use serde::{Deserialize, Serialize};

use super::Parameters;
use crate::{
    advantage::Sampled,
    recipe::{
        Learner, Lesson, Living, PlanError, Progress, RunState, Sequence, StepView, join,
        rows::{Answer, Rows, records},
    },
};

/// What a run of RLVR remembers between steps: its members. Rows are drawn from the step's number, so no place in the dataset
/// is kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Memory {
    pub(super) members: Vec<Living>,
}

/// The phases, in order.
pub(super) struct Step<'a> {
    pub(super) rows: Rows<'a>,
    parameters: &'a Parameters,
}

impl<'a> Step<'a> {
    pub(super) fn new(run: &'a RunState, view: &'a StepView, parameters: &'a Parameters) -> Result<Self, PlanError> {
        let members = run.memory::<Memory>()?.members;
        Ok(Self {
            rows: Rows::new(run, view, &parameters.prompts, members)?,
            parameters,
        })
    }

    /// Draw → solve → grade → advantages → update.
    pub(super) fn play(&mut self) -> Progress<RunState> {
        self.rows.draft.born()?;
        let Parameters {
            dataset,
            n,
            sampling,
            items,
            learning,
            ..
        } = self.parameters;
        let questions = self.rows.questions(dataset.settled()?.0, &self.drawn()?)?;
        let chunks = (0..).zip(questions.chunks(items.solve as usize));
        let answers = join(chunks, |(chunk, questions)| {
            let solved = self.rows.solve(chunk, questions, *n, sampling)?;
            self.rows.grade(chunk, questions, solved)
        })?;
        let answers: Vec<Answer> = answers.iter().flat_map(|part| part.iter().cloned()).collect();
        let learners = self.learners(&answers);
        let draft = &mut self.rows.draft;
        let updated = draft.update(Lesson { learning, items }, &learners)?;
        draft.adopt(&updated);
        draft.plan.records.metrics = records(draft, &answers, &updated);
        let members = std::mem::take(&mut draft.members);
        Ok(draft.run.next("", &Memory { members })?)
    }

    /// The rows of every member's batch, each with the member's place: out of the whole dataset, or out of the member's slice.
    fn drawn(&self) -> Result<Vec<(usize, u32)>, PlanError> {
        let Parameters {
            dataset,
            sampler,
            slices,
            batch,
            ..
        } = self.parameters;
        let (_, available) = dataset.settled()?;
        let draft = &self.rows.draft;
        let count = draft.members.len() as u64;
        let cut = |member: usize| (u64::from(available) * member as u64 / count) as u32;
        let drawn = draft.members.iter().enumerate().flat_map(|(place, member)| {
            let rows = if *slices {
                cut(place)..cut(place + 1)
            } else {
                0..available
            };
            let path = format!("rows/{}", member.name);
            let rows = sampler.draw(rows, *batch, draft.run.config.seed, &path, draft.run.step);
            rows.into_iter().map(move |row| (place, row))
        });
        Ok(drawn.collect())
    }

    /// Every member with its own answers and their advantages.
    fn learners(&self, answers: &[Answer]) -> Vec<Learner> {
        let scale = self.parameters.learning.reward_scale;
        let learner = |member: usize| {
            let own = answers.iter().filter(|answer| answer.member == member);
            let sequences: Vec<Sequence> = own.map(|answer| answer.sequence.clone()).collect();
            let scaled = |Sequence { sampled, .. }: &Sequence| {
                let reward = sampled.reward * scale;
                ((), Sampled { reward, ..*sampled })
            };
            let batch: Vec<((), Sampled)> = sequences.iter().map(scaled).collect();
            Learner {
                member,
                advantages: self.parameters.advantages.advantages(&batch),
                sequences,
                ..Learner::default()
            }
        };
        (0..self.rows.draft.members.len()).map(learner).collect()
    }
}
