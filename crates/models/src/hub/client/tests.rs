//! Fetching from stand-ins for the hub and its store on this machine.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use super::*;

const COMMIT: &str = "0123abcd";
const NOBODY: &str = "http://127.0.0.1:1";
const FILES: [&str; 6] = [
    "config.json",
    "model-00001-of-00003.safetensors",
    "model-00003-of-00003.safetensors",
    "model.safetensors.index.json",
    "tokenizer.json",
    "model-00002-of-00003.safetensors",
];

fn model() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../engine/tests/fixtures/models/qwen2-untied-sharded")
}

fn hub(endpoint: &str, cache: &Path) -> Hub {
    let client = HubClient::new(endpoint, Some("hf_secret".to_owned()));
    Hub { client, cache: Cache::new(cache.to_owned()) }
}

/// A request: its path, the byte from which it wants the file, and whether it had the token.
type Asked = (String, usize, bool);

/// A server on this machine that writes down what it is asked; ends with the test.
fn listen(answer: impl Fn(&mut TcpStream, &Asked) + Send + 'static) -> (String, Arc<Mutex<Vec<Asked>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let all = Arc::new(Mutex::new(Vec::new()));
    let log = all.clone();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let head: Vec<String> = lines.map_while(|line| line.ok()).take_while(|line| !line.is_empty()).collect();
            let path = head[0].split(' ').nth(1).unwrap().to_owned();
            let range =
                head.iter().find_map(|line| line.to_lowercase().split_once("bytes=").map(|(_, at)| at.to_owned()));
            let start = range.map_or(0, |range| range.trim_end_matches('-').parse().unwrap());
            let asked = (path, start, head.iter().any(|line| line.contains("hf_secret")));
            log.lock().unwrap().push(asked.clone());
            answer(&mut stream, &asked);
        }
    });
    (format!("http://{address}"), all)
}

fn send(stream: &mut TcpStream, head: &str, body: &[u8]) {
    write!(stream, "HTTP/1.1 {head}Content-Length: {}\r\nConnection: close\r\n\r\n", body.len()).unwrap();
    // The client may have gone.
    let _ = stream.write_all(body);
}

/// A hub that has `some/model`, `some/adapter` and `some/pickle`.
fn serve() -> (String, Arc<Mutex<Vec<Asked>>>) {
    listen(|stream, (path, ..)| {
        let listed: &[&str] = match path.as_str() {
            "/api/models/some/model/revision/main" => &FILES,
            "/api/models/some/adapter/revision/main" | "/api/models/some/adapter/revision/v1" => {
                &[peft::CONFIG, peft::WEIGHTS]
            }
            "/api/models/some/pickle/revision/main" => &[peft::CONFIG, peft::PICKLE],
            "/api/models/some/gated/revision/main" => return send(stream, "401 -\r\n", b""),
            "/api/models/some/busy/revision/main" => return send(stream, "429 -\r\nRetry-After: 30\r\n", b""),
            _ => &[],
        };
        // Of a model its files, and of an adapter files with their names in them.
        let found = path.split_once("/resolve/0123abcd/").and_then(|(repository, file)| match repository {
            "/some/model" => Some((file, std::fs::read(model().join(file)).ok()?)),
            "/some/adapter" => Some((file, file.as_bytes().to_vec())),
            _ => None,
        });
        if !listed.is_empty() {
            send(stream, "200 OK\r\n", listing(listed).as_bytes());
        } else if let Some((file, bytes)) = found {
            send(stream, &format!("200 OK\r\nETag: \"{}\"\r\n", file.replace('.', "-")), &bytes);
        } else {
            send(stream, "404 Not Found\r\n", b"");
        }
    })
}

fn listing(files: &[&str]) -> String {
    let files: Vec<_> = files.iter().map(|file| serde_json::json!({ "rfilename": file })).collect();
    serde_json::json!({ "sha": COMMIT, "siblings": files }).to_string()
}

#[test]
fn a_model_is_taken_from_the_cache_once_all_of_it_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let hub = hub(NOBODY, folder.path());
    let repository = hub.cache.model("some/model".to_owned());
    repository.create_ref(COMMIT).unwrap();
    let snapshot = repository.pointer_path(COMMIT);
    std::fs::create_dir_all(&snapshot).unwrap();
    for file in FILES {
        assert_eq!(hub.cached("some/model"), None);
        std::fs::copy(model().join(file), snapshot.join(file)).unwrap();
    }
    assert_eq!(hub.cached("some/model"), Some(snapshot));
    assert_eq!(hub.cached("some/other"), None);
}

#[test]
fn a_model_is_fetched_once_and_then_needs_no_hub() {
    let folder = tempfile::tempdir().unwrap();
    let fetched = hub(&serve().0, folder.path()).model("some/model").unwrap();
    for file in FILES {
        assert_eq!(std::fs::read(fetched.join(file)).unwrap(), std::fs::read(model().join(file)).unwrap());
    }
    assert_eq!(hub(NOBODY, folder.path()).model("some/model").unwrap(), fetched);
}

#[test]
fn two_who_fetch_at_once_ask_for_each_file_once() {
    let folder = tempfile::tempdir().unwrap();
    let (endpoint, asked) = serve();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| hub(&endpoint, folder.path()).model("some/model").unwrap());
        }
    });
    let asked = asked.lock().unwrap();
    assert_eq!(asked.iter().filter(|(path, ..)| path.contains("/resolve/")).count(), FILES.len(), "{asked:?}");
}

#[test]
fn an_adapter_is_fetched_once_and_a_pickle_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let endpoint = serve().0;
    for name in ["some/adapter", "some/adapter@v1"] {
        let fetched = hub(&endpoint, folder.path()).adapter(name).unwrap();
        for file in [peft::CONFIG, peft::WEIGHTS] {
            assert_eq!(std::fs::read_to_string(fetched.join(file)).unwrap(), file);
        }
        assert_eq!(hub(NOBODY, folder.path()).adapter(name).unwrap(), fetched);
    }
    let refused = |name| hub(&endpoint, folder.path()).adapter(name).unwrap_err().to_string();
    let said = refused("some/pickle");
    assert!(said.starts_with("some/pickle: ") && said.contains(peft::PICKLE), "{said}");
    assert!(refused("some/model").contains("it is no adapter"));
    assert!(refused("some/other").contains("the hub has no model or adapter some/other"));
}

/// The content of a large file.
fn weights() -> Vec<u8> {
    (0..1_000_000_u32).map(|place| (place % 251) as u8).collect()
}

/// Fetches an adapter whose weights are in a store to which the hub redirects, and which answers by `store` with the
/// bytes from the one that is asked for. Returns what came of it, and what hub and store were asked.
fn from_store(
    folder: &Path,
    store: impl Fn(&mut TcpStream, usize) + Send + 'static,
) -> (Result<PathBuf>, Vec<Asked>, Vec<Asked>) {
    let (place, of_store) = listen(move |stream, (_, start, _)| store(stream, *start));
    let etag: String = Sha256::digest(weights()).iter().map(|byte| format!("{byte:02x}")).collect();
    let (endpoint, of_hub) = listen(move |stream, (path, ..)| {
        if path.starts_with("/api/models/") {
            return send(stream, "200 OK\r\n", listing(&[peft::CONFIG, peft::WEIGHTS]).as_bytes());
        }
        if path == "/moved/weights" {
            let head = format!("302 -\r\nX-Linked-ETag: \"{etag}\"\r\nLocation: {place}/blob?signature=x\r\n");
            return send(stream, &head, b"");
        }
        match path.ends_with(peft::WEIGHTS) {
            true => send(stream, "307 -\r\nLocation: /moved/weights\r\n", b""),
            false => send(stream, "200 OK\r\nETag: W/\"small\"\r\n", b"{}"),
        }
    });
    let fetched = hub(&endpoint, folder).adapter("some/adapter");
    let asked = (of_hub.lock().unwrap().clone(), of_store.lock().unwrap().clone());
    (fetched, asked.0, asked.1)
}

/// Sends a part of the weights, and breaks off after `sent` bytes of it.
fn part(stream: &mut TcpStream, start: usize, sent: usize) {
    let all = weights();
    let (status, range) = match start {
        0 => ("200 OK", String::new()),
        _ => ("206 -", format!("Content-Range: bytes {start}-{}/{}\r\n", all.len() - 1, all.len())),
    };
    let left = &all[start..];
    write!(stream, "HTTP/1.1 {status}\r\n{range}Content-Length: {}\r\n\r\n", left.len()).unwrap();
    let _ = stream.write_all(&left[..sent.min(left.len())]);
}

#[test]
fn a_transfer_that_breaks_off_goes_on_where_it_was_and_the_store_never_sees_the_token() {
    let folder = tempfile::tempdir().unwrap();
    let (fetched, of_hub, of_store) = from_store(folder.path(), |stream, start| part(stream, start, 400_000));
    assert_eq!(std::fs::read(fetched.unwrap().join(peft::WEIGHTS)).unwrap(), weights());
    let starts: Vec<usize> = of_store.iter().map(|(_, start, _)| *start).collect();
    assert_eq!(starts, [0, 400_000, 800_000]);
    assert!(of_hub.iter().all(|(.., has_token)| *has_token) && of_store.iter().all(|(.., has_token)| !has_token));
    let blobs = folder.path().join("models--some--adapter/blobs");
    let left = std::fs::read_dir(blobs).unwrap().flatten().map(|entry| entry.file_name().into_string().unwrap());
    assert_eq!(left.filter(|name| name.ends_with(".incomplete")).count(), 0);
}

#[test]
fn what_a_process_left_behind_is_finished_by_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let (broken, ..) = from_store(folder.path(), |stream, start| part(stream, start, 400_000 - start.min(400_000)));
    let error = broken.unwrap_err();
    assert!(matches!(error, ModelError::Unreachable { .. }) && error.to_string().contains("broke off"), "{error}");
    let (fetched, _, of_store) = from_store(folder.path(), |stream, start| part(stream, start, usize::MAX));
    assert_eq!(std::fs::read(fetched.unwrap().join(peft::WEIGHTS)).unwrap(), weights());
    assert_eq!(of_store.iter().map(|(_, start, _)| *start).collect::<Vec<_>>(), [400_000]);
}

#[test]
fn bytes_other_than_those_announced_are_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (wrong, ..) = from_store(folder.path(), |stream, _| send(stream, "200 OK\r\n", b"<html>"));
    assert!(wrong.unwrap_err().to_string().contains("its SHA-256 is"));
    // A store that ignores ranges: what is there already does not come twice.
    let (broken, ..) = from_store(folder.path(), |stream, start| part(stream, start, 1000 - start.min(1000)));
    broken.unwrap_err();
    let (fetched, _, of_store) = from_store(folder.path(), |stream, _| part(stream, 0, usize::MAX));
    assert_eq!(std::fs::read(fetched.unwrap().join(peft::WEIGHTS)).unwrap(), weights());
    assert_eq!(of_store.iter().map(|(_, start, _)| *start).collect::<Vec<_>>(), [1000]);
}

#[test]
fn what_the_hub_refuses_is_told_from_a_hub_that_cannot_be_reached() {
    let folder = tempfile::tempdir().unwrap();
    let endpoint = serve().0;
    let refused = |name| hub(&endpoint, folder.path()).model(name).unwrap_err();
    let missing = refused("some/other");
    assert!(!missing.is_transient() && missing.to_string().contains("correct the name"), "{missing}");
    let gated = refused("some/gated");
    assert!(!gated.is_transient() && gated.to_string().contains("HF_TOKEN"), "{gated}");
    let busy = refused("some/busy");
    assert!(busy.is_transient() && busy.to_string().contains("wait 30 s"), "{busy}");

    let error = hub(NOBODY, folder.path()).model("some/model").unwrap_err();
    assert!(matches!(error, ModelError::Unreachable { .. }), "{error:?}");
    let said = error.to_string();
    for part in ["`some/model`", NOBODY, folder.path().to_str().unwrap()] {
        assert!(said.contains(part), "no {part} in: {said}");
    }
}
