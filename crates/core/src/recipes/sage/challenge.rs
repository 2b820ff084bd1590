//! The challenger poses tasks, each like one of the growing set.

use std::sync::Arc;

use super::CodeTasks;
use super::ask::{CHALLENGE_FIELDS, Call, Said, Templates};
use super::solve::plain_prompt;
use super::step::Step;
use super::task::Task;
use super::verifier::{Checked, Generated, Verifier};
use crate::contract::phase::{ESTIMATE, GRADE_ESTIMATE};
use crate::contract::{AttemptRecord, CostClass, Phase, PlanError, Role};
use crate::id::ProblemId;
use crate::kit::judge::prompt_error;
use crate::kit::room::{Room, Written};
use crate::kit::rows::Reward;
use crate::kit::{Progress, Sample};
use crate::prompt::{PromptError, PromptSet, Reading, Rendered};
use crate::verify::ProblemKind;

pub(super) const CHALLENGE: Phase = Phase::new("challenge", CostClass::Propose);

/// A task as the challenger posed it.
#[derive(Clone, Debug)]
pub(super) struct Challenge {
    pub(super) number: u32,
    pub(super) sample: Sample,
    /// The completion.
    pub(super) text: String,
    /// The task that was shown.
    pub(super) reference: Arc<Task>,
    /// The question with its verifier, or why they cannot be read.
    pub(super) task: Result<Arc<Task>, String>,
    /// Why its verifier cannot be used.
    pub(super) unverifiable: Option<String>,
    /// The format reward.
    pub(super) format: f32,
}

/// The prompt that shows a task of the growing set.
pub(super) fn prompt(prompts: &PromptSet, reference: &Task, code: Option<CodeTasks>) -> Result<Rendered, PromptError> {
    let CodeTasks { min_tests } = code.unwrap_or_default();
    let variables = minijinja::context! { min_tests, ..reference.variables(None) };
    prompts.render(Templates::of(reference.kind()).challenge.name, variables)
}

impl Step<'_> {
    /// The challenges of a chunk of numbered references.
    pub(super) fn challenge(&mut self, chunk: u32, references: &[(u32, Arc<Task>)]) -> Progress<Vec<Challenge>> {
        let parameters = self.parameters;
        let call = Call {
            phase: CHALLENGE,
            role: Role::Challenger,
            samples: 1,
            sampling: &parameters.sampling.challenge,
            is_learned: true,
        };
        let said =
            self.ask(call, chunk, references, |prompts, reference| prompt(prompts, reference, parameters.code))?;
        let posed = references.iter().zip(said.into_iter().flatten());
        let challenges = posed.map(|((number, reference), said)| {
            let reading = self.read(&CHALLENGE_FIELDS, said.completion);
            let (verifier, unverifiable) = verifier(&reading, parameters.code);
            let task = match task(&reading, verifier, said.sample.problem(self.draft.run.run)) {
                Ok(task) => self.within(task, said.sample.tokens)?,
                unreadable => unreadable,
            };
            Ok(Challenge {
                number: *number,
                text: said.completion.text.clone(),
                reference: Arc::clone(reference),
                task,
                unverifiable,
                format: reading.score(),
                sample: said.sample,
            })
        });
        Ok(challenges.collect::<Result<_, PlanError>>()?)
    }

    /// The task, which was written with `tokens`, or why there is no room for it in the prompts that may show it.
    fn within(&self, task: Arc<Task>, tokens: u32) -> Result<Answer<Arc<Task>>, PlanError> {
        let (room, stated) = (self.room(task.kind())?, task.verifier.text());
        let texts = [
            ("question", task.question.as_str()),
            ("answer", stated),
            ("tests", stated),
            ("entry_point", task.verifier.entry_point().unwrap_or_default()),
        ];
        let written = Written { texts: &texts, tokens };
        let misfit = (*room).as_ref().and_then(|room| room.misfit(written));
        Ok(misfit.map_or(Ok(task), Err))
    }

    /// The room for a task of `kind`, with the longest plan where one is shown; `None` if the base's context is not known.
    fn room(&self, kind: ProblemKind) -> Result<Arc<Option<Room>>, PlanError> {
        self.draft.view.once(&format!("room/{}", kind.name()), || {
            let Some(mut room) = Room::of(&self.draft.population(0)?.1.base_model.name) else { return Ok(None) };
            let (templates, parameters) = (Templates::of(kind), self.parameters);
            let sampling = &parameters.sampling;
            let [plan, solve, critique] =
                [&sampling.plan, &sampling.solve, &sampling.critique].map(|sampling| sampling.max_tokens);
            let mut prompts = vec![
                (&templates.challenge, sampling.challenge.max_tokens),
                (&templates.solve, solve),
                (&templates.critique_question, critique),
            ];
            if parameters.planning {
                prompts.extend([
                    (&templates.plan, plan),
                    (&templates.solve_with_plan, plan.saturating_add(solve)),
                    (&templates.critique_plan, plan.saturating_add(critique)),
                ]);
            }
            let numbers = [("min_tests", parameters.code.unwrap_or_default().min_tests.into())];
            for (template, besides) in prompts {
                room = room.showing(&self.prompts, template, &numbers, besides).map_err(prompt_error)?;
            }
            Ok(Some(room))
        })
    }
}

fn task(reading: &Reading, verifier: Answer<Verifier>, problem: ProblemId) -> Answer<Arc<Task>> {
    Ok(Arc::new(Task { problem, question: reading.text("question")?.to_owned(), verifier: verifier? }))
}

/// What a challenge has, or why it lacks it.
type Answer<T> = Result<T, String>;

/// The verifier of a challenge, and why it cannot be used, if it cannot.
fn verifier(reading: &Reading, code: Option<CodeTasks>) -> (Answer<Verifier>, Option<String>) {
    let stated = match reading.text("answer") {
        Ok(stated) => stated,
        Err(reason) => return (Err(reason), None),
    };
    let answer = Ok(Verifier::Answer(stated.to_owned()));
    match (reading.text("type"), code) {
        (Ok(kind), _) if kind.eq_ignore_ascii_case("math") => (answer, None),
        (Ok(kind), Some(code)) if kind.eq_ignore_ascii_case("code") => match Generated::read(stated, code.min_tests) {
            Ok(generated) => (Ok(Verifier::Generated(generated)), None),
            Err(reason) => (Ok(Verifier::Unusable(stated.to_owned())), Some(reason)),
        },
        (Ok(_), None) => (answer, Some("the type is not math".to_owned())),
        (Ok(_), Some(_)) => (answer, Some("the type is neither math nor code".to_owned())),
        (Err(reason), _) => (answer, Some(reason)),
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

// Estimates how difficult challenges are: the solver answers them without a plan.

/// How often a task was solved without a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Estimate {
    pub(super) correct: u32,
    pub(super) of: u32,
}

impl Estimate {
    /// The share of answers that are correct.
    pub(super) fn solve_rate(self) -> f32 {
        self.correct as f32 / self.of as f32
    }
}

impl Step<'_> {
    /// For each challenge of a chunk whose verifier is valid, how often it was solved; and the rows of the answers.
    pub(super) fn estimate(
        &mut self,
        chunk: u32,
        challenges: &[Challenge],
        checked: &[Checked],
    ) -> Progress<(Vec<Option<Estimate>>, Vec<AttemptRecord>)> {
        let parameters = self.parameters;
        let call = Call {
            phase: ESTIMATE,
            role: Role::Solver,
            samples: parameters.difficulty_samples,
            sampling: &parameters.sampling.solve,
            is_learned: false,
        };
        let valid = challenges
            .iter()
            .zip(checked)
            .filter_map(|(challenge, task)| Some((challenge.number, Arc::clone(task.as_ref().ok()?))));
        let valid: Vec<(u32, Arc<Task>)> = valid.collect();
        let said = self.ask(call, chunk, &valid, |prompts, task| plain_prompt(prompts, task))?;
        let answers = valid.iter().zip(&said).flat_map(|((_, task), said)| {
            let task = task.as_ref();
            said.iter().map(move |said| (task, said))
        });
        let answers: Vec<(&Task, &Said<'_>)> = answers.collect();
        let judged = self.grade((GRADE_ESTIMATE, chunk), &answers)?;
        let samples = parameters.difficulty_samples;
        let correct = judged.chunks(samples as usize).map(|judged| Estimate {
            correct: judged.iter().filter(|judged| judged.correct).count() as u32,
            of: samples,
        });
        let mut correct = correct.collect::<Vec<_>>().into_iter();
        let estimates = checked.iter().map(|task| task.as_ref().ok().and_then(|_| correct.next())).collect();
        let rows = answers.iter().zip(judged).map(|((task, said), judged)| {
            let nothing = Reward { total: 0.0, parts: serde_json::json!({}) };
            self.attempt((Role::Solver, task.problem), said, judged, nothing)
        });
        Ok((estimates, rows.collect::<Result<_, PlanError>>()?))
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::work::{Completion, FinishReason, WorkKey};

    fn task(question: &str) -> Arc<Task> {
        Arc::new(Task {
            problem: ProblemId(Uuid::from_u128(1)),
            question: question.to_owned(),
            verifier: Verifier::Answer("2".to_owned()),
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
        let verified = |text: &str, code: Option<CodeTasks>| {
            let text = format!("<answer>assert f(1) == 2</answer>{text}");
            let grammar = crate::prompt::Grammar::Tagged;
            let (verifier, unusable) = verifier(&grammar.read(&CHALLENGE_FIELDS, &text, FinishReason::Stop, ""), code);
            (verifier.unwrap().kind(), unusable)
        };
        let refused = |reason: &str| Some(reason.to_owned());
        let code = |min_tests| Some(CodeTasks { min_tests });
        use ProblemKind::{Code, Math};
        assert_eq!(verified("<type> Math </type>", None), (Math, None));
        assert_eq!(verified("<type>Math</type>", code(1)), (Math, None));
        assert_eq!(verified("<type>code</type>", None), (Math, refused("the type is not math")));
        assert_eq!(verified("<type>code</type>", code(1)), (Code, None));
        let few = verified("<type>code</type>", code(2));
        assert!(few.0 == Code && few.1.unwrap().starts_with("1 of at least 2 assertions"));
        assert_eq!(verified("<type>poetry</type>", code(1)), (Math, refused("the type is neither math nor code")));
        assert_eq!(verified("math", None), (Math, refused("there is no <type>")));
    }
}
