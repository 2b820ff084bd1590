use std::path::{Path, PathBuf};

use safetensors::tensor::{Dtype, TensorView};
use serde_json::{Value, json};

use super::*;

/// Name, shape and bytes.
type Tensor = (String, Vec<usize>, Vec<u8>);

/// Files that peft wrote.
fn fixture(base: &str, adapter: &str) -> AdapterFiles {
    let adapters = Path::new(env!("CARGO_MANIFEST_DIR")).join("../engine/tests/fixtures/adapters");
    AdapterFiles::read(&adapters.join(base).join(adapter)).unwrap()
}

fn base(name: &str) -> ModelConfig {
    let models: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../engine/tests/fixtures/models");
    ModelConfig::from_folder(&models.join(name)).unwrap()
}

#[test]
fn adapters_of_peft_keep_their_weights_bit_for_bit_and_are_adopted_once() {
    for name in ["qwen2-tied", "qwen3-wide-heads", "llama-tied-stretched"] {
        let files = fixture(name, "all-0");
        assert_eq!(files.base_model().unwrap().as_deref(), Some(name));
        let (adopted, shape) = files.clone().adopted("mine", Some(&base(name))).unwrap();
        assert_eq!(adopted.weights, files.weights);
        assert_eq!((shape.r, shape.lora_alpha, shape.target_modules.len()), (4, 8.0, 7));
        assert_eq!(adopted.base_model().unwrap().as_deref(), Some("mine"));
        assert_eq!(files.adopted("mine", None).unwrap(), (adopted.clone(), shape.clone()));
        assert_eq!(adopted.clone().adopted("mine", None).unwrap(), (adopted, shape));
    }
}

#[test]
fn modules_of_other_ranks_become_one_rank_that_computes_the_same() {
    let mut files = fixture("qwen2-tied", "only-q_proj");
    let mut config: Value = serde_json::from_slice(&files.config).unwrap();
    config["alpha_pattern"] = json!({"q_proj": 12});
    files.config = config.to_string().into_bytes();
    let (adopted, shape) = files.adopted("b", None).unwrap();
    assert_eq!(shape.scaling(), 3.0, "B has the rest of the scaling, 12 / 2");
    let tensors = SafeTensors::deserialize(&adopted.weights).unwrap();
    let b = values(&tensors.tensor(&key(0, Projection::Q, 'B')).unwrap()).unwrap();
    let original = fixture("qwen2-tied", "only-q_proj").weights;
    let original = SafeTensors::deserialize(&original).unwrap();
    let original = values(&original.tensor(&key(0, Projection::Q, 'B')).unwrap()).unwrap();
    assert_eq!(b, original.iter().map(|value| 2.0 * value).collect::<Vec<f32>>());
}

#[test]
fn what_is_not_supported_or_does_not_fit_is_refused_by_file_and_name() {
    let refused = |files: AdapterFiles, base: Option<&ModelConfig>| files.adopted("b", base).unwrap_err();
    let with = |field: &str, value: Value| {
        let mut files = fixture("qwen2-tied", "attention");
        let mut config: Value = serde_json::from_slice(&files.config).unwrap();
        config[field] = value;
        files.config = config.to_string().into_bytes();
        files
    };
    for (field, value) in [
        ("peft_type", json!("LOHA")),
        ("use_dora", json!(true)),
        ("bias", json!("all")),
        ("modules_to_save", json!(["lm_head"])),
        ("lora_bias", json!(true)),
        ("target_modules", json!(["q_proj"])),
    ] {
        let (file, reason) = refused(with(field, value), None);
        assert!(file == CONFIG && reason.contains(&format!("`{field}`")), "{field}: {file}: {reason}");
    }
    let (file, reason) = refused(with("r", json!(8)), None);
    assert!(file == WEIGHTS && reason.contains("expected rank 8"), "{reason}");

    let other = base("qwen3-wide-heads");
    let (file, reason) = refused(fixture("qwen2-tied", "all-0"), Some(&other));
    assert!(file == WEIGHTS && reason.contains("those of the base"), "{reason}");

    let changed = |change: &dyn Fn(&mut Vec<Tensor>)| {
        let mut files = fixture("qwen2-tied", "only-q_proj");
        let tensors = SafeTensors::deserialize(&files.weights).unwrap();
        let mut all: Vec<Tensor> = tensors
            .tensors()
            .into_iter()
            .map(|(name, tensor)| (name, tensor.shape().to_vec(), tensor.data().to_vec()))
            .collect();
        change(&mut all);
        let views =
            all.iter().map(|(name, shape, bytes)| (name, TensorView::new(Dtype::F32, shape.clone(), bytes).unwrap()));
        files.weights = safetensors::serialize(views, None).unwrap();
        refused(files, None).1
    };
    let name = key(1, Projection::Q, 'B');
    for number in [f32::NAN, f32::NEG_INFINITY] {
        let reason = changed(&|all| {
            let (_, _, bytes) = all.iter_mut().find(|(one, ..)| *one == name).unwrap();
            bytes[4..8].copy_from_slice(&number.to_le_bytes());
        });
        assert!(reason.contains(&format!("`{name}` holds NaN or infinity")), "{reason}");
    }
    let reason = changed(&|all| all.retain(|(one, ..)| *one != name));
    assert!(reason.contains(&format!("`{name}` is missing")), "{reason}");
    let reason = changed(&|all| all.push(("lm_head.weight".to_owned(), vec![1], vec![0; 4])));
    assert!(reason.contains("`lm_head.weight` is not part"), "{reason}");
    let mut cut = fixture("qwen2-tied", "only-q_proj");
    cut.weights.truncate(100);
    assert!(refused(cut, None).1.contains("not a complete safetensors file"));
}
