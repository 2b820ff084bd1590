//! Imports from the Hugging Face hub, with a stand-in for it on this machine.

use actix_web::http::Method;
use lyceum_server::lab::BodyPace;
use lyceum_store::tokens::Scope;
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Output;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::process::Command;

use crate::harness::TestServer;
use crate::receiving::{open_transactions, receives};

/// A request that the stand-in got.
#[derive(Clone, Debug, PartialEq)]
struct Asked {
    path: String,
    authorization: Option<String>,
}

struct Answer {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
    /// Bytes of the body that are sent before the connection breaks.
    sent: usize,
    /// Whether the connection stays open instead.
    is_held: bool,
}

impl Answer {
    fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        let body = body.into();
        Self { status, headers: vec![("X-Repo-Commit", "c0ffee".to_owned())], sent: body.len(), body, is_held: false }
    }

    fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// A server that answers as the hub does.
struct Hub {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    held: Arc<Mutex<Vec<TcpStream>>>,
}

impl Hub {
    fn start(answer: impl Fn(&Asked) -> Answer + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = asked.clone();
        let held = Arc::new(Mutex::new(Vec::new()));
        let holding = held.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let Some(asked) = read(&stream) else { continue };
                let answer = answer(&asked);
                log.lock().unwrap_or_else(PoisonError::into_inner).push(asked);
                write(&stream, &answer);
                if answer.is_held {
                    holding.lock().unwrap_or_else(PoisonError::into_inner).push(stream);
                }
            }
        });
        Self { address, asked, held }
    }

    /// Breaks the connections that are held.
    fn let_go(&self) {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn paths(&self) -> Vec<String> {
        self.asked().into_iter().map(|asked| asked.path).collect()
    }
}

fn read(stream: &TcpStream) -> Option<Asked> {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let path = lines.next()?.split(' ').nth(1)?.to_owned();
    let headers: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
    let authorization = headers.iter().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("authorization").then(|| value.to_owned())
    });
    Some(Asked { path, authorization })
}

fn write(mut stream: &TcpStream, answer: &Answer) {
    let mut head = format!("HTTP/1.1 {} -\r\nConnection: close\r\n", answer.status);
    head.push_str(&format!("Content-Length: {}\r\n", answer.body.len()));
    for (name, value) in &answer.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    // The client may have gone.
    let _ = stream.write_all(format!("{head}\r\n").as_bytes());
    let _ = stream.write_all(&answer.body[..answer.sent]);
}

/// Rows of a question and an answer as Parquet.
fn parquet(rows: &[(&str, &str)], compression: Compression) -> Vec<u8> {
    let schema = "message row { required binary question (UTF8); required binary answer (UTF8); }";
    let schema = Arc::new(parse_message_type(schema).expect("a schema"));
    let properties = WriterProperties::builder().set_compression(compression).build();
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties)).expect("a writer");
    let mut group = writer.next_row_group().expect("a group");
    for column in [
        rows.iter().map(|(question, _)| *question).collect::<Vec<_>>(),
        rows.iter().map(|(_, answer)| *answer).collect(),
    ] {
        let values: Vec<ByteArray> = column.into_iter().map(ByteArray::from).collect();
        let mut column = group.next_column().expect("a column").expect("a column");
        let written = column.typed::<ByteArrayType>().write_batch(&values, None, None);
        written.expect("values");
        column.close().expect("the end");
    }
    group.close().expect("the end");
    writer.close().expect("the end");
    bytes
}

fn line(number: u32) -> String {
    format!("{{\"question\":\"What is {number}?\",\"answer\":\"#### {number}\"}}\n")
}

async fn lyceum(server: &TestServer, hub: &Hub, arguments: &[&str]) -> Output {
    let token = server.actor(Scope::Write).await.bearer();
    Command::new(env!("CARGO_BIN_EXE_lyceum"))
        .args(arguments)
        .env("LYCEUM_URL", server.base())
        .env("LYCEUM_TOKEN", token)
        .env("LYCEUM_DATA", server.folder().join("data"))
        .env("HF_ENDPOINT", hub.url())
        .env("HF_TOKEN", "hf_secret")
        .kill_on_drop(true)
        .output()
        .await
        .expect("lyceum")
}

/// The dataset that the command imported.
async fn imported(server: &TestServer, output: Output) -> Value {
    assert!(output.status.success(), "{output:?}");
    let id = String::from_utf8(output.stdout).expect("text");
    let reader = server.actor(Scope::Read).await;
    let address = format!("/api/v1/datasets/{}", id.trim());
    reader.get(&address).await.expect(200).json()
}

async fn refused(server: &TestServer, output: Output) -> String {
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let reader = server.actor(Scope::Read).await;
    let none = reader.get("/api/v1/datasets").await.expect(200).json();
    assert_eq!(none["items"], json!([]), "nothing is imported");
    String::from_utf8(output.stderr).expect("text")
}

const TRAIN: [&str; 6] = ["dataset", "import", "--purpose", "training", "--format", "gsm8k"];

#[actix_web::test]
async fn a_file_is_read_from_where_the_hub_redirects_to() {
    let server = TestServer::start().await;
    let store = Hub::start(|_| Answer { headers: Vec::new(), ..Answer::new(200, line(0) + &line(1)) });
    let place = store.url();
    let hub = Hub::start(move |asked| match asked.path.as_str() {
        "/datasets/old/name/resolve/v1/data/train%20set.jsonl" => {
            Answer::new(307, "").header("Location", "/datasets/new/name/resolve/v1/data/train%20set.jsonl")
        }
        _ => Answer::new(302, "").header("Location", format!("{place}/blob?signature=x")),
    });
    let address = "hf://datasets/old/name@v1/data/train set.jsonl";
    let made = imported(&server, lyceum(&server, &hub, &[&TRAIN[..], &[address]].concat()).await).await;
    assert_eq!((&made["rows"], &made["revision"], &made["source"]), (&json!(2), &json!("c0ffee"), &json!(address)));
    assert_eq!(
        made["report"],
        json!({
            "format": "gsm8k", "read": 2, "kept": 2, "duplicates": 0, "too_short": 0, "too_long": 0,
        })
    );
    let token = Some("Bearer hf_secret".to_owned());
    assert!(hub.asked().iter().all(|asked| asked.authorization == token), "{:?}", hub.asked());
    assert_eq!(hub.asked().len(), 2);
    let [only] = &store.asked()[..] else { panic!("{:?}", store.asked()) };
    assert_eq!(only.authorization, None, "the token is for the hub alone");
    server.stop().await;
}

#[actix_web::test]
async fn the_shards_of_a_split_are_read_in_order() {
    let server = TestServer::start().await;
    let files = [
        "README.md",
        "main/test-00000-of-00001.parquet",
        "main/train-00001-of-00002.parquet",
        "main/train-00000-of-00002.parquet",
    ];
    let siblings = files.map(|name| json!({"rfilename": name}));
    let listing = json!({"sha": "c0ffee", "siblings": siblings}).to_string();
    let hub = Hub::start(move |asked| match asked.path.as_str() {
        "/api/datasets/openai/gsm8k/revision/main" => Answer::new(200, listing.clone()),
        "/datasets/openai/gsm8k/resolve/c0ffee/main/train-00000-of-00002.parquet" => {
            Answer::new(200, parquet(&[("Zero?", "#### 0"), ("One?", "#### 1")], Compression::SNAPPY))
        }
        "/datasets/openai/gsm8k/resolve/c0ffee/main/train-00001-of-00002.parquet" => {
            Answer::new(200, parquet(&[("Two?", "#### 2")], Compression::ZSTD(ZstdLevel::default())))
        }
        _ => Answer::new(404, "").header("X-Error-Code", "EntryNotFound"),
    });
    let repository = "hf://datasets/openai/gsm8k";
    let said = refused(&server, lyceum(&server, &hub, &[&TRAIN[..], &[repository]].concat()).await).await;
    assert!(said.contains("main/test.parquet, main/train.parquet"), "{said}");
    let arguments = [&TRAIN[..], &[repository, "--split", "train"]].concat();
    let made = imported(&server, lyceum(&server, &hub, &arguments).await).await;
    assert_eq!((&made["rows"], &made["revision"]), (&json!(3), &json!("c0ffee")));
    let reader = server.actor(Scope::Read).await;
    let rows = format!("/api/v1/datasets/{}/rows", made["id"].as_str().expect("an id"));
    let rows = reader.get(&rows).await.expect(200).json();
    let rows = rows["items"].as_array().expect("rows");
    let asked: Vec<&str> = rows.iter().filter_map(|row| row["row"]["question"].as_str()).collect();
    assert_eq!(asked, ["Zero?", "One?", "Two?"]);

    let dry = ["benchmark", "import", "gsm8k", "hf://datasets/openai/gsm8k/main", "--split", "test", "--dry-run"];
    let output = lyceum(&server, &hub, &dry).await;
    let said = String::from_utf8(output.stderr).expect("text");
    assert!(
        said.contains("the hub has no main/test-00000-of-00001.parquet of openai/gsm8k; there are main/test-"),
        "{said}"
    );
    server.stop().await;
}

#[actix_web::test]
async fn a_file_that_cannot_be_had_is_not_imported() {
    let server = TestServer::start().await;
    let hub = Hub::start(|asked| match asked.path.as_str() {
        path if path.contains("/gated/") => Answer::new(401, "").header("X-Error-Code", "GatedRepo"),
        path if path.contains("/resolve/v9/") => Answer::new(404, "").header("X-Error-Code", "RevisionNotFound"),
        path if path.contains("/missing/") => Answer::new(404, "").header("X-Error-Code", "RepoNotFound"),
        path if path.contains("/loop/") => Answer::new(302, "").header("Location", path.to_owned()),
        path if path.contains("/cut/") => {
            let body = line(0) + &line(1) + &line(2);
            Answer { sent: line(0).len() + 5, ..Answer::new(200, body) }
        }
        // Cut at the end of a line: only the length tells.
        path if path.contains("/half/") => Answer { sent: line(0).len(), ..Answer::new(200, line(0) + &line(1)) },
        _ => Answer::new(500, ""),
    });
    for (address, message) in [
        ("hf://datasets/gated/x/train.jsonl", "set HF_TOKEN to a token that may read it (the one that is set may not)"),
        ("hf://datasets/gated/x", "is gated or private"),
        ("hf://datasets/some/x@v9/train.jsonl", "there is no such revision"),
        ("hf://datasets/missing/x", "the hub has no hf://datasets/missing/x"),
        ("hf://datasets/loop/x/train.jsonl", "it redirects more than 5 times"),
        ("hf://datasets/cut/x/train.jsonl", "broke off"),
        ("hf://datasets/half/x/train.jsonl", "broke off"),
        ("hf://datasets/broken/x/train.jsonl", "answers 500"),
        ("hf://datasets/nothing", "is not a dataset on the hub"),
    ] {
        let said = refused(&server, lyceum(&server, &hub, &[&TRAIN[..], &[address]].concat()).await).await;
        assert!(said.contains(message), "{address}: {said}");
    }
    assert!(hub.paths().iter().all(|path| !path.contains("nothing")), "{:?}", hub.paths());
    server.stop().await;
}

#[actix_web::test]
async fn the_server_imports_from_the_hub_for_a_form() {
    let hub = Hub::start(|asked| match asked.path.as_str() {
        path if path.contains("/half/") => Answer { sent: line(0).len(), ..Answer::new(200, line(0) + &line(1)) },
        _ => Answer::new(200, line(0) + &line(1) + &line(0)),
    });
    let url = hub.url();
    let server = TestServer::with(|settings| lyceum_server::lab::LabSettings { hub: Some(url), ..settings }).await;
    let writer = server.actor(Scope::Write).await;
    let import = |query: &str| {
        let address = format!("/api/v1/datasets/import?purpose=training&format=gsm8k&{query}");
        let writer = writer.clone();
        async move { writer.send(Method::POST, &address, None).await }
    };
    let reply = import("name=a&hub=half/x/train.jsonl").await.expect(422);
    assert!(reply.text().contains("broke off"), "{reply:?}");
    let reply = import("name=a&hub=nothing").await.expect(400);
    assert_eq!(reply.places(), ["hub"]);
    let reply = import("name=a&split=train").await.expect(400);
    assert_eq!(reply.places(), ["split"]);
    let preview = import("name=a&hub=some/x/train.jsonl&dry_run=true").await.expect(200).json();
    assert_eq!((&preview["report"]["kept"], &preview["revision"]), (&json!(2), &json!("c0ffee")));
    assert_eq!(preview["rows"][1]["question"], "What is 1?");
    let none = writer.get("/api/v1/datasets").await.expect(200).json();
    assert_eq!(none["items"], json!([]));
    let made = import("name=a&hub=some/x/train.jsonl").await.expect(201).json();
    assert_eq!(
        (&made["revision"], &made["source"], &made["report"]["duplicates"]),
        (&json!("c0ffee"), &json!("hf://datasets/some/x/train.jsonl"), &json!(1))
    );
    server.stop().await;
}

/// A hub that sends a part of a file and then nothing.
fn stalling() -> Hub {
    Hub::start(|asked| match asked.path.contains("/stalls/") {
        true => Answer { sent: line(0).len(), is_held: true, ..Answer::new(200, line(0) + &line(1)) },
        false => Answer::new(200, line(0)),
    })
}

#[actix_web::test]
async fn imports_from_a_hub_that_stalls_hold_no_transaction_and_hinder_no_other() {
    let hub = stalling();
    let url = hub.url();
    let server = TestServer::with(|settings| lyceum_server::lab::LabSettings { hub: Some(url), ..settings }).await;
    let writer = server.actor(Scope::Write).await;
    let import = |name: &str, place: &str| {
        let address =
            format!("/api/v1/datasets/import?purpose=training&format=gsm8k&name={name}&hub={place}/x/train.jsonl");
        let writer = writer.clone();
        async move { writer.send(Method::POST, &address, None).await }
    };
    // More of them than imports that may write at once.
    let mut stalled = Vec::new();
    for number in 0..3 {
        stalled.push(actix_web::rt::spawn(import(&format!("stalled-{number}"), "stalls")));
    }
    receives(&writer, 3).await;
    import("whole", "some").await.expect(201);
    assert_eq!(open_transactions(&server).await, 0);
    for import in &stalled {
        import.abort();
    }
    receives(&writer, 0).await;
    hub.let_go();
    server.stop().await;
}

#[actix_web::test]
async fn a_hub_that_is_too_slow_is_given_up() {
    let hub = Hub::start(|_| Answer::new(200, line(0).repeat(10_000)));
    let url = hub.url();
    let server = TestServer::with(|settings| lyceum_server::lab::LabSettings {
        hub: Some(url),
        // No hub is as fast.
        body_pace: BodyPace { grace: Duration::ZERO, bytes_per_second: u32::MAX },
        ..settings
    })
    .await;
    let writer = server.actor(Scope::Write).await;
    let address = "/api/v1/datasets/import?purpose=training&format=gsm8k&name=a&hub=some/x/train.jsonl";
    let reply = writer.send(Method::POST, address, None).await.expect(422);
    assert!(reply.text().contains("the hub sends too slowly"), "{reply:?}");
    let none = writer.get("/api/v1/datasets").await.expect(200).json();
    assert_eq!(none["items"], json!([]));
    server.stop().await;
}
