//! Real data: canonical solutions pass, mutated ones fail, recorded triples get the expected verdict.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::Path;

use crate::support::{data, drawn, pool};
use lyceum_verifier::{
    Check, JsonText, Oracle, ProblemKind, Proposal, Solution, Status, Task, Tests, Tolerance, Verdict,
};
use serde_json::Value;

fn rows(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("a row of JSON")).collect()
}

fn text(row: &Value, field: &str) -> String {
    row[field].as_str().unwrap_or_default().to_owned()
}

fn humaneval(data: &Path) -> Vec<Value> {
    let file = fs::File::open(data.join("humaneval/HumanEval.jsonl.gz")).expect("HumanEval");
    let mut unpacked = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut unpacked).expect("gzip");
    rows(&unpacked)
}

fn humaneval_task(row: &Value, program: String) -> Task {
    let tests = Tests {
        program,
        entry_point: Some(text(row, "entry_point")),
        oracle: Oracle::Script { test: text(row, "test"), prompt: Some(text(row, "prompt")) },
    };
    Task { id: text(row, "task_id"), check: Check::Tests(tests) }
}

fn mbpp_task(line: &str, row: &Value, program: String, with_plus: bool) -> Task {
    /// The inputs as written, because they contain integers of any size.
    #[derive(serde::Deserialize)]
    struct Inputs {
        base_input: Vec<JsonText>,
        plus_input: Vec<JsonText>,
    }
    let line = line.replace("Infinity", "1e999").replace("\"plus_input\": {}", "\"plus_input\": []");
    let mut inputs: Inputs = serde_json::from_str(&line).expect("lists of inputs");
    if with_plus {
        inputs.base_input.append(&mut inputs.plus_input);
    }
    let tests = Tests {
        program,
        entry_point: Some(text(row, "entry_point")),
        oracle: Oracle::Reference {
            inputs: inputs.base_input,
            reference: canonical(row),
            atol: Tolerance::new(row["atol"].as_f64().unwrap_or(0.0)).unwrap_or_default(),
            task_id: None,
        },
    };
    Task { id: text(row, "task_id"), check: Check::Tests(tests) }
}

fn canonical(row: &Value) -> String {
    text(row, "prompt") + &text(row, "canonical_solution")
}

/// The same program with its function returning something else.
fn mutated(row: &Value) -> String {
    let name = text(row, "entry_point");
    format!(
        "{}\n\n_right = {name}\ndef {name}(*a, **k):\n    _right(*a, **k)\n    return ('not', 'that')\n",
        canonical(row)
    )
}

fn wrong(verdicts: &[Verdict], expected: bool) -> Vec<(&str, Status, &str)> {
    verdicts
        .iter()
        .filter(|verdict| verdict.correct != Some(expected))
        .map(|verdict| (verdict.id.as_deref().unwrap_or(""), verdict.status, verdict.reason.as_str()))
        .collect()
}

#[test]
fn humaneval_tells_canonical_solutions_from_mutated_ones() {
    let Some(data) = data() else { return };
    let rows = humaneval(&data);
    assert_eq!(rows.len(), 164);
    let rows = drawn(rows);
    let right: Vec<_> = pool().judge_all(rows.iter().map(|row| humaneval_task(row, canonical(row)))).collect();
    assert_eq!(wrong(&right, true), []);
    let wrong_ones: Vec<_> = pool().judge_all(rows.iter().map(|row| humaneval_task(row, mutated(row)))).collect();
    assert_eq!(wrong(&wrong_ones, false), []);
}

/// Every builtin that a test could call, as a function of the program that always gives `value`, and an entry point that
/// gives it, too.
fn shadowing(row: &Value, value: &str) -> String {
    let mut program = String::new();
    for name in [
        "abs",
        "all",
        "any",
        "dict",
        "enumerate",
        "filter",
        "float",
        "frozenset",
        "int",
        "isinstance",
        "len",
        "list",
        "map",
        "max",
        "min",
        "next",
        "range",
        "reversed",
        "round",
        "set",
        "sorted",
        "str",
        "sum",
        "tuple",
        "type",
        "zip",
        "math",
        "copy",
        "random",
        "string",
        "randint",
        "choice",
        "deepcopy",
        "poly",
        "encode_cyclic",
        "encode_shift",
    ] {
        program += &format!("def {name}(*a, **k):\n    return {value}\n");
    }
    program + &format!("def {}(*a, **k):\n    return {value}\n", text(row, "entry_point"))
}

#[test]
fn humaneval_is_passed_neither_by_shadowing_builtins_nor_by_ending_loops() {
    type Forgery = fn(&Value) -> String;
    let Some(data) = data() else { return };
    let rows = humaneval(&data);
    let forgeries: [(&str, Forgery); 4] = [
        ("0", |row| shadowing(row, "0")),
        ("[]", |row| shadowing(row, "[]")),
        ("()", |row| shadowing(row, "()")),
        ("StopIteration", |row| format!("def {}(*a, **k):\n    raise StopIteration\n", text(row, "entry_point"))),
    ];
    let mut passed = Vec::new();
    for (name, forgery) in forgeries {
        let verdicts = pool().judge_all(rows.iter().map(|row| humaneval_task(row, forgery(row))));
        let right = verdicts.filter(|verdict| verdict.correct == Some(true));
        passed.extend(right.map(|verdict| format!("{} by {name}", verdict.id.unwrap_or_default())));
    }
    assert_eq!(passed, Vec::<String>::new());
}

#[test]
fn mbpp_plus_tells_canonical_solutions_from_mutated_ones() {
    let Some(data) = data() else { return };
    let lines = fs::read_to_string(data.join("mbpp_plus/MbppPlus.jsonl")).expect("MBPP+");
    let rows: Vec<(&str, Value)> = lines
        .lines()
        .map(|line| (line, serde_json::from_str(&line.replace("Infinity", "1e308")).expect("a row of JSON")))
        .collect();
    assert_eq!(rows.len(), 378);
    let rows = drawn(rows);
    let right: Vec<_> =
        pool().judge_all(rows.iter().map(|(line, row)| mbpp_task(line, row, canonical(row), true))).collect();
    assert_eq!(wrong(&right, true), []);
    let mutated = rows.iter().map(|(line, row)| mbpp_task(line, row, mutated(row), false));
    let wrong_ones: Vec<_> = pool().judge_all(mutated).collect();
    // EvalPlus accepts anything for `are_equivalent`, and for three tasks anything that is not None as a match.
    const BLIND: [&str; 4] = ["are_equivalent", "check_str", "text_match_three", "text_starta_endb"];
    let entry_point = |id: &str| {
        rows.iter().find(|(_, row)| row["task_id"] == id).map(|(_, row)| text(row, "entry_point")).unwrap_or_default()
    };
    let missed: Vec<_> = wrong(&wrong_ones, false).into_iter().map(|(id, _, _)| entry_point(id)).collect();
    assert!(missed.iter().all(|name| BLIND.contains(&name.as_str())), "{missed:?}");
}

/// The reason a recorded triple cannot be right.
fn reasons(rows: impl Iterator<Item = (Verdict, Option<Verdict>)>) -> (usize, BTreeMap<String, usize>) {
    let mut solved = 0;
    let mut reasons = BTreeMap::new();
    for (proposal, solution) in rows {
        match solution {
            Some(solution) if solution.correct == Some(true) && proposal.valid == Some(true) => solved += 1,
            solution => {
                let verdict = solution.filter(|_| proposal.valid == Some(true)).unwrap_or(proposal);
                eprintln!("{}: {:?} {}", verdict.id.as_deref().unwrap_or(""), verdict.status, verdict.reason);
                *reasons.entry(format!("{:?}", verdict.status)).or_insert(0) += 1;
            }
        }
    }
    (solved, reasons)
}

#[test]
fn recorded_triples_are_right_when_their_output_is_their_value() {
    let Some(data) = data() else { return };
    let rows = rows(&fs::read_to_string(data.join("azr_seeds/7b_coder_seed_io.jsonl")).expect("seeds"));
    let judged = rows.iter().enumerate().map(|(at, row)| {
        let [program, input, output] = ["snippet", "input", "output"].map(|field| text(row, field));
        let proposal = Proposal::Io { problem: ProblemKind::CodeO, program: program.clone(), input: input.clone() };
        let solution = Solution::Output { program, input, answer: output };
        (pool().check(format!("row {at}"), proposal), Some(pool().grade(format!("row {at}"), solution)))
    });
    let (solved, reasons) = reasons(judged);
    println!("code_o: {solved} of {} valid and solved; others: {reasons:?}", rows.len());
    // One more row has its own value as output, but its function has no `return`.
    assert_eq!(solved, 242);
}

/// Absolute Zero counts an input as right if it gives the output, however it is written.
#[test]
fn recorded_inputs_are_right_for_the_output_that_they_give() {
    let Some(data) = data() else { return };
    let rows = rows(&fs::read_to_string(data.join("azr_seeds/7b_coder_seed_io.jsonl")).expect("seeds"));
    let (mut valid, mut expressions) = (0, 0);
    let mut wrong = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        let [program, input] = ["snippet", "input"].map(|field| text(row, field));
        let proposal = Proposal::Io { problem: ProblemKind::CodeI, program: program.clone(), input: input.clone() };
        let Some(output) = pool().check(format!("row {at}"), proposal).output else { continue };
        valid += 1;
        expressions += usize::from(lyceum_verifier::literal::parse_arguments(&input).is_err());
        let solution = Solution::Input { program, output, answer: input.clone() };
        let verdict = pool().grade(format!("row {at}"), solution);
        if verdict.correct != Some(true) {
            eprintln!("row {at}: {input}: {}", verdict.reason);
            wrong.push(input);
        }
    }
    println!("code_i: {valid} valid, {expressions} of them expressions, {} wrong", wrong.len());
    // These call the program itself, which is not there when an answer is evaluated.
    assert_eq!(wrong, ["f(3) + f(33)", "f([2,4,5,7])"]);
}

#[test]
fn recorded_functions_are_right_when_their_outputs_are_their_values() {
    let Some(data) = data() else { return };
    let rows = rows(&fs::read_to_string(data.join("azr_seeds/7b_coder_code_f_seed_io.jsonl")).expect("seeds"));
    let judged = rows.iter().enumerate().map(|(at, row)| {
        let list = |field: &str| -> Vec<String> {
            row[field].as_array().into_iter().flatten().map(|item| item.as_str().unwrap_or("").to_owned()).collect()
        };
        let program = text(row, "snippet");
        let (inputs, outputs) = (list("inputs"), list("outputs"));
        let message = text(row, "message");
        let proposal = Proposal::Function { program: program.clone(), inputs: inputs.clone(), message };
        let solution = Solution::Function { pairs: inputs.into_iter().zip(outputs).collect(), answer: program };
        (pool().check(format!("row {at}"), proposal), Some(pool().grade(format!("row {at}"), solution)))
    });
    let (solved, reasons) = reasons(judged);
    println!("code_f: {solved} of {} valid and solved; others: {reasons:?}", rows.len());
    // One more row has its own values as outputs, but its function has no `return`.
    assert_eq!(solved, 232);
}
