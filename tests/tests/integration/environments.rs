//! Environments of the `verifiers` library become rows and a reward. The library itself is that of `VERIFIERS_PYTHON`; without it, a
//! stand-in has as much of its interface as the environments here use.

use anyhow::{Context as _, Result, ensure};
use lyceum_system_tests::programs::Programs;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::{env, fs};
use tempfile::TempDir;

const ENVIRONMENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/environments");

/// An exporting Python, and where it writes.
struct Bench {
    programs: Programs,
    folder: TempDir,
    python: PathBuf,
    /// Whether the library is the stand-in.
    stands_in: bool,
}

impl Bench {
    /// `None` where the programs are not built, or a library is wanted that is not there.
    fn new(stands_in: bool) -> Result<Option<Self>> {
        let Some(programs) = Programs::beside(env!("CARGO_BIN_EXE_scripted-worker"))? else {
            eprintln!("skipped: lyceum and lyceum-worker are not built");
            return Ok(None);
        };
        let python = match (stands_in, env::var_os("VERIFIERS_PYTHON")) {
            (true, _) => "python3".into(),
            (false, Some(python)) => python.into(),
            (false, None) => {
                eprintln!("skipped: set VERIFIERS_PYTHON to a Python that has `verifiers` below 0.4");
                return Ok(None);
            }
        };
        let folder = tempfile::tempdir()?;
        Ok(Some(Self { programs, folder, python, stands_in }))
    }

    fn place(&self) -> PathBuf {
        self.folder.path().join("exported")
    }

    /// `command` where the environments and their library are found.
    fn here<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.current_dir(ENVIRONMENTS).env("PYTHONDONTWRITEBYTECODE", "1");
        if self.stands_in {
            command.env("PYTHONPATH", "site-packages");
        }
        command
    }

    fn export(&self, environment: &str, arguments: &[&str]) -> Result<Output> {
        let mut command = self.programs.lyceum();
        let command = self.here(&mut command).args(["environment", "export"]).arg(self.place());
        let command = command.args(["--environment", environment, "--python"]).arg(&self.python);
        Ok(command.args(arguments).output()?)
    }

    /// What a refused export says; it leaves nothing behind.
    fn refusal(&self, environment: &str, arguments: &[&str]) -> Result<String> {
        let output = self.export(environment, arguments)?;
        let said = String::from_utf8(output.stderr)?;
        ensure!(output.status.code() == Some(1), "{environment} {arguments:?}: {said}");
        ensure!(fs::read_dir(self.folder.path())?.next().is_none(), "{environment} {arguments:?} left something");
        Ok(said)
    }

    /// The rows of an export, and the command that it prints.
    fn exported(&self, environment: &str) -> Result<(Vec<Value>, String)> {
        let output = self.export(environment, &[])?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let rows = fs::read_to_string(self.place().join("rows.jsonl"))?;
        let rows = rows.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
        Ok((rows, String::from_utf8(output.stdout)?))
    }

    /// The parts that the exported reward gives, in the sandbox, for every completion to every row.
    fn parts(&self, rows: &[Value], completions: &[&str], arguments: &[&str]) -> Result<Vec<BTreeMap<String, f64>>> {
        let source = fs::read_to_string(self.place().join("reward.py"))?;
        let mut lines = String::new();
        for row in rows {
            for completion in completions {
                let task = json!({
                    "id": "a", "kind": "reward", "source": source, "prompt": row["question"], "completion": completion,
                    "row": row,
                });
                lines += &format!("{task}\n");
            }
        }
        let tasks = self.folder.path().join("tasks.jsonl");
        fs::write(&tasks, lines)?;
        let mut command = self.programs.worker();
        let command = command.args(["verify", "--jobs", "1", "--out", "-", "--in"]).arg(&tasks);
        let judged = command.args(arguments).stderr(Stdio::inherit()).output()?;
        let verdicts = String::from_utf8(judged.stdout)?;
        let parts = verdicts.lines().map(|line| {
            let verdict: Value = serde_json::from_str(line)?;
            ensure!(verdict["status"] == "ok", "{verdict}");
            Ok(serde_json::from_value(verdict["parts"].clone())?)
        });
        parts.collect()
    }
}

fn parts<const N: usize>(parts: [(&str, f64); N]) -> BTreeMap<String, f64> {
    parts.map(|(name, value)| (name.to_owned(), value)).into()
}

#[test]
fn an_environment_becomes_rows_and_a_reward_with_its_weights() -> Result<()> {
    let Some(bench) = Bench::new(true)? else { return Ok(()) };
    let (rows, next) = bench.exported("words")?;
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0]["question"], "Be short.\n\nWhat is hot?");
    assert_eq!(rows[0]["input"]["answer"], "tea");
    let place = bench.place();
    let place = place.to_str().context("a path")?;
    assert_eq!(
        next.trim(),
        format!("lyceum dataset import {place}/rows.jsonl --purpose training --name words --reward {place}/reward.py")
    );
    // By hand, from the environment's text.
    let expected = [
        parts([
            ("is_correct", 2.0),
            ("cheap", 0.25),
            ("even", 0.0),
            ("shouted", 0.0),
            ("told", 0.5),
            ("fails", 1.0),
            ("short", -1.0),
        ]),
        parts([
            ("is_correct", 2.0),
            ("cheap", 0.75),
            ("even", 1.0),
            ("shouted", 0.0),
            ("told", 0.25),
            ("fails", 1.0),
            ("short", -1.0),
        ]),
        parts([
            ("is_correct", 0.0),
            ("cheap", 3.0),
            ("even", 0.0),
            ("shouted", 2.0),
            ("told", 0.25),
            ("fails", 0.0),
            ("short", 0.0),
        ]),
    ];
    let found = bench.parts(&rows, &["tea", "milk tea", "NOTHING IS HOT"], &[])?;
    assert_eq!(found, expected);
    Ok(())
}

#[test]
fn a_function_that_a_reward_cannot_have_is_refused_by_name_with_the_reason() -> Result<()> {
    for stands_in in [true, false] {
        let Some(bench) = Bench::new(stands_in)? else { continue };
        let said = bench.refusal("refused", &[])?;
        for reason in [
            "function `judged`: `client`: needs a value of the type `AsyncOpenAI` of the package `openai`",
            "function `looked_up`: `load_table`: calls `open`",
            "function `evaluated`: calls `eval`",
            "function `imported`: needs the package `requests`",
            "function `compared`: scores a group of answers",
            "function `counted`: reads `state['trajectory']`",
            "function `remembered`: changes `SEEN`",
            "function `tooled`: asks for `sandbox`",
            "8 functions of its rubric are refused",
        ] {
            assert!(said.contains(reason), "{reason}: {said}");
        }
    }
    Ok(())
}

#[test]
fn an_environment_that_is_broken_endless_or_of_another_class_leaves_nothing() -> Result<()> {
    let Some(bench) = Bench::new(true)? else { return Ok(()) };
    let kind = |name: &str| format!(r#"{{"kind": "{name}"}}"#);
    for (environment, arguments, reason) in [
        ("refused", kind("turns"), "it is a `Turns`: only environments of the class `SingleTurnEnv`"),
        ("refused", kind("kept"), "its class `Kept` has a `setup_state` of its own"),
        ("refused", kind("shots"), "row 1: its prompt has messages of user, assistant, user"),
        ("refused", kind("ended"), "cannot be loaded: SystemExit: 3 (refused.py, line "),
        ("refused", kind("gone"), "before anything was written"),
        ("refused", kind("endless"), "did not end in 2 s; --timeout gives it longer"),
        ("refused", kind("silent"), "has no function with a weight other than 0"),
        ("refused", kind("empty"), "it has no rows"),
        ("refused", kind("odd"), "row 1: its column `picture` is no JSON"),
        ("refused", r#"{"colour": 1}"#.to_owned(), "unexpected keyword argument 'colour'"),
        ("nowhere", "{}".to_owned(), "ModuleNotFoundError: No module named 'nowhere'"),
    ] {
        // Only what never ends is to end by it.
        let seconds = if reason.contains("--timeout") { "2" } else { "300" };
        let said = bench.refusal(environment, &["--args", &arguments, "--timeout", seconds])?;
        assert!(said.contains(reason), "{reason}: {said}");
    }
    let said = bench.refusal("words", &["--rows", "eval"])?;
    assert!(said.contains("no rows for --rows eval: train are valid"), "{said}");
    Ok(())
}

#[test]
fn a_folder_that_has_something_is_not_written() -> Result<()> {
    let Some(bench) = Bench::new(true)? else { return Ok(()) };
    fs::create_dir(bench.place())?;
    bench.exported("words")?;
    let kept = fs::read(bench.place().join("reward.py"))?;
    let again = bench.export("words", &[])?;
    let said = String::from_utf8(again.stderr)?;
    assert!(again.status.code() == Some(1) && said.contains("is there already"), "{said}");
    assert_eq!(fs::read(bench.place().join("reward.py"))?, kept);
    Ok(())
}

#[test]
fn functions_of_an_environment_do_not_reach_the_host() -> Result<()> {
    let Some(bench) = Bench::new(true)? else { return Ok(()) };
    let (rows, _) = bench.exported("hostile")?;
    for found in bench.parts(&rows, &["", "a"], &[])? {
        assert!(found.len() == 6 && found.values().all(|part| *part == 0.0), "{found:?}");
    }
    Ok(())
}

#[test]
fn an_exported_reward_scores_as_the_library_does() -> Result<()> {
    let Some(bench) = Bench::new(false)? else { return Ok(()) };
    let weights = |environment: &str| match environment {
        "words" => parts([
            ("correct", 2.0),
            ("cheap", 1.0),
            ("even", 0.5),
            ("shouted", 1.0),
            ("told", 0.25),
            ("fails", 1.0),
            ("short", -1.0),
        ]),
        "forms" => parts([("forms", 1.0), ("attributes", 1.0), ("columns", 1.0), ("method", 1.0)]),
        _ => parts([
            ("correct", 1.0),
            ("close", 0.25),
            ("format_reward_func", 0.2),
            ("asked_again", 0.1),
            ("as_told", 0.3),
            ("short", -0.2),
        ]),
    };
    let completions = [
        "<think>3 and 6</think><answer>9</answer>",
        "<answer>10</answer> or <answer>11</answer>",
        "<think>x</think>\n<answer> 9 </answer>\nWhat is",
        "<answer>none</answer>",
        "tea",
        "TEA, MILK",
        "",
        "<think>\u{1f375} é</think><answer>-13</answer>",
    ];
    for environment in ["words", "sums", "forms"] {
        let (rows, next) = bench.exported(environment)?;
        assert_eq!(next.contains("--map packages=numpy"), environment == "sums", "{next}");
        let python = bench.python.to_str().context("a path")?;
        let found = bench.parts(&rows, &completions, &["--python", python, "--packages", "numpy"])?;
        let expected = library(&bench, environment, &completions)?;
        assert_eq!((found.len(), expected.len()), (rows.len() * 8, rows.len() * 8));
        for (at, (found, expected)) in found.iter().zip(&expected).enumerate() {
            let total: f64 = found.values().sum();
            let reward = expected["reward"].as_f64().context("a reward")?;
            assert!((total - reward).abs() < 1e-9, "{environment} {at}: {found:?} instead of {expected}");
            for (name, weight) in weights(environment) {
                let part = found[if name == "correct" { "is_correct" } else { name.as_str() }];
                let metric = expected["metrics"][&name].as_f64().context("a metric")?;
                assert!(
                    (part - weight * metric).abs() < 1e-9,
                    "{environment} {at} {name}: {part} instead of {expected}"
                );
            }
        }
        fs::remove_dir_all(bench.place())?;
    }
    Ok(())
}

/// The scores that the library itself gives.
fn library(bench: &Bench, environment: &str, completions: &[&str]) -> Result<Vec<Value>> {
    let mut command = Command::new(&bench.python);
    let script = Path::new(ENVIRONMENTS).join("scores.py");
    let command = bench.here(&mut command).arg(script).arg(environment);
    let output = command.arg(json!(completions).to_string()).stderr(Stdio::inherit()).output()?;
    Ok(serde_json::from_slice(&output.stdout)?)
}
