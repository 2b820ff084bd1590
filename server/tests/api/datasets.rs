//! Datasets: rows are checked by purpose, overlap is found, and configs name datasets that exist and fit.

use actix_web::http::Method;
use lyceum_store::tokens::Scope;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::harness::{Actor, TestServer};
use crate::views::browser;

/// A problem of training that asks `question`.
pub(crate) fn problem(task_id: &str, question: &str) -> Value {
    json!({"task_id": task_id, "question": question, "oracle": {"type": "math", "gold": "1"}})
}

pub(crate) fn dataset(name: &str, purpose: &str, rows: &Value) -> Value {
    json!({"name": name, "purpose": purpose, "rows": rows})
}

pub(crate) async fn imported(writer: &Actor, body: &Value) -> Value {
    writer.post("/api/v1/datasets", body).await.expect(201).json()
}

pub(crate) fn id(made: &Value) -> Uuid {
    made["id"].as_str().and_then(|id| id.parse().ok()).expect("an id")
}

/// A config of one member of `recipe`.
pub(crate) fn config(recipe: &str, roles: &Value, parameters: &Value) -> Value {
    json!({
        "recipe": recipe,
        "steps": 2,
        "populations": {"main": {
            "base_model": {"name": "seedling"},
            "lora": {"r": 8, "lora_alpha": 16.0, "target_modules": ["q_proj"]},
            "members": [{"roles": roles, "count": 1}],
        }},
        "parameters": parameters,
    })
}

#[actix_web::test]
async fn rows_of_every_purpose_are_checked() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let seed = json!({"snippet": "def f(a):\n return a", "input": "1"});
    let triple = json!({"type": "code_o", "program": "def f(a):\n return a", "input": "1", "output": "1"});
    for (purpose, good, bad) in [
        ("seeds", seed.clone(), triple.clone()),
        ("training", triple.clone(), seed.clone()),
        ("goalposts", problem("a", "1?"), json!({"question": "1?", "answer": "1"})),
        ("benchmark", problem("a", "1?"), problem("b", " ")),
    ] {
        let reply = writer.post("/api/v1/datasets", &dataset("bad", purpose, &json!([good, bad]))).await.expect(422);
        assert_eq!(reply.places(), ["/rows/1"], "{purpose}");
        imported(&writer, &dataset(purpose, purpose, &json!([good]))).await;
    }
    let of_suite = json!({"name": "x", "purpose": "training", "suite": "humaneval", "rows": [problem("a", "1?")]});
    let reply = writer.post("/api/v1/datasets", &of_suite).await.expect(422);
    assert!(reply.text().contains("an oracle of type `math` does not belong to a row of `humaneval`"), "{reply:?}");
    let listed = writer.get("/api/v1/datasets").await.expect(200).json();
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(4), "nothing was kept of the others");
    server.stop().await;
}

#[actix_web::test]
async fn rows_about_the_same_program_overlap_whatever_they_ask() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let held_out = json!([{
        "task_id": "seedling/0",
        "question": "def f(a):\n return a + 1\n# f(1) = ?",
        "oracle": {"type": "code_o", "program": "def f(a):\n return a + 1", "input": "1"},
    }]);
    let exam = json!({"name": "exam", "purpose": "benchmark", "suite": "Held-out seedling", "rows": held_out});
    assert_eq!(imported(&writer, &exam).await["suite"], "held-out-seedling", "its own name");
    let training = json!([
        {"type": "code_i", "program": "def f(a):\n    return a + 1\n", "input": "7", "output": "8"},
        {"type": "code_i", "program": "def f(b):\n return b + 1", "input": "7", "output": "8"},
    ]);
    let made = imported(&writer, &dataset("train", "training", &training)).await;
    let overlaps = &made["overlaps"];
    assert_eq!((&overlaps[0]["name"], &overlaps[0]["rows"]), (&json!("exam"), &json!(1)));
    let seeds = json!([
        {"snippet": "def f(a):\n\treturn a + 1", "input": "3"},
        {"snippet": "def f(c):\n return c", "input": "7"},
    ]);
    let made = imported(&writer, &dataset("seeds", "seeds", &seeds)).await;
    let names = |made: &Value| -> Vec<String> {
        let all = made["overlaps"].as_array().cloned().unwrap_or_default();
        all.iter().map(|one| format!("{} {}", one["name"], one["rows"])).collect()
    };
    assert_eq!(names(&made), ["\"exam\" 1", "\"train\" 1"]);

    // The migration gives the rows of earlier imports the hashes that rows get now.
    let db = server.store.pool();
    let hashes = "SELECT row::text, fingerprint, program_fingerprint FROM dataset_rows ORDER BY row::text";
    let now: Vec<(String, Vec<u8>, Option<Vec<u8>>)> = sqlx::query_as(hashes).fetch_all(db).await.expect("hashes");
    sqlx::raw_sql("UPDATE dataset_rows SET program_fingerprint = NULL; UPDATE dataset_rows SET fingerprint = '' WHERE row ? 'snippet'")
        .execute(db)
        .await
        .expect("rows of before");
    let migration = include_str!("../../../migrations/0017_programs_of_datasets.sql");
    let backfill =
        &migration[migration.find("WITH").expect("a start")..migration.find("CREATE INDEX").expect("an end")];
    sqlx::raw_sql(backfill).execute(db).await.expect("the migration");
    let then: Vec<(String, Vec<u8>, Option<Vec<u8>>)> = sqlx::query_as(hashes).fetch_all(db).await.expect("hashes");
    assert_eq!(then, now);
    server.stop().await;
}

#[actix_web::test]
async fn a_page_of_rows_ends_before_it_is_too_large() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let lines = writer.clone().with("content-type", "application/x-ndjson");
    let rows: String = (0..5).map(|n| format!("{{\"question\": \"{n}?\", \"answer\": \"#### {n}\"}}\n")).collect();
    let path = "/api/v1/datasets/import?name=large&purpose=training&format=gsm8k";
    let made = lines.send(Method::POST, path, Some(rows.into_bytes())).await.expect(201).json();
    // Rows that an earlier release took: stored small, since they repeat themselves, and large as text.
    let grow = "UPDATE dataset_rows SET row = jsonb_set(row, '{question}', to_jsonb(repeat('long ', 600000) || index))";
    sqlx::query(grow).execute(server.store.pool()).await.expect("larger rows");
    let list = format!("/api/v1/datasets/{}/rows", made["id"].as_str().expect("an id"));
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = writer.get(&format!("{list}?limit=100{cursor}")).await.expect(200);
        assert!(page.body.len() < 8 << 20, "{} bytes", page.body.len());
        let page = page.json();
        let items = page["items"].as_array().expect("items");
        assert!(!items.is_empty());
        seen.extend(items.iter().map(|row| row["index"].as_i64().expect("an index")));
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(seen, [0, 1, 2, 3, 4]);
    // A page for people tells the size of what nobody reads, so that it has all of the rows.
    let page = list.trim_start_matches("/api/v1").trim_end_matches("/rows");
    let page = browser(&writer).get(page).await.expect(200).text();
    assert_eq!(page.matches("3000003 bytes, which the API gives").count(), 5);
    assert!(page.len() < 200_000, "{} bytes", page.len());
    server.stop().await;
}
