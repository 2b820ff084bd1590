//! The table as CSV (RFC 4180), one line per subject and suite, so that no cell needs parsing.

use crate::{
    benchmark::Table,
    csv::{Csv, maybe},
};

impl Table {
    /// Lines of `subject,role,suite,pass_at_1,error`: scores with their standard error over rows, then the members'
    /// mean with its standard deviation, worst and best, and averages without an error.
    pub fn to_csv(&self) -> String {
        let mut csv = Lines(Csv::new(&["subject", "role", "suite", "pass_at_1", "error"]));
        for row in &self.rows {
            let role = row.subject.role.name();
            for suite in &self.suites {
                if let Some(cell) = row.scores.get(suite) {
                    csv.line(
                        &row.subject.name,
                        role,
                        suite,
                        cell.pass_at_1,
                        Some(cell.standard_error),
                    );
                }
            }
            csv.averages(&row.subject.name, role, &row.average);
        }
        for summary in &self.summaries {
            let over = &summary.over;
            for suite in &self.suites {
                if let Some(spread) = summary.scores.get(suite) {
                    csv.line(&format!("{over} mean"), "summary", suite, spread.mean, Some(spread.std));
                    csv.line(
                        &format!("{over} worst (test-set selected)"),
                        "summary",
                        suite,
                        spread.min,
                        None,
                    );
                    csv.line(
                        &format!("{over} best (test-set selected)"),
                        "summary",
                        suite,
                        spread.max,
                        None,
                    );
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

    fn averages(&mut self, subject: &str, role: &str, average: &crate::benchmark::Average) {
        for (name, value) in [
            ("code", average.code),
            ("math", average.math),
            ("overall", average.overall),
        ] {
            if let Some(value) = value {
                self.line(subject, role, &format!("average {name}"), value, None);
            }
        }
    }
}
