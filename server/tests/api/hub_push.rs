//! Pushes to the Hugging Face hub, with a stand-in for its API on this machine.

use lyceum_store::tokens::Scope;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::process::Output;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::process::Command;

use crate::fixtures::filled;
use crate::harness::TestServer;

/// A request that the stand-in got.
#[derive(Clone, Debug)]
struct Asked {
    line: String,
    authorization: String,
    body: Vec<u8>,
}

impl Asked {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }
}

/// A hub that takes what is pushed to it, and keeps Parquet files in its store.
struct Hub {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Hub {
    /// `refuses`: what it answers to a request for a new repository.
    fn start(refuses: Option<&'static str>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = asked.clone();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut reader = BufReader::new(stream.try_clone().expect("a reader"));
                let mut lines = Vec::new();
                let mut line = String::new();
                while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
                    lines.push(line.trim_end().to_owned());
                    line.clear();
                }
                let header = |name: &str| {
                    let found =
                        lines.iter().find_map(|line| line.to_lowercase().strip_prefix(name).map(|_| line.clone()));
                    found.and_then(|line| Some(line.split_once(": ")?.1.to_owned())).unwrap_or_default()
                };
                let mut body = vec![0; header("content-length:").parse().unwrap_or(0)];
                reader.read_exact(&mut body).expect("a body");
                let asked = Asked {
                    line: lines.first().map(|line| line.replace(" HTTP/1.1", "")).unwrap_or_default(),
                    authorization: header("authorization:"),
                    body,
                };
                let (status, answer) = answer(&asked, address, refuses);
                let answer = answer.to_string();
                log.lock().unwrap_or_else(PoisonError::into_inner).push(asked);
                let _ = write!(
                    stream,
                    "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{answer}",
                    answer.len()
                );
            }
        });
        Self { address, asked }
    }

    fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn answer(asked: &Asked, address: SocketAddr, refuses: Option<&str>) -> (&'static str, Value) {
    match asked.line.as_str() {
        "POST /api/repos/create" => match refuses {
            Some(said) => ("403 Forbidden", json!({ "error": said })),
            // It is there already.
            None => ("409 Conflict", json!({"error": "exists"})),
        },
        line if line.contains("/preupload/main") => {
            let files = asked.json()["files"].as_array().cloned().unwrap_or_default();
            let mode = |file: &Value| {
                let path = file["path"].as_str().unwrap_or_default();
                let is_large = path.ends_with(".parquet") || path.ends_with(".safetensors");
                json!({"path": path, "uploadMode": if is_large { "lfs" } else { "regular" }})
            };
            ("200 OK", json!({"files": files.iter().map(mode).collect::<Vec<_>>()}))
        }
        line if line.ends_with("/info/lfs/objects/batch") => {
            let objects = asked.json()["objects"].as_array().cloned().unwrap_or_default();
            let action = |object: &Value| {
                let oid = object["oid"].as_str().unwrap_or_default();
                let upload = json!({"href": format!("http://{address}/store/{oid}"), "header": {"x-part": "1"}});
                let verify = json!({"href": format!("http://{address}/verify/{oid}")});
                json!({"oid": oid, "size": object["size"], "actions": {"upload": upload, "verify": verify}})
            };
            ("200 OK", json!({"objects": objects.iter().map(action).collect::<Vec<_>>()}))
        }
        _ => ("200 OK", json!({})),
    }
}

async fn push(server: &TestServer, hub: &Hub, token: Option<&str>, arguments: &[&str]) -> Output {
    let mut lyceum = Command::new(env!("CARGO_BIN_EXE_lyceum"));
    lyceum
        .args(["run", "push"])
        .args(arguments)
        .env("LYCEUM_URL", server.base())
        .env("LYCEUM_TOKEN", server.actor(Scope::Read).await.bearer())
        .env("LYCEUM_DATA", server.folder().join("data"))
        .env("HF_ENDPOINT", format!("http://{}", hub.address))
        .env_remove("HF_TOKEN")
        .env("NO_PROXY", "127.0.0.1")
        .kill_on_drop(true);
    if let Some(token) = token {
        lyceum.env("HF_TOKEN", token);
    }
    lyceum.output().await.expect("lyceum")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[actix_web::test]
async fn a_runs_tables_become_one_commit_of_a_dataset() {
    let server = TestServer::start().await;
    let run = filled(&server, 6).await.run.to_string();
    let hub = Hub::start(None);
    let output = push(&server, &hub, Some("hf_secret"), &[&run, "--repo", "me/my-run"]).await;
    assert!(output.status.success(), "{output:?}");
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(told.trim(), format!("http://{}/datasets/me/my-run", hub.address));
    let asked = hub.asked();
    assert_eq!(asked[0].json()["organization"], "me");
    assert!(
        asked
            .iter()
            .filter(|asked| asked.line.contains("/api/"))
            .all(|asked| asked.authorization == "Bearer hf_secret")
    );
    let stored: Vec<&Asked> = asked.iter().filter(|asked| asked.line.starts_with("PUT /store/")).collect();
    assert!(
        !stored.is_empty()
            && stored.iter().all(|asked| asked.body.starts_with(b"PAR1") && asked.authorization.is_empty())
    );
    assert_eq!(asked.iter().filter(|asked| asked.line.starts_with("POST /verify/")).count(), stored.len());
    let commits: Vec<&Asked> = asked.iter().filter(|asked| asked.line.contains("/commit/")).collect();
    assert_eq!(commits.len(), 1);
    assert_eq!(commits[0].line, "POST /api/datasets/me/my-run/commit/main");
    let text = String::from_utf8(commits[0].body.clone()).expect("text");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines[0]["key"], "header");
    let card = lines.iter().find(|line| line["value"]["path"] == "README.md").expect("a card");
    assert_eq!(card["key"], "file");
    let large = lines.iter().filter(|line| line["key"] == "lfsFile").count();
    assert_eq!(large, stored.len());
    server.stop().await;
}

#[actix_web::test]
async fn what_cannot_be_pushed_is_refused_with_the_cure() {
    let server = TestServer::start().await;
    let made = filled(&server, 2).await;
    let run = made.run.to_string();
    let hub = Hub::start(Some("you do not have write access"));
    let refused = push(&server, &hub, None, &[&run, "--repo", "me/x"]).await;
    assert!(said(&refused).contains("HF_TOKEN"), "{refused:?}");
    let refused = push(&server, &hub, Some("hf"), &[&run, "--repo", "me"]).await;
    assert!(said(&refused).contains("OWNER/NAME"), "{refused:?}");
    let refused = push(&server, &hub, Some("hf"), &[&run, "--repo", "me/x", "--member", "nobody"]).await;
    assert!(said(&refused).contains("teacher-0"), "{refused:?}");
    assert!(hub.asked().is_empty(), "nothing was sent to the hub");
    let refused = push(&server, &hub, Some("hf_secret"), &[&run, "--repo", "me/x"]).await;
    let why = said(&refused);
    assert!(why.contains("me/x") && why.contains("write access") && !why.contains("hf_secret"), "{why}");
    assert_eq!(hub.asked().len(), 1, "nothing is sent after the refusal");
    server.stop().await;
}
