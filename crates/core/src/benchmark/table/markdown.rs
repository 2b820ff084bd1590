//! The table as Markdown, in percent, as printed in papers.

use super::{Average, Table, TableRow};
use crate::benchmark::{Spread, suite};

impl Table {
    /// A GitHub-flavoured Markdown table with its notes below.
    pub fn to_markdown(&self) -> String {
        let titles = self
            .suites
            .iter()
            .map(|name| suite(name).map_or(name.as_str(), |suite| suite.title.as_str()));
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
            lines.extend(name.as_ref().map(|name| format!("Best {role}: {}.", escaped(name))));
        }
        lines.extend(
            self.notes
                .iter()
                .enumerate()
                .map(|(at, note)| format!("{}{note}.", if at == 0 { "\\* " } else { "" })),
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
        line(
            [name, String::new()]
                .into_iter()
                .chain(self.suites.iter().map(of))
                .chain(averages(average)),
        )
    }
}

fn averages(average: &Average) -> impl Iterator<Item = String> {
    [average.code, average.math, average.overall]
        .into_iter()
        .map(|value| value.map_or_else(|| "–".to_owned(), percent))
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
