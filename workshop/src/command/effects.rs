//! `effects`: the statistics of studies, for scripts.

use clap::Args;
use lyceum_core::statistics::{Effect, Expectation, MeanDifference, Outcome, Pairing, Sample, holm};
use serde::{Deserialize, Serialize};
use std::io::{BufRead as _, Write as _};

/// Judge differences between arms: a line of JSON on standard output for each line on standard input
///
/// A line is {"effects": [CONTRAST, …], "means": [[NUMBER, …], …], "holm": [P, …]}, each optional. A
/// contrast has the scores of two arms by seed and problem:
///
///   {"ours": [[0.5, 1], …], "theirs": [[0, 1], …], "expected": {"higher": 0.05}}
///
/// An arm that has no seeds is {"fixed": [0, 1]}. `expected` is {"higher": BY}, {"lower": BY} or
/// "not_higher". The answer has for each contrast its `effect` and `outcome`, or why it is
/// `undecidable`; for each list of means its interval; and whether each hypothesis is rejected.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Effects {}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    #[serde(default)]
    effects: Vec<Contrast>,
    #[serde(default)]
    means: Vec<Vec<f64>>,
    /// p-values of hypotheses that are tested together at .05.
    #[serde(default)]
    holm: Vec<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Contrast {
    ours: Arm,
    theirs: Arm,
    expected: Expectation,
    #[serde(default)]
    paired: bool,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Arm {
    Seeds(Vec<Vec<f64>>),
    Fixed { fixed: Vec<f64> },
}

#[derive(Debug, Serialize)]
struct Output {
    effects: Vec<Judged>,
    means: Vec<Option<MeanDifference>>,
    holm: Vec<bool>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Judged {
    Effect {
        effect: Box<Effect>,
        outcome: Outcome,
        /// Of the difference that was expected, on either side of it.
        p_value: f64,
        /// The least true difference that is shown with probability .8.
        least_shown: f64,
    },
    Undecidable {
        undecidable: String,
    },
}

impl Effects {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        for line in std::io::stdin().lock().lines() {
            let input: Input = serde_json::from_str(&line?)?;
            let output = Output {
                effects: input.effects.iter().map(Contrast::judged).collect(),
                means: input.means.iter().map(|values| MeanDifference::of(values)).collect(),
                holm: holm(&input.holm, 0.05),
            };
            let mut out = std::io::stdout().lock();
            serde_json::to_writer(&mut out, &output)?;
            writeln!(out)?;
            out.flush()?;
        }
        Ok(())
    }
}

impl Contrast {
    fn judged(&self) -> Judged {
        let pairing = if self.paired { Pairing::Paired } else { Pairing::Independent };
        match Effect::of(self.ours.sample(), self.theirs.sample(), pairing) {
            Ok(effect) => Judged::Effect {
                outcome: Outcome::of(self.expected, &effect),
                p_value: effect.p_value(self.expected.bound()),
                least_shown: effect.shows(0.8),
                effect: Box::new(effect),
            },
            Err(why) => Judged::Undecidable { undecidable: why.to_string() },
        }
    }
}

impl Arm {
    fn sample(&self) -> Sample<'_> {
        match self {
            Self::Seeds(seeds) => Sample::Seeds(seeds),
            Self::Fixed { fixed } => Sample::Fixed(fixed),
        }
    }
}
