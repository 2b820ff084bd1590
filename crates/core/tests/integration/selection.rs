//! What selection and matchups do among players of known skill.

use lyceum_core::config;
use lyceum_core::evolution::EvolutionConfig;
use lyceum_core::evolution::audit::{Life, Past, Played, audit};
use lyceum_core::id::{MemberId, VersionId};
use lyceum_core::rating::{FrozenShare, MatchupScore, Scores, TrueSkillConfig};
use lyceum_core::recipe::{Populora, Records, Registry, Role, Winner};
use lyceum_core::simulation::{Order, Players, Simulation, Skill};
use serde_json::json;
use std::collections::BTreeMap;

/// Attempts at each problem.
const SAMPLES: u32 = 8;
/// Steps between evolutions, and steps for which a child is protected.
const EVERY: u32 = 10;
const PROTECTED: u32 = 2 * EVERY;

/// Plays `steps` with `count` teachers and as many students of skills from −1 to 1, and shows `each` step with the skills of
/// all versions.
fn play(count: u32, seed: u64, steps: u32, every: u32, mut each: impl FnMut(u32, &Records, &Players)) {
    let document = json!({
        "recipe": "populora", "seed": seed, "steps": steps,
        "populations": {"main": {
            "base_model": {"name": "scripted"},
            "lora": {"r": 8, "lora_alpha": 16.0, "target_modules": ["q_proj"]},
            "members": [{"roles": ["teacher"], "count": count}, {"roles": ["student"], "count": count}],
        }},
        "parameters": {
            "prompts": {"set": "seedling"},
            "problems": {
                "types": ["code_i", "code_o"], "references": 1, "num_inputs": 2, "pool_size": 32, "max_prompt_bytes": 400,
                "seeds": "seedling",
            },
            "prompts_per_matchup": 12,
            "proposals_per_prompt": 1,
            "samples_per_problem": SAMPLES,
            "archive": {"cells": 64},
            "evolution": {"every": every, "protection": 2},
            "items": {"propose": 128, "solve": 128, "update": 16},
        },
    });
    let config = config::resolve(&document, &Registry::default().with(Populora)).unwrap();
    let spread = |index: u32| 2.0 * f64::from(index % count) / f64::from(count - 1) - 1.0;
    let players = Players::new((0..2 * count).map(|index| Skill(spread(index))).collect()).with_invalid(0.0);
    let mut simulation = Simulation::new(&Populora, &config, players, Order::Together).unwrap();
    for step in 0..steps {
        let records = simulation.step().unwrap().records;
        each(step, &records, &simulation.players);
    }
}

/// The reward that a problem of difficulty `teacher` earns on average (Eq. 2) with a student of skill `student`.
fn expected_reward(teacher: f64, student: f64) -> f64 {
    let unsolved = 1.0 / (1.0 + (student - teacher).exp());
    unsolved - unsolved.powi(SAMPLES.cast_signed())
}

struct Member {
    role: Role,
    skill: f64,
    born: Option<u32>,
}

/// How often the culled were the weakest candidates of their role, how often that is expected by chance, and the variance
/// of that number.
fn culls(count: u32, seeds: u64) -> [f64; 3] {
    let mut found = [0.0; 3];
    for seed in 0..seeds {
        let mut living: BTreeMap<MemberId, Member> = BTreeMap::new();
        play(count, seed, 120, EVERY, |step, records, players| {
            let fitness = |living: &BTreeMap<MemberId, Member>, member: &Member| match member.role {
                Role::Teacher => living
                    .values()
                    .filter(|other| other.role == Role::Student)
                    .map(|student| expected_reward(member.skill, student.skill))
                    .sum(),
                _ => member.skill,
            };
            for death in &records.deaths {
                let role = living[&death.member].role;
                let is_candidate =
                    |member: &&Member| member.role == role && member.born.is_none_or(|born| step >= born + PROTECTED);
                let candidates: Vec<&Member> = living.values().filter(is_candidate).collect();
                let own = fitness(&living, &living[&death.member]);
                let is_weakest = candidates.iter().all(|other| fitness(&living, other) >= own);
                let chance = 1.0 / candidates.len() as f64;
                found[0] += f64::from(u8::from(is_weakest));
                found[1] += chance;
                found[2] += chance * (1.0 - chance);
                living.remove(&death.member);
            }
            for member in &records.members {
                let born = (step > 0).then_some(step);
                let (role, skill) = (member.roles[0], 0.0);
                living.insert(member.id, Member { role, skill, born });
            }
            for version in &records.versions {
                if let Some(member) = living.get_mut(&version.member) {
                    member.skill = players.skill(version.id).0;
                }
            }
        });
    }
    found
}

#[test]
fn the_weakest_are_culled_far_more_often_than_by_chance() {
    for (count, seeds) in [(2, 8), (4, 2), (8, 1)] {
        let [weakest, expected, variance] = culls(count, seeds);
        let deviations = (weakest - expected) / variance.sqrt();
        assert!(
            deviations > 3.0,
            "{count} a side: {weakest} of the culled were the weakest, {expected:.1} by chance, {deviations:.1} standard deviations"
        );
    }
}

#[test]
fn an_audit_finds_that_the_runs_own_rule_would_have_culled_those_that_were_culled() {
    let (mut past, mut owner) = (Past::default(), BTreeMap::<VersionId, MemberId>::new());
    play(4, 3, 90, EVERY, |step, records, _| {
        past.matchups.extend(records.matchups.iter().map(|one| Played {
            step,
            members: [one.teacher, one.student],
            scores: Scores {
                invalid: 1.0 - f64::from(one.valid) / f64::from(one.proposed),
                solve_rate: one.solve_rate.map(f64::from),
                teacher_reward: f64::from(one.teacher_reward.unwrap()),
            },
        }));
        past.lives.extend(records.members.iter().map(|member| Life {
            member: member.id,
            roles: member.roles.clone(),
            born: step,
            parents: Vec::new(),
            died: None,
        }));
        owner.extend(records.versions.iter().map(|version| (version.id, version.member)));
        for birth in &records.births {
            let life = past.lives.iter_mut().find(|life| life.member == birth.child).unwrap();
            life.parents = birth.parents.iter().filter_map(|parent| owner.get(parent).copied()).collect();
        }
        for death in &records.deaths {
            past.lives.iter_mut().find(|life| life.member == death.member).unwrap().died = Some(step);
        }
    });
    let evolution = EvolutionConfig { every: EVERY, protection: 2, ..EvolutionConfig::default() };
    let culls = audit(&past, MatchupScore::PerRole, &evolution, &TrueSkillConfig::default());
    assert!(culls.len() >= 8, "{}", culls.len());
    for cull in &culls {
        assert_eq!(cull.verdicts[0], cull.culled, "step {}", cull.step);
        assert!(cull.culled.iter().all(|dead| cull.candidates.iter().any(|one| one.member == *dead)));
    }
    let differs = |rule: usize| culls.iter().any(|cull| cull.verdicts[rule] != cull.culled);
    assert!(differs(1) && differs(2), "the other rules are rules of their own");
}

#[test]
fn frozen_players_win_as_often_as_is_predicted_whatever_their_strength() {
    let (mut outside, mut windows) = (0, 0);
    for seed in 0..4 {
        let mut rows: Vec<[f64; 3]> = Vec::new();
        play(2, seed, 180, 0, |_, records, _| {
            let won = records.matchups.iter().filter(|one| one.winner == Winner::Teacher).count();
            let predicted: f64 = records.matchups.iter().map(|one| f64::from(one.predicted)).sum();
            rows.push([won as f64, predicted, records.matchups.len() as f64]);
        });
        let sum = |rows: &[[f64; 3]]| [0, 1, 2].map(|column| rows.iter().map(|row| row[column]).sum::<f64>());
        // The ratings start far from rest.
        let settled = &rows[40..];
        let [won, predicted, matchups] = sum(settled);
        let expected = FrozenShare::of(predicted / matchups, matchups).share;
        let share = won / matchups;
        assert!((share - expected).abs() < 0.05, "won {share:.3}, expected {expected:.3}");
        outside += settled
            .windows(5)
            .filter(|window| {
                let [won, predicted, matchups] = sum(window);
                let FrozenShare { share, margin } = FrozenShare::of(predicted / matchups, matchups);
                (won / matchups - share).abs() > margin
            })
            .count();
        windows += settled.len() - 4;
    }
    assert!(outside * 20 <= windows, "{outside} of {windows} windows are outside of the band");
}
