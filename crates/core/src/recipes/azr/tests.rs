//! Runs with scripted players.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use uuid::Uuid;

use crate::config;
use crate::config::{RunConfig, apply_overrides};
use crate::contract::{Planner as _, Recipe as _, Registry, Role, StepView, WorkState};
use crate::duplicate::fingerprint;
use crate::fault::Faults;
use crate::id::{ExecutionId, ProblemId, WorkId};
use crate::recipes::Azr;
use crate::reward::{Solved, proposer_reward};
use crate::simulation::{Order, Players, Simulation, Skill, Step};
use crate::work::{MemberUpdate, Outcome, Payload, WorkKey};

const RUN: ExecutionId = ExecutionId(Uuid::from_u128(1));

fn document() -> Value {
    json!({
        "recipe": "azr",
        "seed": 3,
        "steps": 20,
        "populations": {"main": {
            "base_model": {"name": "seedling"},
            "lora": {"r": 8, "lora_alpha": 16.0, "target_modules": ["q_proj"]},
            "members": [{"roles": ["proposer", "solver"], "count": 1}],
        }},
        "parameters": {
            "prompts": {"set": "seedling"},
            "problems": {"references": 2, "num_inputs": 6, "pool_size": 64, "max_prompt_bytes": 400, "seeds": "seedling"},
            "batch": 8,
            "difficulty_samples": 4,
            "sampling": {"propose": {"max_tokens": 100}, "solve": {"max_tokens": 100}},
            "archive": {"cells": 64},
            "items": {"propose": 10, "solve": 5, "update": 1},
        },
    })
}

fn resolved(document: &Value) -> Result<RunConfig, Faults> {
    config::resolve(document, &Registry::default().with(Azr))
}

fn steps(document: &Value, order: Order, count: u32) -> Vec<Step> {
    let config = resolved(document).unwrap();
    let players = Players::new(vec![Skill(0.5)]).with_invalid(0.2);
    let mut simulation = Simulation::new(&Azr, &config, players, order).unwrap();
    (0..count).map(|_| simulation.step().unwrap()).collect()
}

fn value(step: &Step, name: &str) -> f64 {
    let place = Azr.metrics().iter().position(|metric| metric.name == name).unwrap();
    step.records.metrics.iter().find(|row| row.member.is_none()).unwrap().values[place]
}

#[test]
fn a_step_proposes_estimates_practises_and_updates_once() {
    let all = steps(&document(), Order::Together, 4);
    let step = &all[3];
    let valid = step.records.problems.iter().filter(|problem| problem.valid).count();
    assert_eq!(step.records.problems.len(), 24);
    assert_eq!(step.records.attempts.len(), valid * 4 + 24, "estimates and one attempt at each of a full batch");
    let own: Vec<ProblemId> = step.records.problems.iter().map(|problem| problem.id).collect();
    let practice: Vec<_> = step.records.attempts.iter().filter(|attempt| !own.contains(&attempt.problem)).collect();
    assert_eq!(practice.len(), 24);
    let before: Vec<ProblemId> = all[2].records.problems.iter().map(|problem| problem.id).collect();
    let recent = practice.iter().filter(|attempt| before.contains(&attempt.problem)).count();
    let entered = all[2].records.problems.iter().filter(|problem| problem.valid).count();
    assert_eq!(recent, entered, "the last step's problems come first");
    assert_eq!(step.records.versions.iter().map(|version| version.ordinal).collect::<Vec<_>>(), [4]);
    assert!(step.records.matchups.is_empty() && step.records.ratings.is_empty());
    assert_eq!((value(step, "updates"), value(step, "proposals")), (1.0, 24.0));
    assert!(value(step, "coverage") > 0.0 && value(step, "teacher_mu").is_nan());
}

#[test]
fn rewards_are_those_of_the_released_code() {
    let step = &steps(&document(), Order::Together, 1)[0];
    let mut solved: BTreeMap<ProblemId, Solved> = BTreeMap::new();
    for attempt in &step.records.attempts {
        let of = solved.entry(attempt.problem).or_default();
        of.attempts += 1;
        of.solved += u32::from(attempt.correct);
    }
    assert_eq!(step.records.outcomes.len(), 24);
    for outcome in &step.records.outcomes {
        assert_eq!(outcome.reward, proposer_reward(solved.get(&outcome.problem).copied()));
    }
    assert!(step.records.outcomes.iter().any(|outcome| outcome.reward == -0.5));
}

/// What the member learns from in the first step.
fn first_update(document: &Value) -> MemberUpdate {
    let config = resolved(document).unwrap();
    let mut players = Players::new(vec![Skill(0.5)]).with_invalid(0.2);
    let state = Azr.begin(RUN, &config).unwrap();
    let mut view = StepView::default();
    loop {
        let plan = Azr.plan(&state, &view).unwrap();
        assert!(plan.wants.is_empty(), "step 0 needs no earlier row");
        for item in plan.work {
            if let Payload::Update(mut update) = item.payload {
                assert_eq!(update.members.len(), 1, "one member learns");
                return update.members.remove(0);
            }
            let outcome = players.perform(item.key.chunk, &item.payload).unwrap();
            view.work.insert(item.key, WorkState::Done(outcome));
        }
    }
}

/// The advantages of the sequences of a phase that are of the given type.
fn advantages(member: &MemberUpdate, phase: &str, kind: usize) -> Vec<f32> {
    let is_of = |request: &str| request.parse::<usize>().unwrap() % 3 == kind;
    let source = |chunk| WorkId::of(RUN, &WorkKey::new(0, phase).chunk(chunk));
    let sequences = member.sequences.iter().filter(|sequence| (0..10).any(|chunk| source(chunk) == sequence.rollout));
    sequences.filter(|sequence| is_of(&sequence.request)).map(|sequence| sequence.advantage).collect()
}

#[test]
fn advantages_are_whitened_in_each_role_and_type() {
    let member = first_update(&document());
    let of = |phase, kind| advantages(&member, phase, kind);
    for kind in 0..3 {
        let advantages = of("propose", kind);
        assert_eq!(advantages.len(), 8);
        assert!(
            advantages.iter().any(|advantage| *advantage > 0.0) && advantages.iter().any(|advantage| *advantage < 0.0)
        );
    }
    let practised = of("practise", 0).len() + of("practise", 1).len() + of("practise", 2).len();
    assert_eq!(member.sequences.len(), 24 + practised, "nobody learns from estimates");
}

#[test]
fn shuffled_rewards_stay_in_their_role_and_type() {
    let mut document = document();
    // An advantage then follows from its reward, whatever the length.
    document["parameters"]["whitening"] = json!("sequence");
    let mut shuffled = document.clone();
    shuffled["parameters"]["learning"] = json!({"shuffle_rewards": true});
    let (earned, random) = (first_update(&document), first_update(&shuffled));
    assert_eq!(random, first_update(&shuffled), "the seed decides");
    assert_ne!(earned, random);
    // Requests of practice are numbered within their items, so its types are not told apart here.
    for (phase, kinds) in [("propose", 0..1), ("propose", 1..2), ("propose", 2..3), ("practise", 0..3)] {
        let sorted = |member| {
            let mut all: Vec<f32> = kinds.clone().flat_map(|kind| advantages(member, phase, kind)).collect();
            all.sort_by(f32::total_cmp);
            all
        };
        for (earned, random) in sorted(&earned).iter().zip(sorted(&random)) {
            assert!((earned - random).abs() < 1e-5, "{phase} {kinds:?}: {earned} {random}");
        }
    }
}

#[test]
fn rows_do_not_depend_on_the_order_in_which_work_ends() {
    let together = steps(&document(), Order::Together, 3);
    let shuffled = steps(&document(), Order::Shuffled(1), 3);
    for (one, other) in together.iter().zip(&shuffled) {
        let attempts = |step: &Step| {
            let mut rows: Vec<_> = step.records.attempts.iter().map(|row| (row.id, row.reward.to_bits())).collect();
            rows.sort_unstable();
            rows
        };
        assert_eq!(attempts(one), attempts(other));
        let outcomes = |step: &Step| {
            let mut rows: Vec<_> =
                step.records.outcomes.iter().map(|row| (row.problem, row.reward.to_bits())).collect();
            rows.sort_unstable();
            rows
        };
        assert_eq!(outcomes(one), outcomes(other));
        assert_eq!(one.records.insertions, other.records.insertions);
    }
}

#[test]
fn a_frozen_solver_still_practises_and_learns_nothing_of_it() {
    let mut document = document();
    document["parameters"]["frozen"] = json!(["solver", "proposer"]);
    let step = steps(&document, Order::Together, 2).pop().unwrap();
    assert_eq!(value(&step, "updates"), 0.0);
    assert!(step.records.versions.is_empty());
    assert!(step.records.attempts.iter().all(|attempt| attempt.role == Role::Solver));
}

#[test]
fn only_one_member_in_both_roles_can_play() {
    for (path, value, says) in [
        ("populations.main.members.0.count", json!(2), "one member"),
        ("populations.main.members.0.roles", json!(["solver"]), "one member"),
        ("parameters.batch", json!(0), "at least 1"),
        ("parameters.frozen", json!(["teacher"]), "proposer and solver"),
    ] {
        let mut document = document();
        apply_overrides(&mut document, &BTreeMap::from([(path.to_owned(), value)])).unwrap();
        let faults = resolved(&document).unwrap_err();
        assert!(faults.to_string().contains(says), "{path}: {faults}");
    }
    let config = resolved(&document()).unwrap();
    assert_eq!(config.parameters["whitening"], "token", "as in the released code");
}

#[test]
fn a_result_of_another_kind_is_refused_by_name() {
    let config = resolved(&document()).unwrap();
    let state = Azr.begin(crate::id::ExecutionId(uuid::Uuid::from_u128(1)), &config).unwrap();
    let mut view = StepView::default();
    let key = WorkKey::new(0, "birth");
    view.work.insert(key, WorkState::Done(Outcome::Rollout(Default::default())));
    assert!(Azr.plan(&state, &view).unwrap_err().to_string().contains("0/birth/0/0"));
}

#[test]
fn copies_of_what_a_prompt_shows_are_refused_if_the_run_says_so() {
    let mut document = document();
    document["parameters"]["problems"]["types"] = json!(["code_o"]);
    let copied = |step: &Step| {
        let programs: BTreeMap<ProblemId, String> =
            step.records.problems.iter().filter_map(|problem| Some((problem.id, problem.program.clone()?))).collect();
        let is_copy = |problem: &&crate::contract::ProblemRecord| {
            let own = problem.program.as_deref().map(fingerprint);
            let shown = problem.parents.iter().filter_map(|(parent, _)| programs.get(parent));
            problem.valid && shown.into_iter().any(|program| Some(fingerprint(program)) == own)
        };
        step.records.problems.iter().filter(is_copy).count()
    };
    let free = steps(&document, Order::Together, 6);
    assert!(free.iter().all(|step| value(step, "refused_copies") == 0.0));
    document["parameters"]["problems"]["refuse_copies"] = json!(true);
    let held = steps(&document, Order::Together, 6);
    assert!(held.iter().any(|step| value(step, "refused_copies") > 0.0));
    for step in &held {
        assert_eq!(copied(step), 0);
        let refused = step
            .records
            .problems
            .iter()
            .filter(|problem| problem.reason.contains("its prompt") || problem.reason.contains("the prompt shows"));
        let share = refused.clone().count() as f64
            / step.records.problems.iter().filter(|problem| problem.proposer.is_some()).count() as f64;
        assert!((share - value(step, "refused_copies")).abs() < 1e-9);
        assert!(refused.into_iter().all(|problem| !problem.valid && problem.program.is_none()));
    }
}

#[test]
fn a_warm_up_rewards_form_until_enough_of_it_is_there() {
    let warmed_up = |until: f64| {
        let mut document = document();
        document["parameters"]["warm_up"] = json!({"reward": "form", "until": until, "max_steps": 3});
        let all = steps(&document, Order::Together, 5);
        let warm: Vec<f64> = all.iter().map(|step| value(step, "warm_up")).collect();
        (all, warm)
    };
    // A fifth of the proposals is invalid, and half of the well-formed answers are wrong.
    assert_eq!(warmed_up(0.5).1, [1.0, 0.0, 0.0, 0.0, 0.0]);
    let (all, warm) = warmed_up(1.0);
    assert_eq!(warm, [1.0, 1.0, 1.0, 0.0, 0.0]);
    for (step, warm) in all.iter().zip(warm) {
        let valid: BTreeMap<ProblemId, bool> =
            step.records.problems.iter().map(|problem| (problem.id, problem.valid)).collect();
        let rewards_form = |outcome: &crate::contract::ProblemOutcomeRecord| {
            outcome.reward == if valid[&outcome.problem] { 1.0 } else { -1.0 }
        };
        assert_eq!(step.records.outcomes.iter().all(rewards_form), warm == 1.0);
        let wrong = step.records.attempts.iter().filter(|attempt| attempt.well_formed && !attempt.correct);
        assert!(wrong.clone().count() > 0 && wrong.into_iter().all(|attempt| (attempt.reward == 1.0) == (warm == 1.0)));
        assert!(warm == 0.0 || step.records.insertions.is_empty(), "the archive's objective is another");
    }
    assert!(all[3..].iter().any(|step| !step.records.insertions.is_empty()));
}
