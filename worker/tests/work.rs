//! The worker as it is shipped, on a real queue.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use lyceum_core::config::RunConfig;
use lyceum_core::id::ExecutionId;
use lyceum_core::recipe::{Plan, RunState, WorkItem};
use lyceum_core::verify::{Check, MathPair, ProblemType, Proposal, Task};
use lyceum_core::work::{Payload, Requirements, VerifyPayload, VerifyResult, WorkKey};
use lyceum_postgres::TestCluster;
use lyceum_store::Store;
use lyceum_store::execution::{NewRun, begin_run};
use lyceum_store::plan::{carry_out, lock};
use uuid::Uuid;

struct Worker(Child);

impl Worker {
    fn start(database: &str, artifacts: &Path, kinds: &str) -> Result<Self> {
        let child = Command::new(env!("CARGO_BIN_EXE_lyceum-worker"))
            .args([
                "work",
                "--database",
                database,
                "--kinds",
                kinds,
                "--jobs",
                "1",
                "--artifacts",
            ])
            .arg(artifacts)
            .stdin(Stdio::null())
            .spawn()?;
        Ok(Self(child))
    }

    /// The results of a run's items in the order of their chunks, once `count` are there.
    async fn results(&mut self, store: &Store, run: u128, count: usize) -> Result<Vec<serde_json::Value>> {
        let give_up = Instant::now() + Duration::from_secs(120);
        loop {
            let results: Vec<serde_json::Value> =
                sqlx::query_scalar("SELECT result FROM work WHERE execution_id = $1 AND state = 'done' ORDER BY chunk")
                    .bind(Uuid::from_u128(run))
                    .fetch_all(store.pool())
                    .await?;
            if results.len() >= count {
                return Ok(results);
            }
            let failed: Option<serde_json::Value> = sqlx::query_scalar(
                "SELECT to_jsonb(w) FROM work w WHERE execution_id = $1 AND state = 'failed' LIMIT 1",
            )
            .bind(Uuid::from_u128(run))
            .fetch_optional(store.pool())
            .await?;
            ensure!(failed.is_none(), "an item failed: {failed:?}");
            ensure!(self.0.try_wait()?.is_none(), "the worker has ended");
            ensure!(
                Instant::now() < give_up,
                "{} of {count} items ended in two minutes",
                results.len()
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Begins a run whose step has these items, one a chunk.
async fn plan(store: &Store, run: u128, payloads: Vec<Payload>) -> Result<()> {
    let config = RunConfig {
        recipe: "by hand".to_owned(),
        steps: 1,
        ..RunConfig::default()
    };
    let state = RunState {
        run: ExecutionId(Uuid::from_u128(run)),
        config: Arc::new(config.clone()),
        step: 0,
        stage: String::new(),
        completed: false,
        artifacts: Vec::new(),
        memory_version: 1,
        memory: serde_json::Value::Null,
    };
    let new = NewRun {
        name: "by hand",
        experiment: None,
        preset: None,
        tags: &[],
        note: "",
        config: &config,
        state: &state,
        metrics: &[],
        trace_id: None,
        forked_from: None,
    };
    let mut tx = store.pool().begin().await?;
    begin_run(&mut tx, &new).await?;
    let Some(locked) = lock(&mut tx, state.run).await? else {
        bail!("the new run is not due")
    };
    let item = |(chunk, payload)| WorkItem {
        key: WorkKey::new(0, "check").chunk(chunk),
        payload,
        requirements: Requirements::default(),
    };
    let work = (0..).zip(payloads).map(item).collect();
    carry_out(
        &mut tx,
        &locked,
        &Plan {
            work,
            ..Plan::default()
        },
        0.0,
    )
    .await?;
    tx.commit().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_shipped_worker_judges_what_the_queue_holds_and_signs_off() -> Result<()> {
    let database = TestCluster::shared().await?.database().await?;
    let store = Store::connect(database.url(), 4).await?;
    store.migrate().await?;
    let proposal = |id: &str, program: &str| Task {
        id: id.to_owned(),
        check: Check::Propose(Proposal::Io {
            problem: ProblemType::CodeO,
            program: program.to_owned(),
            input: "3".to_owned(),
        }),
    };
    let number = Task {
        id: "number".to_owned(),
        check: Check::Math(MathPair {
            gold: "0.5".to_owned(),
            answer: "\\frac{1}{2}".to_owned(),
        }),
    };
    let tasks = vec![
        proposal("good", "def f(x):\n    return x + 1"),
        proposal("bad", "def f(x):\n    return y"),
        number,
    ];
    plan(&store, 1, vec![Payload::Verify(VerifyPayload { tasks })]).await?;

    let artifacts = tempfile::tempdir()?;
    let mut worker = Worker::start(database.url(), artifacts.path(), "verify")?;
    let results = worker.results(&store, 1, 1).await?;
    let result: VerifyResult = serde_json::from_value(results[0]["verify"].clone())?;
    let [good, bad, number] = &result.verdicts[..] else {
        bail!("not three verdicts: {result:?}")
    };
    assert_eq!(
        (good.valid, good.output.as_deref()),
        (Some(true), Some("4")),
        "{good:?}"
    );
    assert_eq!(bad.valid, Some(false), "{bad:?}");
    assert_eq!(number.correct, Some(true), "{number:?}");

    ensure!(
        Command::new("kill").arg(worker.0.id().to_string()).status()?.success(),
        "cannot signal the worker"
    );
    assert!(worker.0.wait()?.success());
    let state: String = sqlx::query_scalar("SELECT state FROM workers")
        .fetch_one(store.pool())
        .await?;
    assert_eq!(state, "stopped");
    Ok(())
}

#[cfg(feature = "engine")]
mod evolution {
    use super::*;
    use lyceum_core::artifact::Digest;
    use lyceum_core::id::VersionId;
    use lyceum_core::work::{AdapterRef, BaseModel, EvolvePayload, EvolveResult, LoraShape};
    use lyceum_engine::evolve::{Birth, Parent};
    use lyceum_engine::peft::AdapterFiles;
    use lyceum_store::artifact::ArtifactStore;

    fn payload(operator: &str, parents: &[EvolveResult], seed: u64, to: u128) -> Payload {
        let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/engine/tests/fixtures/models/qwen2-tied");
        Payload::Evolve(EvolvePayload {
            base_model: BaseModel {
                name: model.display().to_string(),
                revision: None,
            },
            lora: LoraShape {
                r: 4,
                lora_alpha: 8.0,
                target_modules: vec!["q_proj".to_owned(), "v_proj".to_owned()],
                use_rslora: false,
            },
            operator: operator.to_owned(),
            parameters: Default::default(),
            parents: parents.iter().map(|parent| parent.version).collect(),
            seed,
            to: VersionId(Uuid::from_u128(to)),
        })
    }

    fn evolved(results: &[serde_json::Value]) -> Result<Vec<EvolveResult>> {
        let read = |result: &serde_json::Value| Ok(serde_json::from_value(result["evolve"].clone())?);
        results.iter().map(read).collect()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn generations_are_born_from_the_queue_as_by_hand() -> Result<()> {
        let database = TestCluster::shared().await?.database().await?;
        let store = Store::connect(database.url(), 4).await?;
        store.migrate().await?;
        let folder = tempfile::tempdir()?;
        let artifacts = ArtifactStore::folder(folder.path(), store.pool().clone())?;
        let mut worker = Worker::start(database.url(), folder.path(), "evolve")?;

        plan(
            &store,
            1,
            vec![payload("init", &[], 1, 11), payload("init", &[], 2, 12)],
        )
        .await?;
        let founders = evolved(&worker.results(&store, 1, 2).await?)?;
        assert_eq!(founders[1].version.version, VersionId(Uuid::from_u128(12)));
        assert_ne!(founders[0].version.artifact, founders[1].version.artifact);

        plan(
            &store,
            2,
            vec![
                payload("M4", &founders[..1], 3, 21),
                payload("M4", &founders[1..], 4, 22),
            ],
        )
        .await?;
        let parents = evolved(&worker.results(&store, 2, 2).await?)?;
        assert!(
            parents[0].notes[0].contains("scale of a fresh A"),
            "{:?}",
            parents[0].notes
        );

        let births = vec![
            payload("copy_parent", &parents[..1], 5, 31),
            payload("X3", &parents, 6, 32),
            payload("X3", &parents, 6, 33),
        ];
        plan(&store, 3, births).await?;
        let children = evolved(&worker.results(&store, 3, 3).await?)?;
        assert_eq!(children[0].version.artifact, parents[0].version.artifact);
        assert_eq!(
            children[1].version.artifact, children[2].version.artifact,
            "a birth replays to the same bytes"
        );

        let files = async |version: AdapterRef| -> Result<AdapterFiles> {
            let bytes = artifacts.get(version.artifact).await?;
            assert_eq!(Digest::of(&bytes), version.artifact);
            Ok(AdapterFiles::from_archive("adapter", &bytes)?)
        };
        let mut opened = Vec::new();
        for parent in &parents {
            opened.push(Parent::from_files("parent", files(parent.version).await?)?);
        }
        let (by_hand, _) = Birth::new("X3", &Default::default(), opened, 6)?.make_files()?;
        assert_eq!(files(children[1].version).await?, by_hand);
        Ok(())
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_cannot_be_born_fails_with_its_reason() -> Result<()> {
        let database = TestCluster::shared().await?.database().await?;
        let store = Store::connect(database.url(), 4).await?;
        store.migrate().await?;
        let folder = tempfile::tempdir()?;
        let mut worker = Worker::start(database.url(), folder.path(), "evolve")?;
        plan(&store, 1, vec![payload("X9", &[], 1, 11)]).await?;
        let said = worker.results(&store, 1, 1).await.unwrap_err().to_string();
        assert!(said.contains("operator X9 takes 2 parents; 0 were given"), "{said}");
        Ok(())
    }
}
