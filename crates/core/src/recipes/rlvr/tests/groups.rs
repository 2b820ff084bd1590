//! Groups of answers that are not learned from, and rows that are asked in rounds.

use serde_json::{Value, json};
use std::collections::BTreeMap;

use super::{DATASET, document, resolved, rounds, rows, steps, steps_of};
use crate::contract::MetricRecord;
use crate::kit::rows::{Recorded, metrics};
use crate::recipes::Rlvr;
use crate::simulation::{Order, Players, Simulation, Skill, Step};

fn value(record: &MetricRecord, name: &str) -> f64 {
    let place = metrics(Recorded { selects_groups: true, ..Recorded::default() })
        .iter()
        .position(|metric| metric.name == name)
        .unwrap();
    record.values[place]
}

fn of_members(step: &Step) -> impl Iterator<Item = &MetricRecord> {
    step.records.metrics.iter().filter(|record| record.member.is_some())
}

#[test]
fn what_has_no_signal_is_counted_as_dropped() {
    for step in steps(&[("parameters.filter", json!("no_signal"))], Order::Together) {
        for record in &step.records.metrics {
            assert_eq!(value(record, "dropped_share"), value(record, "no_signal_share"));
            assert_eq!(value(record, "rounds"), 1.0);
        }
        assert_eq!(step.records.attempts.len(), 2 * 8 * 4, "all were asked");
    }
}

#[test]
fn rows_are_asked_until_a_batch_of_groups_differs() {
    let all = steps(&[("parameters.dynamic", rounds(true))], Order::Together);
    let mut later = 0;
    let mut asked: BTreeMap<_, BTreeMap<_, usize>> = BTreeMap::new();
    for step in &all {
        for attempt in &step.records.attempts {
            *asked.entry(attempt.solver.0).or_default().entry(attempt.problem).or_default() += 1;
        }
        for record in of_members(step) {
            let own = step.records.attempts.iter().filter(|attempt| Some(attempt.solver.0) == record.member);
            let groups = own.count() as f64 / 4.0;
            let learned = (groups * (1.0 - value(record, "dropped_share"))).round();
            let rounds = value(record, "rounds");
            assert!(learned == 8.0 || rounds == 3.0, "{learned} of {groups} in {rounds} rounds");
            assert!(learned <= 8.0 && (rounds > 1.0) == (groups > 8.0), "{learned} of {groups} in {rounds} rounds");
            later += usize::from(rounds > 1.0);
        }
    }
    assert!(later > 2, "an eighth of the groups have answers that are all right, or all wrong");
    for rows in asked.values() {
        let times = rows.values().map(|answers| answers / 4);
        let (least, most) = (times.clone().min().unwrap(), times.max().unwrap());
        assert!(rows.len() == 24 && most - least <= 1, "a row comes again once all have come: {rows:?}");
    }
}

#[test]
fn whoever_solves_everything_is_asked_in_every_round_and_learns_nothing() {
    for step in steps_of(Skill(50.0), &[("parameters.dynamic", rounds(true))], Order::Together) {
        assert_eq!(step.records.attempts.len(), 2 * 3 * 8 * 4);
        assert!(step.records.versions.iter().all(|version| version.ordinal == 0));
        for record in of_members(&step) {
            assert_eq!((value(record, "dropped_share"), value(record, "rounds")), (1.0, 3.0));
        }
    }
}

#[test]
fn a_run_ends_with_the_step_that_comes_nearest_to_its_budget() {
    let spent = |budget: Option<u64>| -> Vec<u64> {
        let mut document = document();
        document["parameters"]["held_out"] = json!({"rows": 4, "n": 2, "temperature": 1.0});
        document["parameters"]["dynamic"] = rounds(true);
        document["budget"] = budget.map_or(Value::Null, |tokens| json!({ "generated_tokens": tokens }));
        let config = resolved(&document).unwrap();
        let players = Players::new(vec![Skill(0.0), Skill(0.0)]);
        let mut simulation =
            Simulation::new(&Rlvr, &config, players, Order::Together).unwrap().with_dataset(DATASET, rows());
        let mut steps = Vec::new();
        while !simulation.state.completed {
            let answers = simulation.step().unwrap().records.attempts;
            steps.push(answers.iter().map(|answer| u64::from(answer.tokens)).sum());
        }
        steps
    };
    let whole = spent(None);
    assert_eq!(whole.len(), 6);
    let three: u64 = whole[..3].iter().sum();
    assert_eq!(spent(Some(three)), whole[..3]);
    assert_eq!(spent(Some(three + whole[2] / 2)), whole[..3], "another step would miss it by more");
    assert_eq!(spent(Some(three + whole[2] / 2 + 1)), whole[..4]);
    assert_eq!(spent(Some(u64::MAX)), whole);
}

#[test]
fn the_level_of_a_staircase_is_recorded_as_it_was_asked() {
    let staircase = json!({"staircase": {"batches": 1, "up": 0.46, "down": 0.45}});
    let place = metrics(Recorded { has_levels: true, ..Recorded::default() })
        .iter()
        .position(|metric| metric.name == "sampler_level")
        .unwrap();
    let mut level = 1.0;
    let mut asked = Vec::new();
    for step in steps_of(Skill(-0.5), &[("parameters.sampler", staircase)], Order::Together) {
        asked.push(level);
        let record = of_members(&step).next().unwrap();
        assert_eq!(record.values[place], level);
        let own: Vec<_> =
            step.records.attempts.iter().filter(|attempt| Some(attempt.solver.0) == record.member).collect();
        let rate = own.iter().filter(|attempt| attempt.correct).count() as f64 / own.len() as f64;
        level = if rate > 0.46 {
            f64::min(level + 1.0, 3.0)
        } else if rate < 0.45 {
            f64::max(level - 1.0, 1.0)
        } else {
            level
        };
    }
    assert!(asked.windows(3).any(|three| three == [2.0, 1.0, 1.0]), "{asked:?}");
}

#[test]
fn a_member_whose_rows_have_no_value_that_is_asked_ends_the_run_by_its_name() {
    let mut document = document();
    document["parameters"]["sampler"] = json!({"weighted": {"tag": "level", "weights": {"elsewhere": 1.0}}});
    let config = resolved(&document).unwrap();
    let players = Players::new(vec![Skill(0.0), Skill(0.0)]);
    let mut simulation =
        Simulation::new(&Rlvr, &config, players, Order::Together).unwrap().with_dataset(DATASET, rows());
    let said = simulation.step().unwrap_err().to_string();
    assert!(said.contains("rows 0 to 23") && said.contains("-0 learns from"), "{said}");
}
