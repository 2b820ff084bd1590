//! Benchmarks end to end: import, answers of a scripted model, the real sandbox, result rows and the table.

use anyhow::{Context as _, Result, bail, ensure};
use lyceum_core::benchmark::reader::{self, Window};
use lyceum_core::benchmark::{BenchmarkRow, Protocol, SubjectRole, suite};
use lyceum_core::config::RunConfig;
use lyceum_core::evaluation::EvaluationSpec;
use lyceum_core::id::{DatasetId, ExecutionId};
use lyceum_core::recipe::{
    BenchmarkEvaluation, BenchmarkParameters, BenchmarkSubject, Planner as _, Registry, SuiteSlice,
};
use lyceum_core::work::{
    BaseModel, BenchmarkPayload, BenchmarkResult, BenchmarkSample, FinishReason, RolloutUsage, WorkKind,
};
use lyceum_store::artifact::ArtifactStore;
use lyceum_store::evaluations::{self, NewEvaluation};
use lyceum_store::executions::State;
use lyceum_store::{Store, datasets};
use lyceum_system_tests::house::House;
use lyceum_system_tests::lab::Lab;
use lyceum_verifier::{Verifier, VerifierConfig};
use lyceum_worker::handler::{Context, Handler, HandlerError, Handlers};
use lyceum_worker::handlers::VerifyHandler;
use lyceum_worker::runtime::{Runtime, RuntimeSettings};
use serde_json::json;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use uuid::Uuid;

/// A model that knows every answer if its base is named `canonical`, and outputs nothing if it is named `silent`.
struct Scripted(Store);

impl Handler for Scripted {
    const KIND: WorkKind = WorkKind::Benchmark;
    type Payload = BenchmarkPayload;
    type Outcome = BenchmarkResult;

    async fn run(self: Arc<Self>, payload: BenchmarkPayload, _: Context) -> Result<BenchmarkResult, HandlerError> {
        let rows = datasets::slice(self.0.pool(), payload.dataset, payload.first, payload.rows).await?;
        let samples = (payload.first..).zip(rows).map(|(number, row)| {
            let row: BenchmarkRow = serde_json::from_value(row).map_err(HandlerError::permanent)?;
            let solution = match payload.base_model.name.as_str() {
                "canonical" => row.canonical.unwrap_or_default(),
                _ => String::new(),
            };
            Ok(BenchmarkSample {
                row: number,
                sample: 0,
                text: solution.clone(),
                finish_reason: FinishReason::Stop,
                tokens: 1,
                solution: Some(solution),
                reading: None,
                reason: None,
            })
        });
        Ok(BenchmarkResult {
            samples: samples.collect::<Result<_, HandlerError>>()?,
            prompts_sha256: String::new(),
            chat_template_sha256: None,
            surprisal: None,
            usage: RolloutUsage::default(),
        })
    }
}

/// Tasks of MBPP+ whose tests take most of the time; the verifier's own tests judge them.
const SLOW: [&str; 8] =
    ["Mbpp/123", "Mbpp/255", "Mbpp/271", "Mbpp/392", "Mbpp/592", "Mbpp/599", "Mbpp/603", "Mbpp/630"];

/// Imports a benchmark's original file, without the slow tasks.
async fn imported(house: &House, name: &str, file: &Path) -> Result<(DatasetId, u32)> {
    let bytes = std::fs::read(file)?;
    let read = reader::read(suite(name)?, &reader::unpacked(&bytes)?, &Window::default())?;
    let rows = read
        .rows
        .iter()
        .filter(|row| !SLOW.contains(&row.task_id.as_str()))
        .map(serde_json::to_value)
        .collect::<Result<Vec<_>, _>>()?;
    Ok((house.suite(name, &rows).await?, rows.len() as u32))
}

async fn begin(house: &House, suites: Vec<SuiteSlice>) -> Result<ExecutionId> {
    let subject = |name: &str| BenchmarkSubject {
        name: name.to_owned(),
        role: SubjectRole::Base,
        run: None,
        member: None,
        step: None,
        base_model: BaseModel { name: name.to_owned(), revision: None },
        adapter: None,
    };
    let names: Vec<&str> = suites.iter().map(|slice| slice.suite.as_str()).collect();
    let spec: EvaluationSpec = serde_json::from_value(json!({"type": "benchmark", "suites": names}))?;
    let parameters = BenchmarkParameters {
        subjects: vec![subject("canonical"), subject("silent")],
        n: 1,
        compute: Default::default(),
        samples_per_item: 32,
        suites,
    };
    let config = BenchmarkEvaluation.resolve(RunConfig {
        recipe: BenchmarkEvaluation.name().to_owned(),
        parameters: serde_json::to_value(parameters)?,
        ..RunConfig::default()
    })?;
    let id = ExecutionId(Uuid::from_u128(77));
    let state = BenchmarkEvaluation.begin(id, &config)?;
    let new = NewEvaluation { spec: &spec, run: None, config: &config, state: &state, trace_id: None };
    let mut tx = house.pool().begin().await?;
    evaluations::begin(&mut tx, &new).await?;
    tx.commit().await?;
    Ok(id)
}

#[tokio::test(flavor = "multi_thread")]
async fn canonical_solutions_are_all_right_and_empty_ones_all_wrong() -> Result<()> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    if !data.is_dir() {
        eprintln!("skipped: {} is not there", data.display());
        return Ok(());
    }
    let house = House::new().await?;
    let mut slices = Vec::new();
    for (name, file) in [("humaneval", "humaneval/HumanEval.jsonl.gz"), ("mbpp_plus", "mbpp_plus/MbppPlus.jsonl")] {
        let (dataset, rows) = imported(&house, name, &data.join(file)).await?;
        slices.push(SuiteSlice {
            suite: name.to_owned(),
            name: None,
            n: None,
            dataset,
            rows,
            protocol: Protocol {
                prompts: "azr".to_owned(),
                temperature: 0.0,
                top_p: 1.0,
                max_tokens: 1,
                plain_notation: false,
            },
        });
    }
    let id = begin(&house, slices).await?;
    let coordinator = house.coordinate(Registry::shipped())?;
    let verifier = tokio::task::spawn_blocking(|| Verifier::start(&VerifierConfig::default())).await??;
    let jobs = verifier.jobs();
    // Connections opened by handlers end with the runtime, but the house continues.
    let of_worker = house.store.apart();
    let handlers = Handlers::default().with(Scripted(of_worker.clone())).with(VerifyHandler::new(verifier, jobs));
    let artifacts = ArtifactStore::folder(&house.artifacts(), of_worker.pool().clone())?;
    let runtime = Runtime::start(&of_worker, artifacts, handlers, RuntimeSettings::default()).await?;
    let give_up = std::time::Instant::now() + std::time::Duration::from_secs(1200);
    let evaluation = loop {
        let evaluation = evaluations::find(house.pool(), id).await?;
        match evaluation.state {
            State::Completed => break evaluation,
            State::Failed => bail!("{}", evaluation.error.unwrap_or_default()),
            _ => ensure!(std::time::Instant::now() < give_up, "it was not over in twenty minutes"),
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    };
    runtime.drain().await;
    coordinator.stop().await;

    let misjudged: Vec<String> = sqlx::query_scalar(
        "SELECT concat_ws(' ', task_id, 'of subject', subject, status, reason) FROM benchmark_samples
         WHERE evaluation_id = $1 AND correct <> (subject = 0) ORDER BY suite, subject, row LIMIT 20",
    )
    .bind(id.0)
    .fetch_all(house.pool())
    .await?;
    assert!(misjudged.is_empty(), "judged wrong:\n{}", misjudged.join("\n"));
    let rows: Vec<(String, String, i64, i32, f64)> = sqlx::query_as(
        "SELECT suite, name, (SELECT sum(c) FROM unnest(correct) c), rows, pass_at_1 FROM benchmark_results
         WHERE evaluation_id = $1 ORDER BY suite, subject",
    )
    .bind(id.0)
    .fetch_all(house.pool())
    .await?;
    let row = |suite: &str, name: &str, right, rows, pass| (suite.to_owned(), name.to_owned(), right, rows, pass);
    assert_eq!(
        rows,
        [
            row("humaneval", "canonical", 164, 164, 1.0),
            row("humaneval", "silent", 0, 164, 0.0),
            row("mbpp_plus", "canonical", 370, 370, 1.0),
            row("mbpp_plus", "silent", 0, 370, 0.0),
        ]
    );
    let samples: i64 = sqlx::query_scalar("SELECT count(*) FROM benchmark_samples").fetch_one(house.pool()).await?;
    assert_eq!(samples, 2 * (164 + 370));
    let table = evaluation.result.context("an evaluation that is over has a table")?;
    assert_eq!(table["suites"], json!(["humaneval", "mbpp_plus"]));
    assert_eq!(table["rows"][0]["average"]["code"], 1.0);

    let lab = Lab::open(&house).await?;
    let page = lab.get(&format!("/evaluations/{id}.json")).await?;
    let results = page["results"].as_array().context("results")?;
    let shown: BTreeSet<_> = results
        .iter()
        .map(|one| format!("{} {} {} {}", one["suite"], one["name"], one["rows"], one["pass_at_1"]))
        .collect();
    let expected = rows
        .iter()
        .map(|(suite, name, _, rows, pass)| format!("{} {} {rows} {}", json!(suite), json!(name), json!(pass)));
    assert_eq!(shown, expected.collect(), "{page}");
    let failed = lab.get(&format!("/evaluations/{id}.json?subject=0&correct=false")).await?;
    assert_eq!(failed["items"], json!([]), "no canonical solution failed");
    lab.close().await;
    Ok(())
}

/// A self-play run of four steps measured every two, and its imported suites.
async fn scheduled(suites: &[&str]) -> Result<(House, ExecutionId)> {
    let house = House::new().await?;
    for suite in suites {
        let row = json!({"task_id": "gsm8k/0", "question": "?", "oracle": {"type": "math", "gold": "1"}});
        house.suite(suite, &[row]).await?;
    }
    let document = json!({
        "recipe": "azr",
        "seed": 7,
        "steps": 3,
        "populations": {"main": {
            "base_model": {"name": "tiny"},
            "lora": {"r": 4, "lora_alpha": 8.0, "target_modules": ["q_proj"]},
            "members": [{"roles": ["proposer", "solver"], "count": 1}],
        }},
        "parameters": {
            "prompts": {"set": "seedling"},
            "problems": {"references": 2, "num_inputs": 6, "pool_size": 64, "max_prompt_bytes": 368, "seeds": "seedling"},
            "sampling": {"propose": {"max_tokens": 100}, "solve": {"max_tokens": 100}},
            "archive": {"cells": 64}, "batch": 4, "difficulty_samples": 3,
        },
        "benchmarks": {"suites": ["gsm8k"], "every": 2, "n": 1},
        "scheduling": {"max_attempts": 100},
    });
    let mut server = house.server(env!("CARGO_BIN_EXE_scripted-server"))?;
    let worker =
        house.worker(env!("CARGO_BIN_EXE_scripted-worker"), &lyceum_system_tests::house::WorkerArguments::default())?;
    let run = house.begin_document(1, &document).await?;
    house.until_entries(6).await?;
    if !suites.is_empty() {
        house.until_measured(run).await?;
    }
    server.kill()?;
    for suite in suites {
        let row = json!({"task_id": "gsm8k/1", "question": "!", "oracle": {"type": "math", "gold": "2"}});
        house.suite_as("newer rows", suite, &[row]).await?;
    }
    server = house.server(env!("CARGO_BIN_EXE_scripted-server"))?;
    house.until_completed(run).await?;
    drop((server, worker));
    Ok((house, run))
}

#[tokio::test]
async fn a_run_is_measured_on_the_way_and_at_its_end_once_each() -> Result<()> {
    let (house, run) = scheduled(&["gsm8k"]).await?;
    let evaluations: Vec<(serde_json::Value, serde_json::Value)> = sqlx::query_as(
        "SELECT v.spec, e.config -> 'parameters' -> 'subjects' FROM evaluations v JOIN executions e USING (id)
         WHERE v.run_id = $1 ORDER BY e.seq",
    )
    .bind(run.0)
    .fetch_all(house.pool())
    .await?;
    let slices: Vec<serde_json::Value> = sqlx::query_scalar(
        "SELECT e.config #> '{parameters,suites}' FROM evaluations v JOIN executions e USING (id)
         WHERE v.run_id = $1 ORDER BY e.seq",
    )
    .bind(run.0)
    .fetch_all(house.pool())
    .await?;
    assert_eq!(slices[0], slices[1], "whatever was imported meanwhile");
    let steps: Vec<_> = evaluations.iter().map(|(spec, _)| &spec["step"]).collect();
    assert_eq!(steps, [2, 3]);
    for (spec, subjects) in &evaluations {
        let names: Vec<_> = subjects.as_array().into_iter().flatten().map(|subject| &subject["role"]).collect();
        assert_eq!(names, ["base", "member"]);
        assert_eq!(subjects[1]["step"], spec["step"]);
    }
    let versions: Vec<_> = evaluations.iter().map(|(_, subjects)| &subjects[1]["adapter"]["version"]).collect();
    assert_ne!(versions[0], versions[1], "each with the weights of then");
    Ok(())
}

#[tokio::test]
async fn rows_that_are_missing_hold_no_run_up() -> Result<()> {
    let (house, run) = scheduled(&[]).await?;
    let told: Vec<String> =
        sqlx::query_scalar("SELECT data ->> 'reason' FROM events WHERE execution_id = $1 AND kind = 'not_measured'")
            .bind(run.0)
            .fetch_all(house.pool())
            .await?;
    assert_eq!(told.len(), 2);
    assert!(told[0].contains("/benchmarks/suites/0") && told[0].contains("lyceum benchmark import gsm8k"), "{told:?}");
    Ok(())
}
