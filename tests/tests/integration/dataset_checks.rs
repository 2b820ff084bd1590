//! The tests of an imported file are tried in the real sandbox, by workers that may die.

use anyhow::{Context as _, Result};
use lyceum_core::id::ExecutionId;
use lyceum_system_tests::house::{House, WorkerArguments, until};
use lyceum_system_tests::lab::Lab;
use serde_json::{Value, json};

const SERVER: &str = env!("CARGO_BIN_EXE_scripted-server");
const WORKER: &str = env!("CARGO_BIN_EXE_scripted-worker");

const RIGHT: &str = "def add(a, b):\n    return a + b\n";
/// Takes a while with a right program, so that a worker that is killed dies in the middle.
const SLOW: &str = "from solution import add\ndef test_add():\n    for _ in range(4_000_000):\n        pass\n    assert add(1, 2) == 3\n";
/// Rows of the file. They are two items.
const ROWS: u32 = 24;

fn row(number: u32) -> Value {
    let (test, solution) = match number {
        3 => ("from solution import add\ndef test_add():\n    assert add or True\n", RIGHT),
        7 => ("from solution import add\ndef checks():\n    assert add(1, 2) == 3\n", RIGHT),
        20 => (SLOW, "def add(a, b):\n    return 2\n"),
        _ => (SLOW, RIGHT),
    };
    json!({
        "question": format!("Add, {number}."), "test": test, "solution": solution, "question_id": number.to_string(),
        "test_info": [{"function_name": "add"}],
    })
}

/// The body of a run that learns from the file.
fn run(fields: &Value) -> Value {
    let mut dataset = json!({"name": "mine"});
    for (name, value) in fields.as_object().into_iter().flatten() {
        dataset[name] = value.clone();
    }
    json!({"config": {
        "recipe": "rlvr", "steps": 1,
        "populations": {"main": {
            "base_model": {"name": "seedling"},
            "lora": {"r": 8, "lora_alpha": 16.0, "target_modules": ["q_proj"]},
            "members": [{"roles": ["solver"], "count": 1}],
        }},
        "parameters": {"dataset": dataset, "prompts": "azr", "batch": 1, "n": 2, "sampling": {"max_tokens": 16}},
    }})
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_rows_are_found_whoever_dies_while_looking_for_them() -> Result<()> {
    // An item has five tries, and each kill takes one.
    const KILLS: usize = 2;
    let house = House::new().await?;
    let lab = Lab::open(&house).await?;
    let _server = house.server(SERVER)?;
    let file: Vec<String> = (0..ROWS).map(|number| row(number).to_string()).collect();
    let path = "/api/v1/datasets/import?name=mine&purpose=training&format=kodcode";
    let made = lab.send_file(path, &file.join("\n\n")).await?;
    let id = made["id"].as_str().context("an id")?;
    let check = ExecutionId(made["check"]["evaluation"].as_str().context("a check")?.parse()?);

    let models = tempfile::tempdir()?;
    let arguments = WorkerArguments { models_folder: Some(models.path().to_owned()), ..WorkerArguments::default() };
    for _ in 0..KILLS {
        let worker = house.worker(WORKER, &arguments)?;
        let running = || async {
            let running: bool = sqlx::query_scalar("SELECT EXISTS (SELECT FROM work WHERE state = 'running')")
                .fetch_one(house.pool())
                .await?;
            Ok(running.then_some(()))
        };
        until("an item is being worked on", running).await?;
        worker.kill()?;
        let state = lab.get(&format!("/api/v1/datasets/{id}")).await?["check"]["state"].take();
        assert_eq!(state, "checking");
        house.bury().await?;
    }
    let refused = lab.post("/api/v1/runs?dry_run=true", &run(&json!({}))).await;
    let told = refused.expect_err("it is not checked").to_string();
    assert!(told.contains("are being checked"), "{told}");
    let _worker = house.worker(WORKER, &arguments)?;
    house.until_completed(check).await?;

    let page = lab.get(&format!("/datasets/{id}.json")).await?;
    let of = &page["check"];
    assert_eq!((&of["state"], &of["rows"], &of["bad_rows"]), (&json!("checked"), &json!(ROWS), &json!(3)));
    let rows = page["bad_rows"].as_array().context("bad rows")?;
    let found: Vec<Value> = rows.iter().map(|row| json!([row["index"], row["line"], row["reason"]])).collect();
    // Every other line is blank.
    let wanted = [json!([3, 7, "passes_empty"]), json!([7, 15, "fails_canonical"]), json!([20, 41, "fails_canonical"])];
    assert_eq!(found, wanted);
    assert!(rows[1]["message"].to_string().contains("nothing was asserted"), "{}", rows[1]);

    let refused = lab.post("/api/v1/runs?dry_run=true", &run(&json!({}))).await;
    let told = refused.expect_err("it has bad rows").to_string();
    assert!(told.contains("3 of 24 rows of dataset `mine`") && told.contains("line 41"), "{told}");
    let fields = json!({"leave_out_bad_rows": true});
    let begun = lab.post("/api/v1/runs?dry_run=true", &run(&fields)).await?;
    assert_eq!(begun["config"]["parameters"]["dataset"]["rows"], ROWS - 3);
    lab.close().await;
    Ok(())
}
