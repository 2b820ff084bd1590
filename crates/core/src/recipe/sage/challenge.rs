//! The challenger poses tasks, each like one of the growing set.

use std::sync::Arc;

use super::{
    ask::Call,
    format::{CHALLENGE, CHALLENGE_FIELDS},
    step::Step,
    task::Task,
};
use crate::{
    id::ProblemId,
    prompt::{PromptError, PromptSet, Reading, Rendered},
    recipe::{Progress, Role, Sample},
};

/// A task as the challenger posed it.
#[derive(Clone, Debug)]
pub(super) struct Challenge {
    /// Its number in the step.
    pub(super) number: u32,
    pub(super) sample: Sample,
    /// The completion.
    pub(super) text: String,
    /// The task that was shown.
    pub(super) reference: Arc<Task>,
    /// The question with its stated answer, or why they cannot be read.
    pub(super) task: Result<Arc<Task>, String>,
    /// Why there is no verifier for its type.
    pub(super) unverifiable: Option<String>,
    /// The format reward.
    pub(super) format: f32,
}

/// The prompt that shows a task of the growing set.
pub(super) fn prompt(prompts: &PromptSet, reference: &Task) -> Result<Rendered, PromptError> {
    let Task { question, answer, .. } = reference;
    prompts.render(CHALLENGE.name, minijinja::context! { question, answer })
}

impl Step<'_> {
    /// The challenges of a chunk of numbered references.
    pub(super) fn challenge(&mut self, chunk: u32, references: &[(u32, Arc<Task>)]) -> Progress<Vec<Challenge>> {
        let parameters = self.parameters;
        let call = Call {
            phase: "challenge",
            role: Role::Challenger,
            samples: 1,
            sampling: &parameters.sampling.challenge,
            is_learned: true,
        };
        let said = self.ask(call, chunk, references, |prompts, reference| prompt(prompts, reference))?;
        let posed = references.iter().zip(said.into_iter().flatten());
        let challenges = posed.map(|((number, reference), said)| {
            let reading = self.read(&CHALLENGE_FIELDS, said.completion);
            Challenge {
                number: *number,
                text: said.completion.text.clone(),
                reference: Arc::clone(reference),
                task: task(&reading, said.sample.problem(self.draft.run.run)),
                unverifiable: unverifiable(&reading),
                format: reading.score(),
                sample: said.sample,
            }
        });
        Ok(challenges.collect())
    }
}

fn task(reading: &Reading, problem: ProblemId) -> Result<Arc<Task>, String> {
    Ok(Arc::new(Task {
        problem,
        question: reading.text("question")?.to_owned(),
        answer: reading.text("answer")?.to_owned(),
    }))
}

/// Why there is no verifier for the type of a challenge.
fn unverifiable(reading: &Reading) -> Option<String> {
    match reading.text("type") {
        Ok(kind) if kind.eq_ignore_ascii_case("math") => None,
        Ok(_) => Some("the type is not math".to_owned()),
        Err(reason) => Some(reason),
    }
}

impl Challenge {
    /// Whether it repeats the task that was shown, but for spaces and the case of letters.
    pub(super) fn is_copy(&self) -> bool {
        let words = |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_lowercase).collect() };
        let question = self.task.as_ref().map(|task| words(&task.question));
        question.is_ok_and(|question| question == words(&self.reference.question))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::{Completion, FinishReason, WorkKey};
    use uuid::Uuid;

    fn task(question: &str) -> Arc<Task> {
        Arc::new(Task {
            problem: ProblemId(Uuid::from_u128(1)),
            question: question.to_owned(),
            answer: "2".to_owned(),
        })
    }

    fn challenge(question: &str) -> Challenge {
        let completion = Completion {
            text: String::new(),
            tokens: 1,
            finish_reason: FinishReason::Stop,
            entropy: None,
            mask_mismatch: None,
        };
        Challenge {
            number: 0,
            sample: Sample::of(&WorkKey::new(0, "challenge"), 0, 0, &completion),
            text: String::new(),
            reference: task("What is  1 + 1?"),
            task: Ok(task(question)),
            unverifiable: None,
            format: 1.0,
        }
    }

    #[test]
    fn a_copy_of_the_reference_is_told() {
        assert!(challenge("what is 1 + 1?\n").is_copy());
        assert!(!challenge("What is 1 + 2?").is_copy());
    }

    #[test]
    fn tasks_of_another_type_have_no_verifier() {
        let unverifiable = |text: &str| {
            let grammar = crate::prompt::Grammar::Tagged;
            unverifiable(&grammar.read(&CHALLENGE_FIELDS, text, FinishReason::Stop, ""))
        };
        assert_eq!(unverifiable("<type> Math </type>"), None);
        assert_eq!(
            unverifiable("<type>code</type>"),
            Some("the type is not math".to_owned())
        );
        assert_eq!(unverifiable("math"), Some("there is no <type>".to_owned()));
    }
}
