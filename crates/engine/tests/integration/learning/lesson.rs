//! A small update with clipping.

use lyceum_core::work::{Dtype, LoraShape, Optimizer, Projection};
use lyceum_engine::learn::{OptimizerState, TrainingSequence, Update, UpdateOptions, Updated};
use lyceum_engine::{Model, Population, Result};

use crate::learning::batch::fresh;
use crate::learning::fixtures;

/// Two members, and what they learn.
pub(crate) struct Lesson {
    pub(crate) model: Model,
    pub(crate) start: Population,
    pub(crate) sequences: Vec<Vec<TrainingSequence>>,
    options: UpdateOptions,
}

impl Lesson {
    pub(crate) const BASE: &str = "qwen2-tied";

    pub(crate) fn new() -> Self {
        let model = fixtures::model(Self::BASE, Dtype::Fp32);
        let shape = LoraShape::new(4, 8.0, false, Projection::ALL.to_vec()).unwrap();
        let start = Population::initialise(&model.config, shape, 2, 3, model.placement.device).unwrap();
        let sequence = |number: i64| TrainingSequence {
            id: number.to_string(),
            prompt: (0..4 + number).collect(),
            completion: (number..number + 6).collect(),
            logprobs: vec![-5.0; 6],
            advantage: if number % 2 == 0 { 1.0 } else { -1.0 },
        };
        Self {
            model,
            start,
            sequences: vec![(0..3).map(sequence).collect(), (2..5).map(sequence).collect()],
            options: UpdateOptions {
                optimizer: Optimizer { max_grad_norm: 1e-3, ..Optimizer::default() },
                ..UpdateOptions::default()
            },
        }
    }

    pub(crate) fn update(&self) -> Update<'_> {
        Update { model: &self.model, options: &self.options, reference: None }
    }

    /// The state before the first step.
    pub(crate) fn fresh(&self) -> OptimizerState {
        fresh(&self.start)
    }

    pub(crate) fn learn(&self, state: &OptimizerState) -> Result<Updated> {
        self.update().run(&self.start, state, &self.sequences, &mut |_| ())
    }
}
