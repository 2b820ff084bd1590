//! What has changed since the base: by type and by level, and in the texts of three problems.

use lyceum_core::id::{DatasetId, ExecutionId};
use lyceum_core::verdict::{Against, Comparison};
use lyceum_store::benchmarks::{self, RowAnswer, RowChange, RunResult};
use lyceum_store::datasets;
use serde::Serialize;
use sqlx::PgPool;
use std::collections::{BTreeSet, HashMap};

use super::held_out::compared;
use crate::api_error::ApiError;
use crate::frame::format;
use crate::frame::text::{Excerpt, SHOWN_IN_LIST, excerpt, inert};
use crate::subjects::samples::Change;

/// What a run's members solve that its base did not, and the other way round.
#[derive(Debug, Serialize)]
pub(crate) struct Changes {
    /// The result, as the verdict has it.
    pub(crate) result: RunResult,
    /// All problems, then those of each type and of each level.
    pub(crate) groups: Vec<Group>,
    /// A problem of every kind of change.
    pub(crate) texts: Vec<Text>,
}

/// Problems that are alike.
#[derive(Debug, Serialize)]
pub(crate) struct Group {
    /// None for all types.
    #[serde(rename = "type")]
    kind: Option<String>,
    /// None for all levels.
    level: Option<String>,
    #[serde(flatten)]
    pub(crate) comparison: Comparison,
}

impl Group {
    pub(crate) fn label(&self) -> String {
        match (&self.kind, &self.level) {
            (Some(kind), _) => inert(kind),
            (_, Some(level)) => format!("level {}", inert(level)),
            _ => "all".to_owned(),
        }
    }
}

/// A problem, and what was answered before and now.
#[derive(Debug, Serialize)]
pub(crate) struct Text {
    pub(crate) change: Change,
    /// Problems with this change.
    pub(crate) count: usize,
    pub(crate) row: RowChange,
    question: Option<String>,
    before: Option<RowAnswer>,
    after: Option<RowAnswer>,
}

impl Text {
    pub(crate) fn question(&self) -> Option<Excerpt> {
        Some(excerpt(self.question.as_deref()?, SHOWN_IN_LIST))
    }

    /// Who answered, what, and whether it is right.
    pub(crate) fn answers(&self) -> Vec<(String, Excerpt, bool)> {
        let answers = self.before.iter().chain(&self.after);
        let shown = |answer: &RowAnswer| {
            let who = match answer.step {
                Some(step) => format!("{} after {step} steps", inert(&answer.name)),
                None => format!("base ({})", inert(&answer.name)),
            };
            let text = excerpt(&answer.sample.text, SHOWN_IN_LIST);
            (who, text, answer.sample.correct)
        };
        answers.map(shown).collect()
    }
}

impl Changes {
    /// The changes behind the verdict on a run; none without a result that can be compared.
    pub(crate) async fn load(db: &PgPool, run: ExecutionId) -> Result<Option<Self>, ApiError> {
        let (ways, results) = futures::try_join!(benchmarks::measurements(db, run), benchmarks::run_results(db, run))?;
        let Some((result, comparison)) = compared(&ways, &results) else { return Ok(None) };
        let rows = benchmarks::row_changes(db, result).await?;
        Ok(Some(Self {
            groups: groups(&rows, &comparison),
            texts: texts(db, run, result, &rows).await?,
            result: result.clone(),
        }))
    }

    pub(crate) fn suite(&self) -> &str {
        format::suite_title(&self.result.of_suite)
    }

    /// What it is compared with.
    pub(crate) fn reference(&self) -> String {
        match self.groups.first().map(|all| all.comparison.against) {
            Some(Against::Step(step)) => format!("step {step}"),
            _ => "the base".to_owned(),
        }
    }
}

/// All rows, then each type if there are several, then each level.
fn groups(rows: &[RowChange], all: &Comparison) -> Vec<Group> {
    let mut groups = vec![Group { kind: None, level: None, comparison: *all }];
    let of = |fits: &dyn Fn(&RowChange) -> bool| {
        let fitting = rows.iter().filter(|row| fits(row));
        let (before, after): (Vec<f64>, Vec<f64>) = fitting.filter_map(|row| Some((row.before?, row.after))).unzip();
        Comparison::paired(all.against, all.step, &before, &after)
    };
    let kinds: BTreeSet<&String> = rows.iter().filter_map(|row| row.kind.as_ref()).collect();
    for kind in kinds.iter().filter(|_| kinds.len() > 1) {
        groups.extend(of(&|row| row.kind.as_ref() == Some(kind)).map(|comparison| Group {
            kind: Some((*kind).clone()),
            level: None,
            comparison,
        }));
    }
    for level in levels(rows) {
        groups.extend(of(&|row| row.level.as_ref() == Some(&level)).map(|comparison| Group {
            kind: None,
            level: Some(level.clone()),
            comparison,
        }));
    }
    groups
}

/// The levels of these rows, if there are several: numbers in their order, then words.
fn levels(rows: &[RowChange]) -> Vec<String> {
    let levels: BTreeSet<&String> = rows.iter().filter_map(|row| row.level.as_ref()).collect();
    let mut levels: Vec<String> = levels.into_iter().cloned().collect();
    levels.sort_by_key(|level| level.parse().unwrap_or(u64::MAX));
    match levels.len() {
        1 => Vec::new(),
        _ => levels,
    }
}

/// For every kind of change the row that shows it best, with its texts.
async fn texts(db: &PgPool, run: ExecutionId, result: &RunResult, rows: &[RowChange]) -> Result<Vec<Text>, ApiError> {
    let examples: Vec<(Change, usize, &RowChange)> = [Change::Solved, Change::Failed, Change::Broken]
        .into_iter()
        .filter_map(|change| {
            let (count, row) = example(rows, change)?;
            Some((change, count, row))
        })
        .collect();
    let places: Vec<i32> = examples.iter().map(|(.., row)| row.row).collect();
    let answers = benchmarks::row_answers(db, run, result, &places, Some(result.step)).await?;
    let dataset = examples.iter().find_map(|(.., row)| row.dataset_id);
    let questions: HashMap<i32, String> = match dataset {
        Some(dataset) => datasets::questions(db, DatasetId(dataset), &places).await?.into_iter().collect(),
        None => HashMap::new(),
    };
    let text = |(change, count, row): (Change, usize, &RowChange)| {
        let (was, is) = match change {
            Change::Solved => (false, true),
            Change::Failed => (false, false),
            Change::Broken => (true, false),
            Change::Kept => (true, true),
        };
        let answer = |of_base: bool, correct: bool| {
            let own = || {
                let of_row = answers.iter().filter(|answer| answer.sample.row == row.row);
                of_row.filter(|answer| answer.step.is_none() == of_base)
            };
            let fitting = own().find(|answer| answer.sample.correct == correct);
            fitting.or_else(|| own().next()).cloned()
        };
        Text {
            change,
            count,
            question: questions.get(&row.row).cloned(),
            before: answer(true, was),
            after: answer(false, is),
            row: row.clone(),
        }
    };
    Ok(examples.into_iter().map(text).collect())
}

/// How many rows have changed so, and the one of them that changed most, the first of equals.
fn example(rows: &[RowChange], change: Change) -> Option<(usize, &RowChange)> {
    let of_kind = || rows.iter().filter(|row| Change::of(row) == Some(change));
    let moved = |row: &RowChange| (row.after - row.before.unwrap_or_default()).abs();
    let most = of_kind().rev().max_by(|one, other| moved(one).total_cmp(&moved(other)))?;
    Some((of_kind().count(), most))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lyceum_core::statistics::Interval;

    fn row(row: i32, kind: &str, level: &str, before: f64, after: f64) -> RowChange {
        RowChange {
            row,
            dataset_id: None,
            task_id: None,
            kind: Some(kind.to_owned()),
            level: Some(level.to_owned()),
            before: Some(before),
            after,
        }
    }

    fn all() -> Comparison {
        Comparison {
            against: Against::Base,
            step: 10,
            value: 0.5,
            reference: 0.25,
            difference: Interval { low: 0.0, high: 0.5 },
            n: 4,
        }
    }

    #[test]
    fn problems_are_grouped_by_type_and_by_level_with_their_own_differences() {
        let rows = [
            row(0, "math", "10", 0.0, 1.0),
            row(1, "math", "9", 0.0, 0.0),
            row(2, "code_o", "9", 1.0, 1.0),
            row(3, "code_o", "9", 0.0, 0.0),
        ];
        let groups = groups(&rows, &all());
        let found: Vec<(String, f64, u64)> =
            groups.iter().map(|group| (group.label(), group.comparison.gain(), group.comparison.n)).collect();
        let expected =
            [("all", 0.25, 4), ("code_o", 0.0, 2), ("math", 0.5, 2), ("level 9", 0.0, 3), ("level 10", 1.0, 1)];
        assert_eq!(found, expected.map(|(label, gain, n)| (label.to_owned(), gain, n)));
    }

    #[test]
    fn a_single_type_and_a_single_level_are_all_there_is() {
        let rows = [row(0, "math", "1", 0.0, 1.0), row(1, "math", "1", 0.0, 0.0)];
        assert_eq!(groups(&rows, &all()).len(), 1);
    }

    #[test]
    fn the_example_of_a_change_is_the_first_of_those_that_changed_most() {
        let rows = [
            row(0, "math", "1", 0.25, 0.5),
            row(1, "math", "1", 0.0, 1.0),
            row(2, "math", "1", 0.0, 1.0),
            row(3, "math", "1", 1.0, 0.0),
            row(4, "math", "1", 0.0, 0.25),
        ];
        let of = |change| example(&rows, change).map(|(count, row)| (count, row.row));
        assert_eq!(of(Change::Solved), Some((3, 1)));
        assert_eq!(of(Change::Broken), Some((1, 3)));
        assert_eq!(of(Change::Failed), Some((1, 4)));
        assert_eq!(of(Change::Kept), None);
    }
}
