//! Questions of mathematics: put to solvers, read and judged. Shared by recipes that pose them (R-Zero, SAGE).

use super::judge::Given;
use crate::{
    arithmetic,
    contract::{PlanError, StepView},
    id::ProblemId,
    problem::Values,
    prompt::{Answer, Field, PromptError, PromptSet, Template, Variable},
    verify::{Check, MathPair},
    work::{Completion, Prompt},
};

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

/// Whether a stated answer is right; `None` if only people can tell. For metrics alone.
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
            let pair = MathPair {
                gold: gold.to_owned(),
                answer: answer.clone(),
                plain: false,
            };
            Given::checked(id, answer, Check::Math(pair))
        }
        Err(reason) => Given::unreadable(id, reason),
    }
}
