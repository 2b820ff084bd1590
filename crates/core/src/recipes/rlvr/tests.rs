//! Runs with scripted players.

mod advantages;
mod groups;
mod held_out;
mod judge;

use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use uuid::Uuid;

use crate::config;
use crate::config::{RunConfig, apply_overrides};
use crate::contract::{Planner as _, Registry, RunState};
use crate::fault::Faults;
use crate::id::DatasetId;
use crate::recipes::Rlvr;
use crate::simulation::{Order, Players, Simulation, Skill, Step};

const DATASET: DatasetId = DatasetId(Uuid::from_u128(7));

fn document() -> Value {
    json!({
        "recipe": "rlvr",
        "seed": 4,
        "steps": 6,
        "populations": {"main": {
            "base_model": {"name": "seedling"},
            "lora": {"r": 8, "lora_alpha": 16.0, "target_modules": ["q_proj"]},
            "members": [{"roles": ["solver"], "count": 2}],
        }},
        "parameters": {
            "dataset": {"id": DATASET, "rows": 24},
            "prompts": "seedling",
            "batch": 8,
            "n": 4,
            "items": {"solve": 5},
        },
    })
}

/// Rows that a player of skill 0 solves half of the time; more than the config uses.
fn rows() -> Vec<Value> {
    let row = |number: usize| {
        json!({
            "task_id": format!("toy/{number}"),
            "question": format!("what is row {number}?"),
            "tags": {"level": (number % 3).to_string()},
            "canonical": "1",
            "oracle": {"type": "code_o", "program": format!("def f(a):\n d='level 0'\n return a+{number}"), "input": "1"},
        })
    };
    (0..30).map(row).collect()
}

fn resolved(document: &Value) -> Result<RunConfig, Faults> {
    config::resolve(document, &Registry::default().with(Rlvr))
}

fn steps(overrides: &[(&str, Value)], order: Order) -> Vec<Step> {
    steps_of(Skill(0.0), overrides, order)
}

fn steps_of(skill: Skill, overrides: &[(&str, Value)], order: Order) -> Vec<Step> {
    let mut document = document();
    let overrides = overrides.iter().map(|(path, value)| ((*path).to_owned(), value.clone()));
    apply_overrides(&mut document, &overrides.collect()).unwrap();
    let config = resolved(&document).unwrap();
    let players = Players::new(vec![skill, skill]);
    let mut simulation = Simulation::new(&Rlvr, &config, players, order).unwrap().with_dataset(DATASET, rows());
    let steps = (0..config.steps).map(|_| simulation.step().unwrap()).collect();
    assert!(simulation.state.completed);
    steps
}

#[test]
fn answers_to_rows_with_a_reward_earn_its_weighted_parts() {
    let mut document = document();
    document["parameters"]["prompts"] = json!("chat");
    document["parameters"]["reward"] = json!({"weights": {"score": 2.0}, "format_penalty": 1.0});
    let config = resolved(&document).unwrap();
    let row = |number: usize| {
        json!({
            "task_id": format!("toy/{number}"), "question": format!("what is row {number}?"),
            "oracle": {"type": "python", "file": "0".repeat(64), "source": "def score(p, c, r): return 1", "row": {}},
        })
    };
    let players = Players::new(vec![Skill(0.0), Skill(0.0)]);
    let mut simulation = Simulation::new(&Rlvr, &config, players, Order::Together)
        .unwrap()
        .with_dataset(DATASET, (0..30).map(row).collect::<Vec<_>>());
    let records = simulation.step().unwrap().records;
    let mean = |rewards: Vec<f32>| f64::from(rewards.iter().sum::<f32>()) / rewards.len() as f64;
    for metrics in &records.metrics {
        let own =
            records.attempts.iter().filter(|attempt| metrics.member.is_none_or(|member| attempt.solver.0 == member));
        let wanted = mean(own.map(|attempt| attempt.reward).collect());
        assert_eq!(metrics.reward_parts, BTreeMap::from([("score".to_owned(), wanted)]));
    }
    let attempts = records.attempts;
    assert_eq!(attempts.len(), 2 * 8 * 4);
    for attempt in attempts {
        let wanted = 2.0 * f32::from(u8::from(attempt.correct));
        assert_eq!((attempt.reward, attempt.well_formed), (wanted, true));
        assert_eq!(attempt.reward_parts, json!({"score": wanted}));
    }
    document["parameters"]["reward"] = json!({"weights": {"a b": 1.0}});
    let refused = resolved(&document).unwrap_err();
    assert_eq!(refused.0[0].pointer, "/parameters/reward/weights/a b");
}

#[test]
fn the_reward_of_a_config_scores_rows_in_place_of_their_own_oracle() {
    let mut document = document();
    document["parameters"]["oracle"] = json!({"type": "python", "file": "0".repeat(64)});
    document["parameters"]["reward"] = json!({"weights": {"score": 2.0}});
    let config = resolved(&document).unwrap();
    let players = Players::new(vec![Skill(0.0), Skill(0.0)]);
    let mut simulation =
        Simulation::new(&Rlvr, &config, players, Order::Together).unwrap().with_dataset(DATASET, rows());
    let records = simulation.step().unwrap().records;
    assert_eq!(records.attempts.len(), 2 * 8 * 4);
    for attempt in &records.attempts {
        let wanted = 2.0 * f32::from(u8::from(attempt.correct));
        assert_eq!(attempt.reward_parts, json!({"score": wanted}));
        assert_eq!(attempt.answer.as_ref(), Some(&attempt.text), "a reward gets the whole answer");
    }
    assert!(records.problems.iter().all(|problem| problem.program.is_some()), "the prompt is the row's own");

    document["parameters"]["oracle"]["timeout"] = json!(61);
    assert_eq!(resolved(&document).unwrap_err().0[0].pointer, "/parameters/oracle/timeout");
}

#[test]
fn a_step_answers_each_row_n_times_and_updates_every_member() {
    let all = steps(&[], Order::Together);
    for step in &all {
        assert_eq!(step.records.attempts.len(), 2 * 8 * 4);
        assert!(step.records.attempts.iter().all(|attempt| attempt.reward == f32::from(u8::from(attempt.correct))));
        assert_eq!(step.records.versions.iter().filter(|version| version.ordinal > 0).count(), 2);
        assert_eq!(step.records.metrics.len(), 3, "one row a member, and the run's");
        let counted = step.records.row_answers.iter();
        let (answers, correct) =
            counted.fold((0, 0), |(answers, correct), row| (answers + row.answers, correct + row.correct));
        let solved = step.records.attempts.iter().filter(|attempt| attempt.correct).count();
        assert_eq!((answers, correct), (2 * 8 * 4, solved as u32));
        assert!(step.records.outcomes.is_empty(), "nobody proposed the rows");
    }
    let entered: BTreeMap<_, _> =
        all.iter().flat_map(|step| &step.records.problems).map(|problem| (problem.id, problem.index)).collect();
    assert_eq!(entered.len(), 24, "three steps of 8 are a pass over the 24 rows, and a row is one problem");
    let attempted: BTreeSet<_> = all.iter().flat_map(|step| &step.records.attempts).map(|row| row.problem).collect();
    assert!(attempted.iter().all(|problem| entered.contains_key(problem)));
}

#[test]
fn members_with_slices_answer_rows_of_their_own() {
    let all = steps(&[("parameters.slices", json!(true))], Order::Together);
    let index: BTreeMap<_, _> =
        all.iter().flat_map(|step| &step.records.problems).map(|problem| (problem.id, problem.index)).collect();
    let mut halves: BTreeMap<_, BTreeSet<u32>> = BTreeMap::new();
    for attempt in all.iter().flat_map(|step| &step.records.attempts) {
        halves.entry(attempt.solver.0).or_default().insert(index[&attempt.problem]);
    }
    let mut halves: Vec<Vec<u32>> = halves.into_values().map(|rows| rows.into_iter().collect()).collect();
    halves.sort_unstable();
    assert_eq!(halves, [(0..12).collect::<Vec<_>>(), (12..24).collect()]);
}

/// Samplers, each with rows that are asked in one round and in several.
fn draws() -> impl Iterator<Item = (Value, bool)> {
    let samplers = [
        json!("epochs"),
        json!("uniform"),
        json!({"weighted": {"tag": "level", "weights": {"1": 2.0, "2": 1.0}}}),
        json!({"staircase": {"batches": 1, "up": 0.4, "down": 0.39}}),
        json!({"band": {}}),
    ];
    samplers.into_iter().flat_map(|sampler| [(sampler.clone(), false), (sampler, true)])
}

fn rounds(dynamic: bool) -> Value {
    if dynamic { json!({"max_rounds": 3}) } else { Value::Null }
}

/// Both samplers wrap: 6 steps of 8 are two passes over the 24 rows.
#[test]
fn rows_do_not_depend_on_the_order_in_which_work_ends() {
    for (sampler, dynamic) in draws() {
        let rows = |order| -> Vec<_> {
            let of = |step: &Step| {
                let mut rows: Vec<_> =
                    step.records.attempts.iter().map(|row| (row.id, row.problem, row.reward.to_bits())).collect();
                rows.sort_unstable();
                rows
            };
            let drawn = [("parameters.sampler", sampler.clone()), ("parameters.dynamic", rounds(dynamic))];
            steps(&drawn, order).iter().map(of).collect()
        };
        assert_eq!(rows(Order::Together), rows(Order::Shuffled(3)), "{sampler}");
    }
}

/// A run whose memory is written and read before every step, as after a kill, draws the same rows.
#[test]
fn a_sampler_goes_on_where_it_was_after_a_kill() {
    for (sampler, dynamic) in draws() {
        let mut document = document();
        document["parameters"]["sampler"] = sampler.clone();
        document["parameters"]["dynamic"] = rounds(dynamic);
        let config = resolved(&document).unwrap();
        let drawn = |is_killed: bool| -> Vec<Vec<u32>> {
            let players = Players::new(vec![Skill(0.0), Skill(0.0)]);
            let mut simulation =
                Simulation::new(&Rlvr, &config, players, Order::Together).unwrap().with_dataset(DATASET, rows());
            let step = |_| {
                if is_killed {
                    let stored = serde_json::to_string(&simulation.state).unwrap();
                    let read: RunState = serde_json::from_str(&stored).unwrap();
                    simulation.state = RunState { config: Arc::new(config.clone()), ..read };
                }
                let step = simulation.step().unwrap();
                step.records.row_answers.iter().map(|row| row.row).collect()
            };
            (0..config.steps).map(step).collect()
        };
        assert_eq!(drawn(true), drawn(false), "{sampler}");
    }
}

#[test]
fn rows_are_checked_in_the_first_step_and_again_where_a_fork_asks_more() {
    let config = resolved(&document()).unwrap();
    let players = Players::new(vec![Skill(0.0), Skill(0.0)]);
    let mut simulation =
        Simulation::new(&Rlvr, &config, players, Order::Together).unwrap().with_dataset(DATASET, rows());
    let mut items = || {
        let step = simulation.step().unwrap().items;
        let mut longer = (*simulation.state.config).clone();
        if simulation.state.step == 3 {
            longer.parameters["sampling"]["max_tokens"] = json!(1024);
        }
        simulation.state.config = Arc::new(longer);
        step
    };
    let [first, second, third, fork, after] = std::array::from_fn(|_| items());
    assert_eq!(first, second + 3, "two births and a check");
    assert_eq!((third, fork, after), (second, second + 1, second));
}

#[test]
fn what_cannot_work_is_refused_with_the_cure() {
    for (path, value, pointer, says) in [
        ("parameters.n", json!(1), "/parameters/n", "reinforce_plus_plus"),
        ("parameters.batch", json!(25), "/parameters/batch", "1 to 24"),
        ("parameters.prompts", json!("seedlin"), "/parameters/prompts", "seedling"),
        ("populations.main.members.0.roles", json!(["teacher"]), "/populations/main/members/0/roles", "solver"),
        ("parameters.dynamic", json!({"max_rounds": 1}), "/parameters/dynamic/max_rounds", "2"),
        ("parameters.filter", json!("none"), "/parameters/filter", "no_signal"),
        ("parameters.sampling.temperature", json!(0.0), "/parameters/sampling/temperature", "more than 0"),
    ] {
        let mut document = document();
        apply_overrides(&mut document, &BTreeMap::from([(path.to_owned(), value)])).unwrap();
        let faults = resolved(&document).unwrap_err();
        let fault = faults.0.iter().find(|fault| fault.pointer == pointer);
        assert!(fault.is_some_and(|fault| fault.detail.contains(says)), "{path}: {faults}");
    }
    for (rows, batch, pointer, says) in [
        (17, 8, "/parameters/held_out/rows", "1 to 16 is valid"),
        (24, 24, "/parameters/held_out/rows", "none can be held out"),
        (30, 25, "/parameters/batch", "1 to 0"),
    ] {
        let mut document = document();
        document["parameters"]["held_out"] = json!({"rows": rows});
        document["parameters"]["batch"] = json!(batch);
        let faults = resolved(&document).unwrap_err();
        let fault = faults.0.iter().find(|fault| fault.pointer == pointer);
        assert!(fault.is_some_and(|fault| fault.detail.contains(says)), "{rows}: {faults}");
    }
    for (field, value) in [("dynamic", rounds(true)), ("filter", json!("no_signal"))] {
        let mut document = document();
        document["parameters"][field] = value;
        document["parameters"]["advantages"] = json!({"estimator": "reinforce_plus_plus"});
        let faults = resolved(&document).unwrap_err();
        assert_eq!(faults.0[0].pointer, format!("/parameters/{field}"));
        assert!(faults.to_string().contains("group_relative"), "{faults}");
    }
    let mut greedy = document();
    greedy["parameters"]["held_out"] = json!({"rows": 4, "n": 2, "temperature": 0.0});
    assert!(resolved(&greedy).unwrap_err().to_string().contains("/parameters/held_out/n"));
    greedy["parameters"]["held_out"]["n"] = json!(1);
    assert!(resolved(&greedy).is_ok());
    let mut sliced = document();
    sliced["parameters"]["slices"] = json!(true);
    sliced["parameters"]["batch"] = json!(13);
    assert!(resolved(&sliced).unwrap_err().to_string().contains("1 to 12"));
    assert_eq!(Rlvr.resolve(resolved(&document()).unwrap()).unwrap(), resolved(&document()).unwrap());
}
