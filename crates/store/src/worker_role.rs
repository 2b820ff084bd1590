//! The database role of workers. It may do what a worker does: take items, renew, end and fail them, read rows of datasets,
//! and list itself, its artifacts and its crashes. It reads no token and no session, deletes nothing but tickets, changes no config, and
//! as no superuser it runs no program on the database's machine.

use sqlx::{AssertSqlSafe, PgConnection, PgPool};

use crate::Result;

/// The name of the role in a private cluster.
pub const WORKER_ROLE: &str = "lyceum_worker";

/// Every right, as a template of SQL with the role's name. Whoever lets a worker do more adds to this list.
const RIGHTS: [&str; 19] = [
    "REVOKE ALL ON ALL TABLES IN SCHEMA public, apalis FROM %I",
    "GRANT USAGE ON SCHEMA public, apalis TO %I",
    "GRANT SELECT ON executions, steps, work, workers, artifacts, artifact_holds, datasets, dataset_rows TO %I",
    // Items, by claim and fence.
    "GRANT UPDATE (state, attempts, fence, worker_id, started_at, finished_at, lease_until, run_at, progress, progress_note,
        progress_at, result, errors, number) ON work TO %I",
    "GRANT UPDATE (ended) ON steps TO %I",
    // An item that is out of tries fails its execution.
    "GRANT UPDATE (state, error, finished_at, updated_at, last_event) ON executions TO %I",
    "GRANT INSERT ON events TO %I",
    "GRANT INSERT ON workers TO %I",
    "GRANT UPDATE (last_seen, state, loaded_models, stopped_at) ON workers TO %I",
    "GRANT SELECT, INSERT, UPDATE ON worker_usage TO %I",
    "GRANT SELECT, INSERT ON work_logs TO %I",
    "GRANT INSERT ON artifacts TO %I",
    "GRANT UPDATE (created_at, removed_at) ON artifacts TO %I",
    "GRANT INSERT ON artifact_holds TO %I",
    // Its unit records how it ended.
    "GRANT SELECT, INSERT ON crashes TO %I",
    "GRANT UPDATE (times, last_words, last_at) ON crashes TO %I",
    // Tickets.
    "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA apalis TO %I",
    "GRANT USAGE ON ALL SEQUENCES IN SCHEMA apalis TO %I",
    "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA apalis TO %I",
];

/// Creates `role` in a cluster of its own superuser, if it is not there.
///
/// # Errors
/// This connection's user may not create roles.
pub async fn create(db: &PgPool, role: &str) -> Result<()> {
    const THERE: [&str; 2] = ["42710", "23505"];
    let mut connection = db.acquire().await?;
    let created =
        run(&mut connection, "CREATE ROLE %I LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION", role).await;
    match created {
        Err(sqlx::Error::Database(error)) if error.code().is_some_and(|code| THERE.contains(&&*code)) => Ok(()),
        created => Ok(created?),
    }
}

/// Gives `role` a worker's rights in this database, and takes all others on its tables.
///
/// # Errors
/// There is no such role, or this connection's user does not own the tables.
pub async fn admit(db: &PgPool, role: &str) -> Result<()> {
    let mut tx = db.begin().await?;
    // Servers that start together would change the same rows of the catalogue.
    sqlx::query("SELECT pg_advisory_xact_lock(hashtext('lyceum.migrate'))").execute(&mut *tx).await?;
    for right in RIGHTS {
        run(&mut tx, right, role).await?;
    }
    tx.commit().await?;
    Ok(())
}

/// Runs a template with the role's name, quoted by the database.
async fn run(db: &mut PgConnection, template: &str, role: &str) -> sqlx::Result<()> {
    let statement: String =
        sqlx::query_scalar("SELECT format($1, $2)").bind(template).bind(role).fetch_one(&mut *db).await?;
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(db).await?;
    Ok(())
}
