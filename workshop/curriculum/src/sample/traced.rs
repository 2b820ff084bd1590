//! Answers with their steps written down first.
//!
//! `#` opens what comes before the answer, and the task's own marker (`<so>`, `<si>`, `<sf>`) ends it. To find an
//! output, the steps of the run are written; to find an input or a program, candidates are run one after another until
//! one gives what is asked for. Wrong candidates have weight 0: a model learns to run them and to go on, not to write
//! them.

use rand::Rng as _;
use rand::seq::index::sample as distinct;
use rand_chacha::ChaCha12Rng;
use serde::{Deserialize, Serialize};

use super::Part;
use crate::execute::Executed;

/// Limits of traced answers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceSpec {
    /// Maximum number of tokens of a traced answer; one that would be longer is written without steps.
    pub max_tokens: usize,
    /// Inputs per program in a traced sample.
    pub branches: usize,
    /// Maximum number of wrong candidates.
    pub candidates: usize,
}

/// How a solution is written.
#[derive(Clone, Copy)]
pub enum Way<'a> {
    /// The answer alone.
    Direct,
    /// With its steps if they fit. The function counts the tokens of a text.
    Traced(&'a dyn Fn(&str) -> usize),
}

/// A traced answer in the making.
pub(super) struct Tracer<'a> {
    pub(super) spec: &'a TraceSpec,
    pub(super) length: &'a dyn Fn(&str) -> usize,
    /// Weight of answers in the loss.
    pub(super) weight: f32,
}

impl Tracer<'_> {
    /// The steps of the run, then the output. `None` if there are no steps, or if they do not fit.
    pub(super) fn output(&self, executed: &Executed, at: usize) -> Option<Vec<Part>> {
        let (_, output) = &executed.pairs[at];
        let steps = steps(executed, at)?;
        self.fitting(vec![Part::new(format!("#{steps}<so>{output}<eos>"), self.weight)])
    }

    /// Inputs and their runs, the last with the wanted output; then that input.
    pub(super) fn input(&self, executed: &Executed, at: usize, rng: &mut ChaCha12Rng) -> Option<Vec<Part>> {
        let (input, wanted) = &executed.pairs[at];
        let ending = format!(":{}<si>{input}<eos>", run(executed, at)?);
        let right =
            vec![Part::new("#", self.weight), Part::new(input.as_str(), self.weight), Part::new(ending, self.weight)];
        let mut answer = self.fitting(right)?;
        let all = executed.pairs.len();
        let count = rng.random_range(0..=self.spec.candidates);
        for wrong in distinct(rng, all, count.min(all)) {
            let (input, output) = &executed.pairs[wrong];
            let (false, Some(run)) = (output == wanted, run(executed, wrong)) else { continue };
            let candidate = [
                Part::new("#", self.weight),
                Part::new(input.as_str(), 0.0),
                Part::new(format!(":{run}"), self.weight),
            ];
            match self.fitting(candidate.into_iter().chain(answer.iter().cloned()).collect()) {
                Some(longer) => answer = longer,
                None => break,
            }
        }
        Some(answer)
    }

    /// Programs and their runs on the first pair that is shown, the last with the wanted output; then that program.
    pub(super) fn function(&self, executed: &Executed, at: usize, rng: &mut ChaCha12Rng) -> Option<Vec<Part>> {
        let (_, wanted) = &executed.pairs[at];
        let source = executed.source.as_str();
        let right = vec![
            Part::new("#", self.weight),
            Part::new(source, self.weight),
            Part::new(format!("#{}<sf>", run(executed, at)?), self.weight),
            Part::new(format!("{source}<eos>"), self.weight),
        ];
        let mut answer = self.fitting(right)?;
        let count = rng.random_range(0..=self.spec.candidates);
        for candidate in executed.candidates.iter().take(count) {
            let Some(Some((steps, output))) = candidate.runs.get(at) else { continue };
            if output == wanted {
                continue;
            }
            let wrong = [
                Part::new("#", self.weight),
                Part::new(candidate.source.as_str(), 0.0),
                Part::new(format!("#{}", ended(steps, output)), self.weight),
            ];
            match self.fitting(wrong.into_iter().chain(answer.iter().cloned()).collect()) {
                Some(longer) => answer = longer,
                None => break,
            }
        }
        Some(answer)
    }

    fn fitting(&self, parts: Vec<Part>) -> Option<Vec<Part>> {
        let tokens: usize = parts.iter().map(|part| (self.length)(&part.text)).sum();
        (tokens <= self.spec.max_tokens).then_some(parts)
    }
}

/// The steps of a recorded run, if there are any.
fn steps(executed: &Executed, at: usize) -> Option<&str> {
    executed.traces.get(at).and_then(|trace| trace.as_deref()).filter(|steps| !steps.is_empty())
}

/// The steps of a recorded run and its output.
fn run(executed: &Executed, at: usize) -> Option<String> {
    let (_, output) = &executed.pairs[at];
    Some(ended(executed.traces.get(at)?.as_deref()?, output))
}

fn ended(steps: &str, output: &str) -> String {
    let separator = if steps.is_empty() { "" } else { ";" };
    format!("{steps}{separator}{output}")
}
