//! Parents that cannot be combined are refused before anything is written.

use std::collections::BTreeMap;
use std::path::Path;

use lyceum_engine::evolve::{Birth, Parent};
use lyceum_engine::peft::AdapterFiles;
use serde_json::Value;

use crate::evolution::births::adapter;

fn refusal(operator: &str, set: &[(&str, f64)], parents: Vec<Parent>) -> String {
    let set: BTreeMap<String, f64> = set.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
    match Birth::new(operator, &set, parents, 1) {
        Ok(_) => panic!("{operator} {set:?} was not refused"),
        Err(error) => error.to_string(),
    }
}

fn open(name: &str) -> Parent {
    Parent::open(&adapter(name)).unwrap()
}

fn files() -> AdapterFiles {
    AdapterFiles::read(&adapter("all-1")).unwrap()
}

/// `all-1` with another configuration.
fn configured(change: impl Fn(&mut Value)) -> lyceum_engine::Result<Parent> {
    let mut files = files();
    let mut config: Value = serde_json::from_slice(&files.config).unwrap();
    change(&mut config);
    files.config = config.to_string().into_bytes();
    Parent::from_files("changed", files)
}

#[test]
fn parents_that_differ_name_the_field_and_the_valid_value() {
    let of = |parent: Parent| refusal("X5", &[], vec![open("all-0"), parent]);
    let targets = of(open("attention"));
    assert!(targets.contains("`target_modules` is q_proj") && targets.contains("all-0"), "{targets}");
    let base = of(configured(|config| config["base_model_name_or_path"] = "other/base".into()).unwrap());
    assert!(base.contains("`base_model_name_or_path` is other/base; it must be"), "{base}");
    let negative = of(configured(|config| config["lora_alpha"] = (-8).into()).unwrap());
    assert!(negative.contains("`lora_alpha` is -8; it must be a positive number"), "{negative}");
    let rank = configured(|config| config["r"] = 2.into()).err().unwrap().to_string();
    assert!(rank.contains("lora_A.weight") && rank.contains("expected [2, inputs]"), "{rank}");
    let other = of(Parent::open(&adapter("all-0").join("../../qwen3-wide-heads/all-0")).unwrap());
    assert!(other.contains("base"), "{other}");
}

#[test]
fn parents_of_different_rank_are_refused() {
    // Only the first row of every A and column of every B.
    let mut files = files();
    let tensors = safetensors::SafeTensors::deserialize(&files.weights).unwrap();
    let cut: Vec<(String, Vec<usize>, Vec<u8>)> = tensors
        .iter()
        .map(|(name, tensor)| {
            let (shape, data) = (tensor.shape(), tensor.data());
            match name.contains("lora_A") {
                true => (name.to_owned(), vec![1, shape[1]], data[..4 * shape[1]].to_vec()),
                false => {
                    let first = data.chunks_exact(4 * shape[1]).flat_map(|row| row[..4].to_vec());
                    (name.to_owned(), vec![shape[0], 1], first.collect())
                }
            }
        })
        .collect();
    let views = cut.iter().map(|(name, shape, bytes)| {
        let view = safetensors::tensor::TensorView::new(safetensors::Dtype::F32, shape.clone(), bytes).unwrap();
        (name.clone(), view)
    });
    let mut config: Value = serde_json::from_slice(&files.config).unwrap();
    config["r"] = 1.into();
    files =
        AdapterFiles { weights: safetensors::serialize(views, None).unwrap(), config: config.to_string().into_bytes() };
    let thin = || Parent::from_files("thin", files.clone()).unwrap();
    let said = refusal("X1", &[], vec![open("all-0"), thin()]);
    assert!(said.contains("`r` is 1; it must be"), "{said}");
    // At rank 1, M6's default would leave no component.
    let said = refusal("M6", &[], vec![thin()]);
    assert!(said.contains("`k` is 2; valid are whole numbers from 0 to 0"), "{said}");
}

#[test]
fn operators_and_parameters_are_checked_against_the_catalogue() {
    assert!(refusal("X10", &[], vec![]).contains("did you mean `X1`?"));
    assert!(refusal("X1", &[], vec![open("all-0")]).contains("takes 2 parents; 1 was given"));
    assert!(refusal("M1", &[("eps", 0.1)], vec![open("all-0")]).contains("no parameter `eps`"));
    assert!(refusal("M3", &[("rho", 1.5)], vec![open("all-0")]).contains("numbers from 0 to 1"));
}

#[test]
fn a_value_that_is_no_number_is_named() {
    for bits in [f32::NAN.to_bits(), f32::INFINITY.to_bits(), f32::NEG_INFINITY.to_bits()] {
        let mut files = files();
        let end = files.weights.len();
        files.weights[end - 4..].copy_from_slice(&bits.to_le_bytes());
        let said = refusal("copy_parent", &[], vec![Parent::from_files("broken", files).unwrap()]);
        assert!(said.contains("broken/adapter_model.safetensors") && said.contains("holds NaN or infinity"), "{said}");
        assert!(said.contains("lora_"), "{said}");
    }
}

#[test]
fn broken_files_are_refused_by_name() {
    let said = |files: AdapterFiles| Parent::from_files("broken", files).err().unwrap().to_string();
    let mut cut = files();
    cut.weights.truncate(cut.weights.len() - 1);
    assert!(said(cut).contains("not a complete safetensors file"));
    let no_json = AdapterFiles { config: b"{".to_vec(), ..files() };
    assert!(said(no_json).contains("broken/adapter_config.json"));
    let dora = configured(|config| config["use_dora"] = true.into()).err().unwrap().to_string();
    assert!(dora.contains("`use_dora` is true"), "{dora}");
    let nowhere = Parent::open(Path::new("no/such/adapter")).err().unwrap().to_string();
    assert!(nowhere.contains("no/such/adapter/adapter_config.json"), "{nowhere}");
}

#[test]
fn a_full_folder_and_a_child_that_overflows_leave_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("precious"), "kept").unwrap();
    let birth = Birth::new("M4", &BTreeMap::new(), vec![open("all-0")], 1).unwrap();
    let said = birth.write(folder.path()).unwrap_err().to_string();
    assert!(said.contains("not empty"), "{said}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);

    // Values near the maximum of fp32, so that extrapolating past the second parent overflows.
    let mut huge = files();
    let end = huge.weights.len();
    let mut opposite = huge.clone();
    huge.weights[end - 4..].copy_from_slice(&f32::MAX.to_le_bytes());
    opposite.weights[end - 4..].copy_from_slice(&f32::MIN.to_le_bytes());
    let parents = [huge, opposite].map(|files| Parent::from_files("huge", files).unwrap());
    let birth = Birth::new("X4", &BTreeMap::new(), parents.into(), 1).unwrap();
    let target = folder.path().join("child");
    let said = birth.write(&target).unwrap_err().to_string();
    assert!(said.contains("by X4") && said.contains("not finite"), "{said}");
    assert_eq!(std::fs::read_dir(&target).unwrap().count(), 0);
}
