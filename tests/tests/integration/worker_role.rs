//! A worker's database role may do what a worker does, and nothing else. The workers of all other tests have it.

use anyhow::Result;
use lyceum_store::worker_role::WORKER_ROLE;
use lyceum_system_tests::house::House;
use sqlx::{Connection as _, PgConnection};

#[tokio::test]
async fn what_no_worker_does_is_denied() -> Result<()> {
    let house = House::new().await?;
    let mut worker = PgConnection::connect(house.worker_url()).await?;
    let me: (String, bool) =
        sqlx::query_as("SELECT current_user::text, rolsuper FROM pg_roles WHERE rolname = current_user")
            .fetch_one(&mut worker)
            .await?;
    assert_eq!(me, (WORKER_ROLE.to_owned(), false));
    for attempt in [
        "COPY (SELECT 1) TO PROGRAM 'true'",
        "CREATE TEMP TABLE out (line text); COPY out FROM PROGRAM 'id'",
        "COPY (SELECT 1) TO '/tmp/lyceum-worker-role'",
        "SELECT pg_read_file('/etc/passwd')",
        "SELECT hash FROM tokens",
        "UPDATE tokens SET scope = 'admin'",
        "INSERT INTO tokens (id, name, hash, scope) VALUES (gen_random_uuid(), 'mine', 'x', 'admin')",
        "SELECT * FROM sessions",
        "SELECT * FROM run_states",
        "DELETE FROM work",
        "DELETE FROM executions",
        "DELETE FROM artifacts",
        "DELETE FROM artifact_holds",
        "UPDATE work SET payload = '{}'",
        "UPDATE executions SET config = '{}'",
        "UPDATE runs SET name = 'mine'",
        "UPDATE problems SET solve_rate = 1",
        "INSERT INTO work DEFAULT VALUES",
        "CREATE TABLE mine (a int)",
        "CREATE ROLE mine SUPERUSER",
        "ALTER ROLE lyceum_worker SUPERUSER",
        "SET ROLE lyceum",
        "DROP TABLE work",
        "UPDATE dataset_rows SET row = '{}'",
    ] {
        let refused = sqlx::raw_sql(attempt).execute(&mut worker).await.expect_err(attempt);
        let code = refused.as_database_error().and_then(|error| error.code()).unwrap_or_default();
        // insufficient_privilege
        assert_eq!(code, "42501", "{attempt}: {refused}");
    }
    Ok(())
}
