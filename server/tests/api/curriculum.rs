//! A run whose critic decides what joins its growing set: what the page, the API and a task's biography say is what the rows
//! say.

use lyceum_core::artifact::ArtifactKind;
use lyceum_core::id::{AttemptId, ExecutionId, MemberId, PopulationId, ProblemId, VersionId, WorkId};
use lyceum_core::recipe::{
    AttemptRecord, MemberRecord, MetricRecord, Plan, ProblemRecord, Recipe as _, Records, Role, SCORE_OF_PLAN,
    SCORE_OF_QUESTION, Sage, VersionRecord,
};
use lyceum_core::verify::{ProblemKind, Status};
use lyceum_core::work::WorkKey;
use lyceum_store::plan;
use lyceum_store::tokens::Scope;
use serde_json::{Value, json};

use crate::benchmarks::{imported, measured};
use crate::fixtures::population_record;
use crate::harness::{Actor, TestServer};
use crate::outline::assert_reads_like;
use crate::views::browser;

/// The challenges of each step: the critic's answer, if it was asked, the question, its stated answer, and whether it is
/// valid.
type Challenge = (Option<Option<&'static str>>, &'static str, &'static str, bool);

const CHALLENGES: [&[Challenge]; 2] = [
    &[
        (Some(Some("8")), "what is 1 + 2 ?", "3", true),
        (Some(Some("8/10")), "what is 1 + 2 ?", "4", true),
        (Some(Some("7")), "what is 2 + 2 ?", "4", true),
        (None, "", "", false),
    ],
    &[(Some(Some("10")), "<b>why</b>?\0", "3", true), (Some(None), "what is 3 + 2 ?", "6", true)],
];

async fn created(writer: &Actor, name: &str) -> ExecutionId {
    let rows: Vec<Value> = (0..4)
        .map(|number| {
            json!({"task_id": format!("sum/{name}/{number}"), "question": format!("{name}: {number} + 1?"),
                "oracle": {"type": "math", "gold": "1"}})
        })
        .collect();
    let dataset = json!({"name": name, "purpose": "training", "rows": rows});
    let sampling = json!({"max_tokens": 96});
    let dataset = writer.post("/api/v1/datasets", &dataset).await.expect(201).json();
    let body = json!({"name": name, "config": {
        "recipe": "sage", "steps": 4,
        "populations": {"main": {
            "base_model": {"name": "seedling"},
            "lora": {"r": 8, "lora_alpha": 16.0, "target_modules": ["q_proj"]},
            "members": [{"roles": ["challenger", "planner", "solver", "critic"], "count": 1}],
        }},
        "parameters": {
            "dataset": {"id": dataset["id"], "rows": 4}, "prompts": {"set": "seedling-math"}, "score_scale": "ten",
            "challenges": 4, "tasks": 2, "learning": {"optimizer": {"minibatches": 1}},
            "sampling": {"challenge": sampling, "plan": sampling, "solve": sampling, "critique": sampling},
        },
    }});
    let made = writer.post("/api/v1/runs", &body).await.expect(201).json();
    ExecutionId(made["id"].as_str().and_then(|id| id.parse().ok()).expect("an id"))
}

fn problem_of(run: ExecutionId, step: u32, index: u32) -> ProblemId {
    ProblemId::of(WorkId::of(run, &WorkKey::new(step, "challenge")), &index.to_string(), 0)
}

fn version(run: ExecutionId) -> (MemberId, VersionId) {
    let member = MemberId::of(run, "member-0");
    (member, VersionId::of(member, 0))
}

fn problem(run: ExecutionId, step: u32, index: u32, (_, question, answer, valid): Challenge) -> ProblemRecord {
    ProblemRecord {
        proposer: Some(version(run)),
        valid,
        values: json!({"question": question, "answer": answer}),
        ..ProblemRecord::new(problem_of(run, step, index), 4 + index, ProblemKind::Math)
    }
}

/// What the member said about a problem.
struct Said<'a> {
    role: Role,
    reason: &'a str,
    answer: Option<&'a str>,
    correct: bool,
    parts: Value,
}

fn attempts(run: ExecutionId, problem: (u32, u32), step: u32, said: &[Said<'_>]) -> Vec<AttemptRecord> {
    let work = WorkId::of(run, &WorkKey::new(step, "said"));
    let attempt = |(number, said): (u32, &Said<'_>)| AttemptRecord {
        id: AttemptId::of(work, &format!("{}/{}", problem.0, problem.1), number),
        problem: problem_of(run, problem.0, problem.1),
        solver: version(run),
        role: said.role,
        sample: number,
        text: said.answer.unwrap_or_default().to_owned(),
        answer: said.answer.map(str::to_owned),
        reading: None,
        well_formed: said.answer.is_some(),
        status: Status::Ok,
        reason: said.reason.to_owned(),
        correct: said.correct,
        reward: 0.5,
        reward_parts: said.parts.clone(),
        tokens: 3,
    };
    (0..).zip(said).map(attempt).collect()
}

fn metrics(known: &[(&str, f64)]) -> Vec<MetricRecord> {
    let value = |name: &str| {
        let found = known.iter().find(|(one, _)| *one == name);
        found.map_or(f64::NAN, |(_, value)| *value)
    };
    vec![MetricRecord {
        member: None,
        values: Sage.metric_names().into_iter().map(value).collect(),
        ..MetricRecord::default()
    }]
}

/// Plays the two steps of [`CHALLENGES`]; in the second one the first challenge is planned and solved.
async fn played(server: &TestServer, run: ExecutionId) {
    let artifact = server.artifacts.put(ArtifactKind::Adapter, b"weights".to_vec()).await.expect("an artifact");
    let (member, first) = version(run);
    let population = PopulationId::of(run, "main");
    let mut founding = Records {
        populations: vec![population_record(population)],
        members: vec![MemberRecord {
            id: member,
            population,
            name: "member-0".to_owned(),
            roles: vec![Role::Challenger, Role::Planner, Role::Solver, Role::Critic],
        }],
        versions: vec![VersionRecord { id: first, member, ordinal: 0, artifact, optimizer: None, learning_rate: None }],
        ..Records::default()
    };
    for (step, challenges) in (0..).zip(CHALLENGES) {
        let numbered: Vec<(u32, Challenge)> = (0..).zip(challenges.iter().copied()).collect();
        let format = || json!({"format": 1.0});
        let critiques = numbered.iter().filter_map(|(index, (answer, ..))| {
            let said = Said {
                role: Role::Critic,
                reason: SCORE_OF_QUESTION,
                answer: (*answer)?,
                correct: false,
                parts: format(),
            };
            Some(attempts(run, (step, *index), step, &[said]))
        });
        let mut said: Vec<AttemptRecord> = critiques.flatten().collect();
        if step == 1 {
            let row =
                |role, reason, answer, correct, parts| Said { role, reason, answer: Some(answer), correct, parts };
            said.extend(attempts(
                run,
                (0, 0),
                1,
                &[
                    row(Role::Planner, "", "<i>add</i>", false, json!({"quality": 0.4, "format": 0.5})),
                    row(Role::Critic, SCORE_OF_PLAN, "2", false, format()),
                    row(Role::Solver, "", "3", true, json!({"correct": 0.6, "plan": 0.0, "format": 0.2})),
                ],
            ));
        }
        let records = Records {
            problems: numbered.iter().map(|(index, one)| problem(run, step, *index, *one)).collect(),
            attempts: said,
            metrics: metrics(&[
                ("pool_size", 6.0 + f64::from(step)),
                ("question_score", 0.5 + f64::from(step) / 4.0),
                ("critic_auc", 0.75),
            ]),
            ..std::mem::take(&mut founding)
        };
        let mut tx = server.store.pool().begin().await.expect("a transaction");
        let locked = plan::lock(&mut tx, run).await.expect("a lock").expect("a due run");
        let mut plan = Plan { records, ..Plan::default() };
        plan::carry_out(&mut tx, &locked, &plan, 0.0).await.expect("a plan");
        plan = Plan { finish: Some(locked.state.next("", &json!({})).expect("a state")), ..Plan::default() };
        plan::carry_out(&mut tx, &locked, &plan, 0.0).await.expect("an end");
        tx.commit().await.expect("a commit");
    }
}

#[actix_web::test]
async fn proposals_are_counted_by_score_and_the_set_by_step() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let run = created(&writer, "counted").await;
    played(&server, run).await;
    let address = format!("/api/v1/runs/{run}/curriculum");
    let growth = writer.get(&address).await.expect(200).json();
    assert_eq!(growth["threshold"], 0.7);
    let sizes: Vec<&Value> = (0..2).map(|step| &growth["items"][step]["values"]["pool_size"]).collect();
    assert_eq!(sizes, [&json!(6.0), &json!(7.0)]);
    assert_eq!(growth["items"][1]["values"]["question_score"], 0.75);
    assert_eq!(growth["items"][1]["values"]["plan_score"], Value::Null);
    let csv = writer.get(&format!("{address}?format=csv&from=1")).await.expect(200).text();
    let lines: Vec<&str> = csv.lines().collect();
    assert!(lines[0].starts_with("step,width,pool_size,admitted_share,question_score"), "{csv}");
    assert_eq!(lines[1], "1,1,7,,0.75,,0.75,,");
    let counts = |scores: &Value, place: usize| -> Vec<u64> {
        let fields = ["proposed", "valid", "admitted", "known", "right"];
        let found = fields.iter().map(|field| scores["items"][place][field].as_u64().expect("a count"));
        found.collect()
    };
    let scores = writer.get(&format!("{address}/scores")).await.expect(200).json();
    assert_eq!((&scores["problems"], &scores["is_cut"]), (&json!(6), &json!(false)));
    assert_eq!(counts(&scores, 0), [1, 0, 0, 0, 0], "a proposal without a question");
    assert_eq!(counts(&scores, 7), [1, 1, 0, 1, 1], "7 is too low");
    assert_eq!(counts(&scores, 8), [2, 2, 2, 2, 1]);
    assert_eq!(counts(&scores, 10), [1, 1, 1, 0, 0], "nobody can tell whether it is right");
    assert_eq!(counts(&scores, 11), [1, 1, 0, 1, 0], "no number");
    // Right: 8 and 7; wrong: 8 and 0.5.
    assert_eq!(scores["auc"], 0.625);
    assert_eq!(scores["right_share"], 0.5);
    let late = writer.get(&format!("{address}/scores?from=1&to=1")).await.expect(200).json();
    assert_eq!((&late["problems"], &counts(&late, 8)[0]), (&json!(2), &0));
    let csv = writer.get(&format!("{address}/scores?format=csv")).await.expect(200).text();
    assert_eq!(csv.lines().count(), 13, "{csv}");
    assert!(csv.contains("number,0.7777777777777778,2,2,2,2,1,0.5,"), "{csv}");
    server.stop().await;
}

#[actix_web::test]
async fn the_page_shows_what_there_is_and_says_what_is_missing() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let new = created(&writer, "new").await;
    let run = created(&writer, "played").await;
    played(&server, run).await;
    let page = |address: String| {
        let reader = browser(&writer);
        async move { reader.get(&address).await }
    };
    let growth = async |address: String| writer.get(&address).await.expect(200).json()["growth"].clone();
    let empty = growth(format!("/runs/{new}/curriculum.json")).await;
    assert_eq!(empty["items"], json!([]));
    let html = page(format!("/runs/{run}/curriculum")).await.expect(200).text();
    assert_reads_like("curriculum.without-validation", &html);
    let own = growth(format!("/runs/{run}/curriculum.json")).await;
    assert_eq!(own["validation"], json!([]));
    let fault = page(format!("/runs/{run}/curriculum?suite=gsm8k")).await.expect(400).text();
    assert!(fault.contains("nor on any other suite"), "{fault}");
    let late = growth(format!("/runs/{run}/curriculum.json?from=3")).await;
    assert_eq!(late["items"], json!([]));

    imported(&writer).await;
    let spec = json!({"spec": {"type": "benchmark", "suites": ["gsm8k"], "run": run}});
    let made = writer.post("/api/v1/evaluations", &spec).await.expect(201).json();
    let evaluation = ExecutionId(made["id"].as_str().and_then(|id| id.parse().ok()).expect("an id"));
    measured(&server, evaluation).await;
    let json = writer.get(&format!("/runs/{run}/curriculum.json")).await.expect(200).json();
    let validation = &json["growth"]["validation"][0];
    assert_eq!((&validation["suite"], &validation["members"]), (&json!("gsm8k"), &json!(1)));
    let html = page(format!("/runs/{run}/curriculum")).await.expect(200).text();
    assert_reads_like("curriculum.with-validation", &html);
    let fault = page(format!("/runs/{run}/curriculum?suite=aime24")).await.expect(400).text();
    assert!(fault.contains("valid: gsm8k"), "{fault}");
    server.stop().await;
}

#[actix_web::test]
async fn a_task_s_biography_has_its_critique_and_each_time_that_it_was_planned() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let run = created(&writer, "told").await;
    played(&server, run).await;
    let page = |step, index| {
        let (reader, problem) = (browser(&writer), problem_of(run, step, index));
        async move { reader.get(&format!("/runs/{run}/problems/{problem}")).await.expect(200).text() }
    };
    let html = page(0, 0).await;
    assert_reads_like("problem.with-critiques-and-plans", &html);
    assert!(!html.contains("<i>add</i>"));
    assert_reads_like("problem.with-a-wrong-stated-answer", &page(0, 1).await);
    let hostile = page(1, 0).await;
    assert!(hostile.contains("&#60;b&#62;why") && !hostile.contains("<b>why"), "{hostile}");
    server.stop().await;
}
