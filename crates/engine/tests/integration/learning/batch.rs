//! The committed batches, their expected results, and comparisons.

use lyceum_core::work::{Dtype, KlReference, Loss, LossAggregation, OldPolicy, Optimizer, PolicyLoss};
use lyceum_engine::learn::{
    GradientPiece, OptimizerState, TrainedTensor, TrainingSequence, Update, UpdateOptions, Updated,
};
use lyceum_engine::weights::Checkpoint;
use lyceum_engine::{Model, Population, Result};
use serde::Deserialize;
use tch::Tensor;

use crate::learning::fixtures;

#[derive(Deserialize)]
struct BatchFile {
    loss: Option<LossFields>,
    optimizer: serde_json::Value,
    steps: u32,
    sequences: Vec<Row>,
}

#[derive(Deserialize)]
struct LossFields {
    clip_low: f64,
    clip_high: f64,
    clip_dual: Option<f64>,
    aggregation: LossAggregation,
    entropy: f64,
    kl: f64,
    reference: Option<Reference>,
    old_policy: Option<OldPolicy>,
    importance_cap: Option<f64>,
    constant_length: Option<u32>,
}

/// The KL reference; `versions` are the next member's.
#[derive(Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Reference {
    #[default]
    Base,
    Start,
    Versions,
}

#[derive(Deserialize)]
struct Row {
    id: String,
    adapter: usize,
    prompt_ids: Vec<i64>,
    ids: Vec<i64>,
    logprobs: Vec<f32>,
    advantage: f32,
}

/// A case of `make_learning.py`.
pub(crate) struct Case {
    pub(crate) model: Model,
    pub(crate) population: Population,
    pub(crate) sequences: Vec<Vec<TrainingSequence>>,
    pub(crate) options: UpdateOptions,
    pub(crate) steps: u32,
    reference: Reference,
    versions: Population,
    golden: Checkpoint,
}

impl Case {
    pub(crate) fn new(case: &str, model_name: &str) -> Self {
        let folder = fixtures::folder().join("learning").join(case);
        let text = std::fs::read_to_string(folder.join(format!("{model_name}.json"))).unwrap();
        let file: BatchFile = serde_json::from_str(&text).unwrap();
        let model = fixtures::model(model_name, Dtype::Fp32);
        let population = fixtures::population(&model, model_name, &fixtures::STACKED);
        let [first, others @ ..] = fixtures::STACKED;
        let versions = fixtures::population(&model, model_name, &[others[0], others[1], first]);
        let mut sequences = vec![Vec::new(); population.members()];
        for row in file.sequences {
            sequences[row.adapter].push(TrainingSequence {
                id: row.id,
                prompt: row.prompt_ids,
                completion: row.ids,
                logprobs: row.logprobs,
                advantage: row.advantage,
            });
        }
        let reference = file.loss.as_ref().and_then(|fields| fields.reference).unwrap_or_default();
        let loss = file.loss.map_or(Loss::CrossEntropy, |fields| {
            Loss::PolicyGradient(PolicyLoss {
                clip_low: fields.clip_low,
                clip_high: fields.clip_high,
                clip_dual: fields.clip_dual,
                aggregation: fields.aggregation,
                entropy: fields.entropy,
                kl: fields.kl,
                old_policy: fields.old_policy.unwrap_or(OldPolicy::Sampler),
                importance_cap: fields.importance_cap,
                constant_length: fields.constant_length,
                kl_reference: match reference {
                    Reference::Start => KlReference::Start,
                    // Versions come in place of what the loss names.
                    Reference::Base | Reference::Versions => KlReference::Base,
                },
            })
        });
        Self {
            model,
            population,
            sequences,
            options: UpdateOptions {
                loss,
                optimizer: serde_json::from_value::<Optimizer>(file.optimizer).unwrap(),
                micro_batch_tokens: 1000,
                ..UpdateOptions::default()
            },
            steps: file.steps,
            reference,
            versions,
            golden: Checkpoint::from_file(&folder.join(format!("{model_name}.safetensors"))).unwrap(),
        }
    }

    pub(crate) fn update(&self) -> Update<'_> {
        Update {
            model: &self.model,
            options: &self.options,
            reference: (self.reference == Reference::Versions).then_some(&self.versions),
        }
    }

    pub(crate) fn run(&self) -> Result<Updated> {
        self.update().run(&self.population, &fresh(&self.population), &self.sequences, &mut |_| ())
    }

    /// Piece `index` of `of`.
    pub(crate) fn piece(&self, index: usize, of: usize) -> GradientPiece {
        self.update().gradient_piece(&self.population, &self.sequences, index, of, &mut |_| ()).unwrap()
    }

    /// The expected tensor of a member.
    pub(crate) fn golden(&self, what: &str, member: usize, name: &str) -> Tensor {
        self.golden.read(&format!("{what}/{member}/{name}")).unwrap().values
    }

    /// The expected number of a member.
    pub(crate) fn golden_number(&self, what: &str, member: usize) -> f64 {
        self.golden.read(&format!("{what}/{member}")).unwrap().values.double_value(&[])
    }
}

pub(crate) fn fresh(population: &Population) -> OptimizerState {
    OptimizerState::new(&TrainedTensor::of_population(population)).unwrap()
}

/// All values of a piece or population, in order.
pub(crate) fn gradient_values(piece: &GradientPiece) -> Vec<f32> {
    piece.tensors().flat_map(|(_, tensor)| floats(tensor)).collect()
}

pub(crate) fn weights(population: &Population) -> Vec<f32> {
    let trained = TrainedTensor::of_population(population);
    trained.iter().flat_map(|tensor| floats(&tensor.values)).collect()
}

/// One member's values.
pub(crate) fn member_weights(population: &Population, member: usize) -> Vec<f32> {
    let trained = TrainedTensor::of_population(population);
    trained.iter().flat_map(|tensor| floats(&tensor.values.get(member as i64))).collect()
}

pub(crate) fn floats(tensor: &Tensor) -> Vec<f32> {
    Vec::try_from(tensor.flatten(0, -1)).unwrap()
}
