//! Checkpoints that solve known problems.

use crate::contract::Planner as _;
use crate::id::ExecutionId;
use rand::seq::SliceRandom as _;
use serde_json::json;
use std::collections::HashSet;
use uuid::Uuid;

use super::*;
use crate::artifact::Digest;
use crate::benchmark::{BenchmarkRow, Protocol, Question, SubjectRole};
use crate::contract::{DatasetRow, Want, WorkState};
use crate::evaluations::{BenchmarkSubject, SuiteSlice};
use crate::id::{DatasetId, MemberId, VersionId};
use crate::seed::stream;
use crate::verify::{Check, Solution, Status, Verdict};
use crate::work::{
    AdapterRef, BaseModel, BenchmarkResult, BenchmarkSample, FinishReason, Outcome, Payload, RolloutUsage, VerifyResult,
};

const DATASET: DatasetId = DatasetId(Uuid::from_u128(5));
const RUN: ExecutionId = ExecutionId(Uuid::from_u128(7));
const ROWS: u32 = 7;

fn row(row: u32) -> BenchmarkRow {
    BenchmarkRow {
        task_id: format!("hard/{row}"),
        question: String::new(),
        canonical: None,
        oracle: Question::CodeF {
            message: "add".to_owned(),
            pairs: (0..4).map(|at| (at.to_string(), (at + row).to_string())).collect(),
        },
        tags: Default::default(),
    }
}

fn subject(step: Option<u32>, control: bool) -> GoalpostSubject {
    let is_trained = !control && step.is_some_and(|step| step > 0);
    let name = format!("{step:?}");
    GoalpostSubject {
        subject: BenchmarkSubject {
            name: "student".to_owned(),
            role: SubjectRole::Student,
            run: Some(RUN),
            member: Some(MemberId(Uuid::from_u128(2))),
            step,
            base_model: BaseModel { name: "tiny".to_owned(), revision: None },
            adapter: is_trained.then(|| AdapterRef {
                version: VersionId(Uuid::new_v5(&Uuid::nil(), name.as_bytes())),
                artifact: Digest::of(name.as_bytes()),
                optimizer: None,
            }),
        },
        control,
    }
}

fn parameters() -> GoalpostParameters {
    GoalpostParameters {
        problems: SuiteSlice {
            suite: "held-out-seedling".to_owned(),
            name: None,
            dataset: DATASET,
            rows: ROWS,
            n: None,
            protocol: Protocol {
                prompts: "seedling".to_owned(),
                temperature: 0.6,
                top_p: 1.0,
                max_tokens: 20,
                plain_notation: false,
            },
        },
        n: 4,
        subjects: vec![subject(Some(0), false), subject(Some(6), false), subject(Some(6), true)],
        compute: Default::default(),
        samples_per_item: 8,
        samples_per_step: 12,
    }
}

fn config(parameters: &GoalpostParameters) -> RunConfig {
    let config = RunConfig {
        recipe: "evaluation/goalposts".to_owned(),
        seed: 3,
        parameters: serde_json::to_value(parameters).unwrap(),
        ..RunConfig::default()
    };
    GoalpostsEvaluation.resolve(config).unwrap()
}

/// The trained checkpoint solves row 5 twice of four and row 6 always; the base solves nothing.
fn is_right(is_trained: bool, row: u32, sample: u32) -> bool {
    is_trained && (row == 6 || row == 5 && sample.is_multiple_of(2))
}

fn perform(payload: &Payload) -> Outcome {
    match payload {
        Payload::Benchmark(payload) => {
            let trained = payload.adapter.is_some();
            let samples = (payload.first..payload.first + payload.rows).flat_map(|row| {
                (0..payload.n).map(move |sample| BenchmarkSample {
                    row,
                    sample,
                    text: "words".to_owned(),
                    finish_reason: FinishReason::Stop,
                    tokens: 2,
                    solution: (row != 3).then(|| is_right(trained, row, sample).to_string()),
                    reading: None,
                    reason: (row == 3).then(|| "there is no program in it".to_owned()),
                })
            });
            Outcome::Benchmark(BenchmarkResult {
                samples: samples.collect(),
                prompts_sha256: "hash".to_owned(),
                chat_template_sha256: None,
                surprisal: Some(0.5),
                usage: RolloutUsage::default(),
            })
        }
        Payload::Verify(payload) => {
            let verdicts = payload.tasks.iter().map(|task| {
                let Check::Solve(Solution::Function { answer, .. }) = &task.check else { panic!("{task:?}") };
                Verdict { correct: Some(answer == "true"), ..Verdict::bare(Some(task.id.clone()), Status::Ok, "") }
            });
            Outcome::Verify(VerifyResult { verdicts: verdicts.collect() })
        }
        other => panic!("{other:?}"),
    }
}

/// Plays an evaluation, items ending in an order drawn from `order`: the plans that ended a step, and all seeds of rows.
fn play(config: &RunConfig, order: u64) -> (Vec<Plan>, Vec<u64>) {
    let mut state = GoalpostsEvaluation.begin(ExecutionId(Uuid::from_u128(1)), config).unwrap();
    let (mut ends, mut seeds) = (Vec::new(), Vec::new());
    let mut rng = stream(order, "order", 0);
    while !state.completed {
        let mut view = StepView::default();
        let mut open = Vec::new();
        loop {
            let plan = GoalpostsEvaluation.plan(&state, &view).unwrap();
            for want in &plan.wants {
                let Want::Row(dataset, index) = want else { panic!("{want:?}") };
                let value = serde_json::to_value(row(*index)).unwrap();
                view.rows.insert((*dataset, *index), DatasetRow(value));
            }
            if !plan.wants.is_empty() {
                continue;
            }
            for item in &plan.work {
                view.work.insert(item.key.clone(), WorkState::Open);
                if let Payload::Benchmark(payload) = &item.payload {
                    seeds.push(payload.seed);
                }
                open.push(item.clone());
            }
            if let Some(next) = plan.finish.clone() {
                state = next;
                ends.push(plan);
                break;
            }
            open.shuffle(&mut rng);
            let item = open.pop().expect("an open item");
            view.work.insert(item.key, WorkState::Done(perform(&item.payload)));
        }
    }
    (ends, seeds)
}

#[test]
fn every_attempt_is_counted_once_in_slices_that_fit_whatever_ends_first() {
    let config = config(&parameters());
    // Three rows of four attempts a step: seven rows in three steps, for three subjects.
    assert_eq!(config.steps, 9);
    let (ends, seeds) = play(&config, 1);
    for order in 2..6 {
        assert_eq!(play(&config, order).0, ends, "order {order}");
    }
    let counts: Vec<_> = ends.iter().flat_map(|plan| &plan.records.goalpost_counts).collect();
    let places: Vec<_> = counts.iter().map(|count| (count.subject, count.first_row, count.correct.len())).collect();
    assert_eq!(places[..4], [(0, 0, 3), (0, 3, 3), (0, 6, 1), (1, 0, 3)]);
    let correct = |subject: u32| -> Vec<u32> {
        let of = counts.iter().filter(|count| count.subject == subject);
        of.flat_map(|count| count.correct.iter().copied()).collect()
    };
    assert_eq!(correct(1), [0, 0, 0, 0, 0, 2, 4]);
    assert_eq!((correct(0), correct(2)), (vec![0; 7], vec![0; 7]));
    let control = counts.iter().find(|count| count.control).unwrap();
    assert_eq!((control.run, control.step, control.version), (Some(RUN), Some(6), None));
    let kept: Vec<_> = ends.iter().flat_map(|plan| &plan.records.benchmark_samples).collect();
    assert_eq!(kept.len(), 6, "only attempts that solve something are kept");
    assert!(kept.iter().all(|sample| sample.graded.correct && sample.subject == 1));
    assert_eq!((kept[0].task_id.as_str(), kept[0].sample.row), ("hard/5", 5));
    let distinct: HashSet<u64> = seeds.iter().copied().collect();
    assert_eq!(distinct.len(), 3, "everybody's draws are fresh, and a subject's are the same however rows are cut");
}

#[test]
fn the_result_grows_step_by_step() {
    let (ends, _) = play(&config(&parameters()), 1);
    let result =
        |place: usize| -> GoalpostsResult { serde_json::from_value(ends[place].result.clone().unwrap()).unwrap() };
    let of = |result: &GoalpostsResult| -> Vec<(bool, u32, u64, u64)> {
        let subjects = result.subjects.iter();
        subjects.map(|of| (of.control, of.solved, of.attempts, of.correct)).collect()
    };
    assert_eq!(of(&result(0)), [(false, 0, 12, 0)]);
    assert_eq!(of(&result(8)), [(false, 0, 28, 0), (false, 2, 28, 6), (true, 0, 28, 0)]);
    assert_eq!((result(8).problems, result(8).n), (7, 4));
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let fault = |change: &dyn Fn(&mut GoalpostParameters), says: &str| {
        let mut parameters = parameters();
        change(&mut parameters);
        let config = RunConfig { parameters: json!(parameters), ..RunConfig::default() };
        let faults = GoalpostsEvaluation.resolve(config).unwrap_err().to_string();
        assert!(faults.contains(says), "{faults}");
    };
    fault(&|of| of.subjects.clear(), "no checkpoint to attempt");
    fault(&|of| of.n = 0, "1 is the least");
    fault(&|of| of.problems.rows = 0, "has no rows");
    fault(&|of| of.problems.protocol.temperature = 0.0, "would be the same 4 times");
    fault(&|of| of.problems.protocol.prompts = "completion".to_owned(), "self-play");
    fault(&|of| of.problems.protocol.prompts = "nope".to_owned(), "no prompt style");
}
