//! Exports and downloads: whole, in both forms, and as the folders that other tools load.

use lyceum_store::tokens::Scope;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::{Field, Row};
use serde_json::{Value, json};
use std::env;
use std::io::{Cursor, Read as _};
use std::path::{Path, PathBuf};
use tokio::process::Command;

use crate::fixtures::filled;
use crate::harness::{Actor, TestServer};
use crate::views::browser;

fn object_of(row: &Row) -> Value {
    let value = |field: &Field| match field {
        Field::Null => Value::Null,
        Field::Str(text) => json!(text),
        Field::Long(number) => json!(number),
        Field::Double(number) => json!(number),
        Field::Bool(yes) => json!(yes),
        other => json!(other.to_string()),
    };
    row.get_column_iter().map(|(name, field)| (name.clone(), value(field))).collect()
}

/// Tables, and the rows that the filled run has in them.
const TABLES: [(&str, usize); 16] = [
    ("problems", 6),
    ("attempts", 12),
    ("matchups", 1),
    ("metrics", 2),
    ("members", 2),
    ("ratings", 1),
    ("births", 2),
    ("geometry", 0),
    ("geometry_pairs", 0),
    ("deaths", 0),
    ("evaluations", 0),
    ("benchmarks", 0),
    ("row_answers", 0),
    ("samplers", 0),
    ("held_out", 0),
    ("results", 0),
];

#[actix_web::test]
async fn everything_is_exported_and_reads_back() {
    let server = TestServer::start().await;
    let reader = server.actor(Scope::Read).await;
    let made = filled(&server, 6).await;
    for (table, rows) in TABLES {
        let address = format!("/runs/{}/export/{table}", made.run);
        let lines = reader.get(&format!("{address}.jsonl")).await.expect(200);
        assert!(lines.header("content-disposition").contains(&format!("filled-{table}.jsonl")));
        let read: Vec<Value> = lines
            .body
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_slice(line).expect("JSON"))
            .collect();
        assert_eq!(read.len(), rows, "{table}");
        let parquet = reader.get(&format!("{address}.parquet")).await.expect(200);
        let file = SerializedFileReader::new(parquet.body).expect("Parquet");
        let columns = file.metadata().file_metadata().schema_descr().num_columns();
        let fields = |row: &Value| row.as_object().map(serde_json::Map::len);
        assert!(read.iter().all(|row| fields(row) == Some(columns)), "{table}");
        let found: Vec<Value> =
            file.get_row_iter(None).expect("rows").map(|row| object_of(&row.expect("a row"))).collect();
        assert_eq!(found.len(), rows, "{table}");
        for (one, other) in read.iter().zip(&found) {
            for (name, value) in one.as_object().expect("an object") {
                if name != "created_at" {
                    assert_eq!(value, &other[name], "{table}.{name}");
                }
            }
        }
    }
    let births = reader.get(&format!("/runs/{}/export/births.jsonl", made.run)).await.expect(200);
    let births: Vec<Value> =
        births.body.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
    assert_eq!(births[0]["seed"], u64::MAX.to_string());
    assert!(
        births[1]["parents"].as_str().is_some_and(|parents| parents.contains(&made.teacher.to_string())),
        "{births:?}"
    );
    let metrics = reader.get(&format!("/runs/{}/export/metrics.jsonl", made.run)).await.expect(200);
    let first: Value = serde_json::from_slice(metrics.body.split(|byte| *byte == b'\n').next().unwrap()).unwrap();
    assert_eq!((&first["reward"], &first["solve_rate"]), (&json!(0.5), &Value::Null), "NaN is null");

    let zip = reader.get(&format!("/runs/{}/export.parquet.zip", made.run)).await.expect(200);
    let mut zip = zip::ZipArchive::new(Cursor::new(zip.body)).expect("a zip");
    let names: Vec<String> = zip.file_names().map(|name| name.expect("a name").into_owned()).collect();
    for (table, ..) in TABLES {
        let file = format!("filled/data/{table}/train-00000-of-00001.parquet");
        assert!(names.contains(&file), "{file} is not among {names:?}");
    }
    let mut card = String::new();
    zip.by_name("filled/README.md").expect("a card").read_to_string(&mut card).expect("text");
    assert!(card.starts_with("---\n") && card.contains("data_files: data/attempts/*.parquet"), "{card}");
    assert!(
        card.contains("config_name: births") && !card.contains("config_name: deaths"),
        "a table without rows is not named: {card}"
    );
    server.stop().await;
}

#[actix_web::test]
async fn an_adapter_comes_as_the_folder_that_peft_loads() {
    let server = TestServer::start().await;
    let reader = server.actor(Scope::Read).await;
    let made = filled(&server, 1).await;
    let mut tar = tar::Builder::new(Vec::new());
    for (name, bytes) in [("adapter_config.json", &b"{}"[..]), ("adapter_model.safetensors", &[7; 100_000][..])] {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        tar.append_data(&mut header, name, bytes).expect("a file");
    }
    let tar = tar.into_inner().expect("a tar");
    let digest = server.artifacts.put(lyceum_core::artifact::ArtifactKind::Adapter, tar).await.expect("an artifact");
    sqlx::query("UPDATE adapter_versions SET artifact = $1 WHERE member_id = $2")
        .bind(digest.to_string())
        .bind(made.teacher.0)
        .execute(server.store.pool())
        .await
        .expect("weights");
    let address = format!("/runs/{}/members/{}/adapter.zip", made.run, made.teacher);
    let zip = reader.get(&format!("{address}?version=0")).await.expect(200);
    assert_eq!(zip.header("content-disposition"), "attachment; filename=\"teacher-0-v0.zip\"");
    let mut zip = zip::ZipArchive::new(Cursor::new(zip.body)).expect("a zip");
    let mut weights = Vec::new();
    zip.by_name("teacher-0-v0/adapter_model.safetensors").expect("weights").read_to_end(&mut weights).expect("bytes");
    assert_eq!(weights, [7; 100_000]);
    zip.by_name("teacher-0-v0/adapter_config.json").expect("a config");

    sqlx::query("UPDATE artifacts SET removed_at = now() WHERE digest = $1")
        .bind(digest.to_string())
        .execute(server.store.pool())
        .await
        .expect("a removal");
    let gone = browser(&reader).get(&address).await.expect(404);
    assert!(String::from_utf8_lossy(&gone.body).contains("no longer kept"), "{gone:?}");
    let page = format!("/runs/{}/members/{}.json", made.run, made.teacher);
    assert_eq!(reader.get(&page).await.expect(200).json()["versions"][0]["removed"], true);
    server.stop().await;
}

/// A Python with Hugging Face's `datasets`, if there is one.
async fn python() -> Option<PathBuf> {
    let python = env::var_os("DATASETS_PYTHON").map(PathBuf::from)?;
    let loads = Command::new(&python).args(["-c", "import datasets, pyarrow"]).output().await;
    loads.is_ok_and(|output| output.status.success()).then_some(python)
}

/// Loads every table that the card names and says its rows and columns.
const LOAD: &str = "
import json, sys
from datasets import get_dataset_config_names, load_dataset
folder, cache = sys.argv[1:]
found = {}
for name in get_dataset_config_names(folder, cache_dir=cache):
    table = load_dataset(folder, name, split='train', cache_dir=cache)
    found[name] = [table.num_rows, len(table.column_names)]
print(json.dumps(found))
";

#[actix_web::test]
async fn datasets_of_hugging_face_loads_the_folder() {
    let Some(python) = python().await else {
        eprintln!("skipped: set DATASETS_PYTHON to a Python that has `datasets` and `pyarrow`");
        return;
    };
    let server = TestServer::start().await;
    let reader = server.actor(Scope::Read).await;
    let made = filled(&server, 6).await;
    for form in ["parquet", "jsonl"] {
        let folder = server.folder().join(form);
        let address = format!("/runs/{}/export.{form}.zip", made.run);
        unpack(&reader, &address, &folder).await;
        let output = Command::new(&python)
            .args(["-c", LOAD])
            .arg(folder.join("filled"))
            .arg(folder.join("cache"))
            .env("HF_HUB_OFFLINE", "1")
            .env("HF_HOME", folder.join("home"))
            .output()
            .await
            .expect("Python");
        let said = String::from_utf8_lossy(&output.stdout);
        let failed = String::from_utf8_lossy(&output.stderr);
        let found: Value = serde_json::from_str(said.trim()).unwrap_or_else(|_| panic!("{form}: {said}{failed}"));
        let expected = json!({
            "problems": [6, 24], "attempts": [12, 17], "matchups": [1, 11], "metrics": [2, 5],
            "members": [2, 12], "ratings": [1, 6], "births": [2, 11],
        });
        assert_eq!(found, expected, "{form}");
    }
    server.stop().await;
}

async fn unpack(reader: &Actor, address: &str, folder: &Path) {
    let zip = reader.get(address).await.expect(200);
    zip::ZipArchive::new(Cursor::new(zip.body)).expect("a zip").extract(folder).expect("a folder");
}
