//! What members learn from, and what is counted as theirs.

use super::*;
use crate::id::WorkId;
use crate::verify::ProblemKind;

/// Phase and advantage of every sequence of the first update.
fn first_update(document: &Value, mut players: Players) -> Vec<(String, f64)> {
    let config = resolved(document).unwrap();
    let run = ExecutionId(Uuid::from_u128(1));
    let state = Populora.begin(run, &config).unwrap();
    let mut view = StepView::default();
    let mut phases = BTreeMap::new();
    loop {
        for item in Populora.plan(&state, &view).unwrap().work {
            if let Payload::Update(update) = &item.payload {
                let sequences = update.members.iter().flat_map(|member| &member.sequences);
                return sequences
                    .map(|sequence| (String::clone(&phases[&sequence.rollout]), f64::from(sequence.advantage)))
                    .collect();
            }
            let outcome = players.perform(item.key.chunk, &item.payload).unwrap();
            phases.insert(WorkId::of(run, &item.key), item.key.phase.clone());
            view.work.insert(item.key, WorkState::Done(outcome));
        }
    }
}

#[test]
fn the_baseline_is_whitened_in_each_role_by_itself() {
    let mut document = document(0, 0);
    document["parameters"]["prompts_per_matchup"] = json!(12);
    let learned = first_update(&document, skills(0, 0));
    for phase in ["propose", "solve"] {
        let advantages: Vec<f64> =
            learned.iter().filter(|(of, _)| of == phase).map(|(_, advantage)| *advantage).collect();
        let mean = advantages.iter().sum::<f64>() / advantages.len() as f64;
        assert!(mean.abs() < 1e-5, "{phase}: {mean} over {}", advantages.len());
    }
}

#[test]
fn shuffled_rewards_stay_in_their_member_and_role() {
    let mut shuffled = document(0, 0);
    shuffled["parameters"]["learning"] = json!({"shuffle_rewards": true});
    let earned = first_update(&document(0, 0), skills(0, 0));
    let random = first_update(&shuffled, skills(0, 0));
    assert_eq!(random, first_update(&shuffled, skills(0, 0)), "the seed decides who gets what");
    let of = |phase: &str, learned: &[(String, f64)]| -> Vec<f64> {
        let of = learned.iter().filter(|(of, _)| of == phase);
        of.map(|(_, advantage)| *advantage).collect()
    };
    for phase in ["propose", "solve"] {
        assert_ne!(of(phase, &earned), of(phase, &random), "{phase}");
    }
    // Each proposal is a group of its own, so its advantage follows only from its reward.
    let sorted = |learned| {
        let mut advantages = of("propose", learned);
        advantages.sort_by(f64::total_cmp);
        advantages
    };
    for (earned, random) in sorted(&earned).iter().zip(sorted(&random)) {
        assert!((earned - random).abs() < 1e-5, "{earned} {random}");
    }
}

#[test]
fn programs_from_the_pool_are_not_those_of_a_teacher() {
    let mut document = document(2, 2);
    document["parameters"]["proposals_per_prompt"] = json!(4);
    let all = steps(&document, skills(2, 2), Order::Together, 3);
    for step in &all {
        let proposals = step.records.problems.iter().filter(|problem| problem.proposer.is_some());
        let (of_functions, written): (Vec<_>, Vec<_>) =
            proposals.filter(|problem| problem.valid).partition(|problem| problem.kind == ProblemKind::CodeF);
        assert!(!of_functions.is_empty());
        let lines = written.iter().map(|problem| f64::from(problem.descriptor.unwrap()[2]));
        let mean = lines.sum::<f64>() / written.len() as f64;
        assert!((value(step, "loc") - mean).abs() < 1e-6, "{} {mean}", value(step, "loc"));
    }
    document["parameters"]["problems"]["types"] = json!(["code_f"]);
    let only = &steps(&document, skills(2, 2), Order::Together, 1)[0];
    assert!(value(only, "validity") > 0.0);
    for metric in ["near_duplicate_rate", "loc", "ast_depth"] {
        assert!(value(only, metric).is_nan(), "{metric}: {}", value(only, metric));
    }
}

#[test]
fn cells_are_counted_for_each_problem_so_far() {
    let all = steps(&document(2, 2), skills(2, 2), Order::Together, 4);
    let mut problems = 0.0;
    for step in &all {
        problems += value(step, "valid_problems");
        let cells = value(step, "coverage") * 64.0;
        assert!((value(step, "cells_per_problem") - cells / problems).abs() < 1e-9);
    }
}
