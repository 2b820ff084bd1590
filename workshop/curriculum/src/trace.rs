//! The steps of a program's run, as a student would write them down before the answer.
//!
//! A step is `name=value` for what is assigned (by statements and by loops), `9%5=4` for arithmetic of whole numbers, and
//! `value` for any other operation inside an expression, in the order of the run. A value that the next step or the answer
//! shows is not a step of its own, except for arithmetic.

mod instrument;

use lyceum_core::prompt::compact_literal;
use lyceum_verifier::Verifier;
use lyceum_verifier::value::Value;

use crate::batch::{Function, call};
use crate::execute::{Executed, compact};
use instrument::instrumented;

/// Returns the value of an instrumented function and its steps, or None instead of steps that are too many or too long
/// for any trace.
const CALLER: &str = "\
def _step(q,e):
 q.append(f'{e!r}')
 return e
def _sum(q,shown,o,a,b):
 if o=='+':
  e=a+b
 elif o=='-':
  e=a-b
 elif o=='*':
  e=a*b
 elif o=='//':
  e=a//b
 else:
  e=a%b
 if type(a) is int and type(b) is int:
  q.append(f'{a}{o}{b}={e}')
 elif shown:
  q.append(f'{e!r}')
 return e
def _name(q,n,e):
 q.append(f'{n}={e!r}')
def _loop(q,n,x):
 for e in x:
  if len(n)==1:
   _name(q,n[0],e)
  else:
   for a,b in zip(n,e):
    _name(q,a,b)
  yield e
def t(g,*a):
 q=[]
 try:
  r=g(q,*a)
 except Exception:
  return None
 s=';'.join(q)
 return [r,s if len(s)<400 else None]
";

/// The steps for each input, separated by `;`, and the output. `None` for an input whose steps are too many.
pub(crate) type Run = Vec<Option<(String, String)>>;

/// Runs programs on inputs step by step; an entry is `None` if the program used too much.
pub(crate) fn runs<'a>(
    verifier: &Verifier,
    programs: impl Iterator<Item = (&'a str, Vec<String>)>,
) -> Vec<Option<Run>> {
    let functions: Vec<Function> = programs
        .map(|(source, inputs)| Function {
            source: instrumented(source),
            inputs,
        })
        .collect();
    let mut runs: Vec<Option<Run>> = functions.iter().map(|_| None).collect();
    for (number, values) in call(verifier, CALLER, &functions) {
        runs[number] = Some(values.iter().map(steps_and_output).collect());
    }
    runs
}

fn steps_and_output(value: &Value) -> Option<(String, String)> {
    let Value::List(both) = value else { return None };
    match both.as_slice() {
        [output, Value::Str(steps)] => Some((compact_literal(steps.as_str()?), compact(output))),
        _ => None,
    }
}

/// Adds the steps of every run whose output is the recorded one.
pub(crate) fn trace(verifier: &Verifier, executed: &mut [Executed]) {
    let inputs = |executed: &Executed| executed.pairs.iter().map(|(input, _)| input.clone()).collect();
    let runs = runs(
        verifier,
        executed
            .iter()
            .map(|executed| (executed.source.as_str(), inputs(executed))),
    );
    for (executed, run) in executed.iter_mut().zip(runs) {
        let run = run.unwrap_or_default();
        let steps = |(at, (_, output)): (usize, &(String, String))| match run.get(at) {
            Some(Some((steps, found))) if found == output => Some(steps.clone()),
            _ => None,
        };
        executed.traces = executed.pairs.iter().enumerate().map(steps).collect();
    }
}
