//! Runs the command, and locates its data.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use lyceum_core::benchmark::reader::{self, SuiteRows, Window};
use lyceum_core::benchmark::suite;
use serde_json::{Value, json};

/// The available benchmarks, by their files below the folder of real data.
pub(crate) const FILES: [(&str, &str, usize); 9] = [
    ("humaneval", "humaneval/HumanEval.jsonl.gz", 164),
    ("mbpp_plus", "mbpp_plus/MbppPlus.jsonl", 378),
    ("gsm8k", "math/gsm8k.jsonl", 1319),
    ("math500", "math/math500.jsonl", 500),
    ("amc23", "math/amc23.jsonl", 40),
    ("aime24", "math/aime24.jsonl", 30),
    ("aime25", "math/aime25.jsonl", 30),
    ("minerva_math", "math/minerva_math.jsonl", 272),
    ("olympiadbench", "math/olympiadbench.jsonl", 675),
];

/// The folder of real data next to the project, if it exists.
pub(crate) fn data() -> Option<PathBuf> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    if !data.is_dir() {
        eprintln!("skipped: {} is not there", data.display());
        return None;
    }
    Some(data)
}

/// The rows of an available benchmark.
pub(crate) fn rows(name: &str, data: &Path) -> Result<SuiteRows> {
    let mut bytes = Vec::new();
    std::fs::File::open(file(name, data))?.read_to_end(&mut bytes)?;
    Ok(reader::read(suite(name)?, &reader::unpacked(&bytes)?, &Window::default())?)
}

pub(crate) fn file(name: &str, data: &Path) -> PathBuf {
    let (_, path, _) = FILES.iter().find(|(known, ..)| *known == name).expect("a benchmark at hand");
    data.join(path)
}

/// A sample with a whole solution.
pub(crate) fn solution(task_id: &str, solution: &str) -> Value {
    json!({ "task_id": task_id, "solution": solution })
}

/// Grades `samples` and returns the result file.
pub(crate) fn grade(name: &str, data: &Path, samples: &[Value]) -> Result<Value> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("samples.jsonl");
    std::fs::write(&path, samples.iter().map(|sample| format!("{sample}\n")).collect::<String>())?;
    let out = folder.path().join("result.json");
    // CPU time is the limit, so a machine busy with other tests must not matter.
    let said = run(name, &file(name, data), &path, &out, &["--wall-seconds", "900"])?;
    ensure!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    serde_json::from_slice(&std::fs::read(&out)?).context("the result is not JSON")
}

pub(crate) fn run(
    name: &str,
    data: &Path,
    samples: &Path,
    out: &Path,
    options: &[&str],
) -> Result<std::process::Output> {
    Ok(Command::new(env!("CARGO_BIN_EXE_lyceum-worker"))
        .args(["grade", "--benchmark", name, "--data"])
        .arg(data)
        .arg("--samples")
        .arg(samples)
        .arg("--out")
        .arg(out)
        .args(options)
        .output()?)
}

/// The verdicts that differ from `expected`.
pub(crate) fn others(result: &Value, expected: bool) -> Vec<String> {
    let verdicts = result["verdicts"].as_array().into_iter().flatten();
    verdicts
        .filter(|verdict| verdict["correct"] != expected)
        .map(|verdict| format!("{}: {} {}", verdict["task_id"], verdict["status"], verdict["reason"]))
        .collect()
}

/// One in LYCEUM_TEST_EVERY of the cases, counted from LYCEUM_TEST_DRAW, or all: `script/test` draws a tenth where nothing
/// changed that they could fail by.
pub(crate) fn drawn<T>(cases: Vec<T>) -> Vec<T> {
    let number = |name| std::env::var(name).ok().and_then(|text: String| text.parse().ok());
    let every = number("LYCEUM_TEST_EVERY").unwrap_or(1).max(1);
    cases.into_iter().skip(number("LYCEUM_TEST_DRAW").unwrap_or(0) % every).step_by(every).collect()
}
