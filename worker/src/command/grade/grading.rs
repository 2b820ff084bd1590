//! Samples to the verifier and their verdicts back.

use lyceum_core::benchmark::samples::Sample;
use lyceum_core::benchmark::{BenchmarkRow, Graded, Score, Spread, graded, task};
use lyceum_verifier::{Status, Verdict, Verifier};

/// What came of every sample, in the order of the file.
pub(crate) struct Grading<'a> {
    /// The samples with what their verdicts say and the time that those took, in milliseconds.
    pub(crate) samples: Vec<(&'a Sample, Graded, f64)>,
    /// Right ones by row.
    pub(crate) score: Score,
    /// Over the repeats of all rows, where every row has as many samples and more than one.
    pub(crate) repeats: Option<Spread>,
    /// Right ones by row, by the base tests alone; none where the suite does not count them apart.
    pub(crate) base: Option<Score>,
}

/// Grades `samples` of `rows`; says each as it is done.
#[allow(
    clippy::result_large_err,
    reason = "it is what the verifier takes in place of a task"
)]
pub(crate) fn grade<'a>(
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
