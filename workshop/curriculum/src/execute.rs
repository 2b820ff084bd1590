//! Runs programs on random inputs, and keeps those whose outputs suit a small model.

use std::fmt::Write as _;

use lyceum_core::prompt::compact_literal;
use lyceum_core::seed;
use lyceum_verifier::literal::parse_literal;
use lyceum_verifier::value::Value;
use lyceum_verifier::{Check, ProblemKind, Proposal, Task, Verifier};
use rand::Rng as _;
use rand::seq::IndexedRandom as _;
use rand_chacha::ChaCha12Rng;
use serde::{Deserialize, Serialize};

use crate::expr::Type;
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
        .map(|program| Function { source: program.source.clone(), inputs: draw_inputs(program, inputs) })
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

/// The letters used in strings.
pub(crate) const LETTERS: [char; 6] = ['a', 'b', 'c', 'd', 'e', 'x'];

/// A random literal of a type, written compactly. Never empty, so that `x[0]` and `max(s)` have a value.
pub(crate) fn literal(of: Type, rng: &mut ChaCha12Rng) -> String {
    match of {
        Type::Int => {
            let number: i64 = if rng.random_bool(0.75) { rng.random_range(0..=9) } else { rng.random_range(10..=20) };
            number.to_string()
        }
        Type::Str => format!("'{}'", word(rng, 2..=4)),
        Type::Ints => {
            let items: Vec<String> =
                (0..rng.random_range(2..=4)).map(|_| rng.random_range(0..=9).to_string()).collect();
            format!("[{}]", items.join(","))
        }
        Type::Strs => {
            let items: Vec<String> = (0..rng.random_range(2..=3)).map(|_| format!("'{}'", word(rng, 1..=3))).collect();
            format!("[{}]", items.join(","))
        }
        Type::Dict => {
            let mut letters = LETTERS;
            let count = rng.random_range(2..=3);
            for at in 0..count {
                let other = rng.random_range(at..letters.len());
                letters.swap(at, other);
            }
            let items: Vec<String> =
                letters[..count].iter().map(|letter| format!("'{letter}':{}", rng.random_range(0..=9))).collect();
            format!("{{{}}}", items.join(","))
        }
    }
}

/// Random arguments of these types, separated by commas.
pub fn arguments(types: &[Type], rng: &mut ChaCha12Rng) -> String {
    let literals: Vec<String> = types.iter().map(|&of| literal(of, rng)).collect();
    literals.join(",")
}

fn word(rng: &mut ChaCha12Rng, lengths: std::ops::RangeInclusive<usize>) -> String {
    (0..rng.random_range(lengths)).map(|_| LETTERS.choose(rng).copied().unwrap_or('a')).collect()
}

/// Functions per execution.
const FUNCTIONS: usize = 64;

/// A function and the arguments to call it with.
pub(crate) struct Function {
    /// Source that defines `f`.
    pub(crate) source: String,
    pub(crate) inputs: Vec<String>,
}

/// Calls every function on each of its inputs. `caller` defines `t(g,*a)`, which returns what is wanted of `g(*a)`.
/// Returns the values by the number of the function, without functions that used too much.
pub(crate) fn call(verifier: &Verifier, caller: &str, functions: &[Function]) -> Vec<(usize, Vec<Value>)> {
    let numbered: Vec<(usize, &Function)> = functions.iter().enumerate().collect();
    let mut batches: Vec<&[(usize, &Function)]> = numbered.chunks(FUNCTIONS).collect();
    let mut called = Vec::with_capacity(functions.len());
    while !batches.is_empty() {
        let mut again = Vec::new();
        let verdicts = verifier.judge_all(batches.iter().map(|batch| task(caller, batch)));
        for (batch, verdict) in batches.iter().zip(verdicts) {
            match verdict.output.as_deref().and_then(|output| rows(output, batch.len())) {
                Some(rows) => called.extend(batch.iter().zip(rows).map(|((number, _), row)| (*number, row))),
                // One of them used too much: split the batch in halves until it is alone.
                None if batch.len() > 1 => again.extend(batch.chunks(batch.len().div_ceil(2))),
                None => {}
            }
        }
        batches = again;
    }
    called
}

/// One program whose `f` makes all calls of the batch.
fn task(caller: &str, batch: &[(usize, &Function)]) -> Task {
    let mut program = caller.to_owned();
    let mut answer = String::new();
    for (at, (_, Function { source, inputs })) in batch.iter().enumerate() {
        let renamed = source.replacen("def f(", &format!("def p{at}("), 1);
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
        check: Check::Propose(Proposal::Io { problem: ProblemKind::CodeO, program, input: "0".to_owned() }),
    }
}

fn rows(output: &str, functions: usize) -> Option<Vec<Vec<Value>>> {
    let Ok(Value::List(rows)) = parse_literal(output) else { return None };
    let rows: Vec<Vec<Value>> = rows
        .into_iter()
        .filter_map(|row| match row {
            Value::List(values) => Some(values),
            _ => None,
        })
        .collect();
    (rows.len() == functions).then_some(rows)
}
