use crate::contract::Planner;
use crate::id::ExecutionId;
use rand::seq::SliceRandom as _;
use serde::Deserialize as _;
use serde_json::json;
use uuid::Uuid;

use super::*;
use crate::benchmark::{BenchmarkRow, Protocol, Question, SubjectRole};
use crate::contract::{DatasetRow, Want, WorkState};
use crate::evaluations::{MajorityVoteEvaluation, MajorityVoteResult};
use crate::id::DatasetId;
use crate::seed::stream;
use crate::verify::{Check, Status, Verdict};
use crate::work::{
    BaseModel, BenchmarkResult, BenchmarkSample, FinishReason, Outcome, Payload, RolloutUsage, VerifyResult,
};

const DATASET: DatasetId = DatasetId(Uuid::from_u128(5));
const ROWS: u32 = 7;

fn row(row: u32) -> BenchmarkRow {
    BenchmarkRow {
        task_id: format!("gsm8k/{row}"),
        question: format!("What is {row}?"),
        canonical: None,
        oracle: Question::Math { gold: row.to_string() },
        tags: Default::default(),
    }
}

fn config(n: u32) -> RunConfig {
    let protocol = Protocol {
        prompts: "azr".to_owned(),
        temperature: if n > 1 { 0.8 } else { 0.0 },
        top_p: 1.0,
        max_tokens: 10,
        plain_notation: false,
    };
    let subject = |name: &str, role| BenchmarkSubject {
        name: name.to_owned(),
        role,
        run: None,
        member: None,
        step: None,
        base_model: BaseModel { name: "tiny".to_owned(), revision: None },
        adapter: None,
    };
    let slice = |suite: &str| SuiteSlice {
        suite: suite.to_owned(),
        name: None,
        dataset: DATASET,
        rows: ROWS,
        n: None,
        protocol: protocol.clone(),
    };
    let parameters = BenchmarkParameters {
        suites: vec![slice("gsm8k"), slice("math500")],
        subjects: vec![subject("base", SubjectRole::Base), subject("s0", SubjectRole::Student)],
        n,
        compute: Default::default(),
        samples_per_item: 6,
    };
    RunConfig {
        recipe: "evaluation/benchmark".to_owned(),
        seed: 3,
        parameters: serde_json::to_value(parameters).unwrap(),
        ..RunConfig::default()
    }
}

/// A model that answers every second sample right, but row 5 only once, and says nothing readable for row 3; and a grader that
/// compares.
fn perform(payload: &Payload) -> Outcome {
    match payload {
        Payload::Benchmark(payload) => {
            let samples = (payload.first..payload.first + payload.rows).flat_map(|row| {
                (0..payload.n).map(move |sample| BenchmarkSample {
                    row,
                    sample,
                    text: "words".to_owned(),
                    finish_reason: FinishReason::Stop,
                    tokens: 2,
                    solution: (row != 3).then(|| {
                        if sample % 2 == 0 && (row != 5 || sample == 0) { row.to_string() } else { "no".to_owned() }
                    }),
                    reading: None,
                    reason: (row == 3).then(|| "there is no answer in it".to_owned()),
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
                let bare = Verdict::bare(Some(task.id.clone()), Status::Ok, "");
                match &task.check {
                    Check::Math(pair) => Verdict { correct: Some(pair.gold == pair.answer), ..bare },
                    Check::Cluster(answers) => {
                        let first = |answer: &String| answers.iter().position(|other| other == answer);
                        Verdict {
                            clusters: Some(answers.iter().map(|answer| first(answer).map(|at| at as u32)).collect()),
                            ..bare
                        }
                    }
                    other => panic!("{other:?}"),
                }
            });
            Outcome::Verify(VerifyResult { verdicts: verdicts.collect() })
        }
        other => panic!("{other:?}"),
    }
}

/// Plays an evaluation, items ending in an order drawn from `order`, and gives its plans that ended a step.
fn play(planner: &dyn Planner, config: &RunConfig, order: u64) -> Vec<Plan> {
    let mut state = planner.begin(ExecutionId(Uuid::from_u128(1)), config).unwrap();
    let mut ends = Vec::new();
    let mut rng = stream(order, "order", 0);
    while !state.completed {
        let mut view = StepView::default();
        let mut open = Vec::new();
        loop {
            let plan = planner.plan(&state, &view).unwrap();
            if !plan.wants.is_empty() {
                for want in plan.wants {
                    let Want::Row(dataset, index) = want else { panic!("{want:?}") };
                    let value = serde_json::to_value(row(index)).unwrap();
                    assert!(view.rows.insert((dataset, index), DatasetRow(value)).is_none(), "{want:?} again");
                }
                continue;
            }
            for item in &plan.work {
                assert!(view.work.insert(item.key.clone(), WorkState::Open).is_none(), "{} again", item.key);
                open.push(item.clone());
            }
            if let Some(next) = plan.finish.clone() {
                state = next;
                ends.push(plan);
                break;
            }
            open.shuffle(&mut rng);
            let item = open.pop().expect("an open item");
            let outcome: Outcome =
                serde_json::from_value(serde_json::to_value(perform(&item.payload)).unwrap()).unwrap();
            view.work.insert(item.key, WorkState::Done(outcome));
        }
    }
    ends
}

#[test]
fn every_sample_is_counted_once_whatever_ends_first() {
    for n in [1, 4] {
        let config = BenchmarkEvaluation.resolve(config(n)).unwrap();
        let ends = play(&BenchmarkEvaluation, &config, 1);
        assert_eq!(ends.len(), 2, "a step a suite");
        for other in 2..6 {
            assert_eq!(play(&BenchmarkEvaluation, &config, other), ends, "order {other}");
        }
        let records = &ends[0].records;
        assert_eq!(records.benchmark_samples.len() as u32, 2 * ROWS * n);
        let result = &records.benchmark_results[1];
        assert_eq!((result.name.as_str(), result.suite.as_str()), ("s0", "gsm8k"));
        assert_eq!(result.score.samples, vec![n; ROWS as usize]);
        let mut right = vec![n.div_ceil(2); ROWS as usize];
        right[3] = 0;
        right[5] = 1;
        assert_eq!(result.score.correct, right);
        assert_eq!(result.protocol["prompts_sha256"], "hash");
        assert_eq!(result.base, None);
        let unread = records.benchmark_samples.iter().find(|record| record.sample.row == 3).unwrap();
        assert_eq!((unread.graded.correct, unread.graded.status), (false, Status::Malformed));
        let table = ends[1].result.as_ref().unwrap();
        assert_eq!(table["suites"], json!(["gsm8k", "math500"]));
        assert_eq!(ends[0].result, None);
    }
}

#[test]
fn a_suite_may_be_measured_twice_in_two_ways() {
    let mut config = config(1);
    let own =
        json!({"name": "goalposts", "n": 4, "protocol": {"prompts": "azr", "temperature": 0.6, "max_tokens": 10}});
    for (field, value) in own.as_object().unwrap() {
        config.parameters["suites"][1][field] = value.clone();
    }
    config.parameters["suites"][1]["suite"] = json!("gsm8k");
    let ends = play(&BenchmarkEvaluation, &BenchmarkEvaluation.resolve(config).unwrap(), 1);
    for (end, name, n) in [(&ends[0], "gsm8k", 1), (&ends[1], "goalposts", 4)] {
        let samples = &end.records.benchmark_samples;
        assert_eq!(samples.len() as u32, 2 * ROWS * n);
        assert!(samples.iter().all(|sample| sample.suite == name));
        for result in &end.records.benchmark_results {
            assert_eq!((result.suite.as_str(), result.n), (name, n));
            assert_eq!(result.protocol["n"], n);
        }
    }
    let protocol = |at: usize| &ends[at].records.benchmark_results[0].protocol;
    assert_eq!(protocol(0).get("suite"), None);
    assert_eq!(protocol(1)["suite"], "gsm8k", "what the name stands for");
    let table = ends[1].result.as_ref().unwrap();
    assert_eq!(table["suites"], json!(["gsm8k", "goalposts"]));
}

#[test]
fn a_result_of_other_rows_stops_the_evaluation() {
    let config = config(1);
    let state = BenchmarkEvaluation.begin(ExecutionId(Uuid::from_u128(1)), &config).unwrap();
    let mut view = StepView::default();
    let plan = BenchmarkEvaluation.plan(&state, &view).unwrap();
    assert_eq!(plan.work.len(), 4, "7 rows in items of 6, for two subjects");
    let mut outcome = perform(&plan.work[0].payload);
    if let Outcome::Benchmark(result) = &mut outcome {
        result.samples.pop();
    }
    view.work.insert(plan.work[0].key.clone(), WorkState::Done(outcome));
    let error = BenchmarkEvaluation.plan(&state, &view).unwrap_err().to_string();
    assert!(error.contains("0/generate/0/0: 5 samples that are not 1 of each row from 0 to 5"), "{error}");
}

#[test]
fn what_cannot_be_measured_is_refused_with_its_place() {
    let faulty = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut config = config(1);
        change(&mut config.parameters);
        BenchmarkEvaluation.resolve(config).unwrap_err().to_string()
    };
    let said = faulty(&|parameters| parameters["suites"] = json!([]));
    assert!(said.contains("/parameters/suites: there is no suite"), "{said}");
    let said = faulty(&|parameters| parameters["n"] = json!(3));
    assert!(said.contains("/parameters/suites/0: 3 samples at temperature 0"), "{said}");
    let said = faulty(&|parameters| parameters["suites"][1]["protocol"]["prompts"] = json!("seedling"));
    assert!(
        said.contains("/parameters/suites/1: the prompt style `seedling` has no prompt for problems of math"),
        "{said}"
    );
    let said = faulty(&|parameters| parameters["suites"][0]["suite"] = json!("gms8k"));
    assert!(said.contains("did you mean `gsm8k`?"), "{said}");
}

#[test]
fn the_majority_of_answers_is_counted_whatever_ends_first() {
    let config = MajorityVoteEvaluation.resolve(config(3)).unwrap();
    let ends = play(&MajorityVoteEvaluation, &config, 1);
    for other in 2..6 {
        assert_eq!(play(&MajorityVoteEvaluation, &config, other), ends, "order {other}");
    }
    assert_eq!(ends[0].records.benchmark_samples.len() as u32, 2 * ROWS * 3);
    let result = MajorityVoteResult::deserialize(ends[1].result.as_ref().unwrap()).unwrap();
    let [.., vote] = result.votes.as_slice() else { panic!("{result:?}") };
    assert_eq!((vote.subject.name.as_str(), vote.suite.as_str(), vote.rows, vote.n), ("s0", "math500", ROWS, 3));
    // Two of three answers are right to five rows, one to row 5, and none to row 3 can be read.
    let near = |value: f64, expected: f64| assert!((value - expected).abs() < 1e-12, "{value}, not {expected}");
    near(vote.majority, 5.0 / 7.0);
    near(vote.pass_at_1, (5.0 * 2.0 + 1.0) / 21.0);
    near(vote.agreement, 6.0 * 2.0 / 21.0);
    // The deviation of five ones and two zeros, by √7.
    near(vote.majority_error, (10.0_f64 / 7.0 / 6.0 / 7.0).sqrt());
}

#[test]
fn a_vote_needs_three_answers_in_mathematics() {
    let refused = |n, suite: &str| {
        let mut config = config(n);
        config.parameters["suites"][0]["suite"] = json!(suite);
        MajorityVoteEvaluation.resolve(config).unwrap_err().to_string()
    };
    assert!(refused(2, "gsm8k").contains("2 answers to a row"));
    assert!(refused(8, "humaneval").contains("/spec/suites/0"));
}
