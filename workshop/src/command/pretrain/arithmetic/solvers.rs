//! Answers to held-out questions, directly, after steps and with plans.

use lyceum_core::arithmetic::{Rational, read_answer};
use lyceum_core::prompt::{Field, Rendered};
use lyceum_curriculum::Level;
use lyceum_curriculum::arithmetic::{Exercise, plan, plan_value};

use super::card::{Band, Plans};
use super::evaluation::Evaluator;
use crate::command::pretrain::figures::share;
use crate::command::pretrain::problem::Text;

/// A judged answer.
#[derive(Clone, Copy)]
struct Answered {
    is_right: bool,
    is_formed: bool,
    has_steps: bool,
    tokens: usize,
}

impl Evaluator<'_> {
    /// The number in a solver's box.
    pub(super) fn answer(&self, text: &Text) -> Option<Rational> {
        read_answer(&self.field(text, Field::boxed("answer"))?)
    }

    /// Held-out questions of each level, each answered greedily and `samples` times.
    pub(in super::super) fn held_out(&self) -> anyhow::Result<Vec<Band>> {
        Level::ALL.into_iter().map(|level| self.band(level)).collect()
    }

    fn band(&self, level: Level) -> anyhow::Result<Band> {
        let exercises = self.exercises(level, self.config.evaluation.held_out);
        let path = format!("evaluation/held-out/{level}");
        let prompts = exercises.iter().map(|exercise| self.prompts.solve(&exercise.question));
        let prompts: Vec<Rendered> = prompts.collect::<Result<_, _>>()?;
        let greedy = self.answered(&path, &exercises, prompts.clone(), 1, 0.0)?;
        let samples = self.config.evaluation.samples;
        let sampled = self.answered(&path, &exercises, prompts, samples, 1.0)?;
        let by_question = sampled.chunks(samples.max(1));
        let solved = by_question.filter(|answers| answers.iter().any(|answer| answer.is_right)).count();
        let (steps, direct): (Vec<Answered>, Vec<Answered>) = sampled.iter().partition(|answer| answer.has_steps);
        let of = |answers: &[Answered], accept: fn(&Answered) -> bool| {
            share(answers.iter().filter(|answer| accept(answer)).count(), answers.len())
        };
        Ok(Band {
            level: level.number(),
            questions: exercises.len(),
            greedy: of(&greedy, |answer| answer.is_right),
            greedy_steps: of(&greedy, |answer| answer.has_steps),
            sampled: of(&sampled, |answer| answer.is_right),
            any: share(solved, exercises.len()),
            steps: share(steps.len(), sampled.len()),
            steps_right: of(&steps, |answer| answer.is_right),
            direct_right: of(&direct, |answer| answer.is_right),
            well_formed: of(&sampled, |answer| answer.is_formed),
            tokens: share(sampled.iter().map(|answer| answer.tokens).sum(), sampled.len()),
        })
    }

    /// Plans for held-out questions of all levels, and answers with the true plans.
    pub(super) fn plans(&self) -> anyhow::Result<Plans> {
        let each = self.config.evaluation.held_out;
        let exercises: Vec<Exercise> = Level::ALL.into_iter().flat_map(|level| self.exercises(level, each)).collect();
        let prompts = exercises.iter().map(|exercise| self.prompts.plan(&exercise.question));
        let texts = self.complete("evaluation/plan", prompts.collect::<Result<_, _>>()?, 1, 0.0)?;
        let plans: Vec<Option<String>> =
            texts.iter().flatten().map(|text| self.field(text, Field::last("plan"))).collect();
        let is_right = |(exercise, plan): &(&Exercise, &Option<String>)| {
            plan.as_deref().and_then(plan_value) == Some(exercise.value)
        };
        let with_plan = exercises.iter().map(|exercise| {
            let plan = plan(&exercise.expression).unwrap_or_default().join(";");
            self.prompts.solve_with_plan(&exercise.question, &plan)
        });
        let with_plan =
            self.answered("evaluation/with-plan", &exercises, with_plan.collect::<Result<_, _>>()?, 1, 0.0)?;
        let without = exercises.iter().map(|exercise| self.prompts.solve(&exercise.question));
        let without =
            self.answered("evaluation/without-plan", &exercises, without.collect::<Result<_, _>>()?, 1, 0.0)?;
        let right =
            |answers: &[Answered]| share(answers.iter().filter(|answer| answer.is_right).count(), answers.len());
        Ok(Plans {
            asked: exercises.len(),
            well_formed: share(plans.iter().flatten().count(), plans.len()),
            right: share(exercises.iter().zip(&plans).filter(is_right).count(), plans.len()),
            solved_with_plan: right(&with_plan),
            solved_without: right(&without),
        })
    }

    fn answered(
        &self,
        path: &str,
        exercises: &[Exercise],
        prompts: Vec<Rendered>,
        samples: usize,
        temperature: f64,
    ) -> anyhow::Result<Vec<Answered>> {
        let texts = self.complete(path, prompts, samples, temperature)?;
        let judged = |(exercise, texts): (&Exercise, &Vec<Text>)| -> Vec<Answered> {
            let judged = texts.iter().map(|text| {
                let answer = self.answer(text);
                Answered {
                    is_right: answer == Some(exercise.value),
                    is_formed: answer.is_some(),
                    has_steps: !text.text.starts_with('\\'),
                    tokens: text.tokens,
                }
            });
            judged.collect()
        };
        Ok(exercises.iter().zip(&texts).flat_map(judged).collect())
    }
}
