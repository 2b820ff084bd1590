//! A model as judge.

use serde_json::{Value, json};
use std::collections::BTreeMap;

use super::{DATASET, document, resolved, rows};
use crate::contract::{Planner as _, Recipe as _, RunState, StepView, WorkState};
use crate::id::{AttemptId, ExecutionId};
use crate::kit::rows::JUDGE;
use crate::recipes::Rlvr;
use crate::simulation::{Order, Players, Simulation, Skill, Step};
use crate::work::{Payload, RolloutPayload};

/// The scripted judge scores the answer `1`, which is correct, from 6 to 10 and others from 0 to 7. Now and then it gives no
/// number, or 11.
const TEMPLATE: &str = "<judge>{{ question }} is {{ reference }}<is>{{ answer }}<go>";

fn judged(judge: Value) -> Value {
    let mut document = document();
    document["parameters"]["reward"] = json!({"weights": {"judge": 0.5, "correct": 0.25}, "judge": judge});
    document
}

fn shown() -> Value {
    json!({"prompts": {"set": "seedling-math", "grammar": "tagged", "templates": {"judge": TEMPLATE}}})
}

fn steps(document: &Value) -> Vec<Step> {
    let config = resolved(document).unwrap();
    let players = Players::new(vec![Skill(0.0), Skill(0.0)]);
    let mut simulation =
        Simulation::new(&Rlvr, &config, players, Order::Shuffled(3)).unwrap().with_dataset(DATASET, rows());
    (0..config.steps).map(|_| simulation.step().unwrap()).collect()
}

#[test]
fn a_score_is_a_weighted_part_of_the_reward_and_decides_nothing_else() {
    let (with, without) = (steps(&judged(shown())), steps(&document()));
    let mut unscored = 0;
    let mut scores = [Vec::new(), Vec::new()];
    let first = |steps: &[Step]| -> BTreeMap<AttemptId, (String, bool)> {
        let attempts = steps[0].records.attempts.iter();
        attempts.map(|attempt| (attempt.id, (attempt.text.clone(), attempt.correct))).collect()
    };
    assert_eq!(first(&with), first(&without));
    for with in &with {
        for judged in &with.records.attempts {
            let (judge, correct) = (&judged.reward_parts["judge"], f64::from(u8::from(judged.correct)));
            let judge = judge.as_f64().unwrap();
            assert_eq!(judged.reward_parts, json!({"judge": judge, "correct": 0.25 * correct}));
            assert_eq!(judged.reward, (judge + 0.25 * correct) as f32);
            if judged.reason.contains("no score from the judge: ") {
                assert_eq!(judge, 0.0);
                unscored += 1;
            } else {
                assert!((0.0..=0.5).contains(&judge));
                scores[usize::from(judged.correct)].push(judge);
            }
        }
        for metrics in &with.records.metrics {
            let parts: Vec<&str> = metrics.reward_parts.keys().map(String::as_str).collect();
            assert_eq!(parts, ["correct", "judge"]);
        }
    }
    assert!(unscored > 0 && scores.iter().all(|scores| scores.len() > 20));
    let least = scores[1].iter().copied().fold(1.0, f64::min);
    assert!((least - 0.5 * 5.0 / 9.0).abs() < 1e-9, "6 of 1 to 10 is 5/9, and half of it counts");
}

#[test]
fn an_answer_that_the_template_cannot_show_has_no_score() {
    let endless = "{% if answer == '1' %}{% for a in range(9999) %}{% for b in range(99) %}{{ b }}{% endfor %}{% endfor %}{% endif %}";
    let mut judge = shown();
    judge["prompts"]["templates"]["judge"] = json!(format!("{endless}{TEMPLATE}"));
    let mut seen = [0, 0];
    for step in steps(&judged(judge)) {
        for judged in &step.records.attempts {
            let unshown = judged.reason.contains("no score from the judge: ") && judged.reason.contains("template");
            assert_eq!(unshown, judged.text == "1", "{}", judged.reason);
            assert!(!unshown || judged.reward_parts["judge"] == 0.0);
            seen[usize::from(unshown)] += 1;
        }
    }
    assert!(seen.iter().all(|count| *count > 20), "{seen:?}");
}

#[test]
fn held_out_rows_have_no_judge() {
    let mut document = judged(shown());
    document["parameters"]["held_out"] = json!({"rows": 6, "every": 1, "n": 2});
    let config = resolved(&document).unwrap();
    let mut plain = document.clone();
    plain["parameters"]["reward"] = json!({});
    let items = |document: &Value| steps(document)[0].items;
    // 2 × 8 questions, 5 an item.
    assert_eq!(items(&document), items(&plain) + 4);
    assert!(Rlvr.judge(&config).unwrap().is_none(), "the base judges");
}

/// The items of a first plan of the judge's phase, after every other item was carried out.
fn asked(document: &Value) -> Vec<RolloutPayload> {
    let config = resolved(document).unwrap();
    let mut players = Players::new(vec![Skill(0.0), Skill(0.0)]);
    let run = Rlvr.begin(ExecutionId(uuid::Uuid::from_u128(5)), &config).unwrap();
    let mut view = StepView::default();
    for (place, row) in rows().into_iter().enumerate() {
        view.rows.insert((DATASET, place as u32), crate::contract::DatasetRow(row));
    }
    loop {
        let plan = Rlvr.plan(&run, &view).unwrap();
        let (judge, others): (Vec<_>, Vec<_>) = plan.work.into_iter().partition(|item| item.key.phase == JUDGE.name);
        if !judge.is_empty() {
            let payload = |payload| match payload {
                Payload::Rollout(payload) => Some(payload),
                _ => None,
            };
            return judge.into_iter().filter_map(|item| payload(item.payload)).collect();
        }
        assert!(!others.is_empty());
        for item in others {
            let outcome = players.perform(0, &item.payload).unwrap();
            view.work.insert(item.key, WorkState::Done(outcome));
        }
    }
}

#[test]
fn the_judge_is_the_base_or_the_weights_that_are_named() {
    let payload = &asked(&judged(json!({})))[0];
    assert!(payload.adapters.is_empty() && payload.sampling.temperature == 0.0);
    assert_eq!(payload.requests.len(), 5 * 4, "one an answer");
    assert!(payload.requests.iter().all(|request| request.if_it_fits && request.n == 1 && request.adapter.is_none()));

    let version = uuid::Uuid::from_u128(9);
    let from = json!({"version": version, "artifact": "a".repeat(64)});
    let document = judged(json!({"from": from, "sampling": {"temperature": 0.5, "max_tokens": 9}}));
    let payload = &asked(&document)[0];
    assert_eq!((payload.adapters.len(), payload.adapters[0].version.0), (1, version));
    assert!(payload.requests.iter().all(|request| request.adapter == Some(0)));
    assert_eq!((payload.sampling.temperature, payload.sampling.max_tokens), (0.5, 9));
    let config = resolved(&document).unwrap();
    let (pointer, named) = Rlvr.judge(&config).unwrap().unwrap();
    let at = serde_json::to_value(&config).unwrap().pointer(pointer).cloned();
    assert_eq!(at, Some(serde_json::to_value(named).unwrap()));
    let first: RunState = Rlvr.begin(ExecutionId(uuid::Uuid::from_u128(5)), &config).unwrap();
    assert_eq!(first.artifacts.len(), 1, "its weights are kept as long as the run");
}

#[test]
fn a_judge_that_cannot_be_asked_or_read_is_refused() {
    let refused = |judge: Value| {
        let faults = resolved(&judged(judge)).unwrap_err().0;
        faults[0].pointer.trim_start_matches("/parameters/reward/judge").to_owned()
    };
    assert_eq!(refused(json!({"lowest": 10})), "/highest");
    assert_eq!(refused(json!({"from": {}})), "/from");
    assert_eq!(refused(json!({"prompts": {"templates": {"judge": "{{ gold }}"}}})), "/prompts/templates/judge");
    assert_eq!(refused(json!({"prompts": {"templates": {"solve": "?"}}})), "/prompts/templates/solve");
    assert_eq!(refused(json!({"prompts": {"set": "azr"}})), "/prompts/templates/judge");
    assert_eq!(refused(json!({"sampling": {"max_tokens": 0}})), "/sampling/max_tokens");
    let config = resolved(&judged(json!({}))).unwrap();
    let prompts = &config.parameters["reward"]["judge"]["prompts"];
    assert_eq!(prompts["set"], "judge");
    assert!(prompts["templates"]["judge"].as_str().unwrap().contains("{{ answer }}"));
}
