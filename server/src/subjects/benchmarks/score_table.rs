//! The papers' table on a page: in per cent, with links to samples.

use lyceum_core::benchmark::{Average, Spread, Summary, Table, TableRow};
use lyceum_core::id::ExecutionId;
use lyceum_store::benchmarks::BenchmarkResult;

use crate::frame::format::{difference, score, share};

/// A row.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) name: String,
    /// The member's page, if it is a member of the run.
    pub(crate) address: Option<String>,
    pub(crate) role: String,
    /// Whether it is a summary.
    pub(crate) is_summary: bool,
    /// A score for each suite.
    pub(crate) cells: Vec<Score>,
    /// An average for each of [`averages`].
    pub(crate) averages: Vec<String>,
}

/// The averages of `table`: code, mathematics and both, as far as any row has them.
pub(crate) fn averages(table: &Table) -> Vec<&'static str> {
    let named = NAMES.into_iter().zip(0..);
    named.filter(|(_, place)| has(table, *place)).map(|(name, _)| name).collect()
}

const NAMES: [&str; 3] = ["Code avg", "Math avg", "Overall"];

fn has(table: &Table, place: usize) -> bool {
    let rows = table.rows.iter().map(|row| &row.average);
    let summaries = table.summaries.iter().flat_map(|summary| [&summary.mean, &summary.worst, &summary.best]);
    rows.chain(summaries).any(|average| values(average)[place].is_some())
}

fn values(average: &Average) -> [Option<f64>; 3] {
    [average.code, average.math, average.overall]
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Score {
    pub(crate) text: String,
    /// The difference from the base on the same rows.
    pub(crate) difference: Option<String>,
    /// The address of its samples.
    pub(crate) address: Option<String>,
}

/// The rows of `table`, computed from `results` of `run`: subjects, then summaries.
pub(crate) fn lines(table: &Table, run: ExecutionId, results: &[BenchmarkResult]) -> Vec<Line> {
    let subjects = table.rows.iter().map(|row| of_subject(table, row, run, results));
    let summaries = table.summaries.iter().flat_map(|summary| of_summary(table, summary));
    subjects.chain(summaries).collect()
}

fn of_subject(table: &Table, row: &TableRow, run: ExecutionId, results: &[BenchmarkResult]) -> Line {
    let own = |suite: &str| {
        results
            .iter()
            .find(|result| {
                result.suite == suite && result.member_id == row.subject.member && result.role == row.subject.role
            })
            .filter(|result| result.member_id.is_some() || result.name == row.subject.name)
    };
    let cell = |suite: &String| match row.scores.get(suite) {
        None => Score::default(),
        Some(cell) => Score {
            text: match own(suite) {
                // Its interval, where the error is 0 because all rows came out alike.
                Some(result) if cell.standard_error == 0.0 => {
                    let text = score(&cell.pass_at_1, &cell.standard_error, &result.rows);
                    text.trim_end_matches(" %").to_owned()
                }
                _ => format!("{} ± {}", share(&cell.pass_at_1), share(&cell.standard_error)),
            },
            difference: own(suite).and_then(BenchmarkResult::comparison).map(|found| difference(&found)),
            address: own(suite).map(|result| {
                let (evaluation, subject) = (result.evaluation_id, result.subject);
                format!("/evaluations/{evaluation}?suite={suite}&subject={subject}#samples")
            }),
        },
    };
    let is_own = results.iter().any(|result| result.member_id == row.subject.member && result.role == row.subject.role);
    let member = row.subject.member.filter(|_| is_own);
    Line {
        name: row.subject.name.clone(),
        address: member.map(|member| format!("/runs/{run}/members/{member}")),
        role: row.subject.role.name().to_owned(),
        is_summary: false,
        cells: table.suites.iter().map(cell).collect(),
        averages: of_row(table, &row.average),
    }
}

fn of_summary(table: &Table, summary: &Summary) -> [Line; 3] {
    let line = |what: &str, average: &Average, text: fn(&Spread) -> String| Line {
        name: format!("{} {what}", summary.over),
        address: None,
        role: String::new(),
        is_summary: true,
        cells: table
            .suites
            .iter()
            .map(|suite| Score { text: summary.scores.get(suite).map(text).unwrap_or_default(), ..Score::default() })
            .collect(),
        averages: of_row(table, average),
    };
    [
        line("mean ± std", &summary.mean, |spread| format!("{} ± {}", share(&spread.mean), share(&spread.std))),
        line("worst*", &summary.worst, |spread| share(&spread.min)),
        line("best*", &summary.best, |spread| share(&spread.max)),
    ]
}

fn of_row(table: &Table, average: &Average) -> Vec<String> {
    let values = values(average).into_iter().zip(0..);
    let shown = values.filter(|(_, place)| has(table, *place));
    shown.map(|(value, _)| value.as_ref().map(share).unwrap_or_default()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lyceum_core::benchmark::{Cell, Subject, SubjectRole};

    #[test]
    fn subjects_stand_above_what_they_come_to_together() {
        let subject = |name: &str, role| Subject { name: name.to_owned(), role, member: None };
        let cell = |pass_at_1| Cell { pass_at_1, standard_error: 0.05 };
        let table = Table::of([
            (subject("one", SubjectRole::Student), "gsm8k".to_owned(), cell(0.25)),
            (subject("two", SubjectRole::Student), "gsm8k".to_owned(), cell(0.75)),
            (subject("base", SubjectRole::Base), "aime24".to_owned(), cell(0.5)),
        ]);
        let lines = lines(&table, ExecutionId(uuid::Uuid::nil()), &[]);
        let place = table.suites.iter().position(|suite| suite == "gsm8k").expect("a column");
        let read: Vec<(&str, &str, bool)> =
            lines.iter().map(|line| (line.name.as_str(), line.cells[place].text.as_str(), line.is_summary)).collect();
        assert_eq!(
            read,
            [
                ("base", "", false),
                ("one", "25.0 ± 5.0", false),
                ("two", "75.0 ± 5.0", false),
                ("population mean ± std", "50.0 ± 35.4", true),
                ("population worst*", "25.0", true),
                ("population best*", "75.0", true),
            ]
        );
        assert_eq!(
            (averages(&table), &lines[1].averages),
            (Vec::new(), &Vec::new()),
            "an average needs every suite of its group, and one that nobody has is left out"
        );
    }
}
