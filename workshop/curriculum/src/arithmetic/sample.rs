//! Exercises written as training samples: the prompts of `configs/prompts/seedling-math` with their completions.

use lyceum_core::prompt::{Grammar, PromptError, PromptSet, Rendered};
use minijinja::context;
use rand::Rng as _;
use rand_chacha::ChaCha12Rng;
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use super::flaw::{Flawed, Quality, flawed_plan};
use super::{Exercise, Source, plan, steps};
use crate::program::Level;
use crate::sample::{Part, Sample};

/// A prompt of R-Zero or SAGE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[derive(Serialize, Deserialize, IntoStaticStr, VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Task {
    /// Write a question and its answer (R-Zero's proposer).
    Propose,
    /// Answer a question (R-Zero's and SAGE's solver).
    Solve,
    /// Write a question like one that is shown, and its answer (SAGE's challenger).
    Challenge,
    /// Plan the operations for a question (SAGE's planner).
    Plan,
    /// Answer a question for which there is a plan (SAGE's solver).
    SolveWithPlan,
    /// Score a question and its stated answer (SAGE's critic).
    CritiqueQuestion,
    /// Score a plan (SAGE's critic).
    CritiquePlan,
}

lyceum_core::named!(Task, "a task of the curriculum");

/// Weights in the loss for each kind of token.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Weights {
    /// Prompts: the questions, answers and plans that they show.
    pub prompt: f32,
    /// Questions that are proposed.
    pub question: f32,
    /// Working steps.
    pub steps: f32,
    /// Answers, of solvers and of proposers.
    pub answer: f32,
    pub plan: f32,
    /// A critic's scores.
    pub score: f32,
}

/// Settings for writing samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SampleSpec {
    /// Maximum number of tokens of an answer with its steps; a longer one is written without steps.
    pub trace_tokens: usize,
    /// The share of a critic's scores that are of another quality, so that it is not mastered either.
    pub score_noise: f64,
    /// Weights in the loss.
    pub weights: Weights,
}

/// Writes samples.
#[derive(Debug)]
pub struct Writer<'a> {
    source: &'a Source,
    spec: &'a SampleSpec,
    prompts: Prompts,
}

impl<'a> Writer<'a> {
    /// A writer with the shipped prompts.
    ///
    /// # Errors
    /// The prompt set is missing.
    pub fn new(source: &'a Source, spec: &'a SampleSpec) -> Result<Self, PromptError> {
        let prompts = Prompts::shipped()?;
        Ok(Self { source, spec, prompts })
    }

    /// A sample of a task about a question to learn from. With `steps`, a solution shows them; it is given the number of
    /// tokens of a text.
    ///
    /// # Errors
    /// A template cannot be rendered.
    pub fn write(
        &self,
        task: Task,
        level: Level,
        steps: Option<&dyn Fn(&str) -> usize>,
        rng: &mut ChaCha12Rng,
    ) -> Result<Sample, PromptError> {
        let exercise = self.source.training(level, rng);
        let weights = &self.spec.weights;
        let question = exercise.question.as_str();
        let prompts = &self.prompts;
        let (prompt, completion) = match task {
            Task::Propose => (prompts.propose()?, self.proposal(&exercise)),
            Task::Solve => (prompts.solve(question)?, self.solution(&exercise, steps)),
            Task::Challenge => {
                let shown = self.source.training(level, rng);
                let prompt = prompts.challenge(&shown.question, &shown.answer())?;
                (prompt, self.challenge(&exercise))
            }
            Task::Plan => {
                let planned = format!("<plan>{}</plan><eos>", planned(&exercise));
                (prompts.plan(question)?, vec![Part::new(planned, weights.plan)])
            }
            Task::SolveWithPlan => {
                let prompt = prompts.solve_with_plan(question, &planned(&exercise))?;
                (prompt, self.solution(&exercise, steps))
            }
            Task::CritiqueQuestion => {
                let quality = Quality::draw(rng);
                let flawed = Flawed::question(&exercise, quality, rng);
                let prompt = prompts.critique_question(&flawed.question, &flawed.answer)?;
                (prompt, self.score(quality, rng))
            }
            Task::CritiquePlan => {
                let (planned, quality) = flawed_plan(&exercise, Quality::draw(rng), rng);
                let prompt = prompts.critique_plan(question, &planned)?;
                (prompt, self.score(quality, rng))
            }
        };
        let prefix = std::iter::once(Part::new(prompt.text, weights.prompt)).chain(completion);
        Ok(Sample { prefix: prefix.collect(), branches: Vec::new() })
    }

    fn proposal(&self, exercise: &Exercise) -> Vec<Part> {
        let Weights { question, answer, .. } = self.spec.weights;
        vec![
            Part::new(format!("<question>{}</question>", exercise.question), question),
            Part::new(format!("{}<eos>", boxed(exercise)), answer),
        ]
    }

    fn challenge(&self, exercise: &Exercise) -> Vec<Part> {
        let Weights { question, answer, .. } = self.spec.weights;
        vec![
            Part::new(format!("<question>{}</question><type>math</type>", exercise.question), question),
            Part::new(format!("<answer>{}</answer><eos>", exercise.answer()), answer),
        ]
    }

    fn solution(&self, exercise: &Exercise, length: Option<&dyn Fn(&str) -> usize>) -> Vec<Part> {
        let weights = &self.spec.weights;
        let answer = format!("{}<eos>", boxed(exercise));
        let longest = self.spec.trace_tokens;
        let fits = |text: &String| length.is_some_and(|length| length(text) + length(&answer) <= longest);
        let steps = length.and_then(|_| steps(&exercise.expression)).filter(|steps| !steps.is_empty());
        let steps = steps.map(|steps| format!("{steps};")).filter(fits);
        let steps = steps.map(|steps| Part::new(steps, weights.steps));
        steps.into_iter().chain([Part::new(answer, weights.answer)]).collect()
    }

    fn score(&self, quality: Quality, rng: &mut ChaCha12Rng) -> Vec<Part> {
        let quality = if rng.random_bool(self.spec.score_noise) { Quality::draw(rng) } else { quality };
        let score = format!("<score>{}</score><eos>", quality.score(rng));
        vec![Part::new(score, self.spec.weights.score)]
    }
}

fn boxed(exercise: &Exercise) -> String {
    format!("\\boxed{{{}}}", exercise.answer())
}

fn planned(exercise: &Exercise) -> String {
    plan(&exercise.expression).unwrap_or_default().join(";")
}

/// The name of the prompt set.
const SET: &str = "seedling-math";

#[derive(Debug)]
pub struct Prompts(PromptSet);

impl Prompts {
    /// The shipped set.
    ///
    /// # Errors
    /// It is missing.
    pub fn shipped() -> Result<Self, PromptError> {
        PromptSet::shipped(SET).map(Self)
    }

    /// How completions are read.
    #[must_use]
    pub fn grammar(&self) -> Grammar {
        self.0.grammar
    }

    /// Asks for a question and its answer.
    ///
    /// # Errors
    /// The template cannot be rendered; so for all prompts.
    pub fn propose(&self) -> Result<Rendered, PromptError> {
        self.0.render("propose", context! {})
    }

    /// Asks for the answer to a question.
    ///
    /// # Errors
    /// See [`Self::propose`].
    pub fn solve(&self, question: &str) -> Result<Rendered, PromptError> {
        self.0.render("solve", context! { question })
    }

    /// Asks for a question like this one.
    ///
    /// # Errors
    /// See [`Self::propose`].
    pub fn challenge(&self, question: &str, answer: &str) -> Result<Rendered, PromptError> {
        self.0.render("challenge", context! { question, answer })
    }

    /// Asks for a plan.
    ///
    /// # Errors
    /// See [`Self::propose`].
    pub fn plan(&self, question: &str) -> Result<Rendered, PromptError> {
        self.0.render("plan", context! { question })
    }

    /// Asks for the answer to a question with a plan.
    ///
    /// # Errors
    /// See [`Self::propose`].
    pub fn solve_with_plan(&self, question: &str, plan: &str) -> Result<Rendered, PromptError> {
        self.0.render("solve_with_plan", context! { question, plan })
    }

    /// Asks for a score of a question and its stated answer.
    ///
    /// # Errors
    /// See [`Self::propose`].
    pub fn critique_question(&self, question: &str, answer: &str) -> Result<Rendered, PromptError> {
        self.0.render("critique_question", context! { question, answer })
    }

    /// Asks for a score of a plan.
    ///
    /// # Errors
    /// See [`Self::propose`].
    pub fn critique_plan(&self, question: &str, plan: &str) -> Result<Rendered, PromptError> {
        self.0.render("critique_plan", context! { question, plan })
    }
}
