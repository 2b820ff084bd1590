//! A check asks for every test once and writes what it finds, however its items end.

use crate::contract::Planner as _;
use crate::id::ExecutionId;
use proptest::prelude::*;
use serde_json::json;
use uuid::Uuid;

use super::*;
use crate::contract::{DatasetRow, Want, WorkState};
use crate::dataset::TestFaultKind;
use crate::verify::{Check, Status, Verdict};
use crate::work::{Outcome, Payload, VerifyResult};

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
    let Check::Tests(tests) = &task.check else { panic!("{task:?}") };
    assert_eq!(tests.program.is_empty(), program == "empty");
    let fault = expected(place.parse().unwrap());
    let is_right = match program {
        "empty" => fault == Some(TestFaultKind::PassesEmpty),
        _ => fault != Some(TestFaultKind::FailsCanonical),
    };
    Verdict { correct: Some(is_right), ..Verdict::bare(Some(task.id.clone()), Status::Ok, "") }
}

/// Plays a check whose items end in an order drawn by `order`; the records of its steps.
fn played(rows: u32, order: u64) -> Vec<DatasetCheckRecord> {
    let parameters = DatasetCheckParameters { dataset: DATASET, rows, dry_run: None };
    let config = DatasetCheckEvaluation.config(parameters).unwrap();
    let mut run = DatasetCheckEvaluation.begin(ExecutionId(Uuid::from_u128(9)), &config).unwrap();
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
                let Want::Row(dataset, place) = want else { panic!("{want:?}") };
                view.rows.insert((dataset, place), DatasetRow(row(place)));
            }
            for item in plan.work {
                view.work.insert(item.key.clone(), WorkState::Open);
                open.push(item);
            }
            if !open.is_empty() {
                let item = open.swap_remove((order % open.len() as u64) as usize);
                let Payload::Verify(payload) = item.payload else { panic!("{item:?}") };
                let verdicts = payload.tasks.iter().map(judged).collect();
                view.work.insert(item.key, WorkState::Done(Outcome::Verify(VerifyResult { verdicts })));
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

#[test]
fn a_dry_run_scores_three_answers_to_each_row_by_the_reward_it_is_given_and_notes_nothing_of_the_dataset() {
    let spec: DatasetCheckSpec = serde_json::from_value(json!({
        "dataset": "mine", "rows": 2, "completion": "<b>4</b>",
        "oracle": {"type": "python", "file": "0".repeat(64), "timeout": 9, "packages": ["numpy"]},
    }))
    .unwrap();
    let (rows, tried) = spec.dry_run().unwrap();
    let file = tried.oracle.as_ref().unwrap().file;
    let parameters = DatasetCheckParameters { dataset: DATASET, rows, dry_run: Some(tried) };
    let config = DatasetCheckEvaluation.config(parameters).unwrap();
    let run = DatasetCheckEvaluation.begin(ExecutionId(Uuid::from_u128(9)), &config).unwrap();
    let mut view = StepView::default();
    let plan = DatasetCheckEvaluation.plan(&run, &view).unwrap();
    assert_eq!(plan.wants, [Want::Reward(file)]);
    view.rewards.insert(file, "def score(p, c, r): return len(c)".to_owned());
    let math = json!({"task_id": "a", "question": "2+2?", "canonical": "4", "oracle": {"type": "math", "gold": "4"}});
    let mut own = math.clone();
    own["oracle"] = json!({"type": "python", "file": "1".repeat(64), "row": {"level": 3}});
    for (place, row) in (0..).zip([&math, &own]) {
        view.rows.insert((DATASET, place), DatasetRow(row.clone()));
    }
    let plan = DatasetCheckEvaluation.plan(&run, &view).unwrap();
    let Payload::Verify(payload) = &plan.work[0].payload else { panic!("{plan:?}") };
    let judged = |task: &Task| {
        let Check::Reward(reward) = &task.check else { panic!("{task:?}") };
        assert_eq!((reward.file, reward.timeout, payload.rewards.contains_key(&file)), (file, 9, true));
        let wanted = if task.id.starts_with('0') { &math } else { &json!({"level": 3}) };
        let row: serde_json::Value = serde_json::from_str(reward.row.as_str()).unwrap();
        assert_eq!(row, *wanted, "a row of another oracle is given as it is stored");
        Verdict {
            parts: Some(BTreeMap::from([("length".to_owned(), reward.completion.len() as f64)])),
            ..Verdict::bare(Some(task.id.clone()), Status::Ok, "")
        }
    };
    let verdicts = payload.tasks.iter().map(judged).collect();
    let done = WorkState::Done(Outcome::Verify(VerifyResult { verdicts }));
    view.work.insert(plan.work[0].key.clone(), done);
    let plan = DatasetCheckEvaluation.plan(&run, &view).unwrap();
    assert!(plan.records.is_empty() && plan.finish.unwrap().completed);
    let result: DatasetCheckResult = serde_json::from_value(plan.result.unwrap()).unwrap();
    let scores: Vec<_> = result.scores.iter().map(|of| (of.row, of.answer.as_str(), of.parts["length"])).collect();
    let each = |row| [(row, "empty", 0.0), (row, "canonical", 1.0), (row, "completion", 8.0)];
    assert_eq!(scores, [each(0), each(1)].concat());
    assert!(result.dry_run);

    assert_eq!(DatasetCheckSpec::of("mine".to_owned()).dry_run(), None);
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
