//! Answers judged by a verifier. Shared by recipes whose solvers answer questions (R-Zero, SAGE).

use super::{Draft, Progress};
use crate::arithmetic;
use crate::contract::{PlanError, StepView};
use crate::id::ProblemId;
use crate::problem::Values;
use crate::prompt::{Answer, Field, PromptError, PromptSet, Template, Variable};
use crate::verify::{Check, MathPair, Status, Task};
use crate::work::{Completion, Prompt, WorkKey};

/// An answer to be judged.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    /// Names its task among those of the item.
    id: String,
    answer: String,
    /// How it is judged, or why it cannot be read, and is wrong.
    check: Result<Check, String>,
}

impl Given {
    /// An answer that `check` decides about.
    pub(crate) fn checked(id: String, answer: String, check: Check) -> Self {
        let check = Ok(check);
        Self { id, answer, check }
    }

    /// An answer that cannot be read.
    pub(crate) fn unreadable(id: String, reason: String) -> Self {
        Self { id, answer: String::new(), check: Err(reason) }
    }
}

/// A judged answer.
#[derive(Clone, Debug)]
pub(crate) struct Judged {
    pub(crate) answer: Answer,
    pub(crate) correct: bool,
    pub(crate) status: Status,
    /// Why it is wrong, or cannot be read; may be empty.
    pub(crate) reason: String,
}

impl Draft<'_> {
    /// Judges answers, in order, in the item at `key`.
    pub(crate) fn judge(&mut self, key: &WorkKey, given: Vec<Given>) -> Progress<Vec<Judged>> {
        let tasks = given.iter().filter_map(|one| Some(Task { id: one.id.clone(), check: one.check.clone().ok()? }));
        let readable = given.iter().map(|one| one.check.is_ok());
        let verdicts = self.verify_some(key, readable, || tasks.collect())?;
        let judged = given.into_iter().zip(verdicts).map(|(Given { answer, check, .. }, verdict)| Judged {
            correct: verdict.is_some_and(|verdict| verdict.correct == Some(true)),
            status: verdict.map_or(Status::Malformed, |verdict| verdict.status),
            reason: match &check {
                Ok(_) => verdict.map(|verdict| verdict.reason.clone()).unwrap_or_default(),
                Err(reason) => reason.clone(),
            },
            answer: check.map(|_| answer),
        });
        Ok(judged.collect())
    }
}

// Questions of mathematics: put to solvers, read and judged. Shared by recipes that pose them (R-Zero, SAGE).

/// The prompt for a solver.
pub(crate) const SOLVE: Template = Template {
    name: "solve",
    doc: "Puts a question to the solver.",
    variables: &[Variable::text("question", "What is 1 + 1?")],
};

/// The answer of a solver.
pub(crate) const ANSWER: Field = Field::boxed("answer");

/// The prompt that puts a question to a solver.
pub(crate) fn solve_prompt(prompts: &PromptSet, question: &str) -> Result<Prompt, PlanError> {
    let rendered = prompts.render(SOLVE.name, minijinja::context! { question });
    Ok(rendered.map_err(prompt_error)?.prompt)
}

/// The failure of a prompt of a resolved config.
pub(crate) fn prompt_error(error: PromptError) -> PlanError {
    PlanError::Other(error.to_string())
}

/// The answer in a solver's completion: the last box.
pub(crate) fn read_answer(prompts: &PromptSet, completion: &Completion) -> Answer {
    let (text, finish) = (&completion.text, completion.finish_reason);
    let reading = prompts.grammar.read(&[ANSWER], text, finish, prompts.opening());
    reading.text(ANSWER.name).map(str::to_owned)
}

/// The question and the correct answer of a problem in the view.
pub(crate) fn question_of(view: &StepView, problem: ProblemId) -> Result<(String, String), PlanError> {
    let values = view.problems.get(&problem).map(|record| record.values.clone());
    match values.map(serde_json::from_value).transpose()? {
        Some(Values::Math { question, answer }) => Ok((question, answer)),
        _ => Err(PlanError::Other(format!("problem {problem} has no question"))),
    }
}

/// Whether a stated answer is right; `None` if only people can tell. Only for metrics.
pub(crate) fn is_right(question: &str, stated: &str) -> Option<bool> {
    match arithmetic::judge(question, stated) {
        arithmetic::Judgement::Right => Some(true),
        arithmetic::Judgement::Wrong { .. } => Some(false),
        arithmetic::Judgement::Unknown(_) => None,
    }
}

/// An answer whose correct one is `gold`, to be judged; `id` names its task among those of the item.
pub(crate) fn given(id: String, gold: &str, answer: Answer) -> Given {
    match answer {
        Ok(answer) => {
            let pair = MathPair { gold: gold.to_owned(), answer: answer.clone(), plain: false };
            Given::checked(id, answer, Check::Math(pair))
        }
        Err(reason) => Given::unreadable(id, reason),
    }
}
