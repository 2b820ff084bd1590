//! A check asks for every test once and writes what it finds, however its items end.

use crate::{contract::Planner as _, id::ExecutionId};
use proptest::prelude::*;
use serde_json::json;
use uuid::Uuid;

use super::*;
use crate::{
    contract::{DatasetRow, Want, WorkState},
    dataset::TestFaultKind,
    verify::{Check, Status, Verdict},
    work::{Outcome, Payload, VerifyResult},
};

const DATASET: DatasetId = DatasetId(Uuid::from_u128(5));

/// Every third row is no script; of the scripts, every fifth passes an empty program and every seventh fails its own.
fn row(place: u32) -> serde_json::Value {
    match place % 3 {
        0 => json!({"task_id": place.to_string(), "question": "?", "oracle": {"type": "math", "gold": "1"}}),
        _ => json!({"task_id": place.to_string(), "question": "\"\"\"?\"\"\"", "canonical": "def f(): return 1",
            "oracle": {"type": "script", "entry_point": "f", "test": "assert f() == 1"}}),
    }
}

fn expected(place: u32) -> Option<TestFaultKind> {
    match place {
        _ if place.is_multiple_of(3) => None,
        _ if place.is_multiple_of(5) => Some(TestFaultKind::PassesEmpty),
        _ if place.is_multiple_of(7) => Some(TestFaultKind::FailsCanonical),
        _ => None,
    }
}

fn judged(task: &Task) -> Verdict {
    let (place, program) = task.id.split_once('/').unwrap();
    let Check::Tests(tests) = &task.check else {
        panic!("{task:?}")
    };
    assert_eq!(tests.program.is_empty(), program == "empty");
    let fault = expected(place.parse().unwrap());
    let is_right = match program {
        "empty" => fault == Some(TestFaultKind::PassesEmpty),
        _ => fault != Some(TestFaultKind::FailsCanonical),
    };
    Verdict {
        correct: Some(is_right),
        ..Verdict::bare(Some(task.id.clone()), Status::Ok, "")
    }
}

/// Plays a check whose items end in an order drawn by `order`; the records of its steps.
fn played(rows: u32, order: u64) -> Vec<DatasetCheckRecord> {
    let parameters = DatasetCheckParameters { dataset: DATASET, rows };
    let config = DatasetCheckEvaluation.config(parameters).unwrap();
    let mut run = DatasetCheckEvaluation
        .begin(ExecutionId(Uuid::from_u128(9)), &config)
        .unwrap();
    let mut records = Vec::new();
    while !run.completed {
        let mut view = StepView::default();
        let mut open = Vec::new();
        run = loop {
            let plan = DatasetCheckEvaluation.plan(&run, &view).unwrap();
            if let Some(next) = plan.finish {
                records.extend(plan.records.dataset_checks);
                break next;
            }
            assert!(plan.records.is_empty(), "nothing is written before a step ends");
            for want in plan.wants {
                let Want::Row(dataset, place) = want else {
                    panic!("{want:?}")
                };
                view.rows.insert((dataset, place), DatasetRow(row(place)));
            }
            for item in plan.work {
                view.work.insert(item.key.clone(), WorkState::Open);
                open.push(item);
            }
            if !open.is_empty() {
                let item = open.swap_remove((order % open.len() as u64) as usize);
                let Payload::Verify(payload) = item.payload else {
                    panic!("{item:?}")
                };
                let verdicts = payload.tasks.iter().map(judged).collect();
                view.work
                    .insert(item.key, WorkState::Done(Outcome::Verify(VerifyResult { verdicts })));
            }
        };
    }
    records
}

#[test]
fn what_an_earlier_release_remembers_is_read() {
    let counted: Memory = serde_json::from_value(json!(3)).unwrap();
    assert_eq!(counted.clone().take(), (3, Vec::new()));
    assert_eq!(serde_json::to_value(counted).unwrap(), json!(3));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn each_bad_row_is_written_once_and_the_last_step_says_so(rows in 1_u32..1200, order in any::<u64>()) {
        let records = played(rows, order);
        let found: Vec<(u32, TestFaultKind)> =
            records.iter().flat_map(|record| record.bad.iter().map(|(place, fault)| (*place, fault.reason))).collect();
        let wanted: Vec<_> = (0..rows).filter_map(|place| Some((place, expected(place)?))).collect();
        prop_assert_eq!(found, wanted);
        let last: Vec<bool> = records.iter().map(|record| record.is_last).collect();
        prop_assert_eq!(last.iter().filter(|last| **last).count(), 1);
        prop_assert_eq!(last.last(), Some(&true));
    }
}
