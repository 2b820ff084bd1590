//! The commands that talk to the API or to its database.

use lyceum_store::tokens::Scope;
use serde_json::{Value, json};
use std::fs;
use std::process::{Output, Stdio};
use tokio::process::Command;

use crate::fixtures::filled;
use crate::harness::{TestServer, config};

async fn lyceum(server: &TestServer, arguments: &[&str]) -> Output {
    let token = server.actor(Scope::Write).await.bearer();
    Command::new(env!("CARGO_BIN_EXE_lyceum"))
        .args(arguments)
        .env("LYCEUM_URL", server.base())
        .env("LYCEUM_TOKEN", token)
        .env("LYCEUM_DATA", server.folder().join("data"))
        .env("DATABASE_URL", server.database_url())
        .kill_on_drop(true)
        .output()
        .await
        .expect("lyceum")
}

pub(crate) async fn says(server: &TestServer, arguments: &[&str]) -> String {
    let output = lyceum(server, arguments).await;
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).expect("text").trim().to_owned()
}

pub(crate) async fn refuses(server: &TestServer, arguments: &[&str]) -> String {
    let output = lyceum(server, arguments).await;
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {output:?}");
    String::from_utf8(output.stderr).expect("text").trim().to_owned()
}

#[actix_web::test]
async fn runs_are_created_and_steered_from_the_command_line() {
    let server = TestServer::start().await;
    let file = server.folder().join("run.toml");
    fs::write(&file, toml::to_string(&config()).expect("TOML")).expect("a file");
    let file = file.to_str().expect("a path");

    let set = ["--set", "parameters.width=5", "--set", "seed=9"];
    let dry = says(&server, &[&["run", "create", "--file", file, "--dry-run"], &set[..]].concat()).await;
    assert_eq!(serde_json::from_str::<Value>(&dry).expect("JSON")["parameters"]["width"], 5);
    let id = says(&server, &["run", "create", "--preset", "small", "--name", "by hand"]).await;
    let list = says(&server, &["run", "list"]).await;
    assert!(list.lines().count() == 2 && list.contains(&id) && list.contains("by hand"), "{list}");
    let shown: Value = serde_json::from_str(&says(&server, &["run", "show", &id]).await).expect("JSON");
    assert_eq!(shown["name"], "by hand");
    assert!(says(&server, &["run", "pause", &id]).await.ends_with("is paused"));
    assert!(refuses(&server, &["run", "pause", &id]).await.contains("is paused, and only one that is running"));
    assert!(says(&server, &["run", "resume", &id]).await.ends_with("is running"));
    let branch = says(&server, &["run", "fork", &id, "--step", "0"]).await;
    assert_ne!(branch, id);
    assert!(says(&server, &["run", "cancel", &id]).await.ends_with("is cancelled"));
    let wrong = refuses(&server, &["run", "create", "--preset", "smal", "--set", "steps=0"]).await;
    assert!(wrong.contains("did you mean `small`?") && wrong.lines().count() == 1, "{wrong}");
    assert!(refuses(&server, &["run", "create", "--preset", "small", "--set", "x"]).await.contains("sets nothing"));
    server.stop().await;
}

#[actix_web::test]
async fn runs_and_problems_are_listed_with_columns_and_filters() {
    let server = TestServer::start().await;
    let made = filled(&server, 6).await;
    let run = made.run.to_string();
    let tagged = ["run", "create", "--preset", "small", "--name", "a & b"];
    let other = says(&server, &tagged).await;
    let columns = ["run", "list", "--columns", "id,progress,valid_problems", "--name", "a & b"];
    let shown = says(&server, &columns).await;
    let rows: Vec<Vec<&str>> = shown.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows, [vec!["ID", "PROGRESS", "VALID", "PROBLEMS"], vec![&other, "0/3", "0"]]);
    let json = says(&server, &["run", "list", "--json", "--limit", "1"]).await;
    assert_eq!(serde_json::from_str::<Value>(&json).expect("one line")["id"], other.as_str(), "the newest");
    let wrong = lyceum(&server, &["run", "list", "--columns", "colour"]).await;
    let wrong = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(wrong.contains("colour") && wrong.contains("valid_problems"), "{wrong}");

    let all = says(&server, &["problem", "list", &run]).await;
    assert_eq!(all.lines().count(), 7, "{all}");
    // Of the three valid problems the first has a solve rate of 0.
    let unsolved = says(&server, &["problem", "list", &run, "--unsolved"]).await;
    assert!(unsolved.lines().count() == 2 && unsolved.contains(&made.problems[0].to_string()), "{unsolved}");
    let full = says(&server, &["problem", "list", &run, "--unsolved", "--json"]).await;
    assert_eq!(serde_json::from_str::<Value>(&full).expect("one line")["prompt"], "Propose.");
    let top = says(&server, &["top"]).await;
    assert!(top.contains("2 running, 0 workers") && top.contains("filled"), "{top}");
    server.stop().await;
}

#[actix_web::test]
async fn shells_and_man_know_every_command() {
    let server = TestServer::start().await;
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = says(&server, &["completions", shell]).await;
        assert!(script.contains("lyceum") && script.contains("unsolved"), "{shell}");
    }
    let folder = server.folder().join("man");
    says(&server, &["man", "--out", folder.to_str().expect("a path")]).await;
    let page = fs::read_to_string(folder.join("lyceum-problem-list.1")).expect("a page");
    assert!(page.contains("unsolved"), "{page}");
    assert!(folder.join("lyceum.1").exists() && folder.join("lyceum-run-export.1").exists());
    server.stop().await;
}

#[actix_web::test]
async fn a_name_does_not_act_on_the_terminal() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let name = "red\u{1b}[31m\u{9b}31m\u{202e}\nfake line";
    let made = writer.post("/api/v1/runs", &json!({"preset": "small", "name": name})).await;
    let id = made.expect(201).json()["id"].as_str().expect("an id").to_owned();
    let acts = |text: &str| text.contains(['\u{1b}', '\u{9b}', '\u{202e}']);
    let list = says(&server, &["run", "list"]).await;
    assert!(!acts(&list) && list.lines().count() == 2, "{list:?}");
    assert!(list.contains("red␛[31m⟨U+009B⟩31m⟨U+202E⟩␊fake line"), "{list:?}");
    let shown = says(&server, &["run", "show", &id]).await;
    assert!(!acts(&shown), "{shown:?}");
    assert_eq!(serde_json::from_str::<Value>(&shown).expect("JSON")["name"], name);
    let taken = refuses(&server, &["run", "create", "--preset", "\u{1b}[31m"]).await;
    assert!(!acts(&taken), "{taken:?}");
    server.stop().await;
}

#[actix_web::test]
async fn a_run_is_watched_to_its_end() {
    let server = TestServer::start().await;
    let made = filled(&server, 1).await;
    let id = made.run.to_string();
    let dear = refuses(&server, &["run", "cost", &id]).await;
    assert!(dear.contains("the first 5 steps warm up"), "{dear}");
    let arguments = ["run", "watch", &id];
    let watching = lyceum(&server, &arguments);
    let cancelling = async {
        let writer = server.actor(Scope::Write).await;
        writer.act(&format!("/api/v1/runs/{id}/cancel")).await.expect(202);
    };
    let (watched, ()) = futures::join!(watching, cancelling);
    assert_eq!(watched.status.code(), Some(1), "{watched:?}");
    let said = String::from_utf8_lossy(&watched.stdout).into_owned();
    assert!(said.contains("is cancelled at step 0 of 3"), "{said}");
    server.stop().await;
}

#[actix_web::test]
async fn tokens_are_made_listed_and_revoked_in_the_database() {
    let server = TestServer::start().await;
    let secret = says(&server, &["token", "create", "by hand", "--scope", "admin", "--expires-in", "30"]).await;
    let holder = server.anonymous().with("authorization", format!("Bearer {secret}"));
    let kept = holder.get("/api/v1/tokens").await.expect(200).json();
    let id = kept["items"].as_array().and_then(|all| all.iter().find(|token| token["name"] == "by hand"));
    let id = id.and_then(|token| token["id"].as_str()).expect("an id").to_owned();
    let list = says(&server, &["token", "list"]).await;
    assert!(list.contains(&id) && !list.contains(&secret), "{list}");
    says(&server, &["token", "revoke", &id]).await;
    holder.get("/api/v1/tokens").await.expect(401);
    assert!(refuses(&server, &["token", "revoke", &uuid::Uuid::nil().to_string()]).await.contains("there is no token"));
    server.stop().await;
}

#[actix_web::test]
async fn configs_are_checked_without_a_server() {
    let server = TestServer::start().await;
    let file = server.folder().join("run.json");
    let mut wrong = config();
    wrong["recipe"] = json!("no-such-recipe");
    wrong["stepz"] = json!(1);
    fs::write(&file, wrong.to_string()).expect("a file");
    let file = file.to_str().expect("a path");
    let faults = refuses(&server, &["config", "check", file]).await;
    assert!(faults.contains("/recipe: there is no recipe") && faults.contains("/stepz: there is no field"), "{faults}");
    assert!(refuses(&server, &["config", "check", "/no/such/file.toml"]).await.contains("cannot read"));
    server.stop().await;
}

#[actix_web::test]
async fn a_reader_who_has_read_enough_is_no_failure() {
    let mut lyceum = Command::new(env!("CARGO_BIN_EXE_lyceum"))
        .arg("openapi")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("lyceum");
    // The document is longer than any pipe holds, so that writing it fails.
    drop(lyceum.stdout.take());
    let output = lyceum.wait_with_output().await.expect("an end");
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

#[actix_web::test]
async fn a_server_that_is_not_there_is_said_with_the_cure() {
    let server = TestServer::start().await;
    let said = refuses(&server, &["run", "list", "--url", "http://127.0.0.1:1"]).await;
    assert!(said.contains("cannot reach http://127.0.0.1:1") && said.lines().count() == 1, "{said}");
    let said = refuses(&server, &["run", "list", "--token", "lyc_wrong"]).await;
    assert!(said.contains("unknown, revoked or has expired"), "{said}");
    server.stop().await;
}

#[actix_web::test]
async fn a_benchmark_is_imported_whole_or_not_at_all() {
    let server = TestServer::start().await;
    let rows = [
        r#"{"question":"One and one?","answer":"1+1=2\n#### 2","idx":0}"#,
        r#"{"question":"Two and two?","answer":"2+2=4\n#### 4","idx":1}"#,
    ];
    let [good, bad] = ["good.jsonl", "bad.jsonl"].map(|name| server.folder().join(name));
    fs::write(&good, rows.join("\n")).expect("a file");
    fs::write(&bad, format!("{}\n{}\nnonsense\n", rows[0], rows[0])).expect("a file");
    let [good, bad] = [&good, &bad].map(|path| path.to_str().expect("a path"));

    let said = refuses(&server, &["benchmark", "import", "gsm8k", bad]).await;
    assert!(said.contains("line 2: task_id `gsm8k/0` is already on line 1"), "{said}");
    assert!(said.contains("line 3: it is not JSON") && said.contains("nothing was imported"), "{said}");
    let said = refuses(&server, &["benchmark", "import", "aime24", good]).await;
    assert!(said.contains("looks like a row of `gsm8k`"), "{said}");
    assert!(!says(&server, &["benchmark", "list"]).await.contains("2 rows"));

    let writer = server.actor(Scope::Write).await;
    let same = json!({"name": "train", "purpose": "training", "rows": [
        {"task_id": "a", "question": "one  AND one?", "oracle": {"type": "math", "gold": "two"}},
    ]});
    writer.post("/api/v1/datasets", &same).await.expect(201);
    let imported = lyceum(&server, &["benchmark", "import", "gsm8k", good, "--revision", "r1"]).await;
    assert!(imported.status.success(), "{imported:?}");
    let told = String::from_utf8(imported.stderr).expect("text");
    assert!(told.contains("warning: 1 rows have the same questions as the dataset `train` (for training)"), "{told}");
    assert!(told.contains("GSM8K has 1319 rows and this file 2"), "{told}");
    let id = String::from_utf8(imported.stdout).expect("text");
    let dataset = writer.get(&format!("/api/v1/datasets/{}", id.trim())).await.expect(200).json();
    assert_eq!((&dataset["suite"], &dataset["revision"], &dataset["rows"]), (&json!("gsm8k"), &json!("r1"), &json!(2)));
    assert!(says(&server, &["benchmark", "list"]).await.contains("2 rows, sha256"));
    assert!(refuses(&server, &["benchmark", "import", "gsm8k", good]).await.contains("already"), "the name is taken");

    let made = filled(&server, 1).await.run.to_string();
    let evaluation = says(&server, &["benchmark", "evaluate", "--run", &made, "--suite", "gsm8k"]).await;
    let shown = writer.get(&format!("/api/v1/evaluations/{evaluation}")).await.expect(200).json();
    assert_eq!((&shown["spec"]["run"], &shown["steps"]), (&json!(made), &json!(1)));
    let table = says(&server, &["benchmark", "table", &made]).await;
    assert!(table.starts_with("|  | role |"), "{table}");
    server.stop().await;
}

#[actix_web::test]
async fn rows_of_ones_own_are_imported_for_any_purpose() {
    let server = TestServer::start().await;
    let triples = [
        r#"{"type":"code_o","program":"def f(a):\n return a","input":"1","output":"1"}"#,
        r#"{"type":"code_i","program":"def f(a):\n return -a","input":"1","output":"-1"}"#,
    ];
    let gsm8k = r#"{"question":"One and one?","answer":"1+1=2\n#### 2"}"#;
    let [own, bad, suite] = ["own.jsonl", "bad.jsonl", "train.jsonl"].map(|name| server.folder().join(name));
    fs::write(&own, triples.join("\n")).expect("a file");
    fs::write(&bad, format!("{}\n{{\"question\": \"?\"}}\n", triples[0])).expect("a file");
    fs::write(&suite, gsm8k).expect("a file");
    let [own, bad, suite] = [&own, &bad, &suite].map(|path| path.to_str().expect("a path"));

    let said = refuses(&server, &["dataset", "import", bad, "--purpose", "training"]).await;
    assert!(said.contains("line 2: missing field `oracle`"), "{said}");
    let output = lyceum(&server, &["dataset", "import", own, "--purpose", "learning"]).await;
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let said = String::from_utf8(output.stderr).expect("text");
    assert!(said.contains("possible values: seeds, goalposts, training, benchmark"), "{said}");
    let id = says(&server, &["dataset", "import", own, "--purpose", "training", "--name", "own"]).await;
    let listed = says(&server, &["dataset", "list", "--purpose", "training"]).await;
    assert!(listed.contains(&id) && listed.contains("own"), "{listed}");
    assert!(!says(&server, &["dataset", "list", "--purpose", "seeds"]).await.contains("own"));
    let shown = says(&server, &["dataset", "show", &id]).await;
    assert!(shown.contains("\"rows\": 2") && shown.contains("\"overlaps\": []"), "{shown}");

    let exam = says(&server, &["benchmark", "import", "gsm8k", suite, "--name", "exam"]).await;
    let training = ["benchmark", "import", "gsm8k", suite, "--purpose", "training", "--name", "train"];
    let imported = lyceum(&server, &training).await;
    let told = String::from_utf8(imported.stderr).expect("text");
    assert!(told.contains("warning: 1 rows have the same questions as the benchmark `exam`"), "{told}");
    assert!(!told.contains("1319"), "a training set has as many rows as it has: {told}");
    let output = lyceum(&server, &["benchmark", "import", "gsm8k", suite, "--purpose", "seeds"]).await;
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let said = String::from_utf8(output.stderr).expect("text");
    assert!(said.contains("possible values: goalposts, training, benchmark"), "{said}");

    let run = filled(&server, 1).await.run.to_string();
    let asked = format!("gsm8k,dataset={exam},name=exam,n=4,temperature=0.6");
    let evaluation = says(&server, &["benchmark", "evaluate", "--run", &run, "--suite", &asked]).await;
    let writer = server.actor(Scope::Write).await;
    let shown = writer.get(&format!("/api/v1/evaluations/{evaluation}")).await.expect(200).json();
    let wanted = json!({"suite": "gsm8k", "dataset": exam, "name": "exam", "n": 4, "temperature": 0.6});
    assert_eq!(shown["spec"]["suites"], json!([wanted]));
    server.stop().await;
}
