//! What members learn from.

use super::*;
use crate::work::MemberUpdate;

/// The members of the step's only update.
fn update(played: &Played, step: usize) -> &[MemberUpdate] {
    let updates = played.work.iter().filter(|(key, _)| key.step as usize == step);
    let mut updates = updates.filter_map(|(_, payload)| match payload {
        Payload::Update(update) => Some(&update.members[..]),
        _ => None,
    });
    let found = updates.next().unwrap();
    assert!(updates.next().is_none(), "one item updates all roles");
    found
}

fn role_of(phase: &str) -> &'static str {
    match phase {
        "challenge" => "challenger",
        "plan" => "planner",
        "solve" => "solver",
        "critique-question" | "critique-plan" => "critic",
        other => panic!("nobody learns from {other}"),
    }
}

/// The advantages of a member by role.
fn advantages(played: &Played, member: &MemberUpdate) -> BTreeMap<&'static str, Vec<f32>> {
    let mut by_role: BTreeMap<&str, Vec<f32>> = BTreeMap::new();
    for sequence in &member.sequences {
        let role = role_of(played.phase(sequence.rollout));
        by_role.entry(role).or_default().push(sequence.advantage);
    }
    by_role
}

#[test]
fn advantages_of_each_role_have_mean_0_and_one_update_has_them_all() {
    let played = play(&document());
    for step in 0..4 {
        let [member] = update(&played, step) else { panic!() };
        let by_role = advantages(&played, member);
        let roles: Vec<&str> = by_role.keys().copied().collect();
        assert_eq!(roles, ["challenger", "critic", "planner", "solver"]);
        assert_eq!([by_role["challenger"].len(), by_role["solver"].len()], [12, 10]);
        for (role, advantages) in by_role {
            let mean = advantages.iter().sum::<f32>() / advantages.len() as f32;
            assert!(mean.abs() < 1e-5, "{role}: {mean}");
            assert!(advantages.iter().any(|advantage| *advantage != 0.0), "{role}");
        }
    }
}

#[test]
fn members_of_one_role_learn_from_it_alone_in_one_update() {
    let played = play(&of_four());
    for step in 0..4 {
        let members = update(&played, step);
        let roles = members.iter().map(|member| {
            let by_role = advantages(&played, member);
            let roles: Vec<&str> = by_role.keys().copied().collect();
            roles.join(" ")
        });
        assert_eq!(roles.collect::<Vec<_>>(), ["challenger", "planner", "solver", "critic"]);
    }
}

#[test]
fn frozen_roles_are_absent_from_updates() {
    for (frozen, learning) in [
        (json!(["critic", "planner"]), &["challenger", "solver"][..]),
        (json!(["solver"]), &["challenger", "critic", "planner"][..]),
    ] {
        let played = play(&with(&[("parameters.frozen", frozen.clone())]));
        for step in 0..4 {
            let [member] = update(&played, step) else { panic!() };
            let by_role = advantages(&played, member);
            assert_eq!(by_role.into_keys().collect::<Vec<_>>(), learning);
            let rollouts = played.work.iter().filter_map(|(key, payload)| match payload {
                Payload::Rollout(rollout) => Some((key, rollout)),
                _ => None,
            });
            for (key, rollout) in rollouts {
                let learns = key.phase != "estimate" && learning.contains(&role_of(&key.phase));
                assert_eq!(rollout.keep_tokens, learns, "{key}");
            }
        }
        let mut attempts = played.steps[0].records.attempts.iter();
        let is_rewarded = |attempt: &AttemptRecord| attempt.role == Role::Solver && attempt.reward > 0.0;
        assert!(attempts.any(is_rewarded), "what is recorded stays");
    }
    let all = json!(["challenger", "planner", "solver", "critic"]);
    let played = play(&with(&[("parameters.frozen", all)]));
    assert!(played.work.values().all(|payload| !matches!(payload, Payload::Update(_))));
}

#[test]
fn a_frozen_role_keeps_its_adapter_where_it_has_one_of_its_own() {
    let played = play(&altered(of_four(), &[("parameters.frozen", json!(["critic"]))]));
    let names: BTreeMap<_, _> = played.steps[0].records.members.iter().map(|row| (row.id, row.name.as_str())).collect();
    let versions = played.steps.iter().flat_map(|step| &step.records.versions);
    let learned: BTreeSet<&str> =
        versions.filter(|version| version.ordinal > 0).map(|version| names[&version.member]).collect();
    assert_eq!(learned, BTreeSet::from(["challenger-0", "planner-0", "solver-0"]));
}
