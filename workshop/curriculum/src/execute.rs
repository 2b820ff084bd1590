//! Runs many programs on many inputs in one execution of the verifier.

use std::fmt::Write as _;

use lyceum_core::prompt::compact_literal;
use lyceum_core::seed;
use lyceum_verifier::literal::parse_literal;
use lyceum_verifier::value::Value;
use lyceum_verifier::{Check, ProblemKind, Proposal, Task, Verifier};
use serde::{Deserialize, Serialize};

use crate::inputs::arguments;
use crate::program::{Level, Program};

/// Programs per execution.
const PROGRAMS: usize = 64;

/// A program with inputs and its outputs for them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Executed {
    /// The source.
    pub source: String,
    /// Its level.
    pub level: Level,
    /// Arguments and the resulting value, both written compactly; all arguments differ.
    pub pairs: Vec<(String, String)>,
}

/// A program and the arguments to run it on.
struct Call {
    program: Program,
    inputs: Vec<String>,
}

/// Runs programs on `inputs` random inputs each, and returns those that give a small value for every input. A program's
/// inputs depend on its source only.
pub fn execute(verifier: &Verifier, programs: Vec<Program>, inputs: usize) -> Vec<Executed> {
    let calls: Vec<Call> = programs
        .into_iter()
        .map(|program| Call {
            inputs: draw_inputs(&program, inputs),
            program,
        })
        .collect();
    let mut batches: Vec<&[Call]> = calls.chunks(PROGRAMS).collect();
    let mut executed = Vec::with_capacity(calls.len());
    while !batches.is_empty() {
        let mut again = Vec::new();
        let verdicts = verifier.judge_all(batches.iter().map(|batch| task(batch)));
        for (batch, verdict) in batches.iter().zip(verdicts) {
            match verdict.output.as_deref().and_then(|output| values(output, batch.len())) {
                Some(rows) => executed.extend(batch.iter().zip(rows).filter_map(|(call, row)| judged(call, &row))),
                // One of them used too much: split the batch in halves until it is alone.
                None if batch.len() > 1 => again.extend(batch.chunks(batch.len().div_ceil(2))),
                None => {}
            }
        }
        batches = again;
    }
    executed
}

fn draw_inputs(program: &Program, count: usize) -> Vec<String> {
    let mut rng = seed::stream(0, &program.source, 0);
    let mut inputs = Vec::with_capacity(count);
    // A parameter may have fewer values than the number of inputs requested.
    for _ in 0..4 * count {
        let drawn = arguments(&program.parameters, &mut rng);
        if inputs.len() < count && !inputs.contains(&drawn) {
            inputs.push(drawn);
        }
    }
    inputs
}

/// One program whose `f` runs the whole batch; a call that raises gives None, which no kept program returns.
fn task(batch: &[Call]) -> Task {
    let mut program = String::from("def t(g,*a):\n try:\n  return g(*a)\n except Exception:\n  return None\n");
    let mut answer = String::new();
    for (at, Call { program: one, inputs }) in batch.iter().enumerate() {
        let renamed = one.source.replacen("def f(", &format!("def p{at}("), 1);
        program.push_str(&renamed);
        program.push('\n');
        answer.push('[');
        for input in inputs {
            // Writing to a string does not fail.
            let _ = write!(answer, "t(p{at},{input}),");
        }
        answer.push_str("],");
    }
    let _ = write!(program, "def f(_):\n return [{answer}]");
    Task {
        id: String::new(),
        check: Check::Propose(Proposal::Io {
            problem: ProblemKind::CodeO,
            program,
            input: "0".to_owned(),
        }),
    }
}

fn values(output: &str, programs: usize) -> Option<Vec<Vec<Value>>> {
    let Ok(Value::List(rows)) = parse_literal(output) else {
        return None;
    };
    let rows: Vec<Vec<Value>> = rows
        .into_iter()
        .filter_map(|row| match row {
            Value::List(values) => Some(values),
            _ => None,
        })
        .collect();
    (rows.len() == programs).then_some(rows)
}

fn judged(Call { program, inputs }: &Call, values: &[Value]) -> Option<Executed> {
    let fits = values.len() == inputs.len() && values.iter().all(is_small) && says_something(inputs, values);
    fits.then(|| Executed {
        source: program.source.clone(),
        level: program.level,
        pairs: inputs.iter().cloned().zip(values.iter().map(compact)).collect(),
    })
}

/// The value in the notation of the prompts.
fn compact(value: &Value) -> String {
    compact_literal(&value.to_string())
}

/// Whether a value is short enough for a small model to write.
fn is_small(value: &Value) -> bool {
    match value {
        Value::Int(number) => number.bits() <= 10,
        Value::Str(_) => compact(value).len() <= 12,
        Value::List(items) => items.len() <= 6 && items.iter().all(is_small) && compact(value).len() <= 28,
        Value::Dict(pairs) => pairs.len() <= 4 && pairs.iter().all(|(key, value)| is_small(key) && is_small(value)),
        _ => false,
    }
}

/// Whether the program does something and its outputs cannot be guessed: at most three of eight are equal, at least
/// half of them differ, and they are not just an argument.
fn says_something(inputs: &[String], values: &[Value]) -> bool {
    let mut outputs: Vec<String> = values.iter().map(compact).collect();
    if inputs.iter().zip(&outputs).all(|(input, output)| input == output) {
        return false;
    }
    outputs.sort();
    let groups: Vec<usize> = outputs.chunk_by(|a, b| a == b).map(<[String]>::len).collect();
    let most = groups.iter().copied().max().unwrap_or(0);
    groups.len() * 2 >= outputs.len() && most * 8 <= outputs.len() * 3
}
