//! `lyceum-workshop pretrain`: it learns its rows, goes on after a kill, and refuses what cannot work.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn seedling() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../models/seedling")
}

/// Sums that a small model can learn by heart.
fn rows() -> String {
    (0..10).map(|number| format!("{{\"prompt\": \"{number}+1=\", \"answer\": \"{}\"}}\n", number + 1)).collect()
}

fn pretrain(folder: &Path, name: &str, options: &[&str]) -> Command {
    fs::write(folder.join("rows.jsonl"), rows()).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_lyceum-workshop"));
    command.current_dir(folder).args(["pretrain", "--rows", "rows.jsonl", "--steps", "16", "--sequences", "2"]);
    command.args(["--tokens", "64", "--warmup-steps", "2", "--decay-steps", "4", "--checkpoint-every", "3"]);
    command.args(["--device", "cpu", "--out", &format!("{name}-out"), "--work", &format!("{name}-work")]);
    command.arg("--from").arg(seedling()).args(options);
    command
}

fn run(folder: &Path, name: &str, options: &[&str]) {
    let done = pretrain(folder, name, options).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

fn refusal(mut command: Command) -> String {
    let done = command.output().unwrap();
    assert!(!done.status.success());
    String::from_utf8_lossy(&done.stderr).into_owned()
}

fn losses(folder: &Path, name: &str) -> Vec<f64> {
    let log = fs::read_to_string(folder.join(format!("{name}-work/log.jsonl"))).unwrap();
    log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["loss"].as_f64().unwrap()).collect()
}

/// Kills a run after eight steps; returns whether it was still running.
fn is_killed_at_step_8(folder: &Path, name: &str) -> bool {
    // The log is a pipe: reading its lines shows when to kill the run.
    let log = folder.join(format!("{name}-work/log.jsonl"));
    fs::create_dir(log.parent().unwrap()).unwrap();
    assert!(Command::new("mkfifo").arg(&log).status().unwrap().success());
    let mut running = pretrain(folder, name, &["--random"]).spawn().unwrap();
    let mut lines = BufReader::new(File::open(&log).unwrap()).lines();
    let struck = lines.find(|line| line.as_ref().is_ok_and(|line| line.starts_with("{\"step\":8,")));
    running.kill().unwrap();
    running.wait().unwrap();
    fs::remove_file(&log).unwrap();
    assert!(struck.is_some(), "it ended before its eighth step");
    !folder.join(format!("{name}-out")).exists()
}

#[test]
fn a_killed_run_goes_on_to_the_same_model_and_both_learn() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path();
    run(folder, "whole", &["--random"]);
    // On a slow machine the run may end before it is killed; then try again.
    let killed = (0..10)
        .map(|number| format!("killed-{number}"))
        .find(|name| is_killed_at_step_8(folder, name))
        .expect("a run that is killed before its end");
    let again = refusal(pretrain(folder, &killed, &["--random"]));
    assert!(again.contains("--resume"), "{again}");
    let other = refusal(pretrain(folder, &killed, &["--random", "--resume", "--seed", "2"]));
    assert!(other.contains("other options"), "{other}");
    run(folder, &killed, &["--random", "--resume"]);

    for file in ["model.safetensors", "tokenizer.json", "config.json", "generation_config.json"] {
        let of = |name: &str| fs::read(folder.join(format!("{name}-out")).join(file)).unwrap();
        assert_eq!(of("whole"), of(&killed), "{file} differs");
    }
    let losses = losses(folder, "whole");
    assert_eq!(losses.len(), 16);
    assert!(losses[15] + 1.0 < losses[0], "{losses:?}");
    let training: Value =
        serde_json::from_str(&fs::read_to_string(folder.join("whole-out/training.json")).unwrap()).unwrap();
    assert_eq!((&training["steps"], &training["options"]["random"]), (&16.into(), &true.into()));
}

#[test]
fn training_starts_from_the_weights_of_a_model() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path();
    run(folder, "first", &["--random"]);
    let first = folder.join("first-out");
    let mut onwards = Command::new(env!("CARGO_BIN_EXE_lyceum-workshop"));
    onwards.current_dir(folder).args(["pretrain", "--rows", "rows.jsonl", "--steps", "1", "--sequences", "2"]);
    onwards.args(["--tokens", "64", "--device", "cpu", "--out", "onwards-out", "--work", "onwards-work", "--from"]);
    let done = onwards.arg(&first).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert!(losses(folder, "onwards")[0] + 0.5 < losses(folder, "first")[0], "it did not start from the weights");
}

#[test]
fn rows_and_options_that_cannot_work_are_refused_by_line_and_name() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path();
    let with = |line: &str| {
        let command = pretrain(folder, "refused", &[]);
        fs::write(folder.join("rows.jsonl"), format!("{}\n{line}\n", rows().lines().next().unwrap())).unwrap();
        refusal(command)
    };
    for (line, fault) in [
        (r#"{"prompt": "1+1="}"#, "missing field `answer`"),
        (r#"{"prompt": "", "answer": "2"}"#, "`prompt` is empty"),
        (r#"{"prompt": "1", "answer": "2", "weight": 0}"#, "`weight` is 0"),
        (r#"{"prompt": "1", "answer": "2", "wait": 1}"#, "unknown field `wait`"),
    ] {
        let refused = with(line);
        assert!(refused.contains("rows.jsonl, line 2") && refused.contains(fault), "{refused}");
    }
    let long = with(&format!(r#"{{"prompt": "1", "answer": "{}"}}"#, "1 ".repeat(80)));
    assert!(long.contains("line 2") && long.contains("at most 64 (--tokens)"), "{long}");
    let none = refusal(pretrain(folder, "refused", &["--resume"]));
    assert!(none.contains("no checkpoint"), "{none}");
    assert!(refusal(pretrain(folder, "refused", &["--dtype", "fp8"])).contains("fp8"));
}

#[test]
fn a_command_that_was_removed_names_what_replaces_it() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lyceum-workshop"));
    command.args(["held-out", "--out", "x.jsonl"]);
    assert!(refusal(command).contains("configs/experiment-rows"));
}
