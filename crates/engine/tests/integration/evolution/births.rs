//! Children made from files: replaying, loading, generating and learning.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use lyceum_core::evolution::CATALOGUE;
use lyceum_core::work::{Loss, Optimizer, Sampling};
use lyceum_engine::evolve::{Birth, Parent, init};
use lyceum_engine::generate::{GenerationOptions, GenerationRequest, Generator};
use lyceum_engine::learn::{OptimizerState, TrainedTensor, TrainingSequence, Update, UpdateOptions};
use lyceum_engine::peft::{AdapterFiles, read_population};
use lyceum_engine::score::{ScoreOptions, ScoreRequest, score};
use lyceum_engine::{Model, Population};

use crate::device::{device, placement};

pub(crate) fn adapter(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/adapters/qwen2-tied").join(name)
}

fn model() -> Model {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/models/qwen2-tied");
    Model::load(&folder, placement()).unwrap()
}

fn birth(name: &str, parents: &[&str], seed: u64) -> Birth {
    let parents = parents.iter().map(|parent| Parent::open(&adapter(parent)).unwrap()).collect();
    Birth::new(name, &BTreeMap::new(), parents, seed).unwrap()
}

fn parents(arity: usize) -> &'static [&'static str] {
    &["all-0", "all-1"][..arity]
}

fn population(model: &Model, folder: &Path) -> Population {
    read_population(&[folder.to_owned()], &model.config, device()).unwrap()
}

fn logits(model: &Model, population: &Population) -> Vec<f32> {
    let request = ScoreRequest { ids: vec![5, 6, 7, 8], adapter: Some(0) };
    let options = ScoreOptions { last_logits: true, ..ScoreOptions::default() };
    let scores = score(model, Some(population), &[request], options).unwrap();
    scores.into_iter().next().unwrap().last_logits.unwrap()
}

#[test]
fn a_birth_replays_to_the_same_bytes_in_a_folder_and_in_memory() {
    for operator in &CATALOGUE {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (folder.path().join("first"), folder.path().join("second"));
        let noted = birth(operator.name, parents(operator.arity), 7).write(&first).unwrap();
        birth(operator.name, parents(operator.arity), 7).write(&second).unwrap();
        let files = AdapterFiles::read(&first).unwrap();
        assert_eq!(files, AdapterFiles::read(&second).unwrap(), "{}", operator.name);
        assert_eq!(birth(operator.name, parents(operator.arity), 7).make_files().unwrap(), (files.clone(), noted));
        let archived = AdapterFiles::from_archive("child", &files.to_archive().unwrap()).unwrap();
        assert_eq!(archived, files);
        let (other, _) = birth(operator.name, parents(operator.arity), 8).make_files().unwrap();
        assert_eq!(other != files, operator.stochastic, "{}", operator.name);
    }
}

#[test]
fn a_child_loads_and_copy_parent_is_its_parent() {
    let model = model();
    let parent = logits(&model, &population(&model, &adapter("all-0")));
    for operator in &CATALOGUE {
        let folder = tempfile::tempdir().unwrap();
        birth(operator.name, parents(operator.arity), 7).write(folder.path()).unwrap();
        let child = logits(&model, &population(&model, folder.path()));
        assert!(child.iter().all(|value| value.is_finite()));
        assert_eq!(child == parent, operator.name == "copy_parent", "{}", operator.name);
        if operator.name == "copy_parent" {
            assert_eq!(AdapterFiles::read(folder.path()).unwrap(), AdapterFiles::read(&adapter("all-0")).unwrap());
        }
    }
}

#[test]
fn a_child_generates_and_goes_on_learning() {
    let model = model();
    for name in ["M1", "M3", "X1", "X3"] {
        let folder = tempfile::tempdir().unwrap();
        let arity = lyceum_core::evolution::operator(name).unwrap().arity;
        birth(name, parents(arity), 7).write(folder.path()).unwrap();
        let population = population(&model, folder.path());
        let request = GenerationRequest {
            id: "child".to_owned(),
            prompt: vec![1, 2, 3],
            adapter: Some(0),
            n: 1,
            sampling: Sampling { max_tokens: 5, ignore_eos: true, ..Sampling::default() },
            seed: 1,
        };
        let generator = Generator { model: &model, population: Some(&population), tokenizer: None };
        let generated = generator.generate(&[request], &GenerationOptions::default(), &mut |_| ()).unwrap();
        let completion = &generated.results[0].completions[0];
        assert_eq!(completion.ids.len(), 5);

        let trained = TrainedTensor::of_population(&population);
        let options = UpdateOptions {
            loss: Loss::CrossEntropy,
            optimizer: Optimizer { learning_rate: 1e-2, ..Optimizer::default() },
            ..UpdateOptions::default()
        };
        let sequence = TrainingSequence {
            id: "s".to_owned(),
            prompt: vec![1, 2, 3],
            completion: completion.ids.clone(),
            logprobs: Vec::new(),
            advantage: 0.0,
        };
        let learning = Update { model: &model, options: &options, reference: None };
        let state = OptimizerState::new(&trained).unwrap();
        let updated = learning.run(&population, &state, &[vec![sequence]], &mut |_| {}).unwrap();
        let likelihood = |population: &Population| {
            let ids = [vec![1, 2, 3], completion.ids.clone()].concat();
            let request = ScoreRequest { ids, adapter: Some(0) };
            let scores = score(&model, Some(population), &[request], ScoreOptions::default()).unwrap();
            scores[0].logprobs[2..].iter().sum::<f32>()
        };
        assert!(likelihood(&updated.population) > likelihood(&population), "{name}");
    }
}

#[test]
fn half_precision_parents_are_computed_in_single() {
    let folder = tempfile::tempdir().unwrap();
    let files = AdapterFiles::read(&adapter("all-0")).unwrap();
    let half = AdapterFiles { weights: to_bf16(&files.weights), config: files.config.clone() };
    half.write(folder.path()).unwrap();
    let of = |parent: Parent| {
        let birth = Birth::new("X5", &BTreeMap::from([("alpha".to_owned(), 1.0)]), vec![parent, open("all-1")], 1);
        birth.unwrap().make_files().unwrap().0.weights
    };
    let (single, rounded) = (of(open("all-0")), of(Parent::open(folder.path()).unwrap()));
    // At alpha 1 the child is its first parent: rounded to bf16, and written in fp32.
    assert_eq!(single.len(), rounded.len());
    assert_ne!(single, rounded);
    let tensors = safetensors::SafeTensors::deserialize(&rounded).unwrap();
    assert!(tensors.iter().all(|(_, tensor)| tensor.dtype() == safetensors::Dtype::F32));
    assert!(tensors.iter().all(|(_, tensor)| tensor.data().chunks_exact(4).all(|value| value[..2] == [0, 0])));
}

fn open(name: &str) -> Parent {
    Parent::open(&adapter(name)).unwrap()
}

/// The same tensors, each value truncated to bf16.
fn to_bf16(weights: &[u8]) -> Vec<u8> {
    let tensors = safetensors::SafeTensors::deserialize(weights).unwrap();
    let cut: Vec<(String, Vec<usize>, Vec<u8>)> = tensors
        .iter()
        .map(|(name, tensor)| {
            let halves = tensor.data().chunks_exact(4).flat_map(|value| [value[2], value[3]]);
            (name.to_owned(), tensor.shape().to_vec(), halves.collect())
        })
        .collect();
    let views = cut.iter().map(|(name, shape, bytes)| {
        let view = safetensors::tensor::TensorView::new(safetensors::Dtype::BF16, shape.clone(), bytes).unwrap();
        (name.clone(), view)
    });
    safetensors::serialize(views, None).unwrap()
}

#[test]
fn a_parent_of_another_scaling_contributes_the_same_update() {
    let rescaled = |alpha: f64| {
        let mut files = AdapterFiles::read(&adapter("all-1")).unwrap();
        let mut config: serde_json::Value = serde_json::from_slice(&files.config).unwrap();
        config["lora_alpha"] = alpha.into();
        files.config = config.to_string().into_bytes();
        Parent::from_files("rescaled", files).unwrap()
    };
    let alpha = serde_json::from_slice::<serde_json::Value>(&AdapterFiles::read(&adapter("all-0")).unwrap().config)
        .unwrap()["lora_alpha"]
        .as_f64()
        .unwrap();
    let make = |parent: Parent| {
        let birth = Birth::new("X5", &BTreeMap::from([("alpha".to_owned(), 0.0)]), vec![open("all-0"), parent], 1);
        birth.unwrap().make_files().unwrap()
    };
    let (same, nothing) = make(rescaled(alpha));
    let (quarter, noted) = make(rescaled(alpha / 4.0));
    assert_eq!(nothing, Vec::<String>::new());
    assert!(noted[0].contains("parent 2's scaling"), "{noted:?}");
    // The child is the second parent alone; a quarter of the scaling halves each factor.
    let values = |files: &AdapterFiles| -> Vec<f32> {
        let tensors = safetensors::SafeTensors::deserialize(&files.weights).unwrap();
        let (_, tensor) = tensors.iter().min_by_key(|(name, _)| name.to_string()).unwrap();
        tensor.data().chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
    };
    for (whole, quarter) in values(&same).iter().zip(values(&quarter)) {
        assert!((whole / 2.0 - quarter).abs() < 1e-6);
    }
}

#[test]
fn a_fresh_adapter_is_notes_worthy_and_loads() {
    let model = model();
    let folder = tempfile::tempdir().unwrap();
    let shape = population(&model, &adapter("all-0")).shape;
    let files = init(&model.config, "base", shape.clone(), 3).unwrap();
    assert_eq!(files, init(&model.config, "base", shape, 3).unwrap());
    files.write(folder.path()).unwrap();
    let bare = score(
        &model,
        None,
        &[ScoreRequest { ids: vec![5, 6, 7, 8], adapter: None }],
        ScoreOptions { last_logits: true, ..ScoreOptions::default() },
    );
    assert_eq!(logits(&model, &population(&model, folder.path())), bare.unwrap()[0].last_logits.clone().unwrap());

    let noted = |name: &str| {
        let parent = Parent::open(folder.path()).unwrap();
        Birth::new(name, &BTreeMap::new(), vec![parent], 1).unwrap().make_files().unwrap().1
    };
    assert!(noted("M1")[0].ends_with("the update is zero: the module was copied"), "{:?}", noted("M1"));
    assert!(noted("M4")[0].ends_with("its noise has the scale of a fresh A"), "{:?}", noted("M4"));
    assert_eq!(noted("M5"), Vec::<String>::new());
}
