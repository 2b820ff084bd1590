//! Evaluation of a model that was taught arithmetic.

use std::path::Path;

use lyceum_core::prompt::{Field, Rendered};
use lyceum_core::seed;
use lyceum_curriculum::Level;
use lyceum_curriculum::arithmetic::{Exercise, Prompts};

use super::Arithmetic;
use super::figures::Evaluation;
use crate::command::pretrain::completer::{Completer, Text};
use crate::command::pretrain::config::PretrainConfig;
use crate::command::pretrain::training::Totals;

/// A model with the questions it is evaluated on.
pub(in super::super) struct Evaluator<'a> {
    pub(super) config: &'a PretrainConfig<Arithmetic>,
    pub(super) completer: Completer,
    pub(super) prompts: Prompts,
}

impl<'a> Evaluator<'a> {
    pub(in super::super) fn new(config: &'a PretrainConfig<Arithmetic>, folder: &Path) -> anyhow::Result<Self> {
        let longest = config.evaluation.max_tokens;
        Ok(Self {
            config,
            completer: Completer::load(folder, &config.compute.device, config.seed, longest)?,
            prompts: Prompts::shipped()?,
        })
    }

    pub(in super::super) fn run(&self, folder: &Path) -> anyhow::Result<Evaluation> {
        let (proposals, proposed) = self.propose()?;
        let (own, votes) = self.own(&proposed)?;
        Ok(Evaluation {
            training: Totals::of(folder)?,
            parameters: self.completer.parameters(),
            proposals,
            challenges: self.challenge()?,
            own,
            votes,
            held_out: self.held_out()?,
            plans: self.plans()?,
            question_critic: self.question_critic()?,
            plan_critic: self.plan_critic()?,
        })
    }

    /// Different held-out questions of a level, always the same ones for a number.
    pub(super) fn exercises(&self, level: Level, count: usize) -> Vec<Exercise> {
        let mut rng = seed::stream(self.config.corpus.seed, "evaluation/held-out", level.number().into());
        let mut found: Vec<Exercise> = Vec::with_capacity(count);
        // A level has thousands of questions; the bound is for tiny configs that hold out next to nothing.
        for _ in 0..20 * count {
            let exercise = self.config.corpus.held_out(level, &mut rng);
            if found.len() < count && !found.iter().any(|known| known.question == exercise.question) {
                found.push(exercise);
            }
        }
        found
    }

    pub(super) fn complete(
        &self,
        path: &str,
        prompts: Vec<Rendered>,
        samples: usize,
        temperature: f64,
    ) -> anyhow::Result<Vec<Vec<Text>>> {
        self.completer.complete(path, prompts, samples, temperature, &[])
    }

    /// A field of a completion.
    pub(super) fn field(&self, text: &Text, field: Field) -> Option<String> {
        let reading = self.prompts.grammar().read(&[field], &text.text, text.finish, "");
        reading.text(field.name).ok().map(str::to_owned)
    }
}
