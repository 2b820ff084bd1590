//! The papers' table: subjects down, suites across, averages at the end (PopuLoRA, Table 3).

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use strum::{IntoStaticStr, VariantArray};

use super::{Group, Spread, suite};
use crate::contract::Role;
use crate::csv::{Csv, maybe};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    pub name: String,
    pub role: SubjectRole,
    /// The member of the run, if the subject is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<uuid::Uuid>,
}

/// The role of a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[derive(Serialize, Deserialize, IntoStaticStr, VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum SubjectRole {
    /// The frozen base without an adapter.
    Base,
    /// The member of the baseline run in a comparison.
    Baseline,
    /// Solves problems.
    Student,
    /// Proposes problems.
    Teacher,
    /// Does both.
    Member,
}

crate::named!(SubjectRole, "a role of a subject");

impl SubjectRole {
    /// The role of a member with these `roles`; `Member` for other roles, or several.
    pub fn of(roles: &[Role]) -> Self {
        match roles {
            [Role::Student] => Self::Student,
            [Role::Teacher] => Self::Teacher,
            _ => Self::Member,
        }
    }
}

/// A score.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Mean pass@1 over the rows, from 0 to 1.
    pub pass_at_1: f64,
    /// Its standard error over the rows.
    pub standard_error: f64,
}

/// Averages of a row over suites. An average exists only if every suite in it has a score.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Average {
    /// Over the suites of code.
    pub code: Option<f64>,
    /// Over the suites of mathematics.
    pub math: Option<f64>,
    /// The mean of the two, or the only one there is.
    pub overall: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TableRow {
    pub subject: Subject,
    /// Scores by suite.
    pub scores: BTreeMap<String, Cell>,
    pub average: Average,
}

/// A summary over members, suite by suite.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The members it covers: `population`, `students` or `teachers`.
    pub over: String,
    /// Mean, standard deviation over members, worst and best, by suite. Worst and best are selected on the test set:
    /// they are bounds, not members that could have been picked beforehand.
    pub scores: BTreeMap<String, Spread>,
    pub mean: Average,
    /// Averages of each suite's worst.
    pub worst: Average,
    /// Averages of each suite's best: an upper bound, selected on the test set.
    pub best: Average,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// Suites by name, in the order of columns.
    pub suites: Vec<String>,
    /// One row per subject: base, baseline, then members.
    pub rows: Vec<TableRow>,
    /// Summaries over all members, students and teachers, as far as there are any.
    pub summaries: Vec<Summary>,
    /// The student with the highest overall average, chosen on these rows.
    pub best_student: Option<String>,
    /// The teacher with the highest overall average, chosen on these rows.
    pub best_teacher: Option<String>,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

impl Table {
    /// The table of `scores`, each a subject, a suite and its score. If a place has two scores, the later one counts.
    pub fn of(scores: impl IntoIterator<Item = (Subject, String, Cell)>) -> Self {
        let mut rows: Vec<TableRow> = Vec::new();
        for (subject, suite, cell) in scores {
            let at = rows.iter().position(|row| row.subject == subject).unwrap_or_else(|| {
                rows.push(TableRow { subject, scores: BTreeMap::new(), average: Average::default() });
                rows.len() - 1
            });
            rows[at].scores.insert(suite, cell);
        }
        let mut suites: Vec<String> = rows.iter().flat_map(|row| row.scores.keys().cloned()).collect();
        suites.sort_by_key(|name| (suite(name).map_or(u32::MAX, |suite| suite.order), name.clone()));
        suites.dedup();
        for row in &mut rows {
            row.average = Average::of(&suites, |name| row.scores.get(name).map(|cell| cell.pass_at_1));
        }
        rows.sort_by(|a, b| (a.subject.role, &a.subject.name).cmp(&(b.subject.role, &b.subject.name)));
        let is_member = |row: &&TableRow| !matches!(row.subject.role, SubjectRole::Base | SubjectRole::Baseline);
        let members: Vec<&TableRow> = rows.iter().filter(is_member).collect();
        let of_role = |role| members.iter().copied().filter(|row| row.subject.role == role).collect::<Vec<_>>();
        let (students, teachers) = (of_role(SubjectRole::Student), of_role(SubjectRole::Teacher));
        let mut summaries = Vec::new();
        for (over, of) in [("population", &members), ("students", &students), ("teachers", &teachers)] {
            if !of.is_empty() && (over == "population" || of.len() < members.len()) {
                summaries.push(Summary::of(over, &suites, of));
            }
        }
        Self {
            best_student: best(&students),
            best_teacher: best(&teachers),
            summaries,
            notes: vec![
                "worst and best are chosen per benchmark on the test set: bounds, not members that could be picked beforehand"
                    .to_owned(),
                "± is the standard deviation over members in summaries, and the standard error over rows elsewhere".to_owned(),
            ],
            suites,
            rows,
        }
    }
}

fn best(rows: &[&TableRow]) -> Option<String> {
    let scored = rows.iter().filter_map(|row| Some((row.average.any()?, &row.subject.name)));
    // The first among equals, so the result does not depend on row order.
    scored
        .fold(None, |best: Option<(f64, &String)>, next| match best {
            Some(best) if best.0 >= next.0 => Some(best),
            _ => Some(next),
        })
        .map(|(_, name)| name.clone())
}

impl Summary {
    fn of(over: &str, suites: &[String], rows: &[&TableRow]) -> Self {
        let spread = |name: &String| {
            let scores: Vec<f64> = rows.iter().filter_map(|row| Some(row.scores.get(name)?.pass_at_1)).collect();
            Some((name.clone(), Spread::of(&scores)?))
        };
        let scores: BTreeMap<String, Spread> = suites.iter().filter_map(spread).collect();
        let average = |of: fn(&Spread) -> f64| Average::of(suites, |name| scores.get(name).map(of));
        Self {
            over: over.to_owned(),
            mean: average(|spread| spread.mean),
            worst: average(|spread| spread.min),
            best: average(|spread| spread.max),
            scores,
        }
    }
}

impl Average {
    fn of(suites: &[String], score: impl Fn(&str) -> Option<f64>) -> Self {
        let over = |group: Group| {
            let of_group = suites.iter().filter(|name| suite(name).is_ok_and(|suite| suite.group == group));
            let scores: Option<Vec<f64>> = of_group.map(|name| score(name)).collect();
            scores.and_then(|scores| Some(Spread::of(&scores)?.mean))
        };
        let has = |group: Group| suites.iter().any(|name| suite(name).is_ok_and(|suite| suite.group == group));
        let (code, math) = (over(Group::Code), over(Group::Math));
        let overall = match (has(Group::Code), has(Group::Math)) {
            (true, true) => code.zip(math).map(|(code, math)| (code + math) / 2.0),
            (true, false) => code,
            (false, true) => math,
            (false, false) => over(Group::HeldOut),
        };
        Self { code, math, overall }
    }

    fn any(&self) -> Option<f64> {
        self.overall.or(self.code).or(self.math)
    }
}

// The table as CSV (RFC 4180), one line per subject and suite, so that no cell needs parsing.

impl Table {
    /// Lines of `subject,role,suite,pass_at_1,error`: scores with their standard error over rows, then the members'
    /// mean with its standard deviation, worst and best, and averages without an error.
    pub fn to_csv(&self) -> String {
        let mut csv = Lines(Csv::new(&["subject", "role", "suite", "pass_at_1", "error"]));
        for row in &self.rows {
            let role = row.subject.role.name();
            for suite in &self.suites {
                if let Some(cell) = row.scores.get(suite) {
                    csv.line(&row.subject.name, role, suite, cell.pass_at_1, Some(cell.standard_error));
                }
            }
            csv.averages(&row.subject.name, role, &row.average);
        }
        for summary in &self.summaries {
            let over = &summary.over;
            for suite in &self.suites {
                if let Some(spread) = summary.scores.get(suite) {
                    csv.line(&format!("{over} mean"), "summary", suite, spread.mean, Some(spread.std));
                    csv.line(&format!("{over} worst (test-set selected)"), "summary", suite, spread.min, None);
                    csv.line(&format!("{over} best (test-set selected)"), "summary", suite, spread.max, None);
                }
            }
            csv.averages(&format!("{over} mean"), "summary", &summary.mean);
            csv.averages(&format!("{over} worst (test-set selected)"), "summary", &summary.worst);
            csv.averages(&format!("{over} best (test-set selected)"), "summary", &summary.best);
        }
        csv.0.into_text()
    }
}

struct Lines(Csv);

impl Lines {
    fn line(&mut self, subject: &str, role: &str, suite: &str, value: f64, error: Option<f64>) {
        self.0.row(&[subject, role, suite, &value.to_string(), &maybe(error)]);
    }

    fn averages(&mut self, subject: &str, role: &str, average: &Average) {
        for (name, value) in [("code", average.code), ("math", average.math), ("overall", average.overall)] {
            if let Some(value) = value {
                self.line(subject, role, &format!("average {name}"), value, None);
            }
        }
    }
}

impl Table {
    /// A GitHub-flavoured Markdown table with its notes below.
    pub fn to_markdown(&self) -> String {
        let titles = self.suites.iter().map(|name| suite(name).map_or(name.as_str(), |suite| suite.title.as_str()));
        let mut lines = vec![line(
            ["".to_owned(), "role".to_owned()]
                .into_iter()
                .chain(titles.map(escaped))
                .chain(["Code avg", "Math avg", "Overall"].map(str::to_owned)),
        )];
        lines.push(format!("|---|---|{}", "---:|".repeat(self.suites.len() + 3)));
        lines.extend(self.rows.iter().map(|row| self.row(row)));
        for summary in &self.summaries {
            let of = |value: fn(&Spread) -> String| {
                move |name: &String| summary.scores.get(name).map_or_else(|| "–".to_owned(), value)
            };
            let named = |what: &str| format!("{} {what}", summary.over);
            lines.push(self.summary(
                named("mean ± std"),
                &summary.mean,
                of(|s| format!("{} ± {}", percent(s.mean), percent(s.std))),
            ));
            lines.push(self.summary(named("worst*"), &summary.worst, of(|s| percent(s.min))));
            lines.push(self.summary(named("best*"), &summary.best, of(|s| percent(s.max))));
        }
        lines.push(String::new());
        let best = [("student", &self.best_student), ("teacher", &self.best_teacher)];
        for (role, name) in best {
            lines.extend(name.as_ref().map(|name| format!("Best {role}, chosen on these rows: {}.", escaped(name))));
        }
        lines.extend(
            self.notes.iter().enumerate().map(|(at, note)| format!("{}{note}.", if at == 0 { "\\* " } else { "" })),
        );
        lines.join("\n") + "\n"
    }

    fn row(&self, row: &TableRow) -> String {
        let scores = self.suites.iter().map(|name| match row.scores.get(name) {
            Some(cell) => format!("{} ± {}", percent(cell.pass_at_1), percent(cell.standard_error)),
            None => "–".to_owned(),
        });
        line(
            [escaped(&row.subject.name), row.subject.role.name().to_owned()]
                .into_iter()
                .chain(scores)
                .chain(averages(&row.average)),
        )
    }

    fn summary(&self, name: String, average: &Average, of: impl Fn(&String) -> String) -> String {
        line([name, String::new()].into_iter().chain(self.suites.iter().map(of)).chain(averages(average)))
    }
}

fn averages(average: &Average) -> impl Iterator<Item = String> {
    [average.code, average.math, average.overall].into_iter().map(|value| value.map_or_else(|| "–".to_owned(), percent))
}

fn line(cells: impl Iterator<Item = String>) -> String {
    format!("| {} |", cells.collect::<Vec<_>>().join(" | "))
}

fn percent(share: f64) -> String {
    format!("{:.1}", 100.0 * share)
}

fn escaped(text: impl AsRef<str>) -> String {
    text.as_ref().replace('|', "\\|").replace('\n', " ")
}
