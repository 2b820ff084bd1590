//! Programs written as training samples in the format of `configs/prompts/seedling`.

mod stones;
mod traced;

use rand::Rng as _;
use rand::seq::index::sample as distinct;
use rand_chacha::ChaCha12Rng;
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use crate::execute::Executed;
use crate::message::message;
pub use stones::{StoneSpec, StoneTask};
use traced::Tracer;
pub use traced::{TraceSpec, Way};

/// Proposing and solving for each of the three problem types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[derive(Serialize, Deserialize, IntoStaticStr, VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum TaskKind {
    /// Write a program and an input; the output is to be found.
    ProposeCodeO,
    /// Write a program and an input; the input is to be found from its output.
    ProposeCodeI,
    /// Write inputs and a message for a program; the program is to be found.
    ProposeCodeF,
    /// Find the output.
    SolveCodeO,
    /// Find an input.
    SolveCodeI,
    /// Find a program.
    SolveCodeF,
}

lyceum_core::named!(TaskKind, "a task of the curriculum");

/// A piece of text that is tokenized separately: markers or the ends of the text delimit it.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    pub text: String,
    /// Weight of each of its tokens in the loss.
    pub weight: f32,
}

impl Part {
    pub(crate) fn new(text: impl Into<String>, weight: f32) -> Self {
        Self { text: text.into(), weight }
    }
}

/// A training text: a prefix, and continuations of it that do not see each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Shared by all continuations; the whole text if there are none.
    pub prefix: Vec<Part>,
    /// Continuations. The first part of each has weight 0.
    pub branches: Vec<Vec<Part>>,
}

/// Weights in the loss for each kind of token.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Weights {
    /// Answers: outputs, inputs and programs to be found.
    pub answer: f32,
    /// Programs in the prompts of solving tasks.
    pub shown_program: f32,
    /// Proposed programs and their inputs.
    pub proposal: f32,
    /// The inputs listed in a `code_f` proposal: they are random, so there is little to learn.
    pub listed_inputs: f32,
    /// Reference problems in the prompts of proposals.
    pub reference: f32,
}

/// Settings for writing samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SampleSpec {
    /// Inputs per program whose outputs (or vice versa) are learned side by side.
    pub branches: usize,
    /// Maximum number of references in a proposal's prompt.
    pub references: usize,
    /// Inputs listed in a `code_f` proposal; the solver sees the first half.
    pub num_inputs: usize,
    /// Weights in the loss.
    pub weights: Weights,
    /// How traced answers are written; without it, answers are never traced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceSpec>,
    /// The share, at levels 1 to 5, of direct answers to `code_o` and `code_i` that are guesses: what is right for another
    /// input of the same program. Without it, all are right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guesses: Option<[f64; 5]>,
    /// How stepping stones are written (GASP); without it, there are none, and their markers are not in the vocabulary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stones: Option<StoneSpec>,
}

impl SampleSpec {
    /// Writes a task about a program, a solution in the given way. `references` supplies other programs for a
    /// proposal's prompt.
    pub fn write<'a>(
        &self,
        task: TaskKind,
        way: Way<'_>,
        executed: &Executed,
        references: impl FnMut(&mut ChaCha12Rng) -> &'a Executed,
        rng: &mut ChaCha12Rng,
    ) -> Sample {
        let plain = |prefix| Sample { prefix, branches: Vec::new() };
        match task {
            TaskKind::ProposeCodeO => plain(self.proposal("<po>", executed, references, rng)),
            TaskKind::ProposeCodeI => plain(self.proposal("<pi>", executed, references, rng)),
            TaskKind::ProposeCodeF => plain(self.function_proposal(executed, rng)),
            TaskKind::SolveCodeO => Sample {
                prefix: self.shown("<so>", executed),
                branches: self.answers(way, executed, rng, |tracer, at, _| {
                    let (input, output) = &executed.pairs[at];
                    let traced = tracer.and_then(|tracer| tracer.output(executed, at));
                    (format!("<in>{input}<out>"), output, traced)
                }),
            },
            TaskKind::SolveCodeI => Sample {
                prefix: self.shown("<si>", executed),
                branches: self.answers(way, executed, rng, |tracer, at, rng| {
                    let (input, output) = &executed.pairs[at];
                    let traced = tracer.and_then(|tracer| tracer.input(executed, at, rng));
                    (format!("<out>{output}<in>"), input, traced)
                }),
            },
            TaskKind::SolveCodeF => {
                // A student sees half of the inputs; sometimes another number, because configs can change it.
                let half = match &self.stones {
                    Some(stones) if rng.random_bool(0.5) => stones.shown,
                    _ => (self.num_inputs / 2).max(1),
                };
                let shown = if rng.random_bool(0.75) { half } else { rng.random_range(1..=half + 2) };
                let mut prompt = format!("<sf><msg>{}", message(&executed.source));
                let chosen = self.indices(executed, shown, rng);
                for (input, output) in chosen.iter().map(|&at| &executed.pairs[at]) {
                    prompt.push_str(&format!("<in>{input}<out>{output}"));
                }
                prompt.push_str("<prog>");
                let tracer = self.tracer(way);
                let traced = tracer.and_then(|tracer| tracer.function(executed, *chosen.first()?, rng));
                let direct = || vec![Part::new(format!("{}<eos>", executed.source), self.weights.answer)];
                let answer = traced.unwrap_or_else(direct);
                plain(std::iter::once(Part::new(prompt, 0.0)).chain(answer).collect())
            }
        }
    }

    fn shown(&self, marker: &str, executed: &Executed) -> Vec<Part> {
        vec![Part::new(marker, 0.0), Part::new(executed.source.as_str(), self.weights.shown_program)]
    }

    fn proposal<'a>(
        &self,
        marker: &str,
        executed: &Executed,
        mut references: impl FnMut(&mut ChaCha12Rng) -> &'a Executed,
        rng: &mut ChaCha12Rng,
    ) -> Vec<Part> {
        let mut parts = vec![Part::new(marker, 0.0)];
        for _ in 0..rng.random_range(0..=self.references) {
            let reference = references(rng);
            if let Some((input, output)) = self.chosen(reference, 1, rng).next() {
                parts.push(Part::new(
                    format!("<ref>{}<in>{input}<out>{output}", reference.source),
                    self.weights.reference,
                ));
            }
        }
        parts.push(Part::new("<prog>", 0.0));
        if let Some((input, _)) = self.chosen(executed, 1, rng).next() {
            parts.push(Part::new(format!("{}<in>{input}<eos>", executed.source), self.weights.proposal));
        }
        parts
    }

    fn function_proposal(&self, executed: &Executed, rng: &mut ChaCha12Rng) -> Vec<Part> {
        let inputs: Vec<&str> = self.chosen(executed, self.num_inputs, rng).map(|(input, _)| input.as_str()).collect();
        vec![
            Part::new(format!("<pf>{}<in>", executed.source), 0.0),
            Part::new(format!("{}<msg>", inputs.join("<in>")), self.weights.listed_inputs),
            Part::new(format!("{}<eos>", message(&executed.source)), self.weights.proposal),
        ]
    }

    /// Questions about different pairs of a program, each with its answer. `write` gives the question about a pair, the
    /// answer, and the traced answer if there is to be one.
    fn answers<'a>(
        &self,
        way: Way<'_>,
        executed: &'a Executed,
        rng: &mut ChaCha12Rng,
        write: impl Fn(Option<&Tracer<'_>>, usize, &mut ChaCha12Rng) -> (String, &'a String, Option<Vec<Part>>),
    ) -> Vec<Vec<Part>> {
        let tracer = self.tracer(way);
        let count = tracer.as_ref().map_or(self.branches, |tracer| tracer.spec.branches);
        let chosen = self.indices(executed, count, rng);
        let branches = chosen.into_iter().map(|at| {
            let (question, mut answer, traced) = write(tracer.as_ref(), at, rng);
            if traced.is_none() && self.guesses(executed, rng) {
                let other = (at + rng.random_range(1..executed.pairs.len())) % executed.pairs.len();
                answer = write(None, other, rng).1;
            }
            let direct = || vec![Part::new(format!("{answer}<eos>"), self.weights.answer)];
            let answer = traced.unwrap_or_else(direct);
            std::iter::once(Part::new(question, 0.0)).chain(answer).collect()
        });
        branches.collect()
    }

    /// Whether the next direct answer about a program is a guess.
    fn guesses(&self, executed: &Executed, rng: &mut ChaCha12Rng) -> bool {
        let level = usize::from(executed.level.number()) - 1;
        let share = self.guesses.and_then(|shares| shares.get(level).copied());
        executed.pairs.len() > 1 && share.is_some_and(|share| rng.random_bool(share))
    }

    fn tracer<'a>(&'a self, way: Way<'a>) -> Option<Tracer<'a>> {
        match way {
            Way::Direct => None,
            Way::Traced(length) => self.trace.as_ref().map(|spec| Tracer { spec, length, weight: self.weights.answer }),
        }
    }

    /// Different pairs of a program in random order.
    fn chosen<'a>(
        &self,
        executed: &'a Executed,
        count: usize,
        rng: &mut ChaCha12Rng,
    ) -> impl Iterator<Item = &'a (String, String)> + use<'a> {
        let indices = self.indices(executed, count, rng);
        indices.into_iter().map(|at| &executed.pairs[at])
    }

    /// The numbers of different pairs of a program in random order.
    fn indices(&self, executed: &Executed, count: usize, rng: &mut ChaCha12Rng) -> Vec<usize> {
        let all = executed.pairs.len();
        distinct(rng, all, count.min(all)).into_vec()
    }
}
