//! Loss, gradients and steps match PyTorch's, however the samples are packed.

use std::path::Path;

use lyceum_engine::weights::Checkpoint;
use lyceum_workshop::pretrain::{PackedSample, Pretrainer, WeightedTokens};
use serde::Deserialize;
use tch::{Device, Tensor};

use super::fixtures::{model, optimizer, packed, placement};

#[derive(Deserialize)]
struct Fixture {
    optimizer: Optimizer,
    steps: usize,
    samples: Vec<Sample>,
}

#[derive(Deserialize)]
struct Optimizer {
    max_grad_norm: f64,
}

#[derive(Deserialize)]
struct Sample {
    prefix: Part,
    branches: Vec<Part>,
}

#[derive(Deserialize)]
struct Part {
    ids: Vec<i64>,
    weights: Vec<f32>,
}

impl From<Part> for WeightedTokens {
    fn from(Part { ids, weights }: Part) -> Self {
        Self { ids, weights }
    }
}

fn fixture() -> (Fixture, Vec<PackedSample>, Checkpoint) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/pretraining");
    let text = std::fs::read_to_string(folder.join("qwen2-tied.json")).unwrap();
    let mut fixture: Fixture = serde_json::from_str(&text).unwrap();
    let samples = std::mem::take(&mut fixture.samples).into_iter().map(|sample| PackedSample {
        prefix: sample.prefix.into(),
        branches: sample.branches.into_iter().map(WeightedTokens::from).collect(),
    });
    let samples = samples.collect();
    let golden = Checkpoint::from_file(&folder.join("qwen2-tied.safetensors")).unwrap();
    (fixture, samples, golden)
}

fn assert_close(found: &Tensor, golden: &Checkpoint, name: &str, tolerance: f64) {
    let expected = golden.read(name).unwrap().values;
    let difference = (found.to_device(Device::Cpu).reshape(expected.size()) - &expected).abs().max().double_value(&[]);
    assert!(difference <= tolerance, "{name} differs by {difference}");
}

#[test]
fn loss_and_gradients_are_those_of_autograd_in_every_packing() {
    let (_, mut samples, golden) = fixture();
    let trainer = Pretrainer::from_model(&model(), placement()).unwrap();
    let expected = golden.read("loss").unwrap().values.double_value(&[]);
    for (rows, length) in [(1, 60), (4, 25), (2, 40)] {
        samples.rotate_left(1);
        let batch = packed(&samples, rows, length, &trainer.model().config);
        assert_eq!(batch.tokens, 49);
        let (loss, gradients) = trainer.gradients(&batch).unwrap();
        assert!((loss - expected).abs() < 1e-5, "{loss} against {expected}");
        for (name, gradient) in trainer.names().zip(&gradients) {
            assert_close(gradient, &golden, &format!("gradient/{name}"), 2e-6);
        }
    }
}

#[test]
fn steps_are_those_of_adamw() {
    let (fixture, samples, golden) = fixture();
    let mut trainer = Pretrainer::from_model(&model(), placement()).unwrap();
    let batch = packed(&samples, 2, 40, &trainer.model().config);
    for _ in 0..fixture.steps {
        trainer.step(&batch, &optimizer(), fixture.optimizer.max_grad_norm).unwrap();
    }
    let (_, gradients) = trainer.gradients(&batch).unwrap();
    assert_eq!(gradients.len(), trainer.names().count());
    let model = trainer.model();
    let pairs = [
        ("model.embed_tokens.weight", &model.embed_tokens),
        ("model.norm.weight", &model.norm),
        ("model.layers.0.self_attn.qkv_proj.weight", &model.layers[0].qkv_proj),
        ("model.layers.1.self_attn.o_proj.weight", &model.layers[1].o_proj),
        ("model.layers.1.mlp.gate_up_proj.weight", &model.layers[1].gate_up_proj),
        ("model.layers.0.mlp.down_proj.weight", &model.layers[0].down_proj),
        ("model.layers.0.input_layernorm.weight", &model.layers[0].input_layernorm),
        ("model.layers.1.post_attention_layernorm.weight", &model.layers[1].post_attention_layernorm),
    ];
    for (name, tensor) in pairs {
        assert_close(tensor, &golden, &format!("stepped/{name}"), 1e-4);
    }
}
