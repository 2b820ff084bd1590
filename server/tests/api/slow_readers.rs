//! Clients that ask for a file and read it slowly, or not at all.

use lyceum_store::tokens::Scope;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use crate::fixtures::filled;
use crate::harness::{Actor, OtherServer, TestServer};
use crate::receiving::apart;

/// A client that has asked for the file at `path` and read the start of the answer.
async fn reader(base: &str, reader: &Actor, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(base.trim_start_matches("http://")).expect("a connection");
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\r\n",
        reader.bearer()
    );
    apart(move || {
        stream.write_all(request.as_bytes()).expect("a request");
        let mut start = [0; 12];
        stream.read_exact(&mut start).expect("an answer");
        assert_eq!(&start, b"HTTP/1.1 200");
        stream
    })
    .await
}

#[actix_web::test]
async fn a_hundred_slow_readers_hold_a_piece_of_the_file_each() {
    const READERS: usize = 100;
    /// Readers after which the allocator has what each of the others can use again.
    const FIRST: usize = 40;
    const TEXT: usize = 256 << 10;
    let server = TestServer::start().await;
    let actor = server.actor(Scope::Read).await;
    let made = filled(&server, 6).await;
    // An export of one and a half megabytes.
    sqlx::query("UPDATE problems SET prompt = repeat('x', $1)")
        .bind(i32::try_from(TEXT).expect("a length"))
        .execute(server.store.pool())
        .await
        .expect("longer texts");
    let other = OtherServer::start(&server);
    let actor = actor.at(other.base());
    let path = format!("/runs/{}/export/problems.jsonl", made.run);
    let whole = actor.get(&path).await.expect(200).body;
    assert!(whole.len() > 6 * TEXT);
    let mut readers = Vec::new();
    for _ in 0..FIRST {
        readers.push(reader(other.base(), &actor, &path).await);
    }
    let before = other.resident();
    for _ in FIRST..READERS {
        readers.push(reader(other.base(), &actor, &path).await);
    }
    // Each has its turn only when the files before it have been generated.
    let held = other.resident().saturating_sub(before);
    let others = READERS - FIRST;
    // Half of their files: sockets and the allocator's slack differ from machine to machine.
    assert!(held < others * whole.len() / 2, "{held} bytes for {others} readers");
    let connections = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state <> 'idle'
                       AND pid <> pg_backend_pid()";
    while sqlx::query_scalar::<_, i64>(connections).fetch_one(server.store.pool()).await.expect("a count") > 0 {
        // The last files are still being generated; a reader that held a connection would hold it for ever.
        tokio::task::yield_now().await;
    }
    let mut last = readers.pop().expect("a reader");
    let rest = apart(move || {
        let mut rest = Vec::new();
        last.read_to_end(&mut rest).expect("the rest");
        rest
    })
    .await;
    assert!(rest.len() > whole.len(), "a slow reader gets the whole file");
    assert!(rest.ends_with(b"\r\n0\r\n\r\n"), "to its end");
    drop((readers, other));
    server.stop().await;
}
