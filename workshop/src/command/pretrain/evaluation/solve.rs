//! Evaluation of a seedling's solutions, on its own problems and on held-out ones.

use std::collections::BTreeMap;

use lyceum_core::seed;
use lyceum_curriculum::{Executed, Level};
use lyceum_verifier::ProblemKind;
use rand::Rng as _;

use super::{Evaluator, PROBLEMS, Text, is_right};
use crate::command::pretrain::figures::{Band, OwnProblems, Ways, share};
use crate::command::pretrain::problem::{Guessers, Problem};

impl Evaluator<'_> {
    /// Held-out problems of each type, by level, each answered `samples` times.
    pub(in super::super) fn held_out_bands(&self, samples: usize) -> anyhow::Result<BTreeMap<String, Vec<Band>>> {
        let of = |problem: ProblemKind| Ok((problem.name().to_owned(), self.held_out(problem, samples)?));
        PROBLEMS.into_iter().map(of).collect()
    }

    pub(super) fn own(&self, problem: ProblemKind, problems: &[Problem]) -> anyhow::Result<OwnProblems> {
        let samples = self.config.evaluation.samples;
        let solved = self.solve(&format!("evaluation/own/{}", problem.name()), problem, problems, samples)?;
        let right: Vec<usize> =
            solved.iter().map(|answers| answers.iter().filter(|&&(right, _)| right).count()).collect();
        let of =
            |accept: &dyn Fn(usize) -> bool| share(right.iter().filter(|&&right| accept(right)).count(), right.len());
        Ok(OwnProblems {
            problems: problems.len(),
            samples,
            passed: share(right.iter().sum(), samples * problems.len()),
            never: of(&|right| right == 0),
            sometimes: of(&|right| right > 0 && right < samples),
            always: of(&|right| right == samples),
        })
    }

    fn held_out(&self, problem: ProblemKind, samples: usize) -> anyhow::Result<Vec<Band>> {
        let guessers = Guessers::new(&self.corpus.training);
        let mut bands = Vec::new();
        for level in Level::ALL {
            let of_level: Vec<&Executed> = self
                .corpus
                .held_out
                .iter()
                .filter(|executed| executed.level == level)
                .take(self.config.evaluation.held_out)
                .collect();
            let problems: Vec<Problem> = of_level.iter().map(|executed| self.posed(problem, executed)).collect();
            let path = format!("evaluation/held-out/{}/{level}", problem.name());
            let solved = self.solve(&path, problem, &problems, samples)?;
            let answers: Vec<(bool, bool)> = solved.into_iter().flatten().collect();
            let mut guessed = BTreeMap::new();
            for (name, guess) in guessers.of(problem) {
                let checks = problems.iter().zip(&of_level).map(|(posed, executed)| {
                    match guess(posed.shown(problem), executed) {
                        Some(answer) => Ok(posed.check(problem, answer)),
                        None => Err(String::new()),
                    }
                });
                let right = self.judge(checks).into_iter().filter(is_right).count();
                guessed.insert(name.to_owned(), share(right, problems.len()));
            }
            bands.push(Band {
                level: level.number(),
                problems: problems.len(),
                passed: share(answers.iter().filter(|(right, _)| *right).count(), answers.len()),
                well_formed: share(answers.iter().filter(|(_, formed)| *formed).count(), answers.len()),
                guessers: guessed,
            });
        }
        Ok(bands)
    }

    /// A held-out program as a problem: about one of its pairs, or as many as a proposal lists.
    pub(super) fn posed(&self, problem: ProblemKind, executed: &Executed) -> Problem {
        let count = match problem {
            ProblemKind::CodeI | ProblemKind::CodeO => 1,
            _ => self.config.samples.num_inputs,
        };
        let mut rng = seed::stream(self.config.seed, &executed.source, 1);
        let start = rng.random_range(0..executed.pairs.len().max(1));
        Problem {
            program: executed.source.clone(),
            pairs: executed.pairs.iter().cycle().skip(start).take(count).cloned().collect(),
            message: lyceum_curriculum::message::message(&executed.source),
            shown: None,
        }
    }

    /// For each problem and sample at temperature 1: whether the answer is right, and whether it has the right format.
    pub(super) fn solve(
        &self,
        path: &str,
        problem: ProblemKind,
        problems: &[Problem],
        samples: usize,
    ) -> anyhow::Result<Vec<Vec<(bool, bool)>>> {
        let answered = self.answered(path, problem, problems, samples, 1.0)?;
        let both = |answers: Vec<Answered>| answers.iter().map(|answer| (answer.right, answer.formed)).collect();
        Ok(answered.into_iter().map(both).collect())
    }

    /// The judged answers to each problem.
    pub(super) fn answered(
        &self,
        path: &str,
        problem: ProblemKind,
        problems: &[Problem],
        samples: usize,
        temperature: f64,
    ) -> anyhow::Result<Vec<Vec<Answered>>> {
        let prompts = problems.iter().map(|posed| posed.prompt(problem, &self.prompts));
        let texts = self.complete(path, prompts.collect::<Result<Vec<_>, _>>()?, samples, temperature)?;
        let grammar = self.prompts.grammar;
        let answers = problems.iter().zip(&texts).flat_map(|(posed, texts)| {
            texts.iter().map(move |Text { text, finish, .. }| {
                let answer = grammar.answer(problem, text, *finish, "")?;
                Ok(posed.check(problem, answer))
            })
        });
        let judged = self.judge(answers);
        let answered: Vec<Answered> = judged
            .into_iter()
            .zip(texts.iter().flatten())
            .map(|(verdict, text)| Answered {
                right: is_right(&verdict),
                formed: verdict.as_ref().is_ok_and(|verdict| !grammar.is_unreadable(verdict.status)),
                traced: text.text.starts_with('#'),
                tokens: text.tokens,
            })
            .collect();
        Ok(answered.chunks(samples.max(1)).map(<[_]>::to_vec).collect())
    }
}

/// A judged answer.
#[derive(Clone, Copy)]
pub(super) struct Answered {
    pub(super) right: bool,
    pub(super) formed: bool,
    /// Whether it begins with steps.
    pub(super) traced: bool,
    pub(super) tokens: usize,
}

impl Evaluator<'_> {
    /// By type: `count` problems of each level, each answered greedily and `samples` times at temperature 1. They are the
    /// last ones of the held-out programs; the card and the suite use the first.
    pub(in super::super) fn ways(&self, count: usize, samples: usize) -> anyhow::Result<BTreeMap<String, Ways>> {
        let of = |problem: ProblemKind| Ok((problem.name().to_owned(), self.ways_of(problem, count, samples)?));
        PROBLEMS.into_iter().map(of).collect()
    }

    fn ways_of(&self, problem: ProblemKind, count: usize, samples: usize) -> anyhow::Result<Ways> {
        let mut problems = Vec::new();
        for level in Level::ALL {
            let of_level = |executed: &&Executed| executed.level == level;
            let last = self.corpus.held_out.iter().rev().filter(of_level).take(count);
            problems.extend(last.map(|executed| (level, self.posed(problem, executed))));
        }
        let (levels, problems): (Vec<Level>, Vec<Problem>) = problems.into_iter().unzip();
        let path = format!("evaluation/ways/{}", problem.name());
        let greedy = self.answered(&path, problem, &problems, 1, 0.0)?;
        let sampled = self.answered(&path, problem, &problems, samples, 1.0)?;
        let by_level = |answers: &[Vec<Answered>]| {
            let of = |level| {
                let of_level = levels.iter().zip(answers).filter(move |(of, _)| **of == level);
                passed(of_level.flat_map(|(_, answers)| answers))
            };
            Level::ALL.map(of)
        };
        let all = || sampled.iter().flatten();
        let traced = || all().filter(|answer| answer.traced);
        let solved = sampled.iter().filter(|answers| answers.iter().any(|answer| answer.right));
        Ok(Ways {
            problems: problems.len(),
            samples,
            greedy: passed(greedy.iter().flatten()),
            greedy_by_level: by_level(&greedy),
            greedy_traced: share(greedy.iter().flatten().filter(|answer| answer.traced).count(), greedy.len()),
            greedy_tokens: tokens(greedy.iter().flatten()),
            sampled: passed(all()),
            sampled_by_level: by_level(&sampled),
            solved_by_any: share(solved.count(), problems.len()),
            traced: share(traced().count(), all().count()),
            traced_passed: passed(traced()),
            traced_passed_by_level: by_level(
                &sampled
                    .iter()
                    .map(|answers| answers.iter().filter(|answer| answer.traced).copied().collect())
                    .collect::<Vec<Vec<Answered>>>(),
            ),
            direct_passed: passed(all().filter(|answer| !answer.traced)),
            tokens: tokens(all()),
            malformed: share(all().filter(|answer| !answer.formed).count(), all().count()),
        })
    }
}

fn passed<'a>(answers: impl Iterator<Item = &'a Answered>) -> f64 {
    let (mut right, mut all) = (0, 0);
    for answer in answers {
        right += usize::from(answer.right);
        all += 1;
    }
    share(right, all)
}

/// Mean number of tokens.
fn tokens<'a>(answers: impl Iterator<Item = &'a Answered>) -> f64 {
    let (mut tokens, mut all) = (0, 0);
    for answer in answers {
        tokens += answer.tokens;
        all += 1;
    }
    share(tokens, all)
}
