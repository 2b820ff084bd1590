//! The Postgres for tests.

use std::sync::atomic::{AtomicUsize, Ordering};

use lyceum_postgres::{Error, TestCluster, TestDatabase};
use sqlx::{Connection as _, PgConnection};

#[tokio::test]
async fn every_test_has_an_empty_database_that_goes_with_it() {
    let cluster = TestCluster::shared().await.unwrap();
    let first = cluster.database().await.unwrap();
    let second = cluster.database().await.unwrap();
    let mut connection = PgConnection::connect(first.url()).await.unwrap();
    sqlx::raw_sql("CREATE TABLE mine ()").execute(&mut connection).await.unwrap();

    let mut other = PgConnection::connect(second.url()).await.unwrap();
    let seen: Option<String> =
        sqlx::query_scalar("SELECT to_regclass('mine')::text").fetch_one(&mut other).await.unwrap();
    assert_eq!(seen, None);

    let name: String = sqlx::query_scalar("SELECT current_database()").fetch_one(&mut connection).await.unwrap();
    drop(first);
    let left: i64 = sqlx::query_scalar("SELECT count(*) FROM pg_database WHERE datname = $1")
        .bind(&name)
        .fetch_one(&mut other)
        .await
        .unwrap();
    assert_eq!(left, 0, "dropped although connected to");
}

#[tokio::test]
async fn joining_again_is_joining_the_same() {
    let cluster = TestCluster::shared().await.unwrap();
    assert!(std::ptr::eq(cluster, TestCluster::shared().await.unwrap()));
    let database = cluster.database().await.unwrap();
    let mut connection = PgConnection::connect(database.url()).await.unwrap();
    let fsync: String = sqlx::query_scalar("SHOW fsync").fetch_one(&mut connection).await.unwrap();
    assert_eq!(fsync, "off");
}

#[tokio::test]
async fn a_prepared_database_is_filled_once_and_every_test_has_a_copy_of_its_own() {
    let cluster = TestCluster::shared().await.unwrap();
    let filled = AtomicUsize::new(0);
    let prepare = async |url: &str| {
        filled.fetch_add(1, Ordering::Relaxed);
        let mut connection = PgConnection::connect(url).await.unwrap();
        let fill = "CREATE TABLE ours (n int); INSERT INTO ours VALUES (1)";
        sqlx::raw_sql(fill).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        Ok::<(), Error>(())
    };
    let (first, second) = tokio::join!(cluster.database_prepared(prepare), cluster.database_prepared(prepare));
    let rows = async |database: &TestDatabase, sql: &'static str| -> i64 {
        let mut connection = PgConnection::connect(database.url()).await.unwrap();
        sqlx::query_scalar(sql).fetch_one(&mut connection).await.unwrap()
    };
    let (first, second) = (first.unwrap(), second.unwrap());
    let add = "WITH added AS (INSERT INTO ours VALUES (2) RETURNING 1) SELECT count(*) FROM added";
    assert_eq!(rows(&first, add).await, 1);
    assert_eq!(rows(&first, "SELECT count(*) FROM ours").await, 2);
    assert_eq!(rows(&second, "SELECT count(*) FROM ours").await, 1);
    assert_eq!(filled.into_inner(), 1);
}
