//! The written folder contains the trained model.

use lyceum_core::work::Dtype;
use lyceum_engine::Model;
use lyceum_workshop::pretrain::{Pretrainer, write_model_folder};

use super::fixtures::{lesson, model, models, optimizer, packed, placement};

#[test]
fn what_is_written_is_what_was_trained() {
    let mut trainer = Pretrainer::from_model(&model(), placement()).unwrap();
    let batch = packed(&[lesson(9)], 1, 12, &trainer.model().config);
    trainer.step(&batch, &optimizer(), 1.0).unwrap();
    let out = tempfile::tempdir().unwrap();
    std::fs::copy(models().join("qwen2-tied/config.json"), out.path().join("config.json")).unwrap();
    write_model_folder(trainer.model(), Dtype::Fp32, out.path()).unwrap();
    let written = Model::load(out.path(), placement()).unwrap();
    let weights = |model: &Model| -> Vec<Vec<f32>> {
        let of_layers = model.layers.iter().flat_map(|layer| {
            let bias = layer.qkv_bias.as_ref().expect("a bias");
            let norms = [&layer.input_layernorm, &layer.post_attention_layernorm];
            let matrices = [&layer.qkv_proj, &layer.o_proj, &layer.gate_up_proj, &layer.down_proj];
            norms.into_iter().chain(matrices).chain([bias])
        });
        let all = of_layers.chain([&model.embed_tokens, &model.norm, &model.lm_head]);
        all.map(|tensor| Vec::try_from(&tensor.detach().flatten(0, -1)).unwrap()).collect()
    };
    assert_eq!(weights(&written), weights(trainer.model()));
    assert_ne!(weights(&written), weights(&model()), "the step changed nothing");
}
