//! A benchmark through the queue: the same result whatever is killed meanwhile, and no sample counted twice.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use lyceum_core::artifact::ArtifactKind;
use lyceum_core::benchmark::{BenchmarkRow, Protocol, Question, SubjectRole};
use lyceum_core::config::RunConfig;
use lyceum_core::dataset::Purpose;
use lyceum_core::evaluation::EvaluationSpec;
use lyceum_core::id::{DatasetId, ExecutionId, MemberId, PopulationId, VersionId};
use lyceum_core::recipe::{
    BenchmarkEvaluation, BenchmarkParameters, BenchmarkSubject, MemberRecord, Plan, Planner as _, PopulationRecord,
    Records, Role, SuiteSlice, VersionRecord,
};
use lyceum_core::work::{AdapterRef, BaseModel, Compute, LoraShape, Projection};
use lyceum_engine::peft::AdapterFiles;
use lyceum_store::datasets::{self, NewDataset};
use lyceum_store::evaluations;
use lyceum_store::evaluations::NewEvaluation;
use lyceum_store::plan::{ViewCache, carry_out, lock, wanted};
use lyceum_store::work::Sweeper;
use uuid::Uuid;

use crate::work::house::{House, RUN};

const ROWS: u32 = 12;

/// Time limit for an evaluation on a busy machine.
const PATIENCE: Duration = Duration::from_secs(600);

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/engine/tests/fixtures")
}

fn base_model() -> BaseModel {
    BaseModel { name: "qwen2-tied".to_owned(), revision: None }
}

async fn rows(house: &House) -> Result<DatasetId> {
    let rows = (0..ROWS).map(|row| {
        serde_json::to_value(BenchmarkRow {
            task_id: format!("gsm8k/{row}"),
            question: format!("{row}+1?"),
            canonical: None,
            oracle: Question::Math { gold: (row + 1).to_string() },
            tags: Default::default(),
        })
    });
    let rows = rows.collect::<Result<Vec<_>, _>>()?;
    let new = NewDataset {
        name: "rows",
        purpose: Purpose::Benchmark,
        suite: Some("gsm8k"),
        source: "",
        revision: None,
        rows: &rows,
    };
    let mut tx = house.store.pool().begin().await?;
    let made = datasets::create(&mut tx, &new).await?;
    tx.commit().await?;
    Ok(DatasetId(made.id))
}

/// A member of the house's run, with weights.
async fn member(house: &House) -> Result<(MemberId, AdapterRef)> {
    let folder = fixtures().join("adapters/qwen2-tied/all-0");
    let bytes = AdapterFiles::read(&folder)?.to_archive()?;
    let artifact = house.artifacts()?.put(ArtifactKind::Adapter, bytes).await?;
    let (population, member) = (PopulationId::of(RUN, "main"), MemberId::of(RUN, "student-0"));
    let version = VersionId::of(member, 0);
    let records = Records {
        populations: vec![PopulationRecord {
            id: population,
            name: "main".to_owned(),
            base_model: base_model(),
            lora: LoraShape { r: 4, lora_alpha: 8.0, target_modules: vec![Projection::Q], use_rslora: false },
        }],
        members: vec![MemberRecord {
            id: member,
            population,
            name: "student-0".to_owned(),
            roles: vec![Role::Student],
        }],
        versions: vec![VersionRecord {
            id: version,
            member,
            ordinal: 0,
            artifact,
            optimizer: None,
            learning_rate: None,
        }],
        ..Records::default()
    };
    let mut tx = house.store.pool().begin().await?;
    let locked = lock(&mut tx, RUN).await?.context("the run is not due")?;
    let plan = Plan { records, ..Plan::default() };
    carry_out(&mut tx, &locked, &plan, 0.0).await?;
    tx.commit().await?;
    let adapter = AdapterRef { version, artifact, optimizer: None };
    Ok((member, adapter))
}

/// Starts an evaluation of the base and the member, two rows per item.
async fn begin(house: &House, id: u128, dataset: DatasetId, member: (MemberId, AdapterRef)) -> Result<ExecutionId> {
    let subject = |name: &str, role, member, adapter: Option<AdapterRef>| BenchmarkSubject {
        name: name.to_owned(),
        role,
        run: Some(RUN),
        member,
        step: adapter.map(|_| 1),
        base_model: base_model(),
        adapter,
    };
    let parameters = BenchmarkParameters {
        suites: vec![SuiteSlice {
            suite: "gsm8k".to_owned(),
            name: None,
            n: None,
            dataset,
            rows: ROWS,
            protocol: Protocol {
                prompts: "completion".to_owned(),
                temperature: 1.0,
                top_p: 1.0,
                max_tokens: 24,
                plain_notation: false,
            },
        }],
        subjects: vec![
            subject("qwen2-tied", SubjectRole::Base, None, None),
            subject("student-0", SubjectRole::Student, Some(member.0), Some(member.1)),
        ],
        n: 2,
        compute: Compute { threads: Some(1), ..Compute::default() },
        samples_per_item: 4,
    };
    let config = BenchmarkEvaluation.resolve(RunConfig {
        recipe: BenchmarkEvaluation.name().to_owned(),
        seed: 11,
        parameters: serde_json::to_value(parameters)?,
        ..RunConfig::default()
    })?;
    let id = ExecutionId(Uuid::from_u128(id));
    let spec: EvaluationSpec = serde_json::from_value(serde_json::json!({"type": "benchmark", "suites": ["gsm8k"]}))?;
    let state = BenchmarkEvaluation.begin(id, &config)?;
    let mut tx = house.store.pool().begin().await?;
    let new = NewEvaluation { spec: &spec, run: Some(RUN), config: &config, state: &state, trace_id: None };
    evaluations::begin(&mut tx, &new).await?;
    tx.commit().await?;
    Ok(id)
}

/// Plans like the server's coordinator, from rows only; returns whether the evaluation is over.
async fn plan(house: &House, id: ExecutionId) -> Result<bool> {
    let mut tx = house.store.pool().begin().await?;
    let Some(locked) = lock(&mut tx, id).await? else {
        let state: String = sqlx::query_scalar("SELECT state FROM executions WHERE id = $1")
            .bind(id.0)
            .fetch_one(house.store.pool())
            .await?;
        ensure!(state != "failed", "the evaluation failed");
        return Ok(state == "completed");
    };
    let mut cache = ViewCache::default();
    cache.refresh(&mut tx, id, locked.state.step).await?;
    let state = lyceum_core::recipe::RunState { config: Arc::clone(&locked.state.config), ..locked.state.clone() };
    let plan = loop {
        let plan = BenchmarkEvaluation.plan(&state, &cache.view)?;
        if plan.wants.is_empty() {
            break plan;
        }
        wanted(&mut tx, &plan.wants, &mut cache.view).await?;
    };
    let carried = carry_out(&mut tx, &locked, &plan, 0.0).await?;
    tx.commit().await?;
    Ok(carried.completed)
}

async fn count(house: &House, query: &'static str, id: ExecutionId) -> Result<i64> {
    Ok(sqlx::query_scalar(query).bind(id.0).fetch_one(house.store.pool()).await?)
}

/// All stored data of an evaluation, without times.
async fn kept(house: &House, id: ExecutionId) -> Result<Vec<String>> {
    let mut rows: Vec<String> = Vec::new();
    for query in [
        "SELECT concat_ws('|', suite, subject, row, sample, task_id, text, solution, status, correct, tokens)
         FROM benchmark_samples WHERE evaluation_id = $1 ORDER BY suite, subject, row, sample",
        "SELECT concat_ws('|', suite, subject, name, role, samples, correct, pass_at_1, standard_error, completion_tokens, protocol)
         FROM benchmark_results WHERE evaluation_id = $1 ORDER BY suite, subject",
        "SELECT result::text FROM evaluations WHERE id = $1",
    ] {
        rows.extend(
            sqlx::query_scalar::<_, String>(query)
                .bind(id.0)
                .fetch_all(house.store.pool())
                .await?,
        );
    }
    Ok(rows)
}

/// Runs `id` with workers, two of which are killed in the middle of an item, one early and one later; `None` if it was
/// over before that.
async fn kill_twice(house: &House, id: ExecutionId, options: &[&str]) -> Result<Option<ExecutionId>> {
    let ended = "SELECT count(*) FROM work WHERE execution_id = $1 AND state = 'done'";
    let running = "SELECT count(*) FROM work WHERE execution_id = $1 AND state = 'running'";
    let give_up = Instant::now() + PATIENCE;
    let mut sweeper = Sweeper::every(Duration::from_secs(1));
    let mut kills = 0;
    let mut worker = house.worker(options)?;
    while !plan(house, id).await? {
        ensure!(Instant::now() < give_up, "the evaluation was not over in ten minutes");
        if kills < 2 && count(house, ended, id).await? > [1, 8][kills] && count(house, running, id).await? > 0 {
            worker.kill()?;
            worker = house.worker(options)?;
            kills += 1;
        }
        sweeper.sweep(house.store.pool()).await?;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok((kills == 2).then_some(id))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_killed_in_the_middle_changes_no_result() -> Result<()> {
    let house = House::new().await?;
    let models = fixtures().join("models").display().to_string();
    let options =
        ["--kinds", "benchmark,verify", "--models", &models, "--device", "cpu", "--jobs", "1", "--lease-seconds", "2"];
    let dataset = rows(&house).await?;
    let member = member(&house).await?;
    // On some machines the worker may finish before it is killed; then try again.
    let mut disturbed = None;
    for id in 100..110 {
        if let Some(id) = kill_twice(&house, begin(&house, id, dataset, member).await?, &options).await? {
            disturbed = Some(id);
            break;
        }
    }
    let disturbed = disturbed.context("the worker was never killed twice in the middle")?;

    let _worker = house.worker(&options)?;
    let give_up = Instant::now() + PATIENCE;
    let calm = begin(&house, 200, dataset, member).await?;
    while !plan(&house, calm).await? {
        ensure!(Instant::now() < give_up, "the evaluation was not over in ten minutes");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let same_texts = "SELECT count(*) FROM benchmark_samples a JOIN benchmark_samples b USING (evaluation_id, suite, row, sample, text)
        WHERE evaluation_id = $1 AND a.subject = 0 AND b.subject = 1";
    let samples = i64::from(2 * ROWS);
    assert!(count(&house, same_texts, calm).await? < samples, "the adapter says something else than its base");
    let (disturbed, calm) = (kept(&house, disturbed).await?, kept(&house, calm).await?);
    assert_eq!(disturbed, calm);
    assert_eq!(disturbed.len(), (2 * 2 * ROWS + 2 + 1) as usize, "each sample once, two results, one table");
    Ok(())
}
