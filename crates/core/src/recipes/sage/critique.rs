//! The critic scores questions and plans.

use std::sync::Arc;

use super::RewardWeights;
use super::ask::{Call, SCORE_FIELDS, Said, Templates};
use super::step::Step;
use super::task::Task;
use crate::contract::gates::number;
use crate::contract::{AttemptRecord, CostClass, Phase, PlanError, Role, SCORE_OF_PLAN, SCORE_OF_QUESTION};
use crate::kit::judge::Judged;
use crate::kit::{Progress, Sequence};
use crate::prompt::{Answer, PromptError, PromptSet, Reading, Rendered};
use crate::verify::Status;

pub(super) const CRITIQUE_QUESTION: Phase = Phase::new("critique-question", CostClass::Critique);
pub(super) const CRITIQUE_PLAN: Phase = Phase::new("critique-plan", CostClass::Critique);

/// What the critic scores.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    pub(super) task: Arc<Task>,
    /// The plan for it; without one, the question itself is scored.
    pub(super) plan: Option<String>,
}

/// A score.
#[derive(Clone, Debug)]
pub(super) struct Critique {
    /// From 0 to 1.
    pub(super) score: f32,
    /// Whether the critic gave a number.
    pub(super) is_scored: bool,
    /// What the critic learns from.
    pub(super) sequence: Sequence,
}

/// Questions or plans that are scored.
#[derive(Clone, Copy, Debug)]
pub(super) enum Scored {
    Questions,
    Plans,
}

impl Scored {
    fn phase(self) -> Phase {
        match self {
            Self::Questions => CRITIQUE_QUESTION,
            Self::Plans => CRITIQUE_PLAN,
        }
    }

    /// What a score is of.
    fn label(self) -> &'static str {
        match self {
            Self::Questions => SCORE_OF_QUESTION,
            Self::Plans => SCORE_OF_PLAN,
        }
    }
}

fn prompt(prompts: &PromptSet, subject: &Subject) -> Result<Rendered, PromptError> {
    let Subject { task, plan } = subject;
    let templates = Templates::of(task.kind());
    let template = match plan {
        Some(_) => templates.critique_plan,
        None => templates.critique_question,
    };
    prompts.render(template.name, task.variables(plan.as_deref()))
}

impl Step<'_> {
    /// The scores of a chunk of numbered subjects, in order, each with its row.
    pub(super) fn critique(
        &mut self,
        scored: Scored,
        chunk: u32,
        subjects: &[(u32, Subject)],
    ) -> Progress<Vec<(Critique, AttemptRecord)>> {
        let parameters = self.parameters;
        let call = Call {
            phase: scored.phase(),
            role: Role::Critic,
            samples: 1,
            sampling: &parameters.sampling.critique,
            is_learned: true,
        };
        let said = self.ask(call, chunk, subjects, prompt)?;
        let critiques = subjects.iter().zip(said.into_iter().flatten());
        let critiques = critiques.map(|((_, subject), said)| self.scored(scored, subject, &said));
        Ok(critiques.collect::<Result<_, PlanError>>()?)
    }

    fn scored(
        &self,
        scored: Scored,
        subject: &Subject,
        said: &Said<'_>,
    ) -> Result<(Critique, AttemptRecord), PlanError> {
        let reading = self.read(&SCORE_FIELDS, said.completion);
        let (stated, answer) = stated(&reading);
        let reward = RewardWeights::critique(reading.score());
        let critique = Critique {
            score: self.parameters.score_scale.score(stated),
            is_scored: stated.is_some(),
            sequence: said.sample.sequence(reward.total, said.sample.request),
        };
        let label = scored.label();
        let judged = Judged {
            correct: false,
            status: if answer.is_ok() { Status::Ok } else { Status::Malformed },
            reason: match &answer {
                Ok(_) => label.to_owned(),
                Err(reason) => format!("{label}: {reason}"),
            },
            answer,
        };
        let record = self.attempt((Role::Critic, subject.task.problem), said, judged, reward)?;
        Ok((critique, record))
    }
}

/// The number that the critic gave, and the text that it is in.
fn stated(reading: &Reading) -> (Option<f64>, Answer) {
    match reading.text("score") {
        Ok(text) => match number(text) {
            Some(stated) => (Some(stated), Ok(text.to_owned())),
            None => (None, Err("there is no number in the score".to_owned())),
        },
        Err(reason) => (None, Err(reason)),
    }
}
