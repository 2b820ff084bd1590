//! Evaluations with scripted players, whose skill does not change by training.

use crate::contract::Planner as _;
use crate::id::ExecutionId;
use rand::seq::SliceRandom as _;
use serde::Deserialize as _;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use uuid::Uuid;

use super::*;
use crate::artifact::Digest;
use crate::contract::{DatasetRow, Want, WorkState};
use crate::evolution::INIT;
use crate::id::{DatasetId, MemberId, VersionId};
use crate::seed::stream;
use crate::simulation::{Players, Skill};
use crate::work::{AdapterRef, Outcome, Payload, RolloutPayload, UpdatePayload, WorkKey};

const RUN: ExecutionId = ExecutionId(Uuid::from_u128(6));
const EVALUATION: ExecutionId = ExecutionId(Uuid::from_u128(9));
const DATASET: DatasetId = DatasetId(Uuid::from_u128(7));

/// Weights of a parent that players know.
fn weights(parent: u128, step: u32) -> AdapterRef {
    let version = VersionId(Uuid::from_u128(parent << 32 | u128::from(step)));
    AdapterRef { version, artifact: Digest::of(version.0.as_bytes()), optimizer: None }
}

fn task(parent: u128, first_row: u32) -> RetentionTask {
    let version = |step| ParentVersion { step, adapter: weights(parent, step) };
    RetentionTask {
        run: RUN,
        member: MemberId(Uuid::from_u128(parent)),
        name: format!("solver-{parent}"),
        dataset: DATASET,
        first_row,
        rows: 12,
        curve: [2, 4, 6].map(version).to_vec(),
    }
}

fn parameters(operators: &[&str]) -> RetentionParameters {
    RetentionParameters {
        tasks: vec![task(0, 0), task(1, 12)],
        snapshots: vec![4],
        operators: operators.iter().map(|&name| name.to_owned()).collect(),
        steps: 3,
        every: 2,
        rows: 8,
        n: 4,
        seeds: 1,
        training: json!({
            "dataset": {"id": DATASET, "rows": 24}, "prompts": "seedling", "batch": 5, "n": 4, "items": {"solve": 3},
        }),
    }
}

fn config(parameters: &RetentionParameters) -> RunConfig {
    let document = json!({
        "recipe": OperatorRetentionEvaluation.name(),
        "seed": 5,
        "steps": 1,
        "populations": {"main": {
            "base_model": {"name": "seedling"},
            "lora": {"r": 8, "lora_alpha": 16.0, "target_modules": ["q_proj"]},
            "members": [{"roles": ["solver"], "count": 2}],
        }},
        "parameters": parameters,
    });
    let config = RunConfig::deserialize(document).unwrap();
    OperatorRetentionEvaluation.resolve(config).unwrap()
}

/// Rows that a player of skill 0 solves half of the time.
fn row(place: u32) -> DatasetRow {
    DatasetRow(json!({
        "task_id": format!("toy/{place}"),
        "question": format!("what is row {place}?"),
        "canonical": "1",
        "oracle": {"type": "code_o", "program": format!("def f(a):\n d='level 0'\n return a+{place}"), "input": "1"},
    }))
}

/// Parents of skill 1.5 at step 2, and more at every later one.
fn players() -> Players {
    let mut players = Players::new(Vec::new()).with_mutation(0.0);
    for parent in 0..2 {
        for step in [2, 4, 6] {
            players.know(weights(parent, step).version, Skill(1.0 + f64::from(step) / 4.0));
        }
    }
    players
}

#[derive(Debug, Default, PartialEq)]
struct Played {
    result: Value,
    items: BTreeMap<WorkKey, Payload>,
    states: Vec<RunState>,
}

impl Played {
    fn retention(&self) -> RetentionResult {
        serde_json::from_value(self.result.clone()).unwrap()
    }

    fn rollouts(&self, phase: &str) -> Vec<&RolloutPayload> {
        let own = self.items.iter().filter(|(key, _)| key.phase == phase);
        own.filter_map(|(_, payload)| match payload {
            Payload::Rollout(rollout) => Some(rollout),
            _ => None,
        })
        .collect()
    }

    fn updates(&self) -> Vec<&UpdatePayload> {
        let all = self.items.values();
        all.filter_map(|payload| match payload {
            Payload::Update(update) => Some(update),
            _ => None,
        })
        .collect()
    }
}

/// Plays an evaluation whose items end in an order drawn from `order`, with its memory written and read before every step, as
/// after a kill.
fn play(parameters: &RetentionParameters, order: u64) -> Played {
    let config = config(parameters);
    let mut players = players();
    let mut state = OperatorRetentionEvaluation.begin(EVALUATION, &config).unwrap();
    let mut random = stream(order, "order", 0);
    let mut played = Played::default();
    while !state.completed {
        let (mut view, mut open) = (StepView::default(), Vec::new());
        let next = loop {
            let plan = OperatorRetentionEvaluation.plan(&state, &view).unwrap();
            assert!(plan.records.is_empty(), "nothing of a run is touched");
            if !plan.wants.is_empty() {
                for want in plan.wants {
                    let Want::Row(dataset, place) = want else { panic!("{want:?}") };
                    view.rows.insert((dataset, place), row(place));
                }
                continue;
            }
            for item in plan.work {
                if !view.work.contains_key(&item.key) {
                    view.work.insert(item.key.clone(), WorkState::Open);
                    played.items.insert(item.key.clone(), item.payload.clone());
                    open.push(item);
                }
            }
            if let Some(next) = plan.finish {
                played.result = plan.result.expect("every step has a result");
                break next;
            }
            open.shuffle(&mut random);
            let item = open.pop().expect("an open item");
            let outcome: Outcome = players.perform(item.key.chunk, &item.payload).unwrap();
            view.work.insert(item.key, WorkState::Done(outcome));
        };
        let stored = serde_json::to_string(&next).unwrap();
        let read: RunState = serde_json::from_str(&stored).unwrap();
        state = RunState { config: Arc::new(config.clone()), ..read };
        played.states.push(state.clone());
    }
    played
}

#[test]
fn a_copy_answers_as_its_parent_and_a_fresh_adapter_as_the_base() {
    let played = play(&parameters(&["copy_parent", INIT, "X5"]), 1).retention();
    let [first, second] = &played.tasks[..] else { panic!("{played:?}") };
    assert!(first.curve.windows(2).all(|pair| pair[0].rate.pass_rate <= pair[1].rate.pass_rate));
    assert_eq!((first.measured, second.first_row), (8, 12));
    let curves: Vec<_> = played.children.iter().map(|child| (child.operator.as_str(), child.task)).collect();
    assert_eq!(curves, [("copy_parent", 0), (INIT, 0), ("X5", 0), ("X5", 1)]);
    for child in &played.children {
        let steps: Vec<u32> = child.points.iter().map(|point| point.step).collect();
        assert_eq!(steps, [0, 2, 3]);
    }
    let copy = &played.children[0];
    assert_eq!(copy.points[0].rate, first.curve[1].rate);
    let recovery = copy.points[0].recovery.unwrap();
    assert_eq!((recovery.value, recovery.standard_error), (1.0, 0.0));
    assert_eq!(copy.recovered_at, Some(0));
    let fresh = &played.children[1];
    assert_eq!(fresh.points[0].rate, first.base);
    assert_eq!((fresh.points[0].recovery.unwrap().value, fresh.recovered_at), (0.0, None));
    assert_eq!(played.children[3].points[0].rate, second.curve[1].rate, "a mean of equals");
}

#[test]
fn neither_the_order_of_items_nor_a_kill_between_steps_changes_anything() {
    let parameters = RetentionParameters { seeds: 2, snapshots: vec![4, 6], ..parameters(&["M1", "X1"]) };
    let first = play(&parameters, 1);
    for order in 2..5 {
        assert_eq!(play(&parameters, order), first);
    }
    let result = first.retention();
    assert_eq!(result.children.len(), 2 * 3);
    assert!(result.children.iter().all(|child| child.points.iter().all(|point| point.seeds.len() == 2)));
    let seeds = |payload: &&Payload| matches!(payload, Payload::Evolve(_));
    assert_eq!(first.items.values().filter(seeds).count(), 8);
}

#[test]
fn everybody_answers_the_same_rows_with_the_same_draws_in_every_step() {
    let played = play(&parameters(&["M1", "X1"]), 1);
    let asked = |rollout: &RolloutPayload| -> Vec<(String, u64)> {
        let requests = rollout.requests.iter();
        requests.map(|request| (request.prompt.text(), request.seed)).collect()
    };
    let draws = |phase: &str| -> BTreeMap<String, Vec<u64>> {
        let mut draws: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        for (prompt, seed) in played.rollouts(phase).into_iter().flat_map(asked) {
            draws.entry(prompt).or_default().push(seed);
        }
        draws
    };
    let (refer, measure) = (draws("refer"), draws("measure"));
    assert_eq!(refer.len(), 16, "8 rows of each task");
    for (prompt, seeds) in &refer {
        let all = seeds.iter().chain(&measure[prompt]);
        assert!(all.clone().all(|seed| *seed == seeds[0]), "{prompt}: {seeds:?}");
        assert_eq!(seeds.len(), 4, "the base, and the parent at three steps");
    }
    for rollout in played.rollouts("refer") {
        assert!(rollout.adapters.len() <= 1, "an item has one subject");
    }
}

#[test]
fn children_of_two_parents_learn_both_tasks_from_a_batch_of_the_same_size() {
    let played = play(&parameters(&["M1", "X1"]), 1);
    let updates = played.updates();
    assert_eq!(updates.len(), 3, "one update of all children in every step of retraining");
    for update in updates {
        // Groups without a difference in reward have no gradient, and are left out whole.
        for member in &update.members {
            let left = member.sequences.len();
            assert!(left > 0 && left <= 5 * 4 && left.is_multiple_of(4), "{left}");
            assert!(member.sequences.iter().all(|sequence| sequence.advantage != 0.0));
        }
    }
    let rollouts = played.rollouts("solve");
    let answered = rollouts.iter().flat_map(|rollout| &rollout.requests);
    // The first step's, by the place of the row in the dataset.
    let mut split = [0, 0];
    for request in answered.take(2 * 5) {
        let text = request.prompt.text();
        let (_, place) = text.rsplit_once("a+").expect("a row");
        let digits: String = place.chars().take_while(char::is_ascii_digit).collect();
        split[usize::from(digits.parse::<u32>().expect("a place") >= 12)] += 1;
    }
    assert_eq!(split, [5 + 3, 2], "M1 five of the first task; X1 three of it and two of the second");
}

#[test]
fn only_the_latest_weights_of_children_are_held() {
    let played = play(&parameters(&["M1", "copy_parent"]), 1);
    let parents = 6;
    // The scripted players' optimizer states are all the same.
    let held: Vec<usize> = played.states.iter().map(|state| state.artifacts.len()).collect();
    assert_eq!(held, [parents + 3; 4]);
    assert_eq!(played.states.last().map(|state| state.step), Some(4));
}

#[test]
fn what_cannot_be_played_is_refused_with_its_place() {
    let refused = |change: &dyn Fn(&mut RetentionParameters)| {
        let good = parameters(&["M1", "X1"]);
        let mut config = config(&good);
        let mut bad = good;
        change(&mut bad);
        config.parameters = serde_json::to_value(bad).unwrap();
        OperatorRetentionEvaluation.resolve(config).unwrap_err().to_string()
    };
    assert!(refused(&|bad| bad.n = 0).contains("/parameters/n: "));
    assert!(
        refused(&|bad| bad.snapshots = vec![5])
            .contains("/parameters/tasks/0/curve: solver-0 has no weights of step 5")
    );
    assert!(refused(&|bad| drop(bad.tasks.pop())).contains("/parameters/operators/1"));
    assert!(refused(&|bad| bad.training = json!({"batch": 3})).contains("/parameters/training: "));
    let of_rank = |rank: u32| {
        let mut config = config(&parameters(&["M1", "M6"]));
        for population in config.populations.values_mut() {
            population.lora.r = rank;
        }
        OperatorRetentionEvaluation.resolve(config).map_err(|faults| faults.to_string())
    };
    let said = of_rank(2).unwrap_err();
    assert!(
        said.starts_with("/parameters/operators/1: ") && said.contains("from 0 to 1, as the rank of the adapters is 2"),
        "{said}"
    );
    of_rank(3).unwrap();
}
