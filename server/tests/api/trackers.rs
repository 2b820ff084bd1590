//! Curves for other tools, opened by those tools.

use lyceum_store::tokens::Scope;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Output;
use std::{env, fs};
use tokio::process::Command;

use crate::commands::{refuses, says};
use crate::fixtures::filled;
use crate::harness::TestServer;

/// A Python with `tensorboard` and `wandb`, if there is one.
fn python() -> Option<PathBuf> {
    let python = env::var_os("TRACKERS_PYTHON").map(PathBuf::from);
    let python = python.filter(|python| python.exists());
    if python.is_none() {
        eprintln!("skipped: set TRACKERS_PYTHON to a Python with `tensorboard` and `wandb` (script/test)");
    }
    python
}

fn json_of(output: &Output) -> Value {
    let said = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(said.trim()).unwrap_or_else(|_| panic!("{output:?}"))
}

/// What TensorBoard's reader finds in each folder: tags with steps and values, and texts.
const TENSORBOARD: &str = "
import json, pathlib, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
found = {}
for folder in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    events = EventAccumulator(str(folder))
    events.Reload()
    tags = events.Tags()
    found[folder.name] = {tag: [[one.step, one.value] for one in events.Scalars(tag)] for tag in tags['scalars']}
    for tag in tags['tensors']:
        found[folder.name][tag] = events.Tensors(tag)[0].tensor_proto.string_val[0].decode()
print(json.dumps(found))
";

async fn scored(server: &TestServer) -> String {
    let made = filled(server, 6).await;
    sqlx::query(
        "INSERT INTO held_out_results (run_id, step, member_id, version_id, first_row, n, correct)
         SELECT $1, 1, member_id, id, 0, 4, '{4,2}' FROM adapter_versions WHERE member_id = $2",
    )
    .bind(made.run.0)
    .bind(made.student.0)
    .execute(server.store.pool())
    .await
    .expect("a score");
    made.run.to_string()
}

#[actix_web::test]
async fn tensorboards_reader_opens_the_event_files() {
    let Some(python) = python() else { return };
    let server = TestServer::start().await;
    let run = scored(&server).await;
    let out = server.folder().join("out");
    let out = out.to_str().expect("a path");
    let export = ["run", "export", &run, "--format", "tensorboard", "--out", out];
    let folder = says(&server, &export).await;
    assert!(refuses(&server, &export).await.contains("exists"));
    let output = Command::new(python).args(["-c", TENSORBOARD, &folder]).output().await.expect("Python");
    let found = json_of(&output);
    let config = found["run"]["config"].as_str().expect("a text").to_owned();
    assert!(config.contains("    \"recipe\": \"scripted\""), "{config}");
    // A value that is not a number is absent. The score came after a step that has metrics.
    assert_eq!(found["run"]["reward"], json!([[0, 0.5]]));
    assert_eq!(found["run"].get("solve_rate"), None);
    assert_eq!(found["teacher-0"], json!({"reward": [[0, 0.25]], "solve_rate": [[0, 1.0]]}));
    assert_eq!(found["student-0"], json!({"held_out/accuracy": [[1, 0.75]]}));
    server.stop().await;
}

#[actix_web::test]
async fn wandbs_reader_opens_the_offline_run() {
    let Some(python) = python() else { return };
    let server = TestServer::start().await;
    let run = scored(&server).await;
    let writer = server.actor(Scope::Write).await;
    writer.act(&format!("/api/v1/runs/{run}/cancel")).await.expect(202);
    let out = server.folder().join("out");
    let out = out.to_str().expect("a path");
    let folder = says(&server, &["run", "export", &run, "--format", "wandb", "--out", out]).await;
    let offline = PathBuf::from(&folder).join("wandb");
    let offline = fs::read_dir(offline).expect("a folder").next().expect("a run").expect("a run").path();
    let inspect = async |form: &[&str]| {
        let output = Command::new(python.with_file_name("wandb"))
            .args(["leet", "inspect", "--json"])
            .args(form)
            .arg(&offline)
            .env("HOME", server.folder())
            .env("WANDB_ERROR_REPORTING", "false")
            .output()
            .await
            .expect("wandb");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    let shown: Value = serde_json::from_str(&inspect(&["--summary"]).await).expect("JSON");
    assert_eq!((&shown["name"], &shown["run_id"]), (&json!("filled"), &json!(run.replace('-', ""))));
    assert_eq!(shown["config"]["recipe"], "scripted");
    assert_eq!(shown["exit_code"], 1, "a cancelled run is not a success");
    let summary = &shown["summary"];
    assert_eq!((&summary["reward"], summary.get("solve_rate")), (&json!(0.5), None));
    assert_eq!(
        [&summary["teacher-0/reward"], &summary["teacher-0/solve_rate"]].map(Value::as_f64),
        [Some(0.25), Some(1.0)]
    );
    assert_eq!(summary["student-0/held_out/accuracy"], 0.75);
    let records = inspect(&[]).await;
    let records = records.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let history: Vec<Value> = records.filter(|record| record["type"] == "history").collect();
    let steps: Vec<&Value> = history.iter().map(|record| &record["history"]["item"]["_step"]).collect();
    assert_eq!(steps, [&json!(0), &json!(1)]);
    assert_eq!(history[0]["history"]["item"]["teacher-0/reward"], 0.25);
    server.stop().await;
}

#[actix_web::test]
async fn an_export_of_an_unknown_form_names_those_that_there_are() {
    let server = TestServer::start().await;
    let made = filled(&server, 1).await;
    let reader = server.actor(Scope::Read).await;
    let reply = reader.get(&format!("/runs/{}/export.mlflow.zip", made.run)).await.expect(404);
    let text = reply.text();
    assert!(text.contains("parquet, jsonl, tensorboard and wandb"), "{text}");
    let table = reader.get(&format!("/runs/{}/export/metrics.wandb", made.run)).await.expect(404);
    assert!(table.text().contains("parquet and jsonl"), "{table:?}");
    server.stop().await;
}
