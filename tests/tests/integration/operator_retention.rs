//! Operator retention on the real engine and sandbox: a copy of a parent is the parent, a fresh adapter is the base, and a kill
//! changes nothing.

use anyhow::{Context as _, Result, ensure};
use lyceum_core::id::ExecutionId;
use lyceum_core::retention::RetentionResult;
use lyceum_system_tests::house::{House, WorkerArguments, until};
use lyceum_system_tests::lab::Lab;
use serde_json::{Value, json};
use std::path::Path;

/// Steps of the parents' run.
const STEPS: u32 = 6;
/// Rows of each task.
const ROWS: usize = 8;

/// Two solvers that learn a slice each.
fn document() -> Value {
    json!({
        "recipe": "rlvr",
        "seed": 3,
        "steps": STEPS,
        "compute": {"threads": 1},
        "populations": {"main": {
            "base_model": {"name": "seedling"},
            "lora": {"r": 4, "lora_alpha": 8.0, "target_modules": ["q_proj", "v_proj", "down_proj"]},
            "members": [{"roles": ["solver"], "count": 2}],
        }},
        "parameters": {
            "prompts": "seedling",
            "slices": true,
            "batch": 6,
            "n": 4,
            "sampling": {"max_tokens": 24},
            "learning": {"micro_batch_tokens": 4096, "recompute": false, "optimizer": {"learning_rate": 5e-3}},
            "items": {"solve": 4},
        },
        "scheduling": {"max_attempts": 100},
    })
}

/// Additions, which the seedling sometimes solves, and inputs of additions.
fn rows() -> Vec<Value> {
    let row = |number: usize| {
        let program = format!("def f(a):\n return a+{number}");
        let oracle = match number < ROWS {
            true => json!({"type": "code_o", "program": program, "input": "1"}),
            false => json!({"type": "code_i", "program": program, "output": (number + 2).to_string()}),
        };
        json!({"task_id": format!("sum/{number}"), "question": format!("sum {number}"), "canonical": "1", "oracle": oracle})
    };
    (0..2 * ROWS).map(row).collect()
}

/// The rows of the parents' run that an evaluation must not touch.
async fn remains(house: &House, run: ExecutionId) -> Result<Vec<String>> {
    let rows = house.remains(run).await?;
    ensure!(rows.iter().any(|row| row.starts_with("version|")), "no adapters are compared");
    Ok(rows)
}

async fn begun(lab: &Lab, run: ExecutionId) -> Result<ExecutionId> {
    let spec = json!({
        "type": "operator_retention",
        "parents": [{"run": run, "member": "solver-0"}, {"run": run, "member": "solver-1"}],
        "snapshots": [STEPS],
        "operators": ["copy_parent", "init", "M1", "X5"],
        "steps": 2,
        "every": 1,
        "rows": ROWS,
        "n": 4,
    });
    let made = lab.post("/api/v1/evaluations", &json!({"spec": spec, "seed": 5})).await?;
    Ok(made["id"].as_str().context("an id")?.parse()?)
}

async fn ended(lab: &Lab, id: ExecutionId) -> Result<RetentionResult> {
    let evaluation = until("the evaluation is over", || async {
        let evaluation = lab.get(&format!("/api/v1/evaluations/{id}")).await?;
        ensure!(evaluation["state"] != "failed", "{evaluation}");
        Ok((evaluation["state"] == "completed").then_some(evaluation))
    })
    .await?;
    Ok(serde_json::from_value(evaluation["result"].clone())?)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_is_its_parent_and_a_fresh_adapter_the_base_whatever_is_killed() -> Result<()> {
    let house = House::new().await?;
    let _server = house.server(env!("CARGO_BIN_EXE_scripted-server"))?;
    let arguments = WorkerArguments {
        models_folder: Some(Path::new(env!("CARGO_MANIFEST_DIR")).join("../models")),
        ..WorkerArguments::default()
    };
    let mut worker = house.worker(env!("CARGO_BIN_EXE_scripted-worker"), &arguments)?;
    let dataset = house.training_set(&rows()).await?;
    let mut document = document();
    document["parameters"]["dataset"] = json!({"id": dataset, "rows": 2 * ROWS});
    let run = house.begin_document(1, &document).await?;
    house.until_completed(run).await?;
    let before = remains(&house, run).await?;

    let lab = Lab::open(&house).await?;
    let undisturbed = ended(&lab, begun(&lab, run).await?).await?;
    let id = begun(&lab, run).await?;
    until("children are trained", || async {
        let step: Option<i32> = sqlx::query_scalar("SELECT step FROM executions WHERE id = $1 AND step > 0")
            .bind(id.0)
            .fetch_optional(house.pool())
            .await?;
        Ok(step)
    })
    .await?;
    worker.kill()?;
    house.bury().await?;
    worker = house.worker(env!("CARGO_BIN_EXE_scripted-worker"), &arguments)?;
    let result = ended(&lab, id).await?;
    assert_eq!(result, undisturbed);

    let curves: Vec<_> = result.children.iter().map(|child| (child.operator.as_str(), child.task)).collect();
    assert_eq!(curves, [("copy_parent", 0), ("init", 0), ("M1", 0), ("X5", 0), ("X5", 1)]);
    for child in &result.children {
        let steps: Vec<u32> = child.points.iter().map(|point| point.step).collect();
        assert_eq!(steps, [0, 1, 2], "{}", child.operator);
    }
    let parent = result.tasks[0].curve.last().context("a parent")?;
    assert_eq!(parent.step, STEPS);
    let base = result.tasks[0].base;
    ensure!(parent.rate != base, "the parent learned nothing, so a copy that was not loaded would go unseen: {base:?}");
    let [copy, fresh, ..] = &result.children[..] else { anyhow::bail!("{result:?}") };
    assert_eq!(copy.points[0].rate, parent.rate);
    assert_eq!(fresh.points[0].rate, base);
    if let (Some(copy), Some(fresh)) = (copy.points[0].recovery, fresh.points[0].recovery) {
        assert_eq!((copy.value, copy.standard_error, fresh.value), (1.0, 0.0, 0.0));
    }
    ensure!(copy.points[1].rate != copy.points[0].rate || copy.points[2].rate != copy.points[0].rate, "no retraining");

    assert_eq!(before, remains(&house, run).await?, "the parents' run is unchanged");
    let held: Vec<String> = sqlx::query_scalar("SELECT DISTINCT reason FROM artifact_holds WHERE execution_id = $1")
        .bind(id.0)
        .fetch_all(house.pool())
        .await?;
    assert_eq!(held, ["state"], "what the steps needed is released");
    let page = lab.get(&format!("/evaluations/{id}.json")).await?;
    let shown: RetentionResult = serde_json::from_value(page["result"].clone())?;
    assert_eq!(shown, result);
    let csv = lab.json(&format!("/api/v1/evaluations/{id}/export?format=csv")).await?;
    // Both bases, each parent at six steps, and five curves of three points for all seeds and for one.
    assert_eq!(csv.lines().count(), 1 + 2 * 7 + 5 * 3 * 2, "{csv}");
    lab.close().await;
    drop(worker);
    Ok(())
}
