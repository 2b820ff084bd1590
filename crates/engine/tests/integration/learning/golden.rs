//! Gradients and AdamW steps compared with PyTorch's autograd and optimizer, for both families and every loss.

use lyceum_engine::learn::{GradientPiece, TrainedTensor};

use crate::learning::batch::{Case, floats, fresh};
use crate::learning::fixtures::difference;

const CASES: [(&str, &str); 8] = [
    ("policy", "qwen2-tied"),
    ("policy", "qwen3-wide-heads"),
    ("sequence-mean", "qwen2-untied-sharded"),
    ("cross-entropy", "qwen3-tied-sharded"),
    ("kl-to-start", "qwen2-tied"),
    ("kl-to-versions", "qwen2-tied"),
    ("trainer-ratio", "qwen3-wide-heads"),
    ("truncated-importance", "qwen2-tied"),
];

#[test]
fn gradients_of_every_factor_are_those_of_autograd() {
    for (case, model) in CASES {
        let case = Case::new(case, model);
        let piece = case.piece(0, 1);
        for (name, gradient) in piece.tensors() {
            for member in 0..case.population.members() {
                let expected = floats(&case.golden("gradient", member, name));
                let found = floats(&gradient.get(member as i64));
                let largest = difference(&found, &expected);
                assert!(largest < 1e-5, "{model}: {name} of member {member} is off by {largest}");
            }
        }
    }
}

#[test]
fn three_clipped_adamw_steps_are_those_of_pytorch() {
    for (case, model) in CASES {
        let mut case = Case::new(case, model);
        case.options.optimizer.epochs = case.steps;
        let updated = case.run().unwrap();
        for tensor in TrainedTensor::of_population(&updated.population) {
            for member in 0..case.population.members() {
                let expected = floats(&case.golden("stepped", member, &tensor.name));
                let found = floats(&tensor.values.get(member as i64));
                let largest = difference(&found, &expected);
                assert!(largest < 1e-4, "{model}: {} of member {member} is off by {largest}", tensor.name);
            }
        }
        assert_eq!(updated.state.steps, vec![u64::from(case.steps); case.population.members()]);
    }
}

#[test]
fn tokens_whose_importance_weight_was_truncated_are_counted() {
    let case = Case::new("truncated-importance", "qwen2-tied");
    let trained = TrainedTensor::of_population(&case.population);
    let folder = tempfile::tempdir().unwrap();
    let pieces = [0, 1].map(|index| {
        let path = folder.path().join(index.to_string());
        case.piece(index, 2).write(&path).unwrap();
        GradientPiece::read(&path, &trained).unwrap()
    });
    let state = fresh(&case.population);
    let applied = case.update().apply(&case.population, &state, &pieces).unwrap();
    for updated in [case.run().unwrap(), applied] {
        for (member, diagnostics) in updated.diagnostics.iter().enumerate() {
            let expected = case.golden_number("capped", member);
            let found = diagnostics.capped_share;
            assert!(
                expected > 0.0 && (found - expected).abs() < 1e-9,
                "{found} of member {member}, expected {expected}"
            );
        }
    }
}

#[test]
fn the_reported_loss_is_that_of_autograd() {
    for (case, model) in [("sequence-mean", "qwen2-untied-sharded"), ("cross-entropy", "qwen3-tied-sharded")] {
        let case = Case::new(case, model);
        let updated = case.run().unwrap();
        for (member, diagnostics) in updated.diagnostics.iter().enumerate() {
            let expected = case.golden_number("loss", member);
            assert!((diagnostics.policy_loss - expected).abs() < 1e-5, "{diagnostics:?}, expected {expected}");
            assert!(diagnostics.entropy > 0.0 && diagnostics.grad_norm > 0.0);
            let tokens: usize = case.sequences[member].iter().map(|sequence| sequence.completion.len()).sum();
            assert_eq!(diagnostics.tokens, tokens as u64);
        }
    }
}
