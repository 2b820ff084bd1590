//! The result file.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use lyceum_core::artifact::Digest;
use lyceum_core::benchmark::reader::SuiteRows;
use lyceum_core::benchmark::{Graded, Score, Spread, Suite};
use serde::Serialize;

use super::Grading;

/// The graded samples and their results.
#[derive(Serialize)]
pub(super) struct Report<'a> {
    benchmark: &'a str,
    title: &'a str,
    data: Source,
    samples: Source,
    /// Rows of the data.
    tasks: usize,
    /// Rows with samples.
    attempted: usize,
    /// Rows outside the date window.
    #[serde(skip_serializing_if = "is_zero")]
    outside: usize,
    /// Samples graded.
    graded: u64,
    /// Correct samples.
    correct: u64,
    #[serde(rename = "pass@1")]
    pass_at_1: f64,
    /// Standard error of pass@1 over the rows.
    standard_error: f64,
    #[serde(rename = "pass@k")]
    pass_at_k: BTreeMap<u32, f64>,
    /// pass@1 over the repeats of all rows, if every row has the same number of samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    repeats: Option<Spread>,
    /// pass@1 by the tests of the base benchmark only (EvalPlus).
    #[serde(rename = "base_pass@1", skip_serializing_if = "Option::is_none")]
    base_pass_at_1: Option<f64>,
    #[serde(rename = "base_pass@k", skip_serializing_if = "Option::is_none")]
    base_pass_at_k: Option<BTreeMap<u32, f64>>,
    seconds: f64,
    verdicts: Vec<SampleVerdict<'a>>,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// An input file.
#[derive(Serialize)]
pub(super) struct Source {
    file: String,
    sha256: Digest,
}

impl Source {
    pub(super) fn new(path: &Path, sha256: Digest) -> Self {
        let file = path.file_name().map(|name| name.to_string_lossy().into_owned());
        Self {
            file: file.unwrap_or_default(),
            sha256,
        }
    }
}

#[derive(Serialize)]
struct SampleVerdict<'a> {
    task_id: &'a str,
    sample: u32,
    line: usize,
    #[serde(flatten)]
    graded: &'a Graded,
    millis: f64,
}

impl<'a> Report<'a> {
    pub(super) fn new(
        suite: &'a Suite,
        rows: &'a SuiteRows,
        [data, samples]: [Source; 2],
        grading: &'a Grading<'_>,
        elapsed: Duration,
    ) -> Self {
        let curve = |score: &Score| {
            score
                .curve()
                .into_iter()
                .map(|point| (point.k, point.pass_at_k))
                .collect()
        };
        let score = &grading.score;
        let first = score.pass_at_k(1);
        let verdicts = grading.samples.iter().map(|(sample, graded, millis)| SampleVerdict {
            task_id: &rows.rows[sample.row].task_id,
            sample: sample.sample,
            line: sample.line,
            graded,
            millis: *millis,
        });
        Self {
            benchmark: &suite.name,
            title: &suite.title,
            data,
            samples,
            tasks: rows.rows.len(),
            attempted: score.samples.iter().filter(|&&samples| samples > 0).count(),
            outside: rows.outside,
            graded: score.total_samples(),
            correct: score.total_correct(),
            pass_at_1: first.map_or(0.0, |spread| spread.mean),
            standard_error: first.map_or(0.0, |spread| spread.standard_error),
            pass_at_k: curve(score),
            repeats: grading.repeats,
            base_pass_at_1: grading.base.as_ref().and_then(|base| Some(base.pass_at_k(1)?.mean)),
            base_pass_at_k: grading.base.as_ref().map(curve),
            seconds: elapsed.as_secs_f64(),
            verdicts: verdicts.collect(),
        }
    }

    /// The summary for the terminal.
    pub(super) fn summary(&self) -> String {
        let mut text = format!(
            "{}: {} of {} samples right, {} of {} tasks attempted, {:.1} s\n",
            self.title, self.correct, self.graded, self.attempted, self.tasks, self.seconds
        );
        if self.attempted < self.tasks {
            let missing = self.tasks - self.attempted;
            let _ = writeln!(text, "{missing} tasks have no samples and count as unsolved");
        }
        for (k, share) in &self.pass_at_k {
            let _ = write!(text, "pass@{k} {:.4}", share);
            if *k == 1 {
                let _ = write!(text, " ± {:.4}", self.standard_error);
            }
            if let Some(base) = self.base_pass_at_k.as_ref().and_then(|base| base.get(k)) {
                let _ = write!(text, "   by the base tests only {base:.4}");
            }
            text.push('\n');
        }
        text
    }
}
