//! What an update learns from a batch.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use uuid::Uuid;

use super::{document, resolved};
use crate::advantage::Sampled;
use crate::contract::{Planner as _, StepView};
use crate::id::{ExecutionId, ProblemId};
use crate::kit::Sequence;
use crate::kit::rows::Answer;
use crate::recipes::Rlvr;
use crate::recipes::rlvr::Parameters;
use crate::recipes::rlvr::step::Step;
use crate::simulation::Order;
use crate::work::WorkKey;

/// The advantages of a member's answers with these rewards, by group.
fn advantages(own: &Value, rewards: &[(u32, f32)]) -> Vec<f32> {
    let mut document = document();
    for (name, value) in own.as_object().unwrap() {
        document["parameters"][name] = value.clone();
    }
    let config = resolved(&document).unwrap();
    let run = Rlvr.begin(ExecutionId(Uuid::from_u128(1)), &config).unwrap();
    let (view, parameters): (_, Parameters) =
        (StepView::default(), serde_json::from_value(config.parameters.clone()).unwrap());
    let step = Step::new(&run, &view, &parameters, run.memory().unwrap()).unwrap();
    let answer = |(sample, &(group, reward)): (u32, &(u32, f32))| Answer {
        member: 1,
        place: group,
        problem: ProblemId(Uuid::from_u128(u128::from(group))),
        sequence: Sequence {
            source: WorkKey::new(0, "solve"),
            request: group,
            sample,
            truncated: false,
            has_steps: false,
            sampled: Sampled { reward, group, tokens: 1 },
        },
        well_formed: true,
        correct: reward > 0.0,
        entropy: None,
        parts: BTreeMap::new(),
        is_dropped: false,
    };
    let mut answers: Vec<Answer> = (0..).zip(rewards).map(answer).collect();
    step.select(&mut answers);
    let learners = step.learners(&answers);
    assert!(learners[0].sequences.is_empty(), "answers are their member's own");
    assert_eq!(learners[1].sequences.len(), learners[1].advantages.len());
    learners[1].advantages.clone()
}

#[test]
fn a_batch_by_hand() {
    let batch = [(0, 1.0), (0, 0.0), (0, 0.0), (0, 1.0), (1, 1.0), (1, 1.0), (2, 0.75), (2, 0.25), (2, -0.5)];
    // Group 0: mean 1/2, sample standard deviation √(4 · 1/4 / 3) = 0.577350; 0.5 / 0.577351 = 0.866024.
    // Group 2: mean 1/6; deviations 7/12, 1/12, −2/3; standard deviation √((49 + 1 + 64) / 144 / 2) = 0.629153.
    let wanted = [0.866_024, -0.866_024, -0.866_024, 0.866_024, 0.0, 0.0, 0.927_171, 0.132_453, -1.059_624];
    let near = |given: Vec<f32>, wanted: [f32; 9]| {
        for (given, wanted) in given.iter().zip(wanted) {
            assert!((given - wanted).abs() < 2e-6, "{given} is not {wanted}");
        }
    };
    near(advantages(&json!({}), &batch), wanted);
    let turned = json!({"learning": {"reward_scale": -1.0}});
    near(advantages(&turned, &batch), wanted.map(|advantage| -advantage));
    let centred = json!({"advantages": {"divide_by_std": false}});
    near(advantages(&centred, &batch), [0.5, -0.5, -0.5, 0.5, 0.0, 0.0, 0.583_333, 0.083_333, -0.666_667]);
}

#[test]
fn groups_that_are_left_out_leave_the_others_advantages_alone() {
    let batch = [(0, 1.0), (0, 0.0), (1, 1.0), (1, 1.0), (2, 0.0), (2, 1.0)];
    let half = std::f32::consts::FRAC_1_SQRT_2;
    let near = |own: Value, wanted: &[f32]| {
        let found = advantages(&own, &batch);
        let differ = found.iter().zip(wanted).any(|(found, wanted)| (found - wanted).abs() > 2e-6);
        assert!(found.len() == wanted.len() && !differ, "{own}: {found:?}");
    };
    near(json!({}), &[half, -half, 0.0, 0.0, -half, half]);
    near(json!({"filter": "no_signal"}), &[half, -half, -half, half]);
    near(json!({"dynamic": {"max_rounds": 2}, "batch": 1}), &[half, -half]);
    // Over the batch: the mean of ±1/2 is 0, and their standard deviation √(4 · 1/4 / 3) with two groups, √(1/3) over six with three.
    let whitened = json!({"estimator": "reinforce_plus_plus_baseline"});
    let over = |all: f32| 0.5 / (1.0 / (all - 1.0)).sqrt();
    near(json!({"advantages": whitened}), &[over(6.0), -over(6.0), 0.0, 0.0, -over(6.0), over(6.0)]);
    let four = over(4.0);
    near(json!({"advantages": whitened, "filter": "no_signal"}), &[four, -four, -four, four]);
}

#[test]
fn equal_rewards_give_exactly_nothing() {
    for reward in [0.0, 1.0, 0.1, 1.0 / 3.0, -0.5] {
        let batch: Vec<(u32, f32)> = (0..3).flat_map(|group| vec![(group, reward); 8]).collect();
        assert_eq!(advantages(&json!({}), &batch), [0.0; 24]);
    }
}

#[test]
fn shuffled_rewards_change_places_within_the_batch() {
    let rewards: Vec<(u32, f32)> = (0..40).map(|place| (place / 4, (place % 7) as f32)).collect();
    let of = |own: &str| advantages(&serde_json::from_str(own).unwrap(), &rewards);
    let plain = r#"{"advantages": {"estimator": "reinforce_plus_plus"}}"#;
    let control = r#"{"advantages": {"estimator": "reinforce_plus_plus"}, "learning": {"shuffle_rewards": true}}"#;
    let (earned, random) = (of(plain), of(control));
    assert_ne!(earned, random);
    assert_eq!(random, of(control), "the seed decides");
    let sorted = |mut advantages: Vec<f32>| {
        advantages.sort_by(f32::total_cmp);
        advantages
    };
    for (earned, random) in sorted(earned).into_iter().zip(sorted(random)) {
        assert!((earned - random).abs() < 1e-5, "{earned} {random}");
    }
}

#[test]
fn a_single_answer_to_a_row_is_no_group_without_signal() {
    let shares = |overrides: &[(&str, Value)]| -> Vec<f64> {
        let recorded = crate::kit::rows::metrics(crate::kit::rows::Recorded::default());
        let place = recorded.iter().position(|metric| metric.name == "no_signal_share").unwrap();
        let steps = super::steps(overrides, Order::Together);
        let rows = steps.iter().flat_map(|step| &step.records.metrics);
        rows.map(|row| row.values[place]).collect()
    };
    assert!(shares(&[]).iter().all(|share| (0.0..=1.0).contains(share)));
    let alone = [("parameters.n", json!(1)), ("parameters.advantages.estimator", json!("reinforce_plus_plus"))];
    assert!(shares(&alone).iter().all(|share| share.is_nan()));
}
