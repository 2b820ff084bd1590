//! Runs with scripted players.

mod code;
mod learning;
mod records;
mod refusals;

use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

use crate::config;
use crate::config::{RunConfig, apply_overrides};
use crate::contract::{AttemptRecord, Planner as _, Recipe as _, Registry, Role};
use crate::fault::Faults;
use crate::id::{AttemptId, DatasetId, ExecutionId, ProblemId, WorkId};
use crate::kit::watched::Watched;
use crate::recipes::Sage;
use crate::simulation::{Order, Players, Simulation, Skill, Step};
use crate::work::{Payload, Prompt, RolloutPayload, WorkKey};

const DATASET: DatasetId = DatasetId(Uuid::from_u128(7));
/// Rows that the config uses.
const ROWS: u32 = 12;

/// Four steps of one member: 12 challenges in chunks of 5, answered 4 times each, and 10 tasks in chunks of 4.
fn document() -> Value {
    json!({
        "recipe": "sage",
        "seed": 4,
        "steps": 4,
        "populations": {"main": {
            "base_model": {"name": "seedling-math"},
            "lora": {"r": 8, "lora_alpha": 16.0, "target_modules": ["q_proj"]},
            "members": [{"roles": ["challenger", "planner", "solver", "critic"], "count": 1}],
        }},
        "parameters": {
            "dataset": {"id": DATASET, "rows": ROWS},
            "prompts": {"set": "seedling-math"},
            "challenges": 12, "difficulty_samples": 4, "tasks": 10,
            "sampling": {
                "challenge": {"max_tokens": 96}, "plan": {"max_tokens": 96}, "solve": {"max_tokens": 96},
                "critique": {"max_tokens": 16},
            },
            "items": {"propose": 5, "solve": 4},
        },
    })
}

/// The same with a member for each role.
fn of_four() -> Value {
    let mut document = document();
    let members = ["challenger", "planner", "solver", "critic"].map(|role| json!({"roles": [role], "count": 1}));
    document["populations"]["main"]["members"] = json!(members);
    document
}

fn rows() -> impl Iterator<Item = Value> {
    (0..ROWS + 4).map(|number| {
        json!({
            "task_id": format!("toy/{number}"),
            "question": format!("what is {number} plus 1 at level 0"),
            "oracle": {"type": "math", "gold": "1"},
        })
    })
}

fn resolved(document: &Value) -> Result<RunConfig, Faults> {
    config::resolve(document, &Registry::default().with(Sage))
}

fn altered(mut document: Value, overrides: &[(&str, Value)]) -> Value {
    let overrides = overrides.iter().map(|(path, value)| ((*path).to_owned(), value.clone()));
    apply_overrides(&mut document, &overrides.collect()).unwrap();
    document
}

fn with(overrides: &[(&str, Value)]) -> Value {
    altered(document(), overrides)
}

fn players() -> Players {
    Players::new(vec![Skill(0.0); 4]).with_invalid(0.2)
}

/// A whole run: its steps and the work.
struct Played {
    run: ExecutionId,
    steps: Vec<Step>,
    work: BTreeMap<WorkKey, Payload>,
}

fn play_as(document: &Value, players: Players, order: Order) -> Played {
    play_on(document, players, order, rows())
}

fn play_on(document: &Value, players: Players, order: Order, rows: impl Iterator<Item = Value>) -> Played {
    let config = resolved(document).unwrap();
    let watched = Watched::new(&Sage);
    let mut simulation = Simulation::new(&watched, &config, players, order).unwrap().with_dataset(DATASET, rows);
    let steps = (0..config.steps).map(|_| simulation.step().unwrap()).collect();
    assert!(simulation.state.completed);
    let run = simulation.state.run;
    drop(simulation);
    Played { run, steps, work: watched.work() }
}

fn play(document: &Value) -> Played {
    play_as(document, players(), Order::Together)
}

impl Played {
    fn rollouts(&self, step: usize, phase: &str) -> impl Iterator<Item = (&WorkKey, &RolloutPayload)> {
        let items = self.work.iter().filter(move |(key, _)| key.step as usize == step && key.phase == phase);
        items.filter_map(|(key, payload)| match payload {
            Payload::Rollout(rollout) => Some((key, rollout)),
            _ => None,
        })
    }

    /// What was said to the request called `name` of the item at `key`.
    fn attempt(&self, key: &WorkKey, name: &str) -> Option<&AttemptRecord> {
        let id = AttemptId::of(WorkId::of(self.run, key), name, 0);
        let attempts = &self.steps[key.step as usize].records.attempts;
        attempts.iter().find(|attempt| attempt.id == id)
    }

    /// The phase of the rollout with this id.
    fn phase(&self, id: WorkId) -> &str {
        let found = self.work.keys().find(|key| WorkId::of(self.run, key) == id);
        &found.unwrap().phase
    }
}

fn metric(step: &Step, name: &str) -> f64 {
    let place = Sage.metric_names().iter().position(|known| *known == name).unwrap();
    let run = step.records.metrics.iter().find(|row| row.member.is_none()).unwrap();
    run.values[place]
}

/// The number that a critic of the simulator gives, by the paper's formula.
fn score(text: &str) -> f32 {
    let inside = text.split_once("<score>").and_then(|(_, rest)| rest.split_once("</score>"));
    let number = inside.and_then(|(number, _)| number.split('/').next()?.parse::<f32>().ok());
    match number {
        Some(number) if number <= 1.0 => number,
        Some(number) if number <= 10.0 => (number - 1.0) / 9.0,
        _ => 0.5,
    }
}

/// The mean over tags of 1 if a text has one of each, 0.5 if it has equally many more, else 0.
fn format(text: &str, tags: &[&str]) -> f32 {
    let counts = tags.iter().map(|tag| {
        let count = |tag: String| text.matches(&tag).count();
        match [count(format!("<{tag}>")), count(format!("</{tag}>"))] {
            [1, 1] => 1.0,
            [opened, closed] if opened == closed && opened > 1 => 0.5,
            _ => 0.0,
        }
    });
    counts.sum::<f32>() / tags.len() as f32
}

fn assert_near(found: f32, wanted: f32, about: &impl std::fmt::Debug) {
    assert!((found - wanted).abs() < 1e-5, "{found} is not {wanted}: {about:?}");
}

/// The sum of the parts of a reward.
fn parts(parts: &Value) -> f32 {
    let parts = parts.as_object().unwrap().values();
    parts.map(|part| part.as_f64().unwrap() as f32).sum()
}

#[test]
fn nothing_depends_on_the_order_in_which_work_ends() {
    let rows = |order| -> Vec<Vec<String>> {
        let of = |step: &Step| {
            let records = serde_json::to_value(&step.records).unwrap();
            let tables = records.as_object().unwrap().values().filter_map(Value::as_array);
            let mut rows: Vec<String> = tables.flatten().map(Value::to_string).collect();
            rows.sort_unstable();
            rows
        };
        play_as(&document(), players(), order).steps.iter().map(of).collect()
    };
    assert_eq!(rows(Order::Together), rows(Order::Shuffled(3)));
}

#[test]
fn a_run_without_a_valid_challenge_completes_and_says_so() {
    let nobody = players().with_invalid(1.0);
    let Played { steps, .. } = play_as(&document(), nobody, Order::Shuffled(1));
    for step in &steps {
        assert_eq!(metric(step, "valid_share"), 0.0);
        assert_eq!(metric(step, "admitted_share"), 0.0);
        assert_eq!(metric(step, "pool_size"), f64::from(ROWS));
        assert!(metric(step, "difficulty").is_nan() && metric(step, "plan_score").is_nan());
        assert_eq!(metric(step, "plan_shown_share"), 0.0, "no plan can be read");
        assert!(metric(step, "pass_rate") > 0.0, "the seeds are solved without plans");
    }
}
