//! Deleting a run scans no table.

use crate::harness::TestServer;

/// Columns that reference a table whose rows go with a run, and are the first of no index that finds a deleted row's.
const UNINDEXED: &str = "
SELECT c.conrelid::regclass || '.' || a.attname
FROM pg_constraint c JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1]
WHERE c.contype = 'f'
  AND c.confrelid::regclass::text IN ('executions', 'runs', 'evaluations', 'work', 'populations', 'members', 'births',
      'adapter_versions', 'problems', 'attempts', 'matchups')
  AND NOT EXISTS (
      SELECT FROM pg_index i WHERE i.indrelid = c.conrelid AND i.indkey[0] = c.conkey[1]
        AND (i.indpred IS NULL OR pg_get_expr(i.indpred, i.indrelid) = format('(%I IS NOT NULL)', a.attname)))
ORDER BY 1";

#[actix_web::test]
async fn whatever_references_a_run_or_what_is_in_it_is_found_by_an_index() {
    let server = TestServer::start().await;
    let unindexed: Vec<String> =
        sqlx::query_scalar(UNINDEXED).fetch_all(server.store.pool()).await.expect("the catalogue");
    assert_eq!(unindexed, Vec::<String>::new());
    server.stop().await;
}
