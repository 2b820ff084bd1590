//! The written folder is the model that was trained.

use lyceum_engine::pretrain::{Pretrainer, write_model_folder};
use lyceum_engine::score::{ScoreOptions, ScoreRequest, score};
use lyceum_engine::{Model, Placement, Precision};

use super::fixtures::{folder, lesson, model, optimizer, packed};

#[test]
fn what_is_written_is_what_was_trained() {
    let mut trainer = Pretrainer::from_model(&model(), Placement::REFERENCE).unwrap();
    let batch = packed(&[lesson(9)], 1, 12, &trainer.model().config);
    trainer.step(&batch, &optimizer(), 1.0).unwrap();
    let out = tempfile::tempdir().unwrap();
    std::fs::copy(
        folder().join("models/qwen2-tied/config.json"),
        out.path().join("config.json"),
    )
    .unwrap();
    write_model_folder(trainer.model(), Precision::Fp32, out.path()).unwrap();
    let written = Model::load(out.path(), Placement::REFERENCE).unwrap();
    let requests = [ScoreRequest {
        ids: vec![1, 9, 2, 3, 10, 5],
        adapter: None,
    }];
    let of = |model: &Model| {
        score(model, None, &requests, ScoreOptions::default())
            .unwrap()
            .remove(0)
            .logprobs
    };
    assert_eq!(of(&written), of(trainer.model()));
    assert_ne!(of(&written), of(&model()), "the step changed nothing");
}
