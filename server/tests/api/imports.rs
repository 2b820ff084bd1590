//! Rows of benchmarks, as one document and line by line.

use actix_web::http::Method;
use lyceum_store::tokens::Scope;
use serde_json::{Value, json};
use std::io::Write as _;
use std::net::TcpStream;

use crate::benchmarks::{imported, row};
use crate::harness::{Actor, BODY_LIMIT, IMPORT_LIMIT, OtherServer, Reply, TestServer};
use crate::outline::assert_reads_like;

#[actix_web::test]
async fn rows_of_a_suite_are_checked_before_any_is_kept() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let rows = json!([row(0), {"question": "?"}, row(0)]);
    let body = json!({"name": "x", "purpose": "benchmark", "suite": "gms8k", "rows": rows});
    let reply = writer.post("/api/v1/datasets", &body).await.expect(422);
    assert_eq!(reply.places(), ["/suite", "/rows/1", "/rows/2/task_id"]);
    assert!(reply.json().to_string().contains("did you mean `gsm8k`?"), "{reply:?}");
    let none = writer.get("/api/v1/datasets").await.expect(200).json();
    assert_eq!(none["items"], json!([]));
    server.stop().await;
}

#[actix_web::test]
async fn rows_that_are_sent_line_by_line_are_all_kept_or_none() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let lines = writer.clone().with("content-type", "application/x-ndjson");
    let address = "/api/v1/datasets/import?name=streamed&purpose=benchmark&suite=gsm8k&source=file";
    let send = |text: String| {
        let (lines, body) = (lines.clone(), Some(text.into_bytes()));
        async move { lines.send(Method::POST, address, body).await }
    };
    let line = |number: u32| serde_json::to_string(&row(number)).expect("JSON");
    let bad = send(format!("{}\n\n{{\"question\": \"?\"}}\n{}", line(0), line(0))).await.expect(422);
    assert_eq!(bad.places(), ["/rows/1", "/rows/1"]);
    let told = bad.json().to_string();
    assert!(
        told.contains("line 3: missing field") && told.contains("line 4: `gsm8k/0` is already the task of line 1"),
        "{told}"
    );
    send("\n".to_owned()).await.expect(422);
    let large = send(" ".repeat(IMPORT_LIMIT + 1)).await.expect(413);
    assert!(large.json().to_string().contains(&IMPORT_LIMIT.to_string()), "{large:?}");
    let none = writer.get("/api/v1/datasets").await.expect(200).json();
    assert_eq!(none["items"], json!([]), "nothing was kept of any");

    let made = send(format!("{}\n{}\n{}", line(0), line(1), line(2))).await.expect(201).json();
    let whole = imported(&writer).await;
    assert_eq!((&made["rows"], &made["sha256"]), (&json!(3), &whole["sha256"]), "as one document");
    send(line(0)).await.expect(409);
    writer.send(Method::POST, address, Some(line(0).into_bytes())).await.expect(415);
    server.stop().await;
}

/// Imports `body` as a file of any kind.
async fn import(writer: &Actor, query: &str, body: impl Into<Vec<u8>>) -> Reply {
    let address = format!("/api/v1/datasets/import?purpose=training&{query}");
    let writer = writer.clone().with("content-type", "application/octet-stream");
    writer.send(Method::POST, &address, Some(body.into())).await
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(bytes).expect("bytes");
    packer.finish().expect("bytes")
}

/// `text` as a value in an address.
fn encoded(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}

async fn datasets(reader: &Actor) -> usize {
    let listed = reader.get("/api/v1/datasets").await.expect(200).json();
    listed["items"].as_array().map_or(0, Vec::len)
}

#[actix_web::test]
async fn rows_of_a_named_format_are_read_from_any_kind_of_file() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let rows = json!([
        {"problem": "Half?", "answer": "$\\frac{1}{2}$", "solution": "?"},
        {"problem": "A third?", "answer": "1/3", "solution": "?"},
    ]);
    let lines: Vec<String> = rows.as_array().expect("rows").iter().map(Value::to_string).collect();
    let lines = lines.join("\n");
    let pretty = serde_json::to_string_pretty(&rows).expect("JSON");
    let files =
        [("lines", lines.clone().into_bytes()), ("array", pretty.into_bytes()), ("packed", packed(lines.as_bytes()))];
    let mut hashes = Vec::new();
    for (name, file) in files {
        let reply = import(&writer, &format!("name={name}&format=DeepScaleR"), file).await.expect(201);
        hashes.push(reply.json()["sha256"].clone());
    }
    assert!(hashes.iter().all(|hash| *hash == hashes[0]), "{hashes:?}");
    let page = writer.get("/datasets.json").await.expect(200).json();
    let mut names: Vec<_> = page["items"].as_array().expect("datasets").iter().map(|one| one["name"].clone()).collect();
    names.sort_by_key(Value::to_string);
    assert_eq!(names, ["array", "lines", "packed"]);
    let cut = import(&writer, "name=cut&format=deepscaler", &packed(lines.as_bytes())[..20]).await.expect(422);
    assert!(cut.text().contains("the file cannot be read"), "{cut:?}");
    let cut = import(&writer, "name=cut&format=deepscaler", "[{\"problem\": \"Half?\"").await.expect(422);
    assert!(cut.text().contains("cut short"), "{cut:?}");
    let bomb = import(&writer, "name=bomb&format=deepscaler", packed(&vec![b' '; IMPORT_LIMIT + BODY_LIMIT]))
        .await
        .expect(413);
    assert!(bomb.text().contains(&IMPORT_LIMIT.to_string()), "{bomb:?}");
    assert_eq!(datasets(&writer).await, 3);
    server.stop().await;
}

#[actix_web::test]
async fn any_file_is_read_by_a_map_of_its_fields() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let lines: Vec<String> = (0..30)
        .map(|number| {
            json!({"prompt": [{"content": format!("What is {number}?")}], "reward": {"gold": number}}).to_string()
        })
        .collect();
    let lines = lines.join("\n");
    let map = |map: Value| format!("oracle=math&map={}", encoded(&map.to_string()));
    let good = map(json!({"question": "prompt.0.content", "gold": "reward.gold"}));
    let missing = map(json!({"question": "prompt.0.content", "gold": "rewards"}));
    let reply = import(&writer, &format!("name=map&{missing}"), lines.clone()).await.expect(422);
    assert_eq!(
        reply.json()["errors"],
        json!([{
            "pointer": "/rows/0",
            "detail": "line 1: missing field `rewards` (did you mean `reward`?); the row has `prompt`, `reward` (and so on 29 more lines)",
        }])
    );
    for (query, places) in [
        (map(json!({"question": "prompt", "answer": "gold"})), vec!["map", "map"]),
        ("oracle=math&map=question".to_owned(), vec!["map"]),
        ("oracle=math".to_owned(), vec!["map"]),
        (format!("map={}", encoded("{}")), vec!["oracle"]),
        (format!("{good}&format=gsm8k"), vec!["format"]),
        ("format=gms8k".to_owned(), vec!["format"]),
        ("format=suite".to_owned(), vec!["suite"]),
        ("min_question_bytes=9&max_question_bytes=8".to_owned(), vec!["min_question_bytes"]),
    ] {
        let reply = import(&writer, &format!("name=map&{query}"), lines.clone()).await.expect(400);
        assert_eq!(reply.places(), places, "{query}: {reply:?}");
    }
    let seeds = "/api/v1/datasets/import?name=map&purpose=seeds&format=gsm8k";
    let octets = writer.clone().with("content-type", "application/octet-stream");
    let reply = octets.send(Method::POST, seeds, Some(lines.clone().into_bytes())).await.expect(400);
    assert_eq!(reply.places(), ["purpose"]);
    assert_eq!(datasets(&writer).await, 0);

    let dry = import(&writer, &format!("name=map&{good}&dry_run=true"), lines.clone()).await.expect(200).json();
    assert_eq!((&dry["report"]["read"], &dry["rows"][4]["oracle"]["gold"]), (&json!(30), &json!("4")));
    assert_eq!(dry["rows"].as_array().map(Vec::len), Some(5));
    assert_eq!(datasets(&writer).await, 0, "a dry run imports nothing");
    let made = import(&writer, &format!("name=map&{good}"), lines).await.expect(201).json();
    assert_eq!(made["report"]["map"], json!({"question": "prompt.0.content", "gold": "reward.gold"}));
    server.stop().await;
}

#[actix_web::test]
async fn filters_report_what_they_leave_out() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let row = |question: &str| json!({"question": question, "answer": "#### 1"}).to_string();
    let lines = [row("What is 1?"), row("what is  1?"), row("?"), row(&"long ".repeat(9))].join("\n");
    let filters = "format=gsm8k&min_question_bytes=2&max_question_bytes=40";
    let made = import(&writer, &format!("name=filtered&{filters}"), lines.clone()).await.expect(201).json();
    let report = json!({"format": "gsm8k", "read": 4, "kept": 1, "duplicates": 1, "too_short": 1, "too_long": 1});
    assert_eq!((&made["rows"], &made["report"]), (&json!(1), &report));
    let page = format!("/datasets/{}", made["id"].as_str().expect("an id"));
    let html = writer.clone().with("accept", "text/html").get(&page).await.expect(200).text();
    assert_reads_like("dataset.filtered", &html);
    let none = import(&writer, "name=none&format=gsm8k&max_question_bytes=0", lines.clone()).await.expect(422);
    assert!(none.text().contains("the filters leave none of 4 rows"), "{none:?}");
    let kept = import(&writer, "name=kept&format=gsm8k&keep_duplicates=true", lines).await.expect(201).json();
    assert_eq!(kept["rows"], 4);
    server.stop().await;
}

#[actix_web::test]
async fn rows_that_cannot_be_read_are_left_out_where_that_is_allowed() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let row = |number: u32| json!({"question": format!("What is {number}?"), "answer": "#### 1"}).to_string();
    let mut lines: Vec<String> = (0..9).map(row).collect();
    lines.insert(3, "{\"question\": \"Cut".to_owned());
    let lines = lines.join("\n");
    let made = import(&writer, "name=some&format=gsm8k&skip_bad=10", lines.clone()).await.expect(201).json();
    let report = &made["report"];
    assert_eq!((&report["read"], &report["kept"], &report["bad"]), (&json!(10), &json!(9), &json!(1)));
    assert_eq!((&report["reasons"][0]["line"], &report["reasons"][0]["rows"]), (&json!(4), &json!(1)));
    let page = format!("/datasets/{}", made["id"].as_str().expect("an id"));
    let page = writer.clone().with("accept", "text/html").get(&page).await.expect(200).text();
    assert!(page.contains("1 unreadable, of 10 rows"), "{page}");
    let over = import(&writer, "name=over&format=gsm8k&skip_bad=9", lines.clone()).await.expect(422);
    assert!(over.text().contains("1 of 10 rows") && over.text().contains("line 4"), "{over:?}");
    for (query, status) in [("format=gsm8k", 422), ("format=gsm8k&skip_bad=101", 400)] {
        import(&writer, &format!("name=none&{query}"), lines.clone()).await.expect(status);
    }
    assert_eq!(datasets(&writer).await, 1);
    server.stop().await;
}

#[actix_web::test]
async fn files_of_other_kinds_are_refused_by_name() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let utf16: Vec<u8> = "\u{feff}{}".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let row = "{\"problem\": \"1+1?\", \"answer\": \"2\"}\n";
    for (file, name) in [
        (b"problem,answer\n1+1?,2\n".to_vec(), "CSV"),
        (utf16, "UTF-16"),
        ([packed(row.as_bytes()), b"garbage".to_vec()].concat(), "after its gzip data"),
    ] {
        let reply = import(&writer, "name=other&format=deepscaler", file).await.expect(422);
        assert!(reply.text().contains(name), "{reply:?}");
    }
    let marked = import(&writer, "name=marked&format=deepscaler", format!("\u{feff}{row}")).await;
    marked.expect(201);
    server.stop().await;
}

/// Sends the first row of an import to the server at `base`, and returns once the server receives it.
async fn half_sent(base: &str, writer: &Actor, row: &str) -> TcpStream {
    let mut stream = TcpStream::connect(base.trim_start_matches("http://")).expect("a connection");
    let head = format!(
        "POST /api/v1/datasets/import?purpose=training&name=half&format=gsm8k HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/x-ndjson\r\nContent-Length: {}\r\n\r\n{row}\n",
        writer.bearer(),
        10 * row.len()
    );
    stream.write_all(head.as_bytes()).expect("a request");
    let metrics = writer.at(base);
    while !metrics.get("/metrics").await.expect(200).text().contains("lyceum_large_bodies 1\n") {
        tokio::task::yield_now().await;
    }
    stream
}

/// Imports under the name of an import that broke off. This waits for its end, and would be refused if anything of it were
/// kept.
async fn imports_again(server: &TestServer, writer: &Actor, row: &str) {
    let made = import(writer, "name=half&format=gsm8k", row).await.expect(201).json();
    assert_eq!(made["rows"], 1);
    let rows = sqlx::query_scalar("SELECT count(*) FROM dataset_rows").fetch_one(server.store.pool());
    let rows: i64 = rows.await.expect("a count");
    assert_eq!((datasets(writer).await, rows), (1, 1));
}

#[actix_web::test]
async fn an_import_whose_client_goes_away_leaves_nothing() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let row = json!({"question": "What is 1?", "answer": "#### 1"}).to_string();
    drop(half_sent(&server.base(), &writer, &row).await);
    imports_again(&server, &writer, &row).await;
    server.stop().await;
}

#[actix_web::test]
async fn an_import_whose_server_is_killed_leaves_nothing() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let row = json!({"question": "What is 1?", "answer": "#### 1"}).to_string();
    let other = OtherServer::start(&server);
    let stream = half_sent(other.base(), &writer, &row).await;
    drop(other);
    imports_again(&server, &writer, &row).await;
    drop(stream);
    server.stop().await;
}
