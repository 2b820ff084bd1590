//! Selection of training programs and held-out programs.

use std::collections::{HashMap, HashSet};

use lyceum_core::seed;
use lyceum_verifier::Verifier;
use serde::{Deserialize, Serialize};

use crate::execute::{Executed, execute};
use crate::masked::{add_candidates, masked_form};
use crate::program::{Level, Program};
use crate::trace::trace;

/// Maximum number of programs drawn at a time.
const CHUNK: u64 = 4_096;

/// Specification of a corpus; the same specification gives the same corpus.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CorpusSpec {
    /// Seed of all programs.
    pub seed: u64,
    /// Number of training programs for each level from 1. A level may have fewer if it yields no more.
    pub programs: [usize; 5],
    /// Inputs per program.
    pub inputs: usize,
    /// One masked form in this many is held out.
    pub hold_out_one_in: u64,
    /// Maximum number of programs per masked form in either part.
    pub programs_per_form: usize,
    /// Whether the steps of the training programs are recorded.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub traces: bool,
}

impl CorpusSpec {
    /// Whether programs of this masked form are held out. Depends only on seed and form, so it can be asked about any
    /// program.
    #[must_use]
    pub fn holds_out(&self, form: &str) -> bool {
        seed::derive(self.seed, form, 0).is_multiple_of(self.hold_out_one_in.max(2))
    }
}

/// Programs with their outputs. No masked form is in both parts, and no source occurs twice in one part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Corpus {
    /// Training programs.
    pub training: Vec<Executed>,
    /// Programs for evaluation.
    pub held_out: Vec<Executed>,
}

/// The programs drawn so far, at any level.
#[derive(Default)]
struct Seen {
    sources: HashSet<String>,
    programs_of_form: HashMap<String, usize>,
}

impl Corpus {
    /// Draws and runs programs until every level has the number that the specification asks for, or has yielded nothing
    /// new for a long time. `observe` is called with the number of programs kept so far.
    #[must_use]
    pub fn generate(spec: &CorpusSpec, verifier: &Verifier, observe: &mut dyn FnMut(usize)) -> Self {
        let mut corpus = Self::default();
        let mut seen = Seen::default();
        for (level, &wanted) in Level::ALL.into_iter().zip(&spec.programs) {
            corpus.generate_level(spec, level, wanted, &mut seen, verifier, observe);
        }
        if spec.traces {
            add_candidates(verifier, &mut corpus.training);
        }
        corpus
    }

    fn generate_level(
        &mut self,
        spec: &CorpusSpec,
        level: Level,
        wanted: usize,
        seen: &mut Seen,
        verifier: &Verifier,
        observe: &mut dyn FnMut(usize),
    ) {
        let chunk = CHUNK.min(4 * wanted as u64 + 64);
        let (mut kept, mut barren) = (0, 0);
        let mut next = 0;
        while kept < wanted && barren < 8 {
            let mut fresh = Vec::new();
            for item in next..next + chunk {
                let program = Program::random(spec.seed, level, item);
                let full = seen
                    .programs_of_form
                    .get(&masked_form(&program.source))
                    .is_some_and(|&count| count >= spec.programs_per_form);
                if !full && seen.sources.insert(program.source.clone()) {
                    fresh.push(program);
                }
            }
            next += chunk;
            let before = kept;
            let recorded = self.training.len();
            for executed in execute(verifier, fresh, spec.inputs) {
                let form = masked_form(&executed.source);
                let held_out = spec.holds_out(&form);
                let count = seen.programs_of_form.entry(form).or_default();
                if kept == wanted || *count >= spec.programs_per_form {
                    continue;
                }
                *count += 1;
                if held_out {
                    self.held_out.push(executed);
                } else {
                    self.training.push(executed);
                    kept += 1;
                }
            }
            if spec.traces {
                trace(verifier, &mut self.training[recorded..]);
            }
            observe(self.training.len());
            barren = if kept - before < chunk as usize / 100 { barren + 1 } else { 0 };
        }
    }
}
