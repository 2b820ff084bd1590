//! Held-out rows.

use serde_json::{Value, json};
use std::collections::BTreeMap;

use super::{document, resolved, steps};
use crate::contract::Recipe as _;
use crate::recipes::Rlvr;
use crate::simulation::{Order, Step};

/// The last 6 of 30 rows.
fn held_out() -> [(&'static str, Value); 2] {
    [("parameters.dataset.rows", json!(30)), ("parameters.held_out", json!({"rows": 6, "every": 2, "n": 4}))]
}

#[test]
fn what_is_learned_is_the_same_with_and_without_them() {
    let (with, without) = (steps(&held_out(), Order::Together), steps(&[], Order::Together));
    for (with, without) in with.iter().zip(&without) {
        assert!(without.records.held_out.is_empty());
        assert_eq!(with.records.problems, without.records.problems);
        assert_eq!(with.records.attempts, without.records.attempts);
        assert_eq!(with.records.versions, without.records.versions);
        assert_eq!(with.records.row_answers, without.records.row_answers);
    }
}

#[test]
fn they_are_answered_every_so_many_steps_and_in_the_last_and_never_learned_from() {
    let all = steps(&held_out(), Order::Together);
    let measured: Vec<usize> = (0..all.len()).filter(|&step| !all[step].records.held_out.is_empty()).collect();
    assert_eq!(measured, [0, 2, 4, 5]);
    for step in &all {
        assert!(step.records.problems.iter().all(|problem| problem.index < 24));
        assert!(step.records.row_answers.iter().all(|row| row.row < 24));
        assert_eq!(step.records.attempts.len(), 2 * 8 * 4);
    }
    for step in measured {
        let records = &all[step].records.held_out;
        assert_eq!(records.len(), 2, "one of each member");
        for record in records {
            assert_eq!((record.first_row, record.n, record.correct.len()), (24, 4, 6));
            assert!(record.correct.iter().all(|&correct| correct <= 4));
            let attempt = &all[step].records.attempts;
            assert!(
                attempt.iter().any(|attempt| attempt.solver == record.solver),
                "they are measured with the weights that answer the step's rows"
            );
        }
    }
}

#[test]
fn pass_at_k_is_that_of_the_counts() {
    let mut document = document();
    document["parameters"]["dataset"]["rows"] = json!(30);
    document["parameters"]["held_out"] = json!({"rows": 6, "every": 2, "n": 4});
    let config = resolved(&document).unwrap();
    let names = Rlvr.recorded_metrics(&config).unwrap();
    assert_eq!(names[..4], ["held_out_pass_at_1", "held_out_pass_at_2", "held_out_pass_at_4", "pass_rate"]);
    let all = steps(&held_out(), Order::Together);
    for (number, step) in all.iter().enumerate() {
        for row in &step.records.metrics {
            assert_eq!(row.values.len(), names.len());
            if step.records.held_out.is_empty() {
                assert!(row.values[..3].iter().all(|value| value.is_nan()), "step {number}");
                continue;
            }
            let own = step.records.held_out.iter();
            let own = own.filter(|record| row.member.is_none_or(|member| member == record.solver.0));
            let counts: Vec<u32> = own.flat_map(|record| record.correct.clone()).collect();
            // 1 − C(4 − c, k) / C(4, k), by hand for each count of correct answers.
            let of = |by_count: [f64; 5]| {
                counts.iter().map(|&count| by_count[count as usize]).sum::<f64>() / counts.len() as f64
            };
            let wanted =
                [of([0.0, 0.25, 0.5, 0.75, 1.0]), of([0.0, 0.5, 5.0 / 6.0, 1.0, 1.0]), of([0.0, 1.0, 1.0, 1.0, 1.0])];
            for (value, wanted) in row.values.iter().zip(wanted) {
                assert!((value - wanted).abs() < 1e-12, "{value} is not {wanted}");
            }
        }
    }
    let without = resolved(&super::document()).unwrap();
    let names = Rlvr.recorded_metrics(&without).unwrap();
    assert!(names.iter().all(|name| !name.starts_with("held_out")));
}

#[test]
fn counts_do_not_depend_on_the_order_in_which_work_ends() {
    let counts = |order| {
        let of = |step: &Step| -> BTreeMap<_, Vec<u32>> {
            let records = step.records.held_out.iter();
            records.map(|record| (record.solver.0, record.correct.clone())).collect()
        };
        steps(&held_out(), order).iter().map(of).collect::<Vec<_>>()
    };
    assert_eq!(counts(Order::Together), counts(Order::Shuffled(5)));
}
