//! Databases that earlier releases wrote.
//!
//! `releases/72beba27.sql.gz` is `pg_dump --inserts --rows-per-insert=200 --no-owner --no-privileges` of a lab of commit 72beba27,
//! without comments: one small run of every recipe and one evaluation of every type, all completed. The weights are not there.

use flate2::read::GzDecoder;
use lyceum_core::evaluation::EvaluationType;
use lyceum_core::recipe::Registry;
use lyceum_postgres::TestCluster;
use lyceum_store::Store;
use lyceum_store::tokens::Scope;
use serde_json::Value;
use sqlx::Connection as _;
use std::collections::BTreeSet;
use std::io::Read as _;
use strum::VariantArray as _;

use crate::harness::TestServer;

async fn server_on_72beba27() -> TestServer {
    let mut dump = String::new();
    GzDecoder::new(&include_bytes!("releases/72beba27.sql.gz")[..]).read_to_string(&mut dump).expect("a dump");
    let database = TestCluster::shared().await.expect("a Postgres").database().await.expect("a database");
    let mut connection = sqlx::PgConnection::connect(database.url()).await.expect("a connection");
    sqlx::raw_sql(sqlx::AssertSqlSafe(dump)).execute(&mut connection).await.expect("an old database");
    connection.close().await.expect("an end");
    let store = Store::connect(database.url(), 2).await.expect("a connection");
    store.migrate().await.expect("newer tables");
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
