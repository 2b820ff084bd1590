//! Vocabulary dropout, and what updates are kept close to.

use super::*;
use crate::work::VocabularyMask;

fn dropout(stages: &str, anneal_to: Option<f64>) -> Vec<(&'static str, Value)> {
    let mut dropout = json!({"keep_rate": 0.8, "stages": stages, "protected_texts": ["<question>"]});
    if let Some(last) = anneal_to {
        dropout["anneal_to"] = json!(last);
    }
    vec![("parameters.vocabulary_dropout", dropout)]
}

/// The masks of the rollouts of proposals, by step.
fn masks(work: &BTreeMap<WorkKey, Payload>) -> Vec<(u32, Option<VocabularyMask>)> {
    let proposals = work.iter().filter(|(key, _)| key.phase == "propose");
    let mask = |(key, payload): (&WorkKey, &Payload)| match payload {
        Payload::Rollout(rollout) => (key.step, rollout.sampling.vocabulary_mask.clone()),
        other => panic!("{other:?}"),
    };
    proposals.map(mask).collect()
}

#[test]
fn every_batch_of_proposals_has_a_mask_of_its_own() {
    let Played { work, steps, .. } = play(&with(&dropout("both", None)), players(), Order::Together);
    let found = masks(&work);
    // Two iterations of two steps with two batches, and a curriculum of six.
    assert_eq!(found.len(), 2 * (2 * 2 + 6));
    let seeds: BTreeSet<u64> = found.iter().map(|(_, mask)| mask.as_ref().unwrap().seed).collect();
    assert_eq!(seeds.len(), found.len());
    let mask = found[0].1.clone().unwrap();
    assert_eq!((mask.keep_rate, mask.protected_texts), (0.8, vec!["<question>".to_owned()]));
    let others = work.iter().filter(|(key, _)| key.phase != "propose");
    for (key, payload) in others {
        if let Payload::Rollout(rollout) = payload {
            assert_eq!(rollout.sampling.vocabulary_mask, None, "{key}");
        }
    }
    assert_eq!([0, 2].map(|step| metric(&steps[step], "keep_rate")), [0.8, 0.8]);
    assert!(metric(&steps[3], "keep_rate").is_nan());
    let mut other = with(&dropout("both", None));
    other["seed"] = json!(5);
    let again = masks(&play(&with(&dropout("both", None)), players(), Order::Shuffled(2)).work);
    assert_eq!(again, found, "the same run has the same masks");
    let other = masks(&play(&other, players(), Order::Together).work);
    assert!(other.iter().all(|(_, mask)| !seeds.contains(&mask.as_ref().unwrap().seed)));
}

#[test]
fn a_stage_that_is_switched_off_and_the_last_of_an_annealing_have_no_mask() {
    let masked = |overrides: &[(&str, Value)]| -> BTreeSet<u32> {
        let work = play(&with(overrides), players(), Order::Together).work;
        let masked = masks(&work).into_iter().filter(|(_, mask)| mask.is_some());
        masked.map(|(step, _)| step).collect()
    };
    assert_eq!(masked(&[]), BTreeSet::new());
    assert_eq!(masked(&dropout("both", None)), BTreeSet::from([0, 1, 2, 6, 7, 8]));
    assert_eq!(masked(&dropout("train", None)), BTreeSet::from([0, 1, 6, 7]));
    assert_eq!(masked(&dropout("generation", None)), BTreeSet::from([2, 8]));
    assert_eq!(masked(&dropout("both", Some(1.0))), BTreeSet::from([0, 1, 2]));
}

#[test]
fn every_stage_starts_anew() {
    let started = |overrides: &[(&str, Value)]| -> Vec<(u32, bool, bool)> {
        let work = play(&with(overrides), players(), Order::Together).work;
        let updates = work.iter().filter_map(|(key, payload)| match payload {
            Payload::Update(update) => Some((key.step, update.members[0].clone())),
            _ => None,
        });
        let of = |(step, member): (u32, crate::work::MemberUpdate)| {
            let reference = member.kl_reference.map(|reference| reference.version);
            (step, member.from.optimizer.is_some(), reference == Some(member.from.version))
        };
        updates.map(of).collect()
    };
    let first_of_stages = [0, 3, 6, 9];
    for (step, has_optimizer, is_reference) in started(&[]) {
        let is_first = first_of_stages.contains(&step);
        assert_eq!((has_optimizer, is_reference), (!is_first, is_first), "step {step}");
    }
    let off = [("parameters.restart_optimizers", json!(false)), ("parameters.kl_to_stage_start", json!(false))];
    for (step, has_optimizer, is_reference) in started(&off) {
        let is_fresh = [0, 3].contains(&step);
        assert_eq!((has_optimizer, is_reference), (!is_fresh, false), "step {step}");
    }
}

#[test]
fn a_keep_rate_is_that_of_masks_that_there_are() {
    let rates = |overrides: &[(&str, Value)]| -> Vec<Option<f64>> {
        let steps = play(&with(overrides), players(), Order::Together).steps;
        let rates = steps.iter().map(|step| metric(step, "keep_rate"));
        rates.map(|rate| (!rate.is_nan()).then_some(rate)).take(4).collect()
    };
    let (some, none) = (Some(0.8), None);
    assert_eq!(rates(&dropout("both", None)), [some, some, some, none]);
    assert_eq!(rates(&dropout("train", None)), [some, some, none, none]);
    assert_eq!(rates(&dropout("generation", None)), [none, none, some, none]);
    assert_eq!(rates(&[]), [none; 4]);
}
