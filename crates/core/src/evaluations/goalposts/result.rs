//! The result of an evaluation of goalposts: how many problems each subject solved. Counts by problem are rows of their own.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

use crate::csv::Csv;
use crate::evaluations::{GoalpostParameters, GoalpostSubject};
use crate::id::{DatasetId, ExecutionId, MemberId, VersionId};

/// How many problems each subject solved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GoalpostsResult {
    /// The problems.
    pub dataset: DatasetId,
    pub problems: u32,
    /// Attempts of each subject at each problem.
    pub n: u32,
    /// The subjects that have attempted problems.
    pub subjects: Vec<GoalpostsMeasured>,
}

/// What a subject solved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GoalpostsMeasured {
    /// The model's name.
    pub name: String,
    pub run: Option<ExecutionId>,
    /// The member of that run.
    pub member: Option<MemberId>,
    /// The exact weights; none for a base.
    pub version: Option<VersionId>,
    /// Finished steps of the run when the member had these weights; of a control, those of its checkpoint.
    pub step: Option<u32>,
    /// Whether it is the untrained base in place of a checkpoint.
    pub control: bool,
    /// Problems solved at least once.
    pub solved: u32,
    /// Attempts made so far.
    pub attempts: u64,
    /// Attempts that solved their problem.
    pub correct: u64,
}

/// What is remembered of a subject between steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    solved: u32,
    attempts: u64,
    correct: u64,
}

impl Tally {
    /// Adds the correct attempts at some problems, of `n` each.
    pub(super) fn add(&mut self, correct: &[u32], n: u32) {
        self.solved += correct.iter().filter(|&&count| count > 0).count() as u32;
        self.attempts += u64::from(n) * correct.len() as u64;
        self.correct += correct.iter().map(|&count| u64::from(count)).sum::<u64>();
    }
}

impl GoalpostsResult {
    pub(super) fn new(parameters: &GoalpostParameters, tallies: &[Tally]) -> Self {
        let tried = parameters.subjects.iter().zip(tallies).filter(|(_, tally)| tally.attempts > 0);
        Self {
            dataset: parameters.problems.dataset,
            problems: parameters.problems.rows,
            n: parameters.n,
            subjects: tried.map(|(of, tally)| measured(of, *tally)).collect(),
        }
    }

    /// A line for each subject.
    pub fn to_csv(&self) -> String {
        let mut csv = Csv::new(&["name", "run", "step", "control", "problems", "solved", "attempts", "correct"]);
        for subject in &self.subjects {
            csv.row(&[
                subject.name.clone(),
                subject.run.map(|run| run.to_string()).unwrap_or_default(),
                subject.step.map(|step| step.to_string()).unwrap_or_default(),
                subject.control.to_string(),
                self.problems.to_string(),
                subject.solved.to_string(),
                subject.attempts.to_string(),
                subject.correct.to_string(),
            ]);
        }
        csv.into_text()
    }
}

fn measured(of: &GoalpostSubject, tally: Tally) -> GoalpostsMeasured {
    let subject = &of.subject;
    GoalpostsMeasured {
        name: subject.name.clone(),
        run: subject.run,
        member: subject.member,
        version: subject.adapter.map(|adapter| adapter.version),
        step: subject.step,
        control: of.control,
        solved: tally.solved,
        attempts: tally.attempts,
        correct: tally.correct,
    }
}

// Which hard problems were solved when: the goalpost map (GASP, figures 5 and 14, table 4).

/// Attempts at some problems after a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempted {
    /// Finished steps.
    pub step: u32,
    /// The place of the first problem in the dataset.
    pub first_row: u32,
    /// Attempts at each problem.
    pub n: u32,
    /// How many of them are correct, by problem from the first one on.
    pub correct: Vec<u32>,
}

/// What the checkpoints of one run solved, or the untrained base in their place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ascent {
    /// The steps after which problems were attempted, in order.
    pub steps: Vec<Ascended>,
    /// Problems solved at least once, by place in the dataset.
    pub solved: BTreeMap<u32, Line>,
    pub attempts: u64,
}

/// What was solved after a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ascended {
    /// Finished steps.
    pub step: u32,
    /// Problems solved by these checkpoints.
    pub solved: u32,
    /// Problems solved by these or earlier ones.
    pub solved_so_far: u32,
    /// Attempts of these.
    pub attempts: u64,
}

/// The history of a problem that was solved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// After the steps at which it was solved: how often, of how many attempts. The first one is when it was first solved.
    pub solves: Vec<Solve>,
}

/// A step after which a problem was solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Solve {
    /// Finished steps.
    pub step: u32,
    /// Correct attempts.
    pub correct: u32,
    pub attempts: u32,
}

impl Ascent {
    /// Sums attempts, in any order. Those of several members after the same step count together.
    pub fn of(attempted: impl IntoIterator<Item = Attempted>) -> Self {
        let mut by_step: BTreeMap<u32, Vec<Attempted>> = BTreeMap::new();
        for one in attempted {
            by_step.entry(one.step).or_default().push(one);
        }
        let (mut steps, mut solved) = (Vec::new(), BTreeMap::<u32, Line>::new());
        // By problem: correct attempts, and all. Most problems are never solved, so only these sums are kept of them.
        let mut cells: Vec<(u32, u32)> = Vec::new();
        for (step, of_step) in by_step {
            cells.clear();
            let mut all = 0;
            for one in of_step {
                all += u64::from(one.n) * one.correct.len() as u64;
                let first = one.first_row as usize;
                cells.resize(cells.len().max(first + one.correct.len()), (0, 0));
                for (cell, correct) in cells[first..].iter_mut().zip(&one.correct) {
                    *cell = (cell.0 + correct, cell.1 + one.n);
                }
            }
            let mut now = 0;
            for (row, &(correct, attempts)) in (0..).zip(&cells).filter(|(_, (correct, _))| *correct > 0) {
                now += 1;
                let line = solved.entry(row).or_insert_with(|| Line { solves: Vec::new() });
                line.solves.push(Solve { step, correct, attempts });
            }
            steps.push(Ascended { step, solved: now, solved_so_far: solved.len() as u32, attempts: all });
        }
        Self { attempts: steps.iter().map(|at| at.attempts).sum(), steps, solved }
    }

    /// The problems solved at least once.
    pub fn rows(&self) -> BTreeSet<u32> {
        self.solved.keys().copied().collect()
    }
}

impl Line {
    pub fn first(&self) -> Option<Solve> {
        self.solves.first().copied()
    }

    /// When the largest share of attempts solved it; the first of equals.
    pub fn best(&self) -> Option<Solve> {
        let share = |solve: &Solve| u64::from(solve.correct) * 1_000_000 / u64::from(solve.attempts.max(1));
        self.solves.iter().rev().max_by_key(|solve| share(solve)).copied()
    }

    /// What happened after a step, if it was solved then.
    pub fn at(&self, step: u32) -> Option<Solve> {
        let place = self.solves.binary_search_by_key(&step, |solve| solve.step).ok()?;
        self.solves.get(place).copied()
    }
}

/// The problems that any of these solved.
pub fn union<'a>(ascents: impl IntoIterator<Item = &'a Ascent>) -> BTreeSet<u32> {
    ascents.into_iter().flat_map(|ascent| ascent.solved.keys().copied()).collect()
}

/// A table with a line for each arm, side (whether it is the control), problem and step at which the problem was solved.
pub fn to_csv<'a>(
    lines: impl IntoIterator<Item = (&'a str, bool, u32, Solve)>,
    name: impl Fn(u32) -> String,
) -> String {
    let mut csv = Csv::new(&["arm", "control", "row", "task_id", "step", "correct", "attempts"]);
    for (arm, control, row, solve) in lines {
        csv.row(&[
            arm.to_owned(),
            control.to_string(),
            row.to_string(),
            name(row),
            solve.step.to_string(),
            solve.correct.to_string(),
            solve.attempts.to_string(),
        ]);
    }
    csv.into_text()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempted(step: u32, first_row: u32, correct: &[u32]) -> Attempted {
        Attempted { step, first_row, n: 100, correct: correct.to_vec() }
    }

    #[test]
    fn a_goalpost_is_solved_first_where_any_attempt_solves_it_first() {
        // In slices, out of order, and solved intermittently as in figure 5.
        let ascent = Ascent::of([
            attempted(6, 0, &[0, 7, 0]),
            attempted(2, 0, &[0, 1, 0]),
            attempted(4, 3, &[2]),
            attempted(4, 0, &[0, 0, 0]),
            attempted(2, 3, &[0]),
            attempted(6, 3, &[0]),
        ]);
        let solved: Vec<_> =
            ascent.steps.iter().map(|at| (at.step, at.solved, at.solved_so_far, at.attempts)).collect();
        assert_eq!(solved, [(2, 1, 1, 400), (4, 1, 2, 400), (6, 1, 2, 400)]);
        assert_eq!(ascent.rows(), BTreeSet::from([1, 3]));
        assert_eq!(ascent.attempts, 1200);
        let line = &ascent.solved[&1];
        let (first, best) = (line.first().unwrap(), line.best().unwrap());
        assert_eq!((first.step, first.correct, first.attempts), (2, 1, 100));
        assert_eq!((best.step, best.correct), (6, 7));
        assert_eq!(line.at(4), None);
        assert_eq!(line.at(6).unwrap().correct, 7);
    }

    #[test]
    fn members_of_a_step_count_together_and_shares_decide_what_is_best() {
        let more = Attempted { n: 10, ..attempted(1, 0, &[2]) };
        let ascent = Ascent::of([attempted(1, 0, &[1]), attempted(1, 0, &[0]), attempted(2, 0, &[0]), more.clone()]);
        assert_eq!(ascent.solved[&0].solves, [Solve { step: 1, correct: 3, attempts: 210 }]);
        let ascent = Ascent::of([attempted(1, 0, &[3]), Attempted { step: 2, ..more }]);
        assert_eq!(ascent.solved[&0].best().unwrap().step, 2, "2 of 10 are more than 3 of 100");
        assert_eq!(Ascent::of([]), Ascent::default());
    }

    #[test]
    fn seeds_are_united_and_written_as_lines() {
        let of = |correct: &[u32]| Ascent::of([attempted(3, 5, correct)]);
        let seeds = [of(&[1, 0, 2]), of(&[0, 0, 4])];
        assert_eq!(union(&seeds), BTreeSet::from([5, 7]));
        let lines = seeds.iter().flat_map(|seed| seed.solved.iter().map(|(row, line)| (*row, line.solves[0])));
        let csv = to_csv(lines.map(|(row, solve)| ("a", row == 5, row, solve)), |row| format!("task,{row}"));
        let lines = "arm,control,row,task_id,step,correct,attempts\na,true,5,\"task,5\",3,1,100\na,false,7,\"task,7\",3,2,100\n\
             a,false,7,\"task,7\",3,4,100\n";
        assert_eq!(csv.replace("\r\n", "\n"), lines);
    }
}
