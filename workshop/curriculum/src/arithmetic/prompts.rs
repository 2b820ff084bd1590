//! The prompts of `configs/prompts/seedling-math`, as a run renders them.

use lyceum_core::prompt::{Grammar, PromptError, PromptSet, Rendered};
use minijinja::context;

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
