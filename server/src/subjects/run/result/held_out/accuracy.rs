//! How the members that solve do on problems that they never learn from.

use lyceum_core::benchmark::{Score, Spread, SubjectRole};
use lyceum_core::statistics;
use lyceum_store::benchmarks::{Answered, Measurement};
use lyceum_store::runs::Run;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

/// The k of pass@k, if there are as many samples.
const K: u32 = 8;

/// Accuracy over a run's steps: means over the members alive at each.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct HeldOut {
    /// The suite; empty before anything was measured.
    pub(super) suite: String,
    /// Its problems.
    pub(super) rows: i32,
    /// Whether `pass_at_1` and `tokens` are about greedy answers.
    pub(super) greedy: bool,
    /// The k of `pass_at_k`.
    pub(super) k: Option<u32>,
    pub(super) base: Option<Point>,
    /// A point for each measured step.
    pub(super) points: Vec<Point>,
    /// The members' own curves.
    pub(super) members: Vec<Member>,
    /// The step up to which points are those of the run from which this one was forked.
    pub(super) inherited_to: Option<i32>,
}

/// What came before a run's own steps.
#[derive(Clone, Copy)]
pub(super) enum Past {
    /// Nothing: it began with new members, which are equal to their base.
    Base,
    /// The run from which it was forked after these steps.
    Run(i32),
    /// A run that was deleted.
    Unknown,
}

impl Past {
    pub(super) fn of(run: &Run) -> Self {
        match (run.forked_from, run.forked_at_step) {
            (_, None) => Self::Base,
            (Some(_), Some(step)) => Self::Run(step),
            (None, Some(_)) => Self::Unknown,
        }
    }
}

/// A step's figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Point {
    /// Finished steps.
    pub(super) step: i32,
    /// The share of problems solved by one answer.
    pub(super) pass_at_1: Option<Interval>,
    /// The chance that one of k answers is correct.
    pub(super) pass_at_k: Option<Interval>,
    /// Mean length of an answer.
    pub(super) tokens: Option<f64>,
}

/// A mean, and its interval of 95 % over problems.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Interval {
    pub(super) mean: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// A member's own points.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Member {
    pub(super) name: String,
    pub(super) points: Vec<Point>,
}

/// The answers of a measurement, if there is one of this kind.
#[derive(Clone, Copy)]
pub(super) struct Answers<'a> {
    pub(super) way: &'a Measurement,
    pub(super) answered: &'a [Answered],
}

impl HeldOut {
    /// The curves of `single` answers, and of `several` to the same problem.
    pub(super) fn of(single: Answers<'_>, several: Option<Answers<'_>>, past: Past) -> Self {
        let k = several.map(|several| K.min(several.way.n.cast_unsigned()));
        let sampled = several.map_or(&[][..], |several| several.answered);
        let point = |step: i32, fits: &dyn Fn(&&Answered) -> bool| {
            let one: Vec<&Answered> = single.answered.iter().filter(fits).collect();
            let all: Vec<&Answered> = sampled.iter().filter(fits).collect();
            Point {
                step,
                pass_at_1: interval(&one, 1),
                pass_at_k: k.and_then(|k| interval(&all, k)),
                tokens: tokens(&one),
            }
        };
        let base = point(0, &|answered| answered.role == SubjectRole::Base);
        let base = Some(base).filter(|base| base.pass_at_1.or(base.pass_at_k).is_some());
        let solving = single.answered.iter().chain(sampled).filter(|answered| solves(answered));
        let steps: BTreeSet<i32> = solving.filter_map(|answered| answered.step).collect();
        let begins_as_base = !matches!(past, Past::Unknown) && !steps.contains(&0);
        let first = base.clone().filter(|_| begins_as_base);
        let later = steps.iter().map(|&step| point(step, &|answered| solves(answered) && answered.step == Some(step)));
        Self {
            suite: single.way.suite.clone(),
            rows: single.way.rows,
            greedy: single.way.temperature == 0.0,
            k,
            points: first.into_iter().chain(later).collect(),
            base,
            members: members(single.answered),
            inherited_to: match past {
                Past::Run(step) => Some(step),
                Past::Base | Past::Unknown => None,
            },
        }
    }
}

/// Whether accuracy is about this subject. Proposers may be measured as well.
pub(super) fn solves(answered: &Answered) -> bool {
    matches!(answered.role, SubjectRole::Student | SubjectRole::Member)
}

fn members(single: &[Answered]) -> Vec<Member> {
    let mut by_member: BTreeMap<Uuid, Member> = BTreeMap::new();
    for answered in single.iter().filter(|answered| solves(answered)) {
        let (Some(member), Some(step)) = (answered.member_id, answered.step) else { continue };
        let own = by_member.entry(member).or_insert_with(|| Member { name: answered.name.clone(), points: Vec::new() });
        own.points.push(Point {
            step,
            pass_at_1: interval(&[answered], 1),
            pass_at_k: None,
            tokens: tokens(&[answered]),
        });
    }
    by_member.into_values().collect()
}

/// The mean over subjects of pass@k, row by row; `None` without subjects, or if one was sampled too little.
pub(super) fn by_row(all: &[&Answered], k: u32) -> Option<Vec<f64>> {
    let scores: Vec<Score> = all.iter().map(|answered| answered.score()).collect();
    Score::mean_by_row(&scores, k)
}

/// The mean over subjects of pass@k, with its interval over rows.
fn interval(all: &[&Answered], k: u32) -> Option<Interval> {
    let Spread { mean, standard_error, count, .. } = Spread::of(&by_row(all, k)?)?;
    let statistics::Interval { low, high } = statistics::Interval::of_mean(mean, standard_error, count);
    Some(Interval { mean, low, high })
}

/// Mean tokens of an answer.
fn tokens(all: &[&Answered]) -> Option<f64> {
    let answers: u64 = all.iter().map(|answered| answered.score().total_samples()).sum();
    let tokens: i64 = all.iter().map(|answered| answered.completion_tokens).sum();
    (answers > 0).then(|| tokens as f64 / answers as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(n: i32, temperature: f64) -> Measurement {
        Measurement {
            suite: "gsm8k".to_owned(),
            name: "gsm8k".to_owned(),
            row_set: String::new(),
            decoding: String::new(),
            rows: 4,
            n,
            temperature,
            steps: vec![10, 20],
            has_base: true,
        }
    }

    fn answered(member: u128, role: SubjectRole, step: Option<i32>, n: i32, correct: [i32; 4]) -> Answered {
        Answered {
            step,
            member_id: (member > 0).then(|| Uuid::from_u128(member)),
            name: format!("m{member}"),
            role,
            samples: vec![n; 4],
            correct: correct.to_vec(),
            completion_tokens: 4 * i64::from(n) * 3,
        }
    }

    #[test]
    fn a_point_is_the_mean_of_those_who_solve_with_an_interval_over_problems() {
        let single = [
            answered(0, SubjectRole::Base, None, 1, [1, 0, 0, 0]),
            answered(1, SubjectRole::Student, Some(10), 1, [1, 1, 0, 0]),
            answered(2, SubjectRole::Student, Some(10), 1, [1, 0, 0, 0]),
            answered(3, SubjectRole::Teacher, Some(10), 1, [1, 1, 1, 1]),
            answered(2, SubjectRole::Student, Some(20), 1, [1, 1, 1, 0]),
        ];
        let several = [
            answered(0, SubjectRole::Base, None, 2, [2, 1, 0, 0]),
            answered(1, SubjectRole::Student, Some(10), 2, [2, 1, 1, 0]),
        ];
        let (one, two) = (way(1, 0.0), way(2, 1.0));
        let single = Answers { way: &one, answered: &single };
        let several = Answers { way: &two, answered: &several };
        let of = HeldOut::of(single, Some(several), Past::Base);
        assert!(of.greedy);
        assert_eq!(of.k, Some(2));
        assert_eq!(of.points.iter().map(|point| point.step).collect::<Vec<_>>(), [0, 10, 20]);
        assert_eq!(of.points[0], of.base.clone().unwrap(), "new members are their base");
        let at = of.points[1].pass_at_1.unwrap();
        // Rows 1, 0.5, 0, 0: statistics.stdev is 0.478714, divided by 2 and times 1.959964 it is 0.469131.
        assert_eq!(at.mean, 0.375);
        assert_eq!(at.low, 0.0);
        assert!((at.high - 0.844_131).abs() < 1e-6, "{at:?}");
        assert_eq!(of.points[1].pass_at_k.unwrap().mean, 0.75);
        assert_eq!(of.points[2].pass_at_k, None, "nobody was sampled there");
        assert_eq!(of.points[2].tokens, Some(3.0));
        assert_eq!(of.members.iter().map(|member| member.points.len()).collect::<Vec<_>>(), [1, 2]);

        let none = [answered(0, SubjectRole::Base, None, 1, [0; 4])];
        let none = HeldOut::of(Answers { way: &one, answered: &none }, None, Past::Base);
        let at = none.base.unwrap().pass_at_1.unwrap();
        // scipy.stats: binomtest(0, 4).proportion_ci(method="wilson") is (0, 0.489890).
        assert_eq!((at.mean, at.low), (0.0, 0.0));
        assert!((at.high - 0.489_890).abs() < 1e-6, "{at:?}");

        let orphan = HeldOut::of(single, None, Past::Unknown);
        assert_eq!(orphan.points.len(), 2, "nobody knows how it began");
        assert_eq!((orphan.k, orphan.inherited_to), (None, None));
        let fork = HeldOut::of(single, None, Past::Run(10));
        assert_eq!((fork.points.len(), fork.inherited_to), (3, Some(10)));
    }
}
