//! Gradients and AdamW steps compared with PyTorch's autograd and optimizer, for both families and every loss.

use lyceum_engine::learn::TrainedTensor;

use crate::learning::batch::{Case, floats};
use crate::learning::fixtures::difference;

const CASES: [(&str, &str); 7] = [
    ("policy", "qwen2-tied"),
    ("policy", "qwen3-wide-heads"),
    ("sequence-mean", "qwen2-untied-sharded"),
    ("cross-entropy", "qwen3-tied-sharded"),
    ("kl-to-start", "qwen2-tied"),
    ("kl-to-versions", "qwen2-tied"),
    ("trainer-ratio", "qwen3-wide-heads"),
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
                assert!(
                    largest < 1e-4,
                    "{model}: {} of member {member} is off by {largest}",
                    tensor.name
                );
            }
        }
        assert_eq!(
            updated.state.steps,
            vec![u64::from(case.steps); case.population.members()]
        );
    }
}

#[test]
fn the_reported_loss_is_that_of_autograd() {
    for (case, model) in [
        ("sequence-mean", "qwen2-untied-sharded"),
        ("cross-entropy", "qwen3-tied-sharded"),
    ] {
        let case = Case::new(case, model);
        let updated = case.run().unwrap();
        for (member, diagnostics) in updated.diagnostics.iter().enumerate() {
            let expected = case.golden_loss(member);
            assert!(
                (diagnostics.policy_loss - expected).abs() < 1e-5,
                "{diagnostics:?}, expected {expected}"
            );
            assert!(diagnostics.entropy > 0.0 && diagnostics.grad_norm > 0.0);
            let tokens: usize = case.sequences[member]
                .iter()
                .map(|sequence| sequence.completion.len())
                .sum();
            assert_eq!(diagnostics.tokens, tokens as u64);
        }
    }
}
