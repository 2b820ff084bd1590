//! Invalid samples are refused with a specific message.

use lyceum_engine::Model;
use lyceum_workshop::pretrain::{PackedSample, Pretrainer, RowPacker};

use super::fixtures::{model, models, placement, tokens};

fn refusal(sample: PackedSample) -> String {
    let mut packer = RowPacker::new(1, 200);
    packer.push(sample).unwrap();
    packer.finish(&model().config, placement()).unwrap_err().to_string()
}

#[test]
fn samples_that_do_not_fit_are_refused() {
    let plain = |ids: &[i64], weights: &[f32]| PackedSample { prefix: tokens(ids, weights), branches: Vec::new() };
    assert!(refusal(plain(&[], &[])).contains("at least one"));
    assert!(refusal(plain(&[1, 320], &[0.0, 1.0])).contains("id 320 is outside the vocabulary of 320"));
    assert!(refusal(plain(&[1, 2], &[0.0])).contains("1 weights for 2 ids"));
    assert!(refusal(plain(&[1, 2], &[0.0, f32::NAN])).contains("NaN"));
    assert!(refusal(plain(&[1; 129], &[1.0; 129])).contains("the model's longest sequence is 128"));
    let eager = PackedSample { prefix: tokens(&[1], &[0.0]), branches: vec![tokens(&[2, 3], &[1.0, 1.0])] };
    assert!(refusal(eager).contains("first token of a continuation"));
}

#[test]
fn a_row_without_room_gives_the_sample_back() {
    let mut packer = RowPacker::new(2, 4);
    let sample = PackedSample { prefix: tokens(&[1, 2, 3], &[0.0, 1.0, 1.0]), branches: Vec::new() };
    assert!(packer.push(sample.clone()).is_ok() && packer.push(sample.clone()).is_ok());
    assert_eq!(packer.push(sample.clone()), Err(sample));
    assert_eq!(packer.tokens(), 6);
}

#[test]
fn nothing_to_learn_and_other_architectures_are_refused() {
    let trainer = Pretrainer::from_model(&model(), placement()).unwrap();
    let mut packer = RowPacker::new(1, 4);
    packer.push(PackedSample { prefix: tokens(&[1, 2], &[0.0, 0.0]), branches: Vec::new() }).unwrap();
    let batch = packer.finish(&model().config, placement()).unwrap();
    assert!(trainer.gradients(&batch).unwrap_err().to_string().contains("nothing to learn"));
    let qwen3 = Model::load(&models().join("qwen3-wide-heads"), placement()).unwrap();
    let refused = Pretrainer::from_model(&qwen3, placement()).err().unwrap().to_string();
    assert!(refused.contains("Qwen3"), "{refused}");
}
