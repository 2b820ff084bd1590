//! The Postgres for tests.

use lyceum_postgres::TestCluster;
use sqlx::{Connection as _, PgConnection};

#[tokio::test]
async fn every_test_has_an_empty_database_that_goes_with_it() {
    let cluster = TestCluster::shared().await.unwrap();
    let first = cluster.database().await.unwrap();
    let second = cluster.database().await.unwrap();
    let mut connection = PgConnection::connect(first.url()).await.unwrap();
    sqlx::raw_sql("CREATE TABLE mine ()")
        .execute(&mut connection)
        .await
        .unwrap();

    let mut other = PgConnection::connect(second.url()).await.unwrap();
    let seen: Option<String> = sqlx::query_scalar("SELECT to_regclass('mine')::text")
        .fetch_one(&mut other)
        .await
        .unwrap();
    assert_eq!(seen, None);

    let name: String = sqlx::query_scalar("SELECT current_database()")
        .fetch_one(&mut connection)
        .await
        .unwrap();
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
    let fsync: String = sqlx::query_scalar("SHOW fsync")
        .fetch_one(&mut connection)
        .await
        .unwrap();
    assert_eq!(fsync, "off");
}
