//! Databases that other releases wrote.
//!
//! `releases/72beba27.sql.gz` is `pg_dump --inserts --rows-per-insert=200 --no-owner --no-privileges` of a lab of commit 72beba27,
//! without comments: one small run of every recipe and one evaluation of every type, all completed. The weights are not there.

use flate2::read::GzDecoder;
use lyceum_core::evaluation::EvaluationType;
use lyceum_core::recipe::Registry;
use lyceum_postgres::{TestCluster, TestDatabase};
use lyceum_store::tokens::Scope;
use lyceum_store::{Store, benchmarks};
use nix::sys::signal::Signal;
use serde_json::Value;
use sqlx::Connection as _;
use sqlx::migrate::Migrator;
use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::Path;
use std::{env, fs};
use strum::VariantArray as _;

use crate::harness::TestServer;
use crate::machine::{Machine, database, kill};

/// Its database, migrated, and a connection to it.
async fn migrated_72beba27() -> (TestDatabase, Store) {
    let mut dump = String::new();
    GzDecoder::new(&include_bytes!("releases/72beba27.sql.gz")[..]).read_to_string(&mut dump).expect("a dump");
    let database = TestCluster::shared().await.expect("a Postgres").database().await.expect("a database");
    let mut connection = sqlx::PgConnection::connect(database.url()).await.expect("a connection");
    sqlx::raw_sql(sqlx::AssertSqlSafe(dump)).execute(&mut connection).await.expect("an old database");
    connection.close().await.expect("an end");
    let store = Store::connect(database.url(), 2).await.expect("a connection");
    store.migrate().await.expect("newer tables");
    (database, store)
}

async fn server_on_72beba27() -> TestServer {
    let (database, store) = migrated_72beba27().await;
    store.pool().close().await;
    TestServer::on(database, Registry::shipped(), |settings| settings).await
}

fn names(items: &[Value], pointer: &str) -> BTreeSet<String> {
    items.iter().filter_map(|item| item.pointer(pointer)?.as_str().map(str::to_owned)).collect()
}

#[actix_web::test]
async fn every_evaluation_and_run_of_an_earlier_release_opens() {
    let server = server_on_72beba27().await;
    let reader = server.actor(Scope::Read).await;
    let items = async |path: &str| {
        let listed = reader.get(path).await.expect(200).json()["items"].as_array().cloned();
        listed.expect("items")
    };
    let evaluations = items("/api/v1/evaluations?limit=100").await;
    let types: BTreeSet<String> = EvaluationType::VARIANTS.iter().map(|kind| kind.name().to_owned()).collect();
    assert_eq!(names(&evaluations, "/spec/type"), types);
    for evaluation in &evaluations {
        let (id, kind) = (evaluation["id"].as_str().expect("an id"), &evaluation["spec"]["type"]);
        let shown = reader.get(&format!("/api/v1/evaluations/{id}")).await.expect(200).json();
        assert_eq!((&shown["state"], shown["result"].is_null()), (&"completed".into(), false), "{kind}");
        let page = reader.get(&format!("/evaluations/{id}")).await.expect(200).text();
        assert!(page.contains("completed"), "{kind}");
    }
    let runs = items("/api/v1/runs?limit=100").await;
    let recipes: BTreeSet<String> = Registry::shipped().recipes().map(|recipe| recipe.name().to_owned()).collect();
    assert_eq!(names(&runs, "/recipe"), recipes);
    for run in &runs {
        let id = run["id"].as_str().expect("an id");
        assert_eq!(run["state"], "completed");
        for page in ["", "/metrics", "/samples", "/population", "/attempts"] {
            reader.get(&format!("/runs/{id}{page}")).await.expect(200);
        }
        for list in ["problems", "attempts", "members", "metrics", "results"] {
            reader.get(&format!("/api/v1/runs/{id}/{list}")).await.expect(200);
        }
    }
    server.stop().await;
}

/// Results but for their intervals, rounded, since Postgres and the server add numbers in another order.
const RESULTS: &str = "
    SELECT concat_ws('|', 'run', run_id, suite, row_set, decoding, step, of_suite, base_model, temperature, n, rows, members,
        round(pass_at_1::numeric, 12), round(standard_error::numeric, 12), round(reference::numeric, 12), reference_step)
    FROM run_results UNION ALL
    SELECT concat_ws('|', 'member', seq, row_set, decoding, round(reference::numeric, 12)) FROM benchmark_results UNION ALL
    SELECT concat_ws('|', 'latest', run_id, of_run, suite, row_set, decoding, step, rows, round(pass_at_1::numeric, 12),
        round(reference::numeric, 12)) FROM latest_results UNION ALL
    SELECT concat_ws('|', 'outcome', run_id, of_run, suite, row_set, decoding, step, round(difference::numeric, 12))
    FROM run_outcomes ORDER BY 1";

#[actix_web::test]
async fn results_of_an_earlier_release_are_compared_anew_one_after_the_other_and_stay_what_they_were() {
    let (database, store) = migrated_72beba27().await;
    let read = async |query: &'static str| -> Vec<String> {
        sqlx::query_scalar(query).fetch_all(store.pool()).await.expect("rows")
    };
    let intervals = "SELECT concat_ws('|', run_id, suite, step, difference_low, difference_high) FROM run_results
        WHERE reference IS NOT NULL ORDER BY 1";
    let (results, before) = (read(RESULTS).await, read(intervals).await);
    let waiting = read("SELECT run_id::text FROM results_to_renew").await.len();
    assert!(waiting > 0 && !before.is_empty() && results.iter().any(|one| one.starts_with("outcome")), "{waiting}");

    // Once more, so that somebody can be stopped on the way.
    read("INSERT INTO results_to_renew SELECT * FROM results_to_renew RETURNING run_id::text").await;
    let waiting = 2 * waiting;
    assert!(benchmarks::renew_next(store.pool()).await.expect("a first one"));
    let left = read("SELECT run_id::text FROM results_to_renew").await.len();
    assert_eq!(left, waiting - 1, "whoever is stopped here goes on with the others");
    while benchmarks::renew_next(store.pool()).await.expect("another one") {}
    assert_eq!(read(RESULTS).await, results);
    let after = read(intervals).await;
    assert_eq!(after.len(), before.len());
    assert!(before.iter().all(|one| !after.contains(one)), "{before:#?}\n{after:#?}");
    store.pool().close().await;
    drop(database);
}

/// Brings the database to what release 9.0 makes of it: all migrations of this one and `later`, by version.
fn migrate_as_9_0(url: &str, later: &[(&str, &str)]) {
    let folder = tempfile::tempdir().expect("a folder");
    for entry in
        fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../migrations")).expect("migrations").flatten()
    {
        fs::copy(entry.path(), folder.path().join(entry.file_name())).expect("a copy");
    }
    for (name, text) in later {
        fs::write(folder.path().join(format!("{name}.sql")), text).expect("a migration");
    }
    let version: i64 = later.last().and_then(|(name, _)| name.split('_').next()?.parse().ok()).expect("a version");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let mut connection = sqlx::PgConnection::connect(url).await.expect("a connection");
        let migrator = Migrator::new(folder.path()).await.expect("migrations");
        migrator.run_direct(None, &mut connection, false).await.expect("a later schema");
        let named = sqlx::query("INSERT INTO schema_releases VALUES ($1, '9.0')").bind(version);
        named.execute(&mut connection).await.expect("a release");
    });
}

#[test]
fn a_server_killed_in_a_rolling_upgrade_comes_back_until_the_later_release_contracts() {
    let database = database();
    let machine = Machine::new();
    machine.set("DATABASE_URL", database.url());
    let expands =
        ("9001_expands", "ALTER TABLE runs ADD COLUMN of_later text; CREATE TABLE of_later (id uuid PRIMARY KEY);");
    let contracts = ("9002_contracts", "DROP TABLE of_later; UPDATE schema_bound SET migration = 9002;");
    let mut up = machine.up(&["--no-worker"]);
    migrate_as_9_0(database.url(), &[expands]);
    let first = up.server();
    kill(first, Signal::SIGKILL);
    while !up.get_or_reset("/readyz").starts_with("HTTP/1.1 200") {}
    assert_ne!(up.server(), first);
    up.stop(Signal::SIGTERM);
    machine.up(&["--no-worker"]).stop(Signal::SIGTERM);

    migrate_as_9_0(database.url(), &[expands, contracts]);
    machine.refused(&["--no-worker", "--port", "0"], &["release 9.0", "Install release 9.0", "restore the dump"]);
}
