//! `lyceum-workshop bench draw`: choosing the rows of a step.

use anyhow::ensure;
use clap::Args;
use lyceum_core::recipe::RowTags;
use lyceum_core::recipe::rows::{Batch, Sampler, SamplerState};
use serde_json::json;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Draws the rows of a step with every sampler, and fails if the slowest of ten steps takes longer than the limit.
#[derive(Debug, Args)]
pub(super) struct BenchDraw {
    /// Rows of the dataset.
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1..))]
    rows: u32,
    /// Rows of a step.
    #[arg(long, default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..))]
    batch: u32,
    /// Rows of which `band` remembers answers.
    #[arg(long, default_value_t = 50_000)]
    remembered: u32,
    #[arg(long, default_value_t = 50.0, value_name = "MILLISECONDS")]
    limit: f64,
}

const STEPS: u32 = 10;

impl BenchDraw {
    pub(super) fn run(&self) -> anyhow::Result<()> {
        let tags: RowTags = (0..self.rows).map(|row| Some((row % 16).to_string())).collect();
        let weights: serde_json::Map<_, _> = (0..16).map(|level| (level.to_string(), json!(1.0))).collect();
        for sampler in [
            json!("uniform"),
            json!("epochs"),
            json!({"weighted": {"tag": "level", "weights": weights}}),
            json!({"staircase": {}}),
            json!({"band": {}}),
        ] {
            let sampler: Sampler = serde_json::from_value(sampler)?;
            let slowest = self.slowest(&sampler, &tags).as_secs_f64() * 1000.0;
            println!("{:<10} {slowest:>6.1} ms at most for {} of {} rows", sampler.name(), self.batch, self.rows);
            ensure!(slowest <= self.limit, "{} takes longer than {} ms", sampler.name(), self.limit);
        }
        Ok(())
    }

    fn slowest(&self, sampler: &Sampler, tags: &RowTags) -> Duration {
        let mut state = SamplerState::default();
        if let Sampler::Band(_) = sampler {
            state.rows = (0..self.remembered.min(self.rows)).map(|row| (row, [2.0, 6.0])).collect();
        }
        let mut step = |step| {
            let batch = Batch {
                rows: 0..self.rows,
                count: self.batch,
                before: u64::from(step) * u64::from(self.batch),
                seed: 1,
                path: "member",
                step,
                round: 0,
                tags: Some(tags),
            };
            let begun = Instant::now();
            let answers: Vec<_> = sampler.draw(&batch, &state).into_iter().map(|row| (row, [3, 5])).collect();
            sampler.update(&answers, Some(tags), &batch.rows, &mut state);
            black_box(&state);
            begun.elapsed()
        };
        (0..STEPS).map(&mut step).max().unwrap_or_default()
    }
}
