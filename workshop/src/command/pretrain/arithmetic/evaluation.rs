//! Evaluation of a model that was taught arithmetic.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use lyceum_core::arithmetic::{Judgement, Rational, judge, read_answer, read_question};
use lyceum_core::prompt::{Field, Rendered};
use lyceum_core::seed;
use lyceum_curriculum::Level;
use lyceum_curriculum::arithmetic::{Exercise, Flawed, Prompts, Quality, flawed_plan};
use rand::Rng as _;

use super::Arithmetic;
use super::card::{Critic, Evaluation, Proposals, Votes};
use crate::command::pretrain::config::PretrainConfig;
use crate::command::pretrain::figures::{OwnProblems, share};
use crate::command::pretrain::problem::{Completer, Text};
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

const QUESTION: Field = Field::last("question");

/// A question that the evaluator understands, with its stated answer.
pub(super) struct Proposed {
    question: String,
    stated: Option<Rational>,
}

impl Evaluator<'_> {
    pub(super) fn propose(&self) -> anyhow::Result<(Proposals, Vec<Proposed>)> {
        let prompts = (0..self.config.evaluation.proposals).map(|_| self.prompts.propose());
        let texts = self.complete("evaluation/propose", prompts.collect::<Result<_, _>>()?, 1, 1.0)?;
        Ok(self.judged(&texts.iter().flatten().collect::<Vec<_>>(), Field::boxed("answer")))
    }

    pub(super) fn challenge(&self) -> anyhow::Result<Proposals> {
        let mut rng = seed::stream(self.config.seed, "evaluation/challenge", 0);
        let prompts = (0..self.config.evaluation.proposals).map(|_| {
            let level = Level::ALL[rng.random_range(0..Level::ALL.len())];
            let shown = self.config.corpus.training(level, &mut rng);
            self.prompts.challenge(&shown.question, &shown.answer())
        });
        let texts = self.complete("evaluation/challenge", prompts.collect::<Result<_, _>>()?, 1, 1.0)?;
        Ok(self.judged(&texts.iter().flatten().collect::<Vec<_>>(), Field::last("answer")).0)
    }

    fn judged(&self, texts: &[&Text], answer: Field) -> (Proposals, Vec<Proposed>) {
        let mut well_formed = 0;
        let (mut right, mut operations) = (0, 0);
        let mut distinct = HashSet::new();
        let mut understood = Vec::new();
        for text in texts {
            let (Some(question), Some(stated)) = (self.field(text, QUESTION), self.field(text, answer)) else {
                continue;
            };
            well_formed += 1;
            let Ok(expression) = read_question(&question) else { continue };
            if expression.value().is_none() {
                continue;
            }
            right += usize::from(judge(&question, &stated) == Judgement::Right);
            operations += expression.operations();
            distinct.insert(question.clone());
            understood.push(Proposed { stated: read_answer(&stated), question });
        }
        let figures = Proposals {
            asked: texts.len(),
            well_formed: share(well_formed, texts.len()),
            understood: share(understood.len(), texts.len()),
            right: share(right, understood.len()),
            distinct: share(distinct.len(), understood.len()),
            operations: share(operations, understood.len()),
        };
        (figures, understood)
    }

    /// Several answers to each of the model's own questions.
    pub(super) fn own(&self, proposed: &[Proposed]) -> anyhow::Result<(OwnProblems, Votes)> {
        let samples = self.config.evaluation.samples;
        let prompts = proposed.iter().map(|proposed| self.prompts.solve(&proposed.question));
        let texts = self.complete("evaluation/own", prompts.collect::<Result<_, _>>()?, samples, 1.0)?;
        let mut right = Vec::new();
        let (mut agreement, mut in_band, mut vote_right, mut as_stated) = (0, 0, 0, 0);
        for (proposed, texts) in proposed.iter().zip(&texts) {
            let value = read_question(&proposed.question).ok().and_then(|read| read.value());
            let mut counts: BTreeMap<Rational, usize> = BTreeMap::new();
            for answer in texts.iter().filter_map(|text| self.answer(text)) {
                *counts.entry(answer).or_default() += 1;
            }
            right.push(value.and_then(|value| counts.get(&value).copied()).unwrap_or(0));
            // Of equally frequent ones the smallest counts.
            let most = counts.into_iter().rev().max_by_key(|(_, count)| *count);
            if let Some((answer, count)) = most {
                agreement += count;
                in_band += usize::from(3 * samples <= 10 * count && 10 * count <= 7 * samples);
                vote_right += usize::from(Some(answer) == value);
                as_stated += usize::from(Some(answer) == proposed.stated);
            }
        }
        let of =
            |accept: &dyn Fn(usize) -> bool| share(right.iter().filter(|&&right| accept(right)).count(), right.len());
        let own = OwnProblems {
            problems: proposed.len(),
            samples,
            passed: share(right.iter().sum(), samples * proposed.len()),
            never: of(&|right| right == 0),
            sometimes: of(&|right| right > 0 && right < samples),
            always: of(&|right| right == samples),
        };
        let votes = Votes {
            agreement: share(agreement, samples * proposed.len()),
            in_band: share(in_band, proposed.len()),
            right: share(vote_right, proposed.len()),
            as_stated: share(as_stated, proposed.len()),
        };
        Ok((own, votes))
    }
}

impl Evaluator<'_> {
    pub(super) fn question_critic(&self) -> anyhow::Result<Critic> {
        let path = "evaluation/question-critic";
        let mut rng = seed::stream(self.config.seed, path, 0);
        let mut asked = Vec::new();
        for exercise in Level::ALL.into_iter().flat_map(|level| self.exercises(level, self.config.evaluation.critiques))
        {
            let quality = Quality::draw(&mut rng);
            let Flawed { question, answer } = Flawed::question(&exercise, quality, &mut rng);
            asked.push((quality, self.prompts.critique_question(&question, &answer)?));
        }
        self.critic(path, asked)
    }

    pub(super) fn plan_critic(&self) -> anyhow::Result<Critic> {
        let path = "evaluation/plan-critic";
        let mut rng = seed::stream(self.config.seed, path, 0);
        let mut asked = Vec::new();
        for exercise in Level::ALL.into_iter().flat_map(|level| self.exercises(level, self.config.evaluation.critiques))
        {
            let (plan, quality) = flawed_plan(&exercise, Quality::draw(&mut rng), &mut rng);
            asked.push((quality, self.prompts.critique_plan(&exercise.question, &plan)?));
        }
        self.critic(path, asked)
    }

    fn critic(&self, path: &str, asked: Vec<(Quality, Rendered)>) -> anyhow::Result<Critic> {
        let (qualities, prompts): (Vec<Quality>, Vec<Rendered>) = asked.into_iter().unzip();
        let texts = self.complete(path, prompts, 1, 1.0)?;
        let scores = texts.iter().flatten().map(|text| {
            let score: u8 = self.field(text, Field::first("score"))?.parse().ok()?;
            (1..=10).contains(&score).then_some(score)
        });
        let scored: Vec<(Quality, u8)> =
            qualities.iter().zip(scores).filter_map(|(quality, score)| Some((*quality, score?))).collect();
        let of =
            |wanted: Quality| scored.iter().filter(move |(quality, _)| *quality == wanted).map(|(_, score)| *score);
        let mean = |wanted| share(of(wanted).map(usize::from).sum(), of(wanted).count());
        let sound: Vec<u8> = of(Quality::Sound).collect();
        let unsound: Vec<u8> = of(Quality::Bad).chain(of(Quality::Doubtful)).collect();
        Ok(Critic {
            asked: qualities.len(),
            well_formed: share(scored.len(), qualities.len()),
            auc: auc(&sound, &unsound),
            means: [Quality::Bad, Quality::Doubtful, Quality::Sound].map(mean),
        })
    }
}

/// The chance that one of the first has a higher score than one of the second; ties count half.
fn auc(higher: &[u8], lower: &[u8]) -> f64 {
    let pairs = higher.iter().flat_map(|above| lower.iter().map(move |below| above.cmp(below)));
    let halves: usize = pairs
        .map(|order| match order {
            std::cmp::Ordering::Greater => 2,
            std::cmp::Ordering::Equal => 1,
            std::cmp::Ordering::Less => 0,
        })
        .sum();
    share(halves, 2 * higher.len() * lower.len())
}

#[cfg(test)]
mod tests {
    use super::auc;

    #[test]
    fn ties_count_half() {
        assert_eq!(auc(&[9, 8], &[1, 2]), 1.0);
        assert_eq!(auc(&[1], &[9]), 0.0);
        assert_eq!(auc(&[5, 9], &[5]), 0.75);
        assert_eq!(auc(&[], &[5]), 0.0);
    }
}
