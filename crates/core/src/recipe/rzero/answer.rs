//! Puts questions to solvers and reads their answers.

use super::{
    propose::{ANSWER, prompt_error},
    step::Step,
};
use crate::{
    prompt::{Answer, PromptSet},
    recipe::PlanError,
    work::{Completion, Prompt},
};

/// The prompt for a question.
pub(super) fn prompt(prompts: &PromptSet, question: &str) -> Result<Prompt, PlanError> {
    let rendered = prompts.render("solve", minijinja::context! { question });
    Ok(rendered.map_err(prompt_error)?.prompt)
}

impl Step<'_> {
    /// The answer in a completion: the last box.
    pub(super) fn read_answer(&self, completion: &Completion) -> Answer {
        let (text, finish) = (&completion.text, completion.finish_reason);
        let reading = self
            .prompts
            .grammar
            .read(&[ANSWER], text, finish, self.prompts.opening());
        match reading.text(ANSWER.name)? {
            "" => Err("the answer is empty".to_owned()),
            answer => Ok(answer.to_owned()),
        }
    }
}
