//! The worker as it is shipped, on a real queue.

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

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn plan(store: &Store, payload: Payload) -> Result<()> {
    let config = RunConfig {
        recipe: "by hand".to_owned(),
        steps: 1,
        ..RunConfig::default()
    };
    let state = RunState {
        run: ExecutionId(Uuid::from_u128(1)),
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
    let item = WorkItem {
        key: WorkKey::new(0, "check"),
        payload,
        requirements: Requirements::default(),
    };
    carry_out(
        &mut tx,
        &locked,
        &Plan {
            work: vec![item],
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
    plan(&store, Payload::Verify(VerifyPayload { tasks })).await?;

    let artifacts = tempfile::tempdir()?;
    let child = Command::new(env!("CARGO_BIN_EXE_lyceum-worker"))
        .args([
            "work",
            "--database",
            database.url(),
            "--kinds",
            "verify",
            "--jobs",
            "1",
            "--artifacts",
        ])
        .arg(artifacts.path())
        .stdin(Stdio::null())
        .spawn()?;
    let mut worker = Worker(child);
    let give_up = Instant::now() + Duration::from_secs(120);
    let result: VerifyResult = loop {
        let result: Option<Option<serde_json::Value>> =
            sqlx::query_scalar("SELECT result FROM work WHERE state = 'done'")
                .fetch_optional(store.pool())
                .await?;
        if let Some(result) = result.flatten() {
            break serde_json::from_value(result["verify"].clone())?;
        }
        ensure!(worker.0.try_wait()?.is_none(), "the worker has ended");
        ensure!(Instant::now() < give_up, "nothing was judged in two minutes");
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
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
