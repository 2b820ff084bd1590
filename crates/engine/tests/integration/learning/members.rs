//! Eight members in one batch compared with eight runs of one.

use lyceum_core::work::{Dtype, LoraShape, Loss, PolicyLoss, Projection};
use lyceum_engine::Population;
use lyceum_engine::learn::{TrainedTensor, TrainingSequence, Update, UpdateOptions, Updated};

use crate::device::device;
use crate::learning::batch::{fresh, member_weights};
use crate::learning::fixtures::{difference, model};

const MEMBERS: usize = 8;

/// Different members, with sequences that differ in number and length.
fn sequences(even: bool) -> Vec<Vec<TrainingSequence>> {
    let sequence = |member: usize, index: usize| {
        let (prompt, completion) = if even { (5, 6) } else { (2 + index % 3, 1 + (member + index) % 7) };
        let id = |at: usize| ((member * 131 + index * 37 + at * 17) % 300) as i64;
        TrainingSequence {
            id: format!("{member}-{index}"),
            prompt: (0..prompt).map(|at| id(at + 50)).collect(),
            completion: (0..completion).map(id).collect(),
            logprobs: vec![-5.0; completion],
            advantage: if (member + index).is_multiple_of(2) { 1.0 } else { -0.5 },
        }
    };
    let count = |member: usize| if even { 4 } else { 2 + member % 3 };
    (0..MEMBERS).map(|member| (0..count(member)).map(|index| sequence(member, index)).collect()).collect()
}

#[test]
fn a_batch_of_eight_members_is_eight_runs_of_one() {
    let model = model("qwen3-wide-heads", Dtype::Fp32);
    let shape = LoraShape::new(4, 8.0, false, Projection::ALL.to_vec()).unwrap();
    let all = Population::initialise(&model.config, shape.clone(), MEMBERS, 3, device()).unwrap();
    for even in [true, false] {
        let sequences = sequences(even);
        let mut options = UpdateOptions { micro_batch_tokens: 100, ..UpdateOptions::default() };
        options.optimizer.learning_rate = 1e-3;
        options.optimizer.eps = 1e-5;
        options.optimizer.epochs = 2;
        options.optimizer.minibatches = 2;
        let update = Update { model: &model, options: &options, reference: None };
        let together = update.run(&all, &fresh(&all), &sequences, &mut |_| ()).unwrap();
        for (member, of_member) in sequences.iter().enumerate() {
            let alone = Population::stack(shape.clone(), &[all.member(member).unwrap()]).unwrap();
            let of_member = [of_member.clone()];
            let alone = update.run(&alone, &fresh(&alone), &of_member, &mut |_| ()).unwrap();
            let largest =
                difference(&member_weights(&alone.population, 0), &member_weights(&together.population, member));
            assert!(largest < 2e-5, "member {member} is off by {largest}");
            let (alone, together) = (alone.diagnostics[0], together.diagnostics[member]);
            assert_eq!(alone.tokens, together.tokens);
            assert!((alone.grad_norm - together.grad_norm).abs() < 1e-5 * alone.grad_norm);
        }
    }
}

#[test]
fn each_member_of_a_batch_learns_at_its_own_rate() {
    let model = model("qwen2-tied", Dtype::Fp32);
    let shape = LoraShape::new(4, 8.0, false, vec![Projection::Q, Projection::Down]).unwrap();
    let all = Population::initialise(&model.config, shape, MEMBERS, 3, device()).unwrap();
    let sequences = sequences(false);
    let learn = |learning_rate: f64, learning_rates: Vec<Option<f64>>| {
        let mut options = UpdateOptions { learning_rates, ..UpdateOptions::default() };
        options.optimizer.learning_rate = learning_rate;
        options.optimizer.weight_decay = 0.1;
        options.optimizer.epochs = 2;
        let update = Update { model: &model, options: &options, reference: None };
        update.run(&all, &fresh(&all), &sequences, &mut |_| ()).unwrap().population
    };
    let own = |member: usize| [Some(1e-3), None, Some(3e-3)][member % 3];
    let mixed = learn(2e-3, (0..MEMBERS).map(own).collect());
    let uniform = [1e-3, 2e-3, 3e-3].map(|rate| learn(rate, Vec::new()));
    for member in 0..MEMBERS {
        for (place, uniform) in uniform.iter().enumerate() {
            let is_same = member_weights(uniform, member) == member_weights(&mixed, member);
            assert_eq!(is_same, place == member % 3, "member {member} and rate {place}");
        }
    }
}

#[test]
fn members_without_sequences_stay_as_they_are() {
    let model = model("qwen2-tied", Dtype::Fp32);
    let shape = LoraShape::new(4, 8.0, false, vec![Projection::Q, Projection::Down]).unwrap();
    let all = Population::initialise(&model.config, shape, MEMBERS, 3, device()).unwrap();
    let mut sequences = sequences(false);
    sequences[3].clear();
    let options = UpdateOptions::default();
    let update = Update { model: &model, options: &options, reference: None };
    let updated = update.run(&all, &fresh(&all), &sequences, &mut |_| ()).unwrap();
    assert_eq!(member_weights(&updated.population, 3), member_weights(&all, 3));
    assert_eq!((updated.state.steps[3], updated.state.steps[4]), (0, 1));
    assert_ne!(member_weights(&updated.population, 4), member_weights(&all, 4));
}

#[test]
fn a_member_whose_groups_all_have_equal_rewards_learns_exactly_nothing() {
    let model = model("qwen2-tied", Dtype::Fp32);
    let shape = LoraShape::new(4, 8.0, false, vec![Projection::Q, Projection::Down]).unwrap();
    let start = Population::initialise(&model.config, shape, MEMBERS, 3, device()).unwrap();
    let options = UpdateOptions::default();
    let update = Update { model: &model, options: &options, reference: None };
    // Both factors are away from zero after a first update.
    let mut sequences = sequences(false);
    let all = update.run(&start, &fresh(&start), &sequences, &mut |_| ()).unwrap().population;
    for sequence in &mut sequences[3] {
        sequence.advantage = 0.0;
    }
    let updated = update.run(&all, &fresh(&all), &sequences, &mut |_| ()).unwrap();
    let bits = |population: &Population| -> Vec<u32> {
        let weights = member_weights(population, 3);
        weights.iter().map(|weight| weight.to_bits()).collect()
    };
    assert_eq!(bits(&updated.population), bits(&all));
    assert_eq!(updated.diagnostics[3].grad_norm, 0.0);
    assert_ne!(member_weights(&updated.population, 4), member_weights(&all, 4));
}

/// What `Learner::without_idle` of `lyceum-core` rests on.
#[test]
fn sequences_without_an_advantage_can_be_left_out_if_the_others_become_smaller() {
    let model = model("qwen3-wide-heads", Dtype::Fp32);
    let shape = LoraShape::new(4, 8.0, false, Projection::ALL.to_vec()).unwrap();
    let all = Population::initialise(&model.config, shape, MEMBERS, 3, device()).unwrap();
    let mut whole = sequences(false);
    for sequence in whole.iter_mut().flat_map(|own| own.iter_mut().step_by(2)) {
        sequence.advantage = 0.0;
    }
    let active: Vec<Vec<TrainingSequence>> = whole
        .iter()
        .map(|own| {
            let tokens = |sequences: &[TrainingSequence]| -> usize {
                sequences.iter().map(|sequence| sequence.completion.len()).sum()
            };
            let mut active: Vec<TrainingSequence> = own.iter().filter(|one| one.advantage != 0.0).cloned().collect();
            let share = tokens(&active) as f32 / tokens(own) as f32;
            for sequence in &mut active {
                sequence.advantage *= share;
            }
            active
        })
        .collect();
    let mut options = UpdateOptions::default();
    options.optimizer.learning_rate = 1e-3;
    options.optimizer.eps = 1e-5;
    options.optimizer.epochs = 2;
    let update = Update { model: &model, options: &options, reference: None };
    let learned = |updated: &Updated| updated.diagnostics.iter().filter(|of| of.grad_norm > 0.0).count();
    let [full, part] = [whole, active].map(|batch| update.run(&all, &fresh(&all), &batch, &mut |_| ()).unwrap());
    assert!(learned(&full) >= MEMBERS / 2);
    for member in 0..MEMBERS {
        let (full_norm, part_norm) = (full.diagnostics[member].grad_norm, part.diagnostics[member].grad_norm);
        assert!((full_norm - part_norm).abs() <= 1e-5 * full_norm, "member {member}: {full_norm} and {part_norm}");
        let [full, part] = [&full, &part].map(|updated| member_weights(&updated.population, member));
        let largest = difference(&full, &part);
        assert!(largest < 2e-5, "member {member} is off by {largest}");
    }
}

/// The KL reference is a version for the first half of the members and the base for the second half.
#[test]
fn each_member_of_a_batch_has_its_own_kl_reference() {
    let model = model("qwen3-wide-heads", Dtype::Fp32);
    let shape = LoraShape::new(4, 8.0, false, Projection::ALL.to_vec()).unwrap();
    // Fresh members equal the base, so they learn a little first.
    let fresh_members = Population::initialise(&model.config, shape.clone(), MEMBERS, 3, device()).unwrap();
    let mut options = UpdateOptions {
        loss: Loss::PolicyGradient(PolicyLoss { kl: 0.5, ..PolicyLoss::default() }),
        ..UpdateOptions::default()
    };
    options.optimizer.learning_rate = 1e-2;
    options.optimizer.eps = 1e-5;
    let sequences = sequences(false);
    let learn = |from: &Population, sequences: &[Vec<TrainingSequence>], reference: Option<&Population>| {
        let update = Update { model: &model, options: &options, reference };
        update.run(from, &fresh(from), sequences, &mut |_| ()).unwrap()
    };
    let all = learn(&fresh_members, &sequences, None).population;
    let versions = learn(&all, &sequences, None).population;

    let to_base: Vec<usize> = (MEMBERS / 2..MEMBERS).collect();
    let mixed = versions.without_adapters_of(&to_base).unwrap();
    let together = learn(&all, &sequences, Some(&mixed));
    for (member, of_member) in sequences.iter().enumerate() {
        let alone = Population::stack(shape.clone(), &[all.member(member).unwrap()]).unwrap();
        let version = Population::stack(shape.clone(), &[versions.member(member).unwrap()]).unwrap();
        let (own, other) = if to_base.contains(&member) { (None, Some(&version)) } else { (Some(&version), None) };
        let of_member = [of_member.clone()];
        let separate = learn(&alone, &of_member, own);
        let largest =
            difference(&member_weights(&separate.population, 0), &member_weights(&together.population, member));
        assert!(largest < 2e-5, "member {member} is off by {largest}");
        let (kl, of_other) = (together.diagnostics[member].kl, learn(&alone, &of_member, other));
        assert!((separate.diagnostics[0].kl - kl).abs() < 1e-5 * kl, "{kl}");
        assert!((of_other.diagnostics[0].kl - kl).abs() > 1e-3 * kl, "{kl}");
    }
}

#[test]
fn bf16_points_where_fp32_points() {
    let gradients = |precision| {
        let model = model("qwen2-tied", precision);
        let shape = LoraShape::new(4, 8.0, false, Projection::ALL.to_vec()).unwrap();
        let all = Population::initialise(&model.config, shape, MEMBERS, 3, device()).unwrap();
        let options = UpdateOptions::default();
        let update = Update { model: &model, options: &options, reference: None };
        let piece = update.gradient_piece(&all, &sequences(false), 0, 1, &mut |_| ()).unwrap();
        assert_eq!(TrainedTensor::of_population(&all).len(), piece.tensors().count());
        crate::learning::batch::gradient_values(&piece)
    };
    let (wide, narrow) = (gradients(Dtype::Fp32), gradients(Dtype::Bf16));
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
    let cosine = dot(&wide, &narrow) / (dot(&wide, &wide) * dot(&narrow, &narrow)).sqrt();
    assert!(cosine > 0.99, "{cosine}");
}

/// Measuring the divergence to the base costs a pass, and changes nothing of what is learned.
#[test]
fn the_divergence_to_the_base_is_measured_without_learning_from_it() {
    let model = model("qwen3-wide-heads", Dtype::Fp32);
    let shape = LoraShape::new(4, 8.0, false, Projection::ALL.to_vec()).unwrap();
    let first = Population::initialise(&model.config, shape, MEMBERS, 3, device()).unwrap();
    let sequences = sequences(false);
    let learn = |from: &Population, kl: f64, observes_base: bool| {
        let mut options = UpdateOptions {
            loss: Loss::PolicyGradient(PolicyLoss { kl, ..PolicyLoss::default() }),
            observes_base,
            ..UpdateOptions::default()
        };
        options.optimizer.learning_rate = 1e-2;
        options.optimizer.eps = 1e-5;
        let update = Update { model: &model, options: &options, reference: None };
        update.run(from, &fresh(from), &sequences, &mut |_| ()).unwrap()
    };
    let moved = learn(&first, 0.0, false).population;
    let (plain, observed, with_term) = (learn(&moved, 0.0, false), learn(&moved, 0.0, true), learn(&moved, 0.5, false));
    for member in 0..MEMBERS {
        let weights = |updated: &Updated| member_weights(&updated.population, member);
        assert_eq!(difference(&weights(&plain), &weights(&observed)), 0.0, "member {member}");
        let [plain, observed, with_term] = [&plain, &observed, &with_term].map(|updated| updated.diagnostics[member]);
        assert_eq!((plain.kl_to_base, plain.kl, observed.kl), (None, 0.0, 0.0));
        // The loss with a term to the base computes the same divergence.
        let measured = observed.kl_to_base.unwrap();
        assert!(measured > 1e-4 && (measured - with_term.kl).abs() < 1e-6 * measured, "{measured} {with_term:?}");
        assert_eq!(with_term.kl_to_base, Some(with_term.kl));
    }
}
