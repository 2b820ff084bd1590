//! PopuLoRA with players of known skill. `cargo run --release -p lyceum-core --example simulate` does the same at
//! length.

use lyceum_core::config;
use lyceum_core::id::MemberId;
use lyceum_core::recipe::{Populora, Registry, Role};
use lyceum_core::simulation::{Order, Players, Simulation, Skill};
use serde_json::json;
use std::collections::BTreeMap;

const MEMBERS: u32 = 5;

/// Skill and mu of the living after `steps`, and the skill gaps of the pairs that met and of all possible pairs.
struct Played {
    living: Vec<(Role, f64, f64)>,
    met: Vec<f64>,
    possible: Vec<f64>,
}

fn play(steps: u32, every: u32, matchup_score: &str) -> Played {
    let document = json!({
        "recipe": "populora", "seed": 2, "steps": steps,
        "populations": {"main": {
            "base_model": {"name": "scripted"},
            "lora": {"r": 8, "lora_alpha": 16.0, "target_modules": ["q_proj"]},
            "members": [{"roles": ["teacher"], "count": MEMBERS}, {"roles": ["student"], "count": MEMBERS}],
        }},
        "parameters": {
            "prompts": {"set": "seedling"},
            "problems": {
                "types": ["code_i", "code_o"], "references": 1, "num_inputs": 2, "pool_size": 32, "max_prompt_bytes": 400,
                "seeds": "seedling",
            },
            "prompts_per_matchup": 6,
            "proposals_per_prompt": 1,
            "samples_per_problem": 8,
            "matchup_score": matchup_score,
            "archive": {"cells": 64},
            "evolution": {"every": every},
            "items": {"propose": 64, "solve": 64, "update": 16},
        },
    });
    let config = config::resolve(&document, &Registry::default().with(Populora)).unwrap();
    let skills = (0..2 * MEMBERS).map(|index| Skill(f64::from(index % MEMBERS) - 2.0));
    let players = Players::new(skills.collect()).with_invalid(0.0);
    let mut simulation = Simulation::new(&Populora, &config, players, Order::Together).unwrap();
    let mut played = Played { living: Vec::new(), met: Vec::new(), possible: Vec::new() };
    let mut members: BTreeMap<MemberId, (Role, f64, f64)> = BTreeMap::new();
    for step in 0..steps {
        let records = simulation.step().unwrap().records;
        for member in &records.members {
            members.insert(member.id, (member.roles[0], 0.0, 25.0));
        }
        for version in &records.versions {
            if let Some(member) = members.get_mut(&version.member) {
                member.1 = simulation.players.skill(version.id).0;
            }
        }
        for rating in &records.ratings {
            if let Some(member) = members.get_mut(&rating.member) {
                member.2 = rating.mu;
            }
        }
        if step >= steps / 3 {
            let skill = |member: &MemberId| members[member].1;
            for one in &records.matchups {
                played.met.push((skill(&one.teacher) - skill(&one.student)).abs());
                let others = records.matchups.iter().map(|other| (skill(&one.teacher) - skill(&other.student)).abs());
                played.possible.extend(others);
            }
        }
        for death in &records.deaths {
            members.remove(&death.member);
        }
    }
    played.living = members.into_values().collect();
    played
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn ratings_by_solve_rate_order_the_players_by_skill_and_pairing_finds_balanced_matchups() {
    let played = play(90, 0, "solve_rate");
    for role in [Role::Teacher, Role::Student] {
        let mut of_role: Vec<_> = played.living.iter().filter(|member| member.0 == role).collect();
        of_role.sort_by(|a, b| a.1.total_cmp(&b.1));
        let mus: Vec<f64> = of_role.iter().map(|member| member.2).collect();
        // Among five, a Spearman correlation of 0.9 is one swap of neighbours.
        let exchanged = mus.windows(2).filter(|pair| pair[0] > pair[1]).count();
        assert!(exchanged <= 1, "{role:?}: {mus:?} do not rise with skill");
    }
    assert!(
        mean(&played.met) < 0.95 * mean(&played.possible),
        "pairs that met are no closer ({}) than those that could have ({})",
        mean(&played.met),
        mean(&played.possible)
    );
}

#[test]
fn evolution_replaces_the_weak() {
    let played = play(60, 5, "reward");
    for role in [Role::Teacher, Role::Student] {
        let skills: Vec<f64> = played.living.iter().filter(|member| member.0 == role).map(|member| member.1).collect();
        assert_eq!(skills.len(), MEMBERS as usize);
        assert!(mean(&skills) > 0.5, "{role:?} began at 0 on average and ended at {skills:?}");
    }
}
