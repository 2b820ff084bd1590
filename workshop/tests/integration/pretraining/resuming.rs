//! A run resumed from a checkpoint ends like an uninterrupted one, and learns.

use lyceum_core::work::Dtype;
use lyceum_engine::Placement;
use lyceum_workshop::pretrain::{Pretrainer, write_model_folder};

use super::fixtures::{lesson, model, optimizer, packed, placement};

fn weights(trainer: &Pretrainer) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    write_model_folder(trainer.model(), Dtype::Fp32, folder.path()).unwrap();
    std::fs::read(folder.path().join("model.safetensors")).unwrap()
}

#[test]
fn a_resumed_run_has_the_same_weights() {
    for dtype in [Dtype::Fp32, Dtype::Bf16] {
        let placement = Placement { dtype, ..placement() };
        let config = model().config;
        let batches: Vec<_> = (0..6).map(|step| packed(&[lesson(step), lesson(40 + step)], 1, 30, &config)).collect();
        let mut whole = Pretrainer::new(config.clone(), placement, 3).unwrap();
        for batch in &batches {
            whole.step(batch, &optimizer(), 1.0).unwrap();
        }
        let folder = tempfile::tempdir().unwrap();
        let mut first = Pretrainer::new(config.clone(), placement, 3).unwrap();
        for batch in &batches[..3] {
            first.step(batch, &optimizer(), 1.0).unwrap();
        }
        first.save(folder.path()).unwrap();
        drop(first);
        let mut second = Pretrainer::resume(config, placement, folder.path()).unwrap();
        assert_eq!(second.steps(), 3);
        for batch in &batches[3..] {
            second.step(batch, &optimizer(), 1.0).unwrap();
        }
        assert_eq!(weights(&whole), weights(&second));
    }
}

#[test]
fn the_loss_falls() {
    for dtype in [Dtype::Fp32, Dtype::Bf16] {
        let placement = Placement { dtype, ..placement() };
        let mut trainer = Pretrainer::new(model().config, placement, 5).unwrap();
        let batch = packed(&[lesson(20), lesson(50), lesson(80)], 2, 24, &trainer.model().config);
        let first = trainer.step(&batch, &optimizer(), 1.0).unwrap().loss;
        for _ in 0..40 {
            trainer.step(&batch, &optimizer(), 1.0).unwrap();
        }
        let last = trainer.gradients(&batch).unwrap().0;
        assert!(first > 5.0 && last < 0.5, "{first} to {last} in {dtype}");
    }
}
