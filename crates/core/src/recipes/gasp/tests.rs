//! Runs with scripted players.

mod learning;
mod records;
mod refusals;
mod rounds;

use serde_json::{Value, json};
use std::collections::BTreeMap;
use uuid::Uuid;

use crate::config;
use crate::config::{RunConfig, apply_overrides};
use crate::contract::{ParentRelation, Planner as _, ProblemOutcomeRecord, ProblemRecord, Recipe as _, Registry};
use crate::fault::Faults;
use crate::id::{DatasetId, ProblemId};
use crate::kit::watched::Watched;
use crate::recipes::Gasp;
use crate::simulation::{Order, Players, Simulation, Skill, Step};
use crate::work::{Payload, Prompt, RolloutPayload, WorkKey};

const GOALPOSTS: DatasetId = DatasetId(Uuid::from_u128(7));
const REAL_DATA: DatasetId = DatasetId(Uuid::from_u128(8));
/// Goalposts that the config uses.
const ROWS: u32 = 6;
/// Lemmas, and lifts, to accept in an iteration.
const TARGET: usize = 4;

/// Three iterations of one member: rounds of 9 candidates in chunks of 4, each attempted 10 times.
fn document() -> Value {
    json!({
        "recipe": "gasp",
        "seed": 4,
        "populations": {"main": {
            "base_model": {"name": "seedling-gasp"},
            "lora": {"r": 8, "lora_alpha": 16.0, "target_modules": ["q_proj"]},
            "members": [{"roles": ["teacher", "student"], "count": 1}],
        }},
        "parameters": {
            "goalposts": {"id": GOALPOSTS, "rows": ROWS},
            "iterations": 3,
            "prompts": {"set": "seedling-gasp"},
            "rounds": {"target": TARGET, "candidates": 9, "max": 6},
            "max_prompt_bytes": 400,
            "sampling": {"propose": {"max_tokens": 100}, "solve": {"max_tokens": 100}},
            "solve": {"samples": 2},
            "items": {"propose": 4, "solve": 3},
        },
    })
}

/// Functions whose messages and pairs no candidate has, and a question with tests.
fn goalposts() -> impl Iterator<Item = Value> {
    let function = |number: u32| {
        let pairs: Vec<[String; 2]> = (0..4).map(|pair| [format!("70{number}{pair}"), "9".to_owned()]).collect();
        json!({
            "task_id": format!("goal/{number}"),
            "type": "code_f",
            "program": "def f(a):\n return 9",
            "message": format!("unreachable {number}"),
            "pairs": pairs,
        })
    };
    let question = json!({
        "task_id": "goal/question",
        "question": "unreachable question",
        "oracle": {"type": "live_code_bench", "public_test_cases": "[{\"input\": \"1\", \"output\": \"2\"}]"},
    });
    (1..ROWS).map(function).chain([question])
}

/// Outputs that scripted players find half of the time.
fn real_data() -> impl Iterator<Item = Value> {
    (0..8).map(|number| {
        json!({
            "task_id": format!("real/{number}"),
            "type": "code_o",
            "program": format!("def f(a):\n d='level 0.{number}'\n return a"),
            "input": "1",
            "output": "1",
        })
    })
}

fn resolved(document: &Value) -> Result<RunConfig, Faults> {
    config::resolve(document, &Registry::default().with(Gasp))
}

fn with(overrides: &[(&str, Value)]) -> Value {
    let mut document = document();
    let overrides = overrides.iter().map(|(path, value)| ((*path).to_owned(), value.clone()));
    apply_overrides(&mut document, &overrides.collect()).unwrap();
    document
}

fn players() -> Players {
    Players::new(vec![Skill(0.0); 2]).with_invalid(0.2)
}

/// A whole run: its steps, the memory after each, and the work.
struct Played {
    steps: Vec<Step>,
    stages: Vec<String>,
    memories: Vec<Value>,
    work: BTreeMap<WorkKey, Payload>,
}

fn play_as(document: &Value, players: Players, order: Order) -> Played {
    let config = resolved(document).unwrap();
    let watched = Watched::new(&Gasp);
    let simulation = Simulation::new(&watched, &config, players, order).unwrap();
    let mut simulation = simulation.with_dataset(GOALPOSTS, goalposts()).with_dataset(REAL_DATA, real_data());
    let (mut steps, mut stages, mut memories) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..config.steps {
        stages.push(simulation.state.stage.clone());
        steps.push(simulation.step().unwrap());
        memories.push(simulation.state.memory.clone());
    }
    assert!(simulation.state.completed);
    drop(simulation);
    Played { steps, stages, memories, work: watched.work() }
}

fn play(document: &Value) -> Played {
    play_as(document, players(), Order::Together)
}

impl Played {
    /// The steps of a stage.
    fn of_stage(&self, stage: &str) -> Vec<usize> {
        let places = self.stages.iter().enumerate().filter(|(_, own)| *own == stage);
        places.map(|(step, _)| step).collect()
    }

    fn rollouts(&self, step: usize, phase: &str) -> impl Iterator<Item = &RolloutPayload> {
        let items = self.work.iter().filter(move |(key, _)| key.step as usize == step && key.phase == phase);
        items.filter_map(|(_, payload)| match payload {
            Payload::Rollout(rollout) => Some(rollout),
            _ => None,
        })
    }

    fn prompts(&self, step: usize, phase: &str) -> Vec<&str> {
        let requests = self.rollouts(step, phase).flat_map(|rollout| &rollout.requests);
        let texts = requests.map(|request| match &request.prompt {
            Prompt::Text(text) => text.as_str(),
            _ => panic!("the set has texts"),
        });
        texts.collect()
    }

    /// The lemmas or lifts that are accepted after `step`.
    fn accepted(&self, step: usize, list: &str) -> Vec<ProblemId> {
        let listed = self.memories[step][list].as_array().unwrap().iter();
        let ids = listed.map(|one| one.get("problem").unwrap_or(one).clone());
        ids.map(|id| serde_json::from_value(id).unwrap()).collect()
    }

    /// The problem, and its step.
    fn problem(&self, id: ProblemId) -> (usize, &ProblemRecord) {
        let mut problems = self.steps.iter().enumerate().flat_map(|(step, one)| {
            let problems = one.records.problems.iter();
            problems.map(move |problem| (step, problem))
        });
        problems.find(|(_, problem)| problem.id == id).unwrap()
    }
}

/// The candidates of a step with their outcomes, by index.
fn candidates(step: &Step) -> Vec<(&ProblemRecord, &ProblemOutcomeRecord)> {
    let outcome = |problem: &ProblemRecord| step.records.outcomes.iter().find(|outcome| outcome.problem == problem.id);
    let problems = step.records.problems.iter().filter(|problem| problem.proposer.is_some());
    let mut found: Vec<_> = problems.map(|problem| (problem, outcome(problem).unwrap())).collect();
    found.sort_by_key(|(problem, _)| problem.index);
    found
}

fn metric(step: &Step, name: &str) -> f64 {
    let place = Gasp.metric_names().iter().position(|known| *known == name).unwrap();
    let run = step.records.metrics.iter().find(|row| row.member.is_none()).unwrap();
    run.values[place]
}

#[test]
fn nothing_depends_on_the_order_in_which_work_ends() {
    let rows = |order| -> (Vec<Vec<String>>, Vec<Value>) {
        let played = play_as(&document(), players(), order);
        let of = |step: &Step| {
            let records = serde_json::to_value(&step.records).unwrap();
            let tables = records.as_object().unwrap().values().filter_map(Value::as_array);
            let mut rows: Vec<String> = tables.flatten().map(Value::to_string).collect();
            rows.sort_unstable();
            rows
        };
        (played.steps.iter().map(of).collect(), played.memories.clone())
    };
    let together = rows(Order::Together);
    for order in [3, 8] {
        assert_eq!(together, rows(Order::Shuffled(order)));
    }
}

#[test]
fn an_iteration_has_three_stages_of_one_step() {
    let played = play(&document());
    let iteration = ["lemma", "lift", "solve"];
    assert_eq!(played.stages, [iteration; 3].concat());
    let one_step = with(&[("parameters.lifts", json!(false)), ("parameters.iterations", json!(2))]);
    assert_eq!(play(&one_step).stages, ["lemma", "solve", "lemma", "solve"]);
}
