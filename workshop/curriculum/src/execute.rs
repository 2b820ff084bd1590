//! Runs programs on random inputs, and keeps those whose outputs suit a small model.

use lyceum_core::prompt::compact_literal;
use lyceum_core::seed;
use lyceum_verifier::Verifier;
use lyceum_verifier::value::Value;
use serde::{Deserialize, Serialize};

use crate::batch::{Function, call};
use crate::inputs::arguments;
use crate::program::{Level, Program};

/// Calls a function; a call that raises gives None, which no kept program returns.
const CALLER: &str = "def t(g,*a):\n try:\n  return g(*a)\n except Exception:\n  return None\n";

/// A program with inputs and its outputs for them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Executed {
    pub source: String,
    pub level: Level,
    /// Arguments and the resulting value, both written compactly; all arguments differ.
    pub pairs: Vec<(String, String)>,
    /// The steps of each pair's run, separated by `;` (see [`crate::trace`]); `None` if they are too many. Empty if the
    /// corpus has no traces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traces: Vec<Option<String>>,
    /// Other programs with the same parameters, run on the same inputs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<Candidate>,
}

/// A program that is not the one to be found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    pub source: String,
    /// For each input the steps and the output; `None` if it fails or takes too many steps.
    pub runs: Vec<Option<(String, String)>>,
}

/// Runs programs on `inputs` random inputs each, and returns those that give a small value for every input. A program's
/// inputs depend on its source only.
pub fn execute(verifier: &Verifier, programs: Vec<Program>, inputs: usize) -> Vec<Executed> {
    let functions: Vec<Function> = programs
        .iter()
        .map(|program| Function {
            source: program.source.clone(),
            inputs: draw_inputs(program, inputs),
        })
        .collect();
    call(verifier, CALLER, &functions)
        .into_iter()
        .filter_map(|(number, values)| judged(&programs[number], &functions[number].inputs, &values))
        .collect()
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

fn judged(program: &Program, inputs: &[String], values: &[Value]) -> Option<Executed> {
    let fits = values.len() == inputs.len() && values.iter().all(is_small) && says_something(inputs, values);
    fits.then(|| Executed {
        source: program.source.clone(),
        level: program.level,
        pairs: inputs.iter().cloned().zip(values.iter().map(compact)).collect(),
        traces: Vec::new(),
        candidates: Vec::new(),
    })
}

/// The value in the notation of the prompts.
pub(crate) fn compact(value: &Value) -> String {
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
