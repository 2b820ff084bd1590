//! Invalid sequences are refused with their names, and the existing state is unchanged.

use std::fs;

use lyceum_engine::learn::{GradientPiece, OptimizerState, TrainedTensor, Update};
use safetensors::SafeTensors;

use crate::learning::batch::{Case, fresh, weights};

fn case() -> Case {
    Case::new("policy", "qwen2-tied")
}

fn refused(case: &Case) -> String {
    let before = weights(&case.population);
    let message = case.run().unwrap_err().to_string();
    assert_eq!(format!("{:?}", weights(&case.population)), format!("{before:?}"));
    message
}

#[test]
fn sequences_that_make_no_sense_are_named() {
    let spoil = |change: &dyn Fn(&mut Case)| {
        let mut case = case();
        change(&mut case);
        refused(&case)
    };
    let expect = |message: String, parts: &[&str]| {
        for part in parts {
            assert!(message.contains(part), "`{message}` lacks `{part}`");
        }
    };
    expect(spoil(&|case| case.sequences[1][0].advantage = f32::NAN), &["`1-0`", "advantage is NaN", "member 1"]);
    expect(spoil(&|case| case.sequences[2][1].logprobs[0] = f32::INFINITY), &["`2-1`", "log-probability 0 is inf"]);
    expect(spoil(&|case| case.sequences[0][0].completion[1] = 320), &["`0-0`", "id 320", "vocabulary of 320"]);
    expect(spoil(&|case| case.sequences[0][0].prompt[0] = -1), &["id -1"]);
    expect(spoil(&|case| case.sequences[0][0].logprobs.truncate(2)), &["2 log-probabilities for 4 ids"]);
    expect(spoil(&|case| case.sequences[0][0].prompt.clear()), &["0 prompt ids", "at least one"]);
    expect(spoil(&|case| case.sequences[0][0].prompt = vec![1; 200]), &["longest sequence is 128"]);
    expect(spoil(&|case| case.sequences.iter_mut().for_each(Vec::clear)), &["no sequences"]);
    expect(spoil(&|case| drop(case.sequences.pop())), &["2 members", "there are 3"]);
    expect(spoil(&|case| case.options.optimizer.epochs = 0), &["`epochs` is 0"]);
}

#[test]
fn a_weight_that_is_nan_is_named_with_its_member() {
    let case = case();
    let trained = TrainedTensor::of_population(&case.population);
    let _ = trained[5].values.get(2).get(0).fill_(f64::NAN);
    let message = refused(&case);
    assert!(message.contains(&trained[5].name) && message.contains("member 2"), "{message}");
}

#[test]
fn logits_that_are_nan_leave_the_version_as_it_was() {
    let case = case();
    let _ = case.model.norm.get(3).fill_(f64::NAN);
    let message = refused(&case);
    assert!(message.contains("not finite"), "{message}");
}

/// The weights are finite, but their products are not.
#[test]
fn a_gradient_that_overflows_is_named_with_its_member() {
    let case = case();
    let trained = TrainedTensor::of_population(&case.population);
    for tensor in trained.iter().filter(|tensor| tensor.name.contains("layers.0.mlp.down_proj")) {
        let _ = tensor.values.get(1).fill_(1e25);
    }
    let message = refused(&case);
    assert!(message.contains("the gradient of `model.layers.") && message.contains("member 1"), "{message}");
}

/// The reference's weights are finite, but its log-probabilities are not.
#[test]
fn a_kl_reference_that_overflows_leaves_the_version_as_it_was() {
    let case = Case::new("kl-to-versions", "qwen2-tied");
    let reference = case.population.duplicate().unwrap();
    for tensor in TrainedTensor::of_population(&reference) {
        let _ = tensor.values.get(1).fill_(1e38);
    }
    let before = weights(&case.population);
    let update = Update { reference: Some(&reference), ..case.update() };
    let state = fresh(&case.population);
    let message = update.run(&case.population, &state, &case.sequences, &mut |_| ()).unwrap_err().to_string();
    assert!(message.contains("the gradient of `model.layers.") && message.contains("member 1"), "{message}");
    assert_eq!(weights(&case.population), before);
}

#[test]
fn pieces_need_a_single_step_and_their_own_population() {
    let mut case = case();
    let start = fresh(&case.population);
    let mut other = Case::new("sequence-mean", "qwen2-untied-sharded");
    other.options.optimizer.epochs = 1;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("piece.safetensors");
    case.piece(0, 1).write(&path).unwrap();

    let read = GradientPiece::read(&path, &TrainedTensor::of_population(&case.population)).unwrap();
    let stored = case.update().apply(&case.population, &start, &[read]).unwrap();
    let direct = case.update().apply(&case.population, &start, &[case.piece(0, 1)]).unwrap();
    assert_eq!(weights(&stored.population), weights(&direct.population));
    assert_eq!(stored.diagnostics, direct.diagnostics);

    let message = GradientPiece::read(&path, &TrainedTensor::of_population(&other.population)).unwrap_err().to_string();
    assert!(message.contains("piece.safetensors") && message.contains("expected Float"), "{message}");
    case.options.optimizer.minibatches = 2;
    let message = case.update().apply(&case.population, &start, &[]).unwrap_err().to_string();
    assert!(message.contains("both have to be 1"), "{message}");
}

#[test]
fn pieces_that_are_missing_double_or_of_another_cut_are_named() {
    let case = case();
    let state = fresh(&case.population);
    let refused = |pieces: &[(usize, usize)], part: &str| {
        let pieces: Vec<_> = pieces.iter().map(|&(index, of)| case.piece(index, of)).collect();
        let message = case.update().apply(&case.population, &state, &pieces).unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
    };
    refused(&[], "no gradient pieces");
    refused(&[(0, 2)], "piece 0 of 2 was given as piece 0 of 1");
    refused(&[(0, 2), (0, 2)], "piece 0 of 2 was given as piece 1 of 2");
    refused(&[(0, 2), (1, 3)], "piece 1 of 3 was given as piece 1 of 2");
    refused(&[(1, 2), (0, 2)], "piece 1 of 2 was given as piece 0 of 2");
}

/// Files from before pieces stored their place.
#[test]
fn a_piece_that_does_not_tell_its_place_is_read() {
    let case = case();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("piece.safetensors");
    case.piece(0, 1).write(&path).unwrap();
    let bytes = fs::read(&path).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let without = file.iter().filter(|(name, _)| *name != "place");
    fs::write(&path, safetensors::serialize(without, None).unwrap()).unwrap();
    let read = GradientPiece::read(&path, &TrainedTensor::of_population(&case.population)).unwrap();
    let state = fresh(&case.population);
    let updated = case.update().apply(&case.population, &state, &[read]).unwrap();
    assert_eq!(weights(&updated.population), weights(&case.run().unwrap().population));
}

#[test]
fn the_optimizer_state_survives_its_file_and_a_broken_file_is_named() {
    let mut case = case();
    let folder = tempfile::tempdir().unwrap();
    let trained = TrainedTensor::of_population(&case.population);
    let first = case.run().unwrap();
    for member in 0..3 {
        first.state.write_member(member, &folder.path().join(member.to_string())).unwrap();
    }
    let folders: Vec<_> = (0..3).map(|member| Some(folder.path().join(member.to_string()))).collect();
    let read = OptimizerState::read(&folders, &trained).unwrap();
    let go_on = |state| case.update().run(&first.population, state, &case.sequences, &mut |_| ()).unwrap();
    assert_eq!(weights(&go_on(&first.state).population), weights(&go_on(&read).population));

    // A child starts afresh while its siblings continue.
    let mixed = OptimizerState::read(&[None, folders[1].clone(), None], &trained).unwrap();
    assert_eq!(mixed.steps, [0, 1, 0]);

    let path = folder.path().join("1/optimizer.safetensors");
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 9]).unwrap();
    let message = OptimizerState::read(&folders, &trained).unwrap_err().to_string();
    assert!(message.contains("optimizer.safetensors") && message.contains("not a complete"), "{message}");
    fs::write(&path, &bytes).unwrap();
    case = Case::new("policy", "qwen3-wide-heads");
    let message =
        OptimizerState::read(&folders, &TrainedTensor::of_population(&case.population)).unwrap_err().to_string();
    assert!(message.contains("exp_avg") && message.contains("has shape"), "{message}");
}
