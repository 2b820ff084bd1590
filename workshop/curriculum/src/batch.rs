//! Calls many functions on many arguments in one execution of the verifier.

use std::fmt::Write as _;

use lyceum_verifier::literal::parse_literal;
use lyceum_verifier::value::Value;
use lyceum_verifier::{Check, ProblemKind, Proposal, Task, Verifier};

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
        check: Check::Propose(Proposal::Io {
            problem: ProblemKind::CodeO,
            program,
            input: "0".to_owned(),
        }),
    }
}

fn rows(output: &str, functions: usize) -> Option<Vec<Vec<Value>>> {
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
    (rows.len() == functions).then_some(rows)
}
