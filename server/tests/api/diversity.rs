//! How much the questions of iterations differ: what the page and the API say is what the rows say.

use lyceum_core::artifact::{ArtifactKind, Digest};
use lyceum_core::diversity::PHASE;
use lyceum_core::id::{ExecutionId, ProblemId, WorkId};
use lyceum_core::recipe::{MetricRecord, Plan, ProblemRecord, RZero, Recipe as _, Records, WorkItem};
use lyceum_core::verify::ProblemKind;
use lyceum_core::work::{Payload, Requirements, VerifyPayload, WorkKey};
use lyceum_store::artifact::Vectors;
use lyceum_store::plan;
use lyceum_store::tokens::Scope;
use serde_json::{Value, json};

use crate::harness::{Actor, TestServer};
use crate::outline::{assert_reads_like, attributes};
use crate::views::browser;

/// The questions of each iteration's curriculum; the last of each is not valid.
const QUESTIONS: [[&str; 5]; 2] = [
    ["what is 1 + 2 ?", "what is 30 + 4.5 ?", "tom has 3 apples", "what is 7 + 7 ?", "no answer to this"],
    ["what is 1 + 2 ?", "<b>bold</b> 5 - 2", "tom has 9 apples", "sum 4 and 5", "no answer to this"],
];
/// Steps of an iteration: proposers, curriculum, solvers, diversity.
const WIDTH: u32 = 4;

/// A run of R-Zero of two iterations.
pub(crate) fn document(name: &str) -> Value {
    let members = json!([{"roles": ["proposer"], "count": 1}, {"roles": ["solver"], "count": 1}]);
    let (sampling, learning) = (json!({"max_tokens": 96}), json!({"optimizer": {"minibatches": 1}}));
    json!({"name": name, "config": {
        "recipe": "rzero",
        "populations": {"main": {
            "base_model": {"name": "seedling"},
            "lora": {"r": 8, "lora_alpha": 16.0, "target_modules": ["q_proj"]},
            "members": members,
        }},
        "parameters": {
            "iterations": 2, "prompts": {"set": "seedling-math"},
            "proposer": {"steps": 1, "prompts": 4, "sampling": sampling, "learning": learning},
            "curriculum": {"questions": 5, "sampling": sampling},
            "vote": {"sampling": sampling},
            "solver": {"steps": 1, "questions": 4, "sampling": sampling, "learning": learning},
        },
    }})
}

fn problem_of(run: ExecutionId, step: u32, index: u32) -> ProblemId {
    ProblemId::of(WorkId::of(run, &WorkKey::new(step, "propose")), &index.to_string(), 0)
}

fn problem(run: ExecutionId, step: u32, index: u32, question: &str) -> ProblemRecord {
    ProblemRecord {
        valid: index < 4,
        values: json!({"question": question, "answer": "1\u{0}"}),
        ..ProblemRecord::new(problem_of(run, step, index), index, ProblemKind::Math)
    }
}

/// The run's values, with those of `known` and none of the others.
fn metrics(known: &[(&str, f64)]) -> Vec<MetricRecord> {
    let value = |name: &str| known.iter().find(|(one, _)| *one == name).map_or(f64::NAN, |(_, value)| *value);
    vec![MetricRecord {
        member: None,
        values: RZero.metric_names().into_iter().map(value).collect(),
        ..MetricRecord::default()
    }]
}

/// The embeddings of an iteration: unit vectors at these angles in degrees.
fn vectors(angles: [f32; 4]) -> Vec<u8> {
    let rows = angles.map(|angle| vec![angle.to_radians().cos(), angle.to_radians().sin()]);
    Vectors::new(rows.into(), 2).to_bytes().expect("a file")
}

/// Carries out a step with these records.
async fn stepped(server: &TestServer, run: ExecutionId, records: Records, embedded: Option<Digest>) {
    let mut tx = server.store.pool().begin().await.expect("a transaction");
    let locked = plan::lock(&mut tx, run).await.expect("a lock").expect("a due run");
    let step = locked.state.step;
    let item = WorkItem {
        key: WorkKey::new(step, PHASE),
        payload: Payload::Verify(VerifyPayload::default()),
        requirements: Requirements::default(),
    };
    let mut plan = Plan { records, work: embedded.map(|_| item).into_iter().collect(), ..Plan::default() };
    plan::carry_out(&mut tx, &locked, &plan, 0.0).await.expect("a plan");
    if let Some(digest) = embedded {
        sqlx::query(
            "UPDATE work SET state = 'done', result = $2, finished_at = now() WHERE execution_id = $1 AND step = $3",
        )
        .bind(run.0)
        .bind(json!({"rollout": {"embedded": {"vectors": digest.to_string()}}}))
        .bind(step.cast_signed())
        .execute(&mut *tx)
        .await
        .expect("a result");
    }
    plan = Plan { finish: Some(locked.state.next("", &json!({})).expect("a state")), ..Plan::default() };
    plan::carry_out(&mut tx, &locked, &plan, 0.0).await.expect("an end");
    tx.commit().await.expect("a commit");
}

/// A run that has played `iterations` iterations, the second of which did not measure in full if it is the last step.
async fn played(server: &TestServer, writer: &Actor, name: &str, iterations: usize) -> ExecutionId {
    let made = writer.post("/api/v1/runs", &document(name)).await.expect(201).json();
    let run = ExecutionId(made["id"].as_str().and_then(|id| id.parse().ok()).expect("an id"));
    for (iteration, questions) in QUESTIONS.iter().enumerate().take(iterations) {
        let (first, number) = (iteration as u32 * WIDTH, iteration as f64);
        let proposed = vec![problem(run, first, 0, "what is 1 + 2 ?")];
        let asked = (0..).zip(questions).map(|(index, text)| problem(run, first + 1, index, text));
        let steps: [(Vec<ProblemRecord>, Vec<MetricRecord>); 4] = [
            (proposed, metrics(&[("proposer_entropy", 1.0 + number), ("proposer_reward", 0.5)])),
            (asked.collect(), metrics(&[("proposer_entropy", 3.0 + number), ("valid_questions", 4.0)])),
            (Vec::new(), metrics(&[("pass_rate", 0.5)])),
            (Vec::new(), metrics(&[("self_bleu", 0.5 - number / 4.0), ("vendi", 2.0 + number)])),
        ];
        for (place, (problems, metrics)) in steps.into_iter().enumerate() {
            let embedded = match place {
                3 => {
                    let bytes = vectors([[0.0, 10.0, 90.0, 30.0], [5.0, 80.0, 90.0, 40.0]][iteration]);
                    Some(server.artifacts.put(ArtifactKind::Embeddings, bytes).await.expect("an artifact"))
                }
                _ => None,
            };
            let records = Records { problems, metrics, ..Records::default() };
            stepped(server, run, records, embedded).await;
        }
    }
    run
}

#[actix_web::test]
async fn iterations_have_the_means_of_their_steps() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let run = played(&server, &writer, "diverse", 2).await;
    let body = writer.get(&format!("/api/v1/runs/{run}/diversity")).await.expect(200).json();
    assert_eq!(body["steps_per_iteration"], json!(WIDTH));
    let of = |name: &str| -> Vec<Value> {
        let all = body["iterations"].as_array().expect("iterations").iter();
        all.map(|iteration| iteration["values"][name].clone()).collect()
    };
    assert_eq!(of("self_bleu"), [json!(0.5), json!(0.25)]);
    assert_eq!(of("proposer_entropy"), [json!(2.0), json!(3.0)], "of the steps with a value");
    assert_eq!(of("novelty"), [Value::Null, Value::Null]);
    assert_eq!(body["iterations"][1]["measured_in"], json!(7));
    assert!(body["iterations"][0]["values"]["pass_rate"].is_null(), "not about diversity");
    server.stop().await;
}

#[actix_web::test]
async fn wordings_and_neighbours_are_those_of_the_iteration() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let run = played(&server, &writer, "diverse", 2).await;
    let wordings = |iteration: u32| {
        let (writer, address) =
            (writer.clone(), format!("/api/v1/runs/{run}/diversity/wordings?iteration={iteration}"));
        async move { writer.get(&address).await }
    };
    let first = wordings(1).await.expect(200).json();
    assert_eq!((&first["questions"], &first["different"]), (&json!(4), &json!(2)));
    assert_eq!(first["items"][0]["wording"], json!("what is # + # ?"));
    assert_eq!(first["items"][0]["questions"], json!(3));
    assert_eq!(wordings(2).await.expect(200).json()["different"], json!(4));
    let fault = wordings(3).await.expect(400).text();
    assert!(fault.contains("valid: 1, 2"), "{fault}");
    let neighbours = |step: u32, index: u32, query: &str| {
        let problem = problem_of(run, step, index);
        let (writer, address) = (writer.clone(), format!("/api/v1/runs/{run}/problems/{problem}/neighbours{query}"));
        async move { writer.get(&address).await }
    };
    let indices = |body: &Value| -> Vec<u64> {
        let items = body["items"].as_array().expect("items").iter();
        items.filter_map(|item| item["index"].as_u64()).collect()
    };
    let own = neighbours(1, 0, "").await.expect(200).json();
    assert_eq!((own["by"].as_str(), indices(&own)), (Some("embedding"), vec![1, 3, 2]));
    let cosine = own["items"][0]["similarity"].as_f64().expect("a cosine");
    assert!((cosine - 10f64.to_radians().cos()).abs() < 1e-6, "{cosine}");
    let other = neighbours(1, 0, "?iteration=2&limit=2").await.expect(200).json();
    assert_eq!((other["iteration"].as_u64(), indices(&other)), (Some(2), vec![0, 3]));
    // The proposers' stage is not embedded, so its questions are compared by wording.
    let by_wording = neighbours(4, 0, "?iteration=1").await.expect(200).json();
    assert_eq!(by_wording["by"], json!("wording"));
    assert_eq!(indices(&by_wording)[..2], [0, 1]);
    assert!(by_wording["items"][0]["similarity"].is_null());
    sqlx::query("UPDATE artifacts SET removed_at = now()")
        .execute(server.store.pool())
        .await
        .expect("removed embeddings");
    assert_eq!(neighbours(1, 0, "").await.expect(200).json()["by"], json!("wording"));
    let fault = neighbours(1, 4, "").await.expect(400).text();
    assert!(fault.contains("no question to compare"), "{fault}");
    server.stop().await;
}

#[actix_web::test]
async fn a_page_shows_one_run_or_two_and_says_why_it_is_empty() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let run = played(&server, &writer, "diverse", 2).await;
    let other = played(&server, &writer, "collapsed", 1).await;
    let new = played(&server, &writer, "new", 0).await;
    let page = |address: String| {
        let reader = browser(&writer);
        async move { reader.get(&address).await }
    };
    let html = page(format!("/runs/{run}/diversity")).await.expect(200).text();
    assert_reads_like("diversity.of-one-run", &html);
    assert!(html.contains("&#60;b&#62;bold") && !html.contains("<b>bold"));
    let question = problem_of(run, 5, 1);
    let html =
        page(format!("/runs/{run}/diversity?question={question}&iteration=2&with={other}")).await.expect(200).text();
    assert_reads_like("diversity.of-two-runs", &html);
    let problem = page(format!("/runs/{run}/problems/{question}")).await.expect(200).text();
    let neighbours = format!("/runs/{run}/diversity?question={question}#neighbours");
    assert!(attributes(&problem, "href").contains(&neighbours), "{problem}");
    let empty = writer.get(&format!("/runs/{new}/diversity.json")).await.expect(200).json();
    let own = &empty["sides"][0];
    assert_eq!((&own["wordings"]["questions"], &own["steps_per_iteration"]), (&json!(0), &json!(WIDTH)));
    page(format!("/runs/{run}/diversity?iteration=9")).await.expect(400);
    page(format!("/runs/{run}/diversity?with={}", uuid::Uuid::nil())).await.expect(404);
    server.stop().await;
}
