//! Grades samples of a benchmark with the verifier.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use lyceum_core::artifact::Digest;
use lyceum_core::benchmark::reader::{self, SuiteRows, Window};
use lyceum_core::benchmark::samples::Sample;
use lyceum_core::benchmark::{BenchmarkRow, Graded, Score, Spread, Suite, graded, task};
use lyceum_verifier::{Status, Verdict, Verifier};

/// A file, unpacked if compressed, and the digest of the original file.
pub struct Read {
    /// The unpacked bytes.
    pub text: Vec<u8>,
    /// Digest of the original file.
    pub digest: Digest,
}

impl Read {
    /// Reads `path`.
    ///
    /// # Errors
    /// The file cannot be read or is damaged.
    pub fn of(path: &Path) -> anyhow::Result<Self> {
        let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let digest = Digest::of(&bytes);
        let text = reader::unpacked(&bytes).with_context(|| format!("{} is damaged", path.display()))?;
        Ok(Self { text: text.into_owned(), digest })
    }
}

/// The rows of a suite's file.
///
/// # Errors
/// A file of another suite, or a damaged row.
pub fn rows(suite: &Suite, path: &Path, data: &Read, window: &Window) -> anyhow::Result<SuiteRows> {
    reader::read(suite, &data.text, window)
        .with_context(|| format!("{} is not a file of {}", path.display(), suite.title))
}

/// The result of every sample, in the order of the file.
pub struct Grading<'a> {
    /// The samples, each with its grade and grading time in milliseconds.
    pub samples: Vec<(&'a Sample, Graded, f64)>,
    /// Correct samples by row.
    pub score: Score,
    /// Statistics over the repeats of all rows, if every row has the same number of samples, at least two.
    pub repeats: Option<Spread>,
    /// Correct samples by row by the base tests only, if the suite counts them separately.
    pub base: Option<Score>,
}

/// Grades `samples` of `rows`, calling `done` after each.
#[allow(clippy::result_large_err, reason = "the verifier takes this in place of a task")]
pub fn grade<'a>(
    verifier: &Verifier,
    rows: &[BenchmarkRow],
    samples: &'a [Sample],
    mut done: impl FnMut(&Graded),
) -> Grading<'a> {
    let unreadable = |reason: String| Verdict::bare(None, Status::Malformed, reason);
    let tasks = samples.iter().map(|sample| {
        let row = &rows[sample.row];
        let solution = sample.submission.solution(row).map_err(unreadable)?;
        task(row, sample.line.to_string(), solution).map_err(unreadable)
    });
    let mut score = Score::of_rows(rows.len());
    let mut base = Score::of_rows(rows.len());
    let mut is_counted_apart = false;
    let mut verdicts = vec![Vec::new(); rows.len()];
    let mut judged = Vec::with_capacity(samples.len());
    for (sample, verdict) in samples.iter().zip(verifier.judge_lines(tasks)) {
        let graded = graded(&rows[sample.row], &verdict);
        score.count(sample.row, graded.correct);
        verdicts[sample.row].push(graded.correct);
        if let Some(is_correct) = graded.base_correct {
            is_counted_apart = true;
            base.count(sample.row, is_correct);
        }
        done(&graded);
        judged.push((sample, graded, verdict.millis));
    }
    Grading {
        samples: judged,
        repeats: Score::over_repeats(&verdicts).filter(|spread| spread.count > 1),
        score,
        base: is_counted_apart.then_some(base),
    }
}
