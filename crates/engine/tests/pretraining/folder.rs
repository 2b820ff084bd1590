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
    // What is trained asks for gradients, so it is computed by libtorch's operations alone.
    let (written, trained) = (of(&written), of(trainer.model()));
    let near = |(written, trained): (&f32, &f32)| (written - trained).abs() < 1e-5;
    assert!(written.iter().zip(&trained).all(near), "{written:?} and {trained:?}");
    assert!(!written.iter().zip(&of(&model())).all(near), "the step changed nothing");
}
