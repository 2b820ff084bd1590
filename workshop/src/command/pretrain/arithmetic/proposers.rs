//! Proposed questions, and the model's answers to them.

use std::collections::{BTreeMap, HashSet};

use lyceum_core::arithmetic::{Judgement, Rational, judge, read_answer, read_question};
use lyceum_core::prompt::Field;
use lyceum_core::seed;
use lyceum_curriculum::Level;
use rand::Rng as _;

use super::evaluation::Evaluator;
use super::figures::{Proposals, Votes};
use crate::command::pretrain::completer::Text;
use crate::command::pretrain::figures::{OwnProblems, share};

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
        Ok(self
            .judged(&texts.iter().flatten().collect::<Vec<_>>(), Field::last("answer"))
            .0)
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
            let Ok(expression) = read_question(&question) else {
                continue;
            };
            if expression.value().is_none() {
                continue;
            }
            right += usize::from(judge(&question, &stated) == Judgement::Right);
            operations += expression.operations();
            distinct.insert(question.clone());
            understood.push(Proposed {
                stated: read_answer(&stated),
                question,
            });
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
