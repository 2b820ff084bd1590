//! The two ways to answer, directly and after writing down steps, on problems for development.

use std::collections::BTreeMap;

use lyceum_curriculum::{Executed, Level};
use lyceum_verifier::ProblemKind;

use super::solve::Answered;
use super::{Evaluator, PROBLEMS};
use crate::command::pretrain::figures::{Ways, share};
use crate::command::pretrain::problem::Problem;

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
        let solved = sampled
            .iter()
            .filter(|answers| answers.iter().any(|answer| answer.right));
        Ok(Ways {
            problems: problems.len(),
            samples,
            greedy: passed(greedy.iter().flatten()),
            greedy_by_level: by_level(&greedy),
            greedy_traced: share(
                greedy.iter().flatten().filter(|answer| answer.traced).count(),
                greedy.len(),
            ),
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
