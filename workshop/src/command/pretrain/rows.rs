//! Rows to train on, in an order that a seed determines.

use std::path::Path;

use anyhow::{Context as _, bail, ensure};
use lyceum_core::artifact::Digest;
use lyceum_engine::config::ModelConfig;
use lyceum_engine::tokenizer::Tokenizer;
use lyceum_workshop::pretrain::{PackedSample, RowPacker, WeightedTokens};
use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use rand_chacha::ChaCha8Rng;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    prompt: String,
    answer: String,
    #[serde(default = "one")]
    weight: f32,
}

fn one() -> f32 {
    1.0
}

/// The rows of a file as tokens.
pub(super) struct Rows {
    samples: Vec<PackedSample>,
    /// SHA-256 of the file.
    pub(super) digest: String,
}

impl Rows {
    /// Reads and tokenizes a file.
    ///
    /// # Errors
    /// A line that is not a row, has no answer, or is longer than `longest` tokens; the error names it.
    pub(super) fn read(
        path: &Path,
        tokenizer: &Tokenizer,
        model: &ModelConfig,
        longest: usize,
    ) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let mut samples = Vec::new();
        for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
            let read = || -> anyhow::Result<PackedSample> {
                let row: Row = serde_json::from_str(line)?;
                let sample = sample(&row, tokenizer, model)?;
                let tokens = sample.tokens();
                ensure!(tokens <= longest, "{tokens} tokens: at most {longest} (--tokens) are valid");
                Ok(sample)
            };
            samples.push(read().with_context(|| format!("{}, line {number}", path.display()))?);
        }
        ensure!(!samples.is_empty(), "{} has no rows", path.display());
        Ok(Self { samples, digest: Digest::of(text.as_bytes()).to_string() })
    }

    pub(super) fn len(&self) -> usize {
        self.samples.len()
    }
}

fn sample(row: &Row, tokenizer: &Tokenizer, model: &ModelConfig) -> anyhow::Result<PackedSample> {
    let prompt = tokenizer.encode(&row.prompt)?;
    ensure!(!prompt.is_empty(), "`prompt` is empty: at least one token is needed before the answer");
    ensure!(row.weight > 0.0 && row.weight.is_finite(), "`weight` is {}: a number above 0 is valid", row.weight);
    let Some(&end) = model.eos_token_ids.first() else {
        bail!("the model has no end-of-text token: `eos_token_id` in config.json or generation_config.json");
    };
    let mut prefix = WeightedTokens::default();
    prefix.extend(&prompt, 0.0);
    prefix.extend(&tokenizer.encode(&row.answer)?, row.weight);
    prefix.extend(&[end], row.weight);
    Ok(PackedSample { prefix, branches: Vec::new() })
}

/// Endless passes over the rows, each in a new order.
pub(super) struct Passes<'r> {
    rows: &'r Rows,
    seed: u64,
    /// Rows drawn so far.
    drawn: u64,
    order: Vec<usize>,
}

impl<'r> Passes<'r> {
    /// Continues after `drawn` rows.
    pub(super) fn new(rows: &'r Rows, seed: u64, drawn: u64) -> Self {
        let mut passes = Self { rows, seed, drawn, order: Vec::new() };
        passes.shuffle();
        passes
    }

    fn shuffle(&mut self) {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        random.set_stream(self.drawn / self.rows.len() as u64);
        self.order = (0..self.rows.len()).collect();
        self.order.shuffle(&mut random);
    }

    /// Fills sequences with the next rows, until one does not fit; also returns how many rows were drawn in all.
    pub(super) fn pack(&mut self, sequences: usize, tokens: usize) -> (RowPacker, u64) {
        let mut packer = RowPacker::new(sequences, tokens);
        loop {
            let place = self.order[(self.drawn % self.rows.len() as u64) as usize];
            if packer.push(self.rows.samples[place].clone()).is_err() {
                return (packer, self.drawn);
            }
            self.drawn += 1;
            if self.drawn.is_multiple_of(self.rows.len() as u64) {
                self.shuffle();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{PackedSample, Passes, Rows, WeightedTokens};

    fn rows(number: i64) -> Rows {
        let sample = |id| PackedSample {
            prefix: WeightedTokens { ids: vec![id; 3], weights: vec![1.0; 3] },
            branches: Vec::new(),
        };
        Rows { samples: (0..number).map(sample).collect(), digest: String::new() }
    }

    #[test]
    fn a_continued_pass_packs_what_an_unbroken_one_does() {
        let rows = rows(7);
        let mut whole = Passes::new(&rows, 5, 0);
        let packed: Vec<String> = (0..6).map(|_| format!("{:?}", whole.pack(2, 7))).collect();
        for broken in 1..6 {
            let drawn = 4 * broken as u64;
            let mut later = Passes::new(&rows, 5, drawn);
            let again: Vec<String> = (broken..6).map(|_| format!("{:?}", later.pack(2, 7))).collect();
            assert_eq!(again, packed[broken..]);
        }
        assert_ne!(packed[0], format!("{:?}", Passes::new(&rows, 6, 0).pack(2, 7)), "the seed changes nothing");
    }

    #[test]
    fn every_pass_has_every_row_once() {
        let rows = rows(8);
        let mut passes = Passes::new(&rows, 1, 0);
        let mut orders = Vec::new();
        for pass in 1..4 {
            orders.push(passes.order.clone());
            let mut sorted = passes.order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..8).collect::<Vec<_>>());
            for _ in 0..2 {
                passes.pack(4, 3);
            }
            assert_eq!(passes.drawn, 8 * pass);
        }
        assert!(orders[0] != orders[1] && orders[1] != orders[2]);
    }
}
