//! Merged models compared with peft's `merge_and_unload`.

use lyceum_engine::Model;
use lyceum_engine::merge::merge;
use lyceum_engine::score::{ScoreOptions, ScoreRequest, score};
use lyceum_engine::weights::Checkpoint;

use crate::device::placement;
use crate::engine::fixtures::{Golden, MODELS, adapter_folder, difference, model_folder};

#[test]
fn a_merged_model_has_pefts_weights_and_the_adapters_logits() {
    for name in MODELS {
        let golden = Golden::of(name);
        let folder = tempfile::tempdir().unwrap();
        merge(&model_folder(name), &adapter_folder(name, "all-1"), folder.path()).unwrap();
        let weights = Checkpoint::from_model_folder(folder.path()).unwrap();
        for (ours, theirs) in [
            ("model.layers.1.self_attn.q_proj.weight", "merged/q_proj"),
            ("model.layers.0.mlp.down_proj.weight", "merged/down_proj"),
        ] {
            let apart = (weights.read(ours).unwrap().values - golden.tensor(theirs)).abs().max();
            assert!(apart.double_value(&[]) < 1e-6, "{name} {ours}");
        }
        let model = Model::load(folder.path(), placement()).unwrap();
        let requests: Vec<_> = golden.sequences().into_iter().map(|ids| ScoreRequest { ids, adapter: None }).collect();
        let options = ScoreOptions { last_logits: true, ..ScoreOptions::default() };
        for (index, score) in score(&model, None, &requests, options).unwrap().into_iter().enumerate() {
            let expected = golden.floats(&format!("all-1/{index}/last_logits"));
            assert!(difference(&score.last_logits.unwrap(), &expected) < 1e-4, "{name} {index}");
        }
        let files = |folder: &std::path::Path| {
            let mut names: Vec<_> =
                std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        };
        assert_eq!(files(folder.path()), files(&model_folder(name)));
    }
}

#[test]
fn merging_refuses_a_folder_with_files_and_an_adapter_of_another_base() {
    let target = tempfile::tempdir().unwrap();
    let other = merge(&model_folder("qwen2-tied"), &adapter_folder("qwen3-wide-heads", "all-0"), target.path());
    assert!(other.unwrap_err().to_string().contains("expected"));
    std::fs::write(target.path().join("precious"), "").unwrap();
    let full = merge(&model_folder("qwen2-tied"), &adapter_folder("qwen2-tied", "all-0"), target.path());
    assert!(full.unwrap_err().to_string().contains("not empty"));
}
