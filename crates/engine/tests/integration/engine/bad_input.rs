//! Broken input is refused with a message that names the file, the tensor and the expected value.

use std::collections::HashMap;
use std::path::Path;

use lyceum_core::work::Dtype;
use lyceum_engine::peft::Adapter;
use lyceum_engine::tokenizer::Tokenizer;
use lyceum_engine::weights::Checkpoint;
use lyceum_engine::{Model, ModelConfig, Placement};
use safetensors::SafeTensors;
use safetensors::tensor::{self, TensorView};

use crate::device::{device, placement};
use crate::engine::fixtures::{adapter_folder, model_folder, population};

/// A copy of a fixture folder, for damaging.
fn copy(folder: &Path) -> tempfile::TempDir {
    let target = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), target.path().join(entry.file_name())).unwrap();
    }
    target
}

fn edit_json(path: &Path, edit: impl FnOnce(&mut serde_json::Value)) {
    let mut value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    edit(&mut value);
    std::fs::write(path, serde_json::to_string(&value).unwrap()).unwrap();
}

type Tensors = HashMap<String, (Vec<usize>, Vec<u8>)>;

fn edit_tensors(path: &Path, edit: impl FnOnce(&mut Tensors)) {
    let bytes = std::fs::read(path).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let mut tensors: Tensors =
        file.iter().map(|(name, view)| (name.to_owned(), (view.shape().to_vec(), view.data().to_vec()))).collect();
    edit(&mut tensors);
    let views = tensors
        .iter()
        .map(|(name, (shape, data))| (name, TensorView::new(tensor::Dtype::F32, shape.clone(), data).unwrap()));
    std::fs::write(path, safetensors::serialize(views, None).unwrap()).unwrap();
}

fn refusal<T, E: std::fmt::Display>(result: Result<T, E>) -> String {
    match result {
        Ok(_) => panic!("the broken input was accepted"),
        Err(error) => error.to_string(),
    }
}

fn assert_names(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "`{part}` is not in: {message}");
    }
}

fn model_refusal(model: &str, damage: impl FnOnce(&Path)) -> String {
    let folder = copy(&model_folder(model));
    damage(folder.path());
    refusal(Model::load(folder.path(), placement()))
}

fn adapter_refusal(base: &str, damage: impl FnOnce(&Path)) -> String {
    let folder = copy(&adapter_folder("qwen2-tied", "all-0"));
    damage(folder.path());
    refusal(Adapter::read(folder.path(), &ModelConfig::from_folder(&model_folder(base)).unwrap()))
}

#[test]
fn a_model_with_a_missing_tensor() {
    let message = model_refusal("qwen2-tied", |folder| {
        edit_tensors(&folder.join("model.safetensors"), |tensors| {
            tensors.remove("model.layers.1.mlp.up_proj.weight").unwrap();
        });
    });
    assert_names(&message, &["model.safetensors", "`model.layers.1.mlp.up_proj.weight`", "is missing"]);
}

#[test]
fn a_model_with_a_misshapen_tensor() {
    let message = model_refusal("qwen3-wide-heads", |folder| {
        edit_tensors(&folder.join("model.safetensors"), |tensors| {
            tensors.get_mut("model.layers.0.self_attn.q_proj.weight").unwrap().0 = vec![32, 64];
        });
    });
    assert_names(&message, &["model.safetensors", "`model.layers.0.self_attn.q_proj.weight`", "[32, 64]", "[64, 32]"]);
}

#[test]
fn a_model_with_nan_in_its_weights() {
    let message = model_refusal("qwen2-tied", |folder| {
        edit_tensors(&folder.join("model.safetensors"), |tensors| {
            tensors.get_mut("model.norm.weight").unwrap().1[4..8].copy_from_slice(&f32::NAN.to_le_bytes());
        });
    });
    assert_names(&message, &["model.safetensors", "`model.norm.weight`", "NaN"]);
}

/// Finite as stored, infinite in the model's precision.
#[test]
fn a_model_with_a_weight_that_its_precision_cannot_hold() {
    let folder = copy(&model_folder("qwen2-tied"));
    edit_tensors(&folder.path().join("model.safetensors"), |tensors| {
        tensors.get_mut("model.norm.weight").unwrap().1[4..8].copy_from_slice(&(-3.4e38_f32).to_le_bytes());
    });
    assert!(Model::load(folder.path(), placement()).is_ok());
    let bf16 = Placement { dtype: Dtype::Bf16, ..placement() };
    let message = refusal(Model::load(folder.path(), bf16));
    assert_names(&message, &["model.safetensors", "`model.norm.weight`", "holds 3.39", "bf16"]);

    let path = folder.path().join("wide.safetensors");
    let bytes: Vec<u8> = [1.0, 1e300].iter().flat_map(|value: &f64| value.to_le_bytes()).collect();
    let view = TensorView::new(tensor::Dtype::F64, vec![2], &bytes).unwrap();
    std::fs::write(&path, safetensors::serialize([("wide", view)], None).unwrap()).unwrap();
    let file = Checkpoint::from_file(&path).unwrap();
    let message = refusal(file.tensor("wide", &[2], placement()));
    assert_names(&message, &["wide.safetensors", "holds 1e300", "fp32"]);
}

#[test]
fn a_tied_model_with_another_head() {
    let with_head = |edit: &dyn Fn(&mut Vec<u8>)| {
        let folder = copy(&model_folder("qwen2-tied"));
        edit_tensors(&folder.path().join("model.safetensors"), |tensors| {
            let mut head = tensors["model.embed_tokens.weight"].clone();
            edit(&mut head.1);
            tensors.insert("lm_head.weight".to_owned(), head);
        });
        Model::load(folder.path(), placement()).map(drop)
    };
    assert!(with_head(&|_| ()).is_ok(), "the same head, stored twice");
    let message = refusal(with_head(&|head| head[..4].copy_from_slice(&1.5_f32.to_le_bytes())));
    assert_names(&message, &["model.safetensors", "`lm_head.weight`", "`tie_word_embeddings`"]);
}

#[test]
fn a_model_of_an_unknown_architecture() {
    let message = model_refusal("qwen2-tied", |folder| {
        edit_json(&folder.join("config.json"), |config| {
            config["architectures"] = serde_json::json!(["GPT2LMHeadModel"])
        });
    });
    assert_names(&message, &["config.json", "GPT2LMHeadModel", "Qwen2ForCausalLM", "Qwen3ForCausalLM"]);
}

#[test]
fn a_model_with_a_scaled_rotary_embedding_or_impossible_heads() {
    let message = model_refusal("qwen2-tied", |folder| {
        edit_json(&folder.join("config.json"), |config| config["rope_scaling"] = serde_json::json!({"type": "yarn"}));
    });
    assert_names(&message, &["config.json", "yarn", "default"]);
    let message = model_refusal("qwen2-tied", |folder| {
        edit_json(&folder.join("config.json"), |config| config["num_key_value_heads"] = 3.into());
    });
    assert_names(&message, &["config.json", "`num_key_value_heads` is 3", "(4)"]);
}

#[test]
fn a_model_with_biases_that_would_be_left_out() {
    let message = model_refusal("qwen3-wide-heads", |folder| {
        edit_json(&folder.join("config.json"), |config| config["attention_bias"] = true.into());
    });
    assert_names(&message, &["config.json", "`attention_bias` is true", "only false is supported"]);
    let message = model_refusal("qwen2-tied", |folder| {
        edit_tensors(&folder.join("model.safetensors"), |tensors| {
            let bias = tensors["model.norm.weight"].clone();
            tensors.insert("model.layers.1.self_attn.o_proj.bias".to_owned(), bias);
        });
    });
    assert_names(&message, &["model.safetensors", "`model.layers.1.self_attn.o_proj.bias`", "q, k and v"]);
}

#[test]
fn truncated_and_absent_files() {
    let message = model_refusal("qwen2-tied", |folder| {
        let path = folder.join("model.safetensors");
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() - 100]).unwrap();
    });
    assert_names(&message, &["model.safetensors", "not a complete safetensors file"]);
    let message = model_refusal("qwen2-untied-sharded", |folder| {
        std::fs::remove_file(folder.join("model-00002-of-00003.safetensors")).unwrap();
    });
    assert_names(&message, &["model-00002-of-00003.safetensors", "1 of 3", "missing"]);
    let message = model_refusal("qwen2-tied", |folder| std::fs::write(folder.join("config.json"), "{\"vocab").unwrap());
    assert_names(&message, &["config.json", "not the expected JSON"]);
}

#[test]
fn an_index_that_promises_a_tensor_its_shard_lacks() {
    let message = model_refusal("qwen2-untied-sharded", |folder| {
        edit_json(&folder.join("model.safetensors.index.json"), |index| {
            index["weight_map"]["model.norm.weight"] = "model-00001-of-00003.safetensors".into();
        });
    });
    assert_names(&message, &["model-00001-of-00003.safetensors", "`model.norm.weight`"]);
}

#[test]
fn an_adapter_of_another_base() {
    let message = adapter_refusal("qwen3-wide-heads", |_| ());
    assert_names(&message, &["adapter_model.safetensors", "q_proj.lora_B.weight", "[32, 4]", "[64, 4]"]);
}

#[test]
fn an_adapter_of_another_depth() {
    let message = adapter_refusal("qwen2-tied", |folder| {
        edit_tensors(&folder.join("adapter_model.safetensors"), |tensors| {
            let extra = tensors["base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight"].clone();
            tensors.insert("base_model.model.model.layers.2.self_attn.q_proj.lora_A.weight".to_owned(), extra);
        });
    });
    assert_names(&message, &["adapter_model.safetensors", "layers.2.self_attn.q_proj", "2 layers"]);
}

#[test]
fn an_adapter_whose_configuration_does_not_fit_its_weights() {
    let message = adapter_refusal("qwen2-tied", |folder| {
        edit_json(&folder.join("adapter_config.json"), |config| config["r"] = 8.into());
    });
    assert_names(&message, &["adapter_model.safetensors", "lora_A.weight", "[4, 32]", "[8, 32]"]);
    let message = adapter_refusal("qwen2-tied", |folder| {
        edit_json(&folder.join("adapter_config.json"), |config| {
            config["target_modules"] = serde_json::json!(["q_proj"])
        });
    });
    assert_names(&message, &["adapter_config.json", "`target_modules` lists q_proj", "down_proj"]);
    let message = adapter_refusal("qwen2-tied", |folder| {
        edit_json(&folder.join("adapter_config.json"), |config| config["use_dora"] = true.into());
    });
    assert_names(&message, &["adapter_config.json", "`use_dora` is true", "only false is supported"]);
}

#[test]
fn an_adapter_of_another_method_or_another_base() {
    for (field, value, part) in [
        ("init_lora_weights", serde_json::json!("pissa"), "\"pissa\""),
        ("init_lora_weights", serde_json::json!("pissa_niter_16"), "pissa_niter_16"),
        ("init_lora_weights", serde_json::json!("olora"), "olora"),
        ("init_lora_weights", serde_json::json!("corda"), "corda"),
        ("init_lora_weights", serde_json::json!("loftq"), "loftq"),
        ("alora_invocation_tokens", serde_json::json!([300, 17]), "[300,17]"),
        ("layer_replication", serde_json::json!([[0, 2], [0, 2]]), "[[0,2],[0,2]]"),
        ("trainable_token_indices", serde_json::json!([1]), "[1]"),
        ("lora_bias", serde_json::json!(true), "true"),
        ("target_modules", serde_json::json!(["mlp.q_proj"]), "`mlp.q_proj`"),
        ("target_modules", serde_json::json!(["visual.blocks.0.self_attn.q_proj"]), "visual"),
    ] {
        let message = adapter_refusal("qwen2-tied", |folder| {
            edit_json(&folder.join("adapter_config.json"), |config| config[field] = value);
        });
        assert_names(&message, &["adapter_config.json", &format!("`{field}`"), part]);
    }
    let message = adapter_refusal("qwen2-tied", |folder| {
        let weights = folder.join("adapter_model.safetensors");
        std::fs::rename(weights, folder.join("adapter_model.bin")).unwrap();
    });
    assert_names(&message, &["adapter_model.bin", "save_pretrained"]);
}

#[test]
fn what_peft_reads_of_an_adapters_configuration_is_read() {
    let base = ModelConfig::from_folder(&model_folder("qwen2-tied")).unwrap();
    let plain = Adapter::read(&adapter_folder("qwen2-tied", "only-q_proj"), &base).unwrap();
    for (field, value) in [
        ("target_modules", serde_json::json!(["self_attn.q_proj"])),
        ("target_modules", serde_json::json!(["layers.0.self_attn.q_proj", "model.layers.1.self_attn.q_proj"])),
        ("target_modules", serde_json::json!(["q_proj", "k_proj"])),
        ("rank_pattern", serde_json::json!(null)),
        ("alpha_pattern", serde_json::json!(null)),
        ("init_lora_weights", serde_json::json!("gaussian")),
        ("init_lora_weights", serde_json::json!(true)),
        ("alora_invocation_tokens", serde_json::json!(null)),
    ] {
        let folder = copy(&adapter_folder("qwen2-tied", "only-q_proj"));
        edit_json(&folder.path().join("adapter_config.json"), |config| {
            if value == serde_json::json!(["q_proj", "k_proj"]) {
                config["exclude_modules"] = serde_json::json!(["k_proj"]);
            }
            config[field] = value.clone();
        });
        let read = Adapter::read(folder.path(), &base);
        assert_eq!(read.map(|read| read.shape).map_err(|error| error.to_string()), Ok(plain.shape.clone()), "{field}");
    }
    // The same adapter at half its scaling, said by a pattern.
    let folder = copy(&adapter_folder("qwen2-tied", "only-q_proj"));
    edit_json(&folder.path().join("adapter_config.json"), |config| {
        let half = config["lora_alpha"].as_f64().unwrap() / 2.0;
        config["alpha_pattern"] = serde_json::json!({ "q_proj": half });
    });
    let halved = Adapter::read(folder.path(), &base).unwrap();
    assert_eq!(halved.shape, plain.shape);
    for (halved, plain) in halved.layers.iter().zip(&plain.layers) {
        for ((_, halved), (_, plain)) in halved.iter().zip(plain.iter()) {
            assert!(halved.a.equal(&plain.a) && (&halved.b * 2.0).equal(&plain.b));
        }
    }
}

#[test]
fn an_adapter_with_nan() {
    let message = adapter_refusal("qwen2-tied", |folder| {
        edit_tensors(&folder.join("adapter_model.safetensors"), |tensors| {
            let name = "base_model.model.model.layers.1.mlp.down_proj.lora_B.weight";
            tensors.get_mut(name).unwrap().1[..4].copy_from_slice(&f32::INFINITY.to_le_bytes());
        });
    });
    assert_names(&message, &["adapter_model.safetensors", "layers.1.mlp.down_proj.lora_B.weight", "NaN or infinity"]);
}

#[test]
fn adapters_of_different_shapes_in_one_population() {
    let config = ModelConfig::from_folder(&model_folder("qwen2-tied")).unwrap();
    let folders = [adapter_folder("qwen2-tied", "all-0"), adapter_folder("qwen2-tied", "only-q_proj")];
    let message = refusal(lyceum_engine::peft::read_population(&folders, &config, device()));
    assert_names(&message, &["only-q_proj/adapter_config.json", "r 2", "r 4", "share one shape"]);
}

#[test]
fn a_base_that_an_adapter_cannot_be_merged_into() {
    let name = "model.layers.1.mlp.up_proj.weight";
    let merge_refusal = |damage: &dyn Fn(&mut Tensors)| {
        let (base, target) = (copy(&model_folder("qwen2-tied")), tempfile::tempdir().unwrap());
        edit_tensors(&base.path().join("model.safetensors"), damage);
        let adapter = adapter_folder("qwen2-tied", "all-0");
        let message = refusal(lyceum_engine::merge::merge(base.path(), &adapter, target.path()));
        assert_eq!(std::fs::read_dir(target.path()).unwrap().count(), 0, "something was written");
        assert_names(&message, &["model.safetensors", &format!("`{name}`")]);
        message
    };
    let missing = merge_refusal(&|tensors| drop(tensors.remove(name).unwrap()));
    assert_names(&missing, &["is missing"]);
    let flat = merge_refusal(&|tensors| tensors.get_mut(name).unwrap().0.reverse());
    assert_names(&flat, &["has shape [32, ", "expected [", ", 32]"]);
    let broken = merge_refusal(&|tensors| {
        tensors.get_mut(name).unwrap().1[4..8].copy_from_slice(&f32::NAN.to_le_bytes());
    });
    assert_names(&broken, &["NaN or infinity"]);
}

#[test]
fn a_tokenizer_of_another_model() {
    let folder = copy(&model_folder("qwen2-tied"));
    edit_json(&folder.path().join("config.json"), |config| config["vocab_size"] = 300.into());
    let config = ModelConfig::from_folder(folder.path()).unwrap();
    let message = refusal(Tokenizer::load(folder.path(), &config));
    assert_names(&message, &["tokenizer.json", "id 315", "`vocab_size` is 300"]);
    std::fs::write(folder.path().join("tokenizer.json"), "{}").unwrap();
    assert_names(&refusal(Tokenizer::load(folder.path(), &config)), &["tokenizer.json", "not a tokenizer"]);
}

#[test]
fn scores_of_ids_and_adapters_that_do_not_exist() {
    use lyceum_engine::score::{ScoreOptions, ScoreRequest, score_observed};
    let model = crate::engine::fixtures::model("qwen2-tied");
    let stacked = population(&model, "qwen2-tied", &["all-0"]);
    let ask = |ids: &[i64], adapter| {
        let request = |ids: &[i64], adapter| ScoreRequest { ids: ids.to_vec(), adapter };
        let requests = [request(&[1], None), request(ids, adapter)];
        let id = |index: usize| ["first", "second"][index].to_owned();
        let options = ScoreOptions::default();
        refusal(score_observed(&model, Some(&stacked), &requests, options, &id, &mut |_| ()))
    };
    assert_names(&ask(&[5, 320], None), &["`second`", "id 320", "vocabulary of 320"]);
    assert_names(&ask(&[], None), &["`second`", "at least one"]);
    assert_names(&ask(&[1; 129], None), &["`second`: 129 ids", "longest sequence is 128"]);
    assert_names(&ask(&[1], Some(1)), &["`second`", "adapter 1", "there are 1"]);
}

/// Finite weights with infinite products.
#[test]
fn scores_that_overflow() {
    use lyceum_engine::score::{ScoreOptions, ScoreRequest, score};
    let mut model = crate::engine::fixtures::model("qwen2-tied");
    model.norm = model.norm.full_like(1e38);
    model.lm_head = &model.lm_head * 1e3;
    let ask = |ids: &[i64]| {
        let requests = [ScoreRequest { ids: ids.to_vec(), adapter: None }];
        let options = ScoreOptions { last_logits: true, ..ScoreOptions::default() };
        refusal(score(&model, None, &requests, options))
    };
    assert_names(&ask(&[1, 2]), &["log-probability 0 of request `0`", "not finite"]);
    assert_names(&ask(&[1]), &["logit after the last id of request `0`", "not finite"]);
}
