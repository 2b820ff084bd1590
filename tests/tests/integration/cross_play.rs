//! Missing cells of the cross-play matrix are filled afterwards, with the real engine and sandbox, without changing the
//! run.

use anyhow::{Context as _, Result, ensure};
use lyceum_core::id::ExecutionId;
use lyceum_system_tests::house::{House, WorkerArguments, until};
use lyceum_system_tests::lab::Lab;
use serde_json::{Value, json};
use std::path::Path;

/// Two teachers and two students that meet in pairs, once.
fn document() -> Value {
    json!({
        "recipe": "populora",
        "seed": 7,
        "steps": 1,
        "compute": {"threads": 1},
        "populations": {"main": {
            "base_model": {"name": "seedling"},
            "lora": {"r": 4, "lora_alpha": 8.0, "target_modules": ["q_proj", "v_proj"]},
            "members": [{"roles": ["teacher"], "count": 2}, {"roles": ["student"], "count": 2}],
        }},
        "parameters": {
            "prompts_per_matchup": 6,
            "samples_per_problem": 2,
            "prompts": {"set": "seedling"},
            "problems": {"references": 2, "num_inputs": 6, "pool_size": 64, "max_prompt_bytes": 368, "seeds": "seedling"},
            "sampling": {"propose": {"max_tokens": 100}, "solve": {"max_tokens": 60}},
            "learning": {"micro_batch_tokens": 4096, "recompute": false},
            "archive": {"cells": 64},
            "items": {"propose": 6, "solve": 2, "update": 2},
        },
        "scheduling": {"max_attempts": 100},
    })
}

/// A run's weights, ratings and problems.
async fn remains(house: &House, run: ExecutionId) -> Result<Vec<String>> {
    let mut rows = house.remains(run).await?;
    // The matrix only adds attempts.
    rows.retain(|row| !row.starts_with("attempt|"));
    ensure!(rows.iter().any(|row| row.starts_with("version|")), "no adapters are compared");
    Ok(rows)
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_cells_are_filled_and_nothing_is_learned_from_it() -> Result<()> {
    let house = House::new().await?;
    let _server = house.server(env!("CARGO_BIN_EXE_scripted-server"))?;
    let arguments = WorkerArguments {
        models_folder: Some(Path::new(env!("CARGO_MANIFEST_DIR")).join("../models")),
        ..WorkerArguments::default()
    };
    let mut worker = house.worker(env!("CARGO_BIN_EXE_scripted-worker"), &arguments)?;
    let run = house.begin_document(1, &document()).await?;
    house.until_completed(run).await?;
    let before = remains(&house, run).await?;

    let lab = Lab::open(&house).await?;
    let matrix = lab.get(&format!("/runs/{run}/cross-play.json")).await?;
    assert_eq!(matrix["missing"], 2, "a permutation leaves two of four cells: {matrix}");
    let page = lab.page(&format!("/runs/{run}/cross-play")).await?;
    ensure!(page.contains("data-action=\"/api/v1/evaluations\""), "no button: {page}");
    let spec = json!({"type": "cross_play", "run": run, "step": 1, "problems": 4, "samples": 2});
    let made = lab.post("/api/v1/evaluations", &json!({"spec": spec, "seed": 3})).await?;
    let id: ExecutionId = made["id"].as_str().context("an id")?.parse()?;
    until("an item of the evaluation has ended", || async {
        let ended: Option<i32> = sqlx::query_scalar("SELECT ended FROM steps WHERE execution_id = $1 AND ended > 0")
            .bind(id.0)
            .fetch_optional(house.pool())
            .await?;
        Ok(ended)
    })
    .await?;
    worker.kill()?;
    house.bury().await?;
    worker = house.worker(env!("CARGO_BIN_EXE_scripted-worker"), &arguments)?;
    let evaluation = until("the evaluation is over", || async {
        let evaluation = lab.get(&format!("/api/v1/evaluations/{id}")).await?;
        ensure!(evaluation["state"] != "failed", "{evaluation}");
        Ok((evaluation["state"] == "completed").then_some(evaluation))
    })
    .await?;

    let cells = evaluation["result"]["cells"].as_array().context("cells")?;
    assert_eq!(cells.len(), 2);
    let matrix = lab.get(&format!("/runs/{run}/cross-play.json")).await?;
    assert_eq!((&matrix["missing"], &matrix["evaluated"]), (&json!(2), &json!(2)), "the run itself is as it was");
    let matrix = lab.get(&format!("/runs/{run}/cross-play.json?evaluations=true")).await?;
    assert_eq!(matrix["missing"], 0, "{matrix}");
    for cell in cells {
        let (teacher, student) = (cell["teacher"].as_str(), cell["student"].as_str());
        let place =
            |side: &str, id: Option<&str>| matrix[side].as_array()?.iter().position(|one| one["id"].as_str() == id);
        let (row, column) =
            (place("teachers", teacher).context("a row")?, place("students", student).context("a column")?);
        let shown = &matrix["cells"][row][column];
        assert_eq!(
            (&shown["attempts"], &shown["solved"], &shown["evaluated"]),
            (&cell["attempts"], &cell["solved"], &cell["attempts"])
        );
        let problems = cell["problems"].as_u64().context("a number")?;
        ensure!((1..=4).contains(&problems), "{cell}");
        assert_eq!(cell["attempts"], problems * 2, "each problem was attempted twice, whoever was killed");
    }
    let attempts: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM attempts a JOIN problems p ON p.id = a.problem_id WHERE a.run_id = $1 AND a.step = 1",
    )
    .bind(run.0)
    .fetch_one(house.pool())
    .await?;
    let counted: i64 = cells.iter().filter_map(|cell| cell["attempts"].as_i64()).sum();
    assert_eq!(attempts, counted);
    assert_eq!(before, remains(&house, run).await?, "the run is unchanged, and so are its counts");
    for (query, listed) in [("", 0), ("&evaluations=true", counted)] {
        let attempts = lab.get(&format!("/api/v1/runs/{run}/attempts?limit=100{query}")).await?;
        let attempts = attempts["items"].as_array().context("attempts")?;
        let of_it = attempts.iter().filter(|attempt| attempt["evaluation_id"] == id.to_string());
        assert_eq!(of_it.count() as i64, listed, "{query}");
    }
    let page = lab.get(&format!("/evaluations/{id}.json")).await?;
    assert_eq!((&page["state"], &page["result"]), (&json!("completed"), &evaluation["result"]), "{page}");
    lab.close().await;
    drop(worker);
    Ok(())
}
