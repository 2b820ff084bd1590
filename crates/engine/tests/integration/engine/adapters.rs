//! Writing, reading and initialising adapter folders.

use lyceum_core::work::{LoraShape, Projection};
use lyceum_engine::Population;
use lyceum_engine::peft::{Adapter, read_population, write_member};

use crate::device::device;
use crate::engine::fixtures::{MODELS, STACKED, adapter_folder, model, population};

#[test]
fn a_written_member_reads_back_bit_for_bit_and_writes_the_same_bytes() {
    for name in MODELS {
        let model = model(name);
        let stacked = population(&model, name, &STACKED);
        for (member, adapter) in STACKED.iter().enumerate() {
            let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
            write_member(&stacked, member, "org/base", first.path()).unwrap();
            let original = Adapter::read(&adapter_folder(name, adapter), &model.config).unwrap();
            let again = Adapter::read(first.path(), &model.config).unwrap();
            assert_eq!(original.shape, again.shape);
            for (left, right) in original.layers.iter().zip(&again.layers) {
                for ((_, left), (_, right)) in left.iter().zip(right.iter()) {
                    assert!(left.a.equal(&right.a) && left.b.equal(&right.b));
                }
            }
            let reread = read_population(&[first.path().to_owned()], &model.config, device()).unwrap();
            write_member(&reread, 0, "org/base", second.path()).unwrap();
            for file in ["adapter_model.safetensors", "adapter_config.json"] {
                assert_eq!(
                    std::fs::read(first.path().join(file)).unwrap(),
                    std::fs::read(second.path().join(file)).unwrap()
                );
            }
        }
    }
}

/// vLLM refuses adapters with whole modules, biases or DoRA, and reads these fields.
#[test]
fn a_written_configuration_has_what_vllm_reads() {
    let model = model("qwen2-tied");
    let folder = tempfile::tempdir().unwrap();
    write_member(&population(&model, "qwen2-tied", &["rslora"]), 0, "org/base", folder.path()).unwrap();
    let text = std::fs::read_to_string(folder.path().join("adapter_config.json")).unwrap();
    let config: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(config["peft_type"], "LORA");
    assert_eq!(config["task_type"], "CAUSAL_LM");
    assert_eq!(config["r"], 4);
    assert_eq!(config["lora_alpha"], 4.0);
    assert_eq!(config["use_rslora"], true);
    assert_eq!(config["use_dora"], false);
    assert_eq!(config["bias"], "none");
    assert_eq!(config["modules_to_save"], serde_json::Value::Null);
    assert_eq!(config["target_modules"], serde_json::json!(["q_proj", "v_proj", "down_proj"]));
}

#[test]
fn a_fresh_population_is_pefts_initialisation_and_follows_its_seed() {
    let model = model("qwen2-tied");
    let shape = LoraShape::new(4, 8.0, false, vec![Projection::Down, Projection::Q]).unwrap();
    let fresh = |seed| Population::initialise(&model.config, shape.clone(), 2, seed, device()).unwrap();
    let (one, same, other) = (fresh(1), fresh(1), fresh(2));
    for (index, projection, factors) in one.tensors() {
        let bound = 1.0 / (model.config.projection_sizes(projection).0 as f64).sqrt();
        assert!(factors.a.abs().max().double_value(&[]) <= bound);
        assert!((factors.a.std(true).double_value(&[]) - bound / 3f64.sqrt()).abs() < 0.15 * bound);
        assert_eq!(factors.b.abs().max().double_value(&[]), 0.0);
        assert!(factors.a.equal(&same.layers[index].get(projection).unwrap().a));
        assert!(!factors.a.equal(&other.layers[index].get(projection).unwrap().a));
    }
    let (hidden, inter) = (model.config.hidden_size, model.config.intermediate_size);
    assert_eq!(one.parameters_per_member(), 2 * 4 * (2 * hidden + hidden + inter));
}
