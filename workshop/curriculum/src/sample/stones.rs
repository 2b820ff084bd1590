//! What GASP's teacher writes, in the format of `configs/prompts/seedling-gasp`: an easier program than the one behind a
//! hard problem (a lemma), or a harder one than a program that is shown (a lift).

use rand::Rng as _;
use rand_chacha::ChaCha12Rng;
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use super::{Part, Sample, SampleSpec};
use crate::execute::Executed;
use crate::message::message;
use crate::steps::Axis;

/// What the teacher is asked for. Each name is that of a template and, in angle brackets, of a marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[derive(Serialize, Deserialize, IntoStaticStr, VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum StoneTask {
    /// Something easier with simpler inputs.
    LemmaIo,
    /// Something easier with a simpler program.
    LemmaF,
    /// Something harder with richer inputs.
    LiftIo,
    /// Something harder with a longer program.
    LiftF,
}

lyceum_core::named!(StoneTask, "a stepping stone");

/// How stepping stones are written.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoneSpec {
    /// Inputs of a stone.
    pub pairs: usize,
    /// Pairs that prompts usually show.
    pub shown: usize,
}

impl StoneTask {
    /// Along what the two programs of a sample differ.
    #[must_use]
    pub fn axis(self) -> Axis {
        match self {
            Self::LemmaIo | Self::LiftIo => Axis::Io,
            Self::LemmaF | Self::LiftF => Axis::F,
        }
    }

    /// Whether the harder program is given and the easier one written.
    #[must_use]
    pub fn is_lemma(self) -> bool {
        matches!(self, Self::LemmaIo | Self::LemmaF)
    }

    /// The prompt about a program that shows these pairs.
    #[must_use]
    pub fn prompt<'p>(self, program: &str, pairs: impl Iterator<Item = &'p (String, String)>) -> String {
        let shown: String = pairs.map(|(input, output)| format!("<in>{input}<out>{output}")).collect();
        let source = if self.is_lemma() { "" } else { program };
        format!("<{}>{source}<msg>{}{shown}<prog>", self.name(), message(program))
    }
}

impl SampleSpec {
    /// Writes a stepping stone: `harder` is a step from `easier` along the task's axis.
    pub fn write_stone(
        &self,
        task: StoneTask,
        spec: &StoneSpec,
        easier: &Executed,
        harder: &Executed,
        rng: &mut ChaCha12Rng,
    ) -> Sample {
        let (given, written) = if task.is_lemma() { (harder, easier) } else { (easier, harder) };
        // Another number now and then: goalposts of other makers show more pairs or fewer.
        let shown = if rng.random_bool(0.75) { spec.shown } else { rng.random_range(1..=spec.shown + 1) };
        let shown = self.indices(given, shown, rng);
        let prompt = task.prompt(&given.source, shown.iter().map(|&at| &given.pairs[at]));
        let inputs: Vec<&str> =
            self.telling(written, spec.pairs, rng).into_iter().map(|at| written.pairs[at].0.as_str()).collect();
        Sample {
            prefix: vec![
                Part::new(prompt, 0.0),
                Part::new(format!("{}<in>", written.source), self.weights.proposal),
                Part::new(format!("{}<msg>", inputs.join("<in>")), self.weights.listed_inputs),
                Part::new(format!("{}<eos>", message(&written.source)), self.weights.proposal),
            ],
            branches: Vec::new(),
        }
    }

    /// Different pairs in random order, with different outputs as far as there are such.
    fn telling(&self, executed: &Executed, count: usize, rng: &mut ChaCha12Rng) -> Vec<usize> {
        let drawn = self.indices(executed, executed.pairs.len(), rng);
        let output = |at: &usize| &executed.pairs[*at].1;
        let is_new = |place: usize| !drawn[..place].iter().any(|at| output(at) == output(&drawn[place]));
        let (mut chosen, rest): (Vec<_>, Vec<_>) = (0..drawn.len()).partition(|&place| is_new(place));
        chosen.extend(rest);
        chosen.truncate(count);
        chosen.into_iter().map(|place| drawn[place]).collect()
    }
}
