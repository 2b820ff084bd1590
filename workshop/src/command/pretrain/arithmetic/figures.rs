//! The results of an evaluation, as in `evaluation.json`. Shares are from 0 to 1.

use serde::{Deserialize, Serialize};

use crate::command::pretrain::figures::OwnProblems;
use crate::command::pretrain::training::Totals;

/// The whole report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(in super::super) struct Evaluation {
    /// The cost of training the model.
    pub(super) training: Option<Totals>,
    /// Total number of weights.
    pub(super) parameters: usize,
    /// Questions proposed without a reference (R-Zero).
    pub(super) proposals: Proposals,
    /// Questions proposed like one that is shown (SAGE).
    pub(super) challenges: Proposals,
    /// Answers to the model's own proposals that are understood.
    pub(super) own: OwnProblems,
    /// Shares of those questions.
    pub(super) votes: Votes,
    /// Answers to held-out questions, by level.
    pub(super) held_out: Vec<Band>,
    /// Plans for held-out questions.
    pub(super) plans: Plans,
    /// Scores of questions with their answers.
    pub(super) question_critic: Critic,
    /// Scores of plans.
    pub(super) plan_critic: Critic,
}

/// Proposed questions with their stated answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Proposals {
    pub(super) asked: usize,
    /// Share with the right format.
    pub(super) well_formed: f64,
    /// Share that the evaluator understands.
    pub(super) understood: f64,
    /// Share of those whose stated answer is right.
    pub(super) right: f64,
    /// Share of those that differ from all others as text.
    pub(super) distinct: f64,
    /// Mean number of their operations.
    pub(super) operations: f64,
}

/// Majority votes on the model's own questions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Votes {
    /// Mean share of the most frequent answer among all answers.
    pub(super) agreement: f64,
    /// Share of questions whose most frequent answer is from 30 to 70 % of all answers: R-Zero's band.
    pub(super) in_band: f64,
    /// Share of questions whose most frequent answer is right.
    pub(super) right: f64,
    /// Share of questions whose most frequent answer is the stated one.
    pub(super) as_stated: f64,
}

/// Answers to the held-out questions of one level.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(in super::super) struct Band {
    pub(super) level: u8,
    pub(super) questions: usize,
    /// Share of greedy answers that are right.
    pub(super) greedy: f64,
    /// Share of greedy answers with steps.
    pub(super) greedy_steps: f64,
    /// Share of answers at temperature 1 that are right.
    pub(super) sampled: f64,
    /// Share of questions with a right answer among those sampled.
    pub(super) any: f64,
    /// Share of sampled answers with steps.
    pub(super) steps: f64,
    /// Share of those that are right.
    pub(super) steps_right: f64,
    /// Share of the other sampled answers that are right.
    pub(super) direct_right: f64,
    /// Share of sampled answers with the right format.
    pub(super) well_formed: f64,
    /// Mean number of tokens of a sampled answer.
    pub(super) tokens: f64,
}

/// Greedy plans for held-out questions of all levels, and greedy answers with their help.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Plans {
    pub(super) asked: usize,
    pub(super) well_formed: f64,
    /// Share whose value is that of the question.
    pub(super) right: f64,
    /// Share of right answers with the true plan.
    pub(super) solved_with_plan: f64,
    /// Share of right answers without a plan.
    pub(super) solved_without: f64,
}

/// Scores at temperature 1 of sound and unsound questions or plans.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Critic {
    pub(super) asked: usize,
    /// Share of completions with a number from 1 to 10.
    pub(super) well_formed: f64,
    /// Chance that a sound one has a higher score than an unsound one; ties count half (the area under the ROC curve).
    pub(super) auc: f64,
    /// Mean scores of bad, doubtful and sound ones.
    pub(super) means: [f64; 3],
}
