//! What members scored after steps, for curves beside the metrics.

use lyceum_core::id::ExecutionId;
use sqlx::PgPool;

use crate::Result;

/// A member's share of right answers after a step.
#[derive(Clone, Debug, PartialEq, sqlx::FromRow)]
pub struct Score {
    /// Steps that its weights have seen, or the step in which the held-out rows were asked.
    pub step: i32,
    /// The member's name.
    pub member: String,
    /// `held_out/accuracy`, or `benchmark/` and the suite.
    pub name: String,
    /// The share, from 0 to 1.
    pub value: f64,
}

/// The scores of the members of `run` by step. On each suite, those on the rows and in the way in which members were
/// measured at most steps; of several of the same weights the newest.
pub async fn scores(db: &PgPool, run: ExecutionId) -> Result<Vec<Score>> {
    Ok(sqlx::query_as(
        "SELECT h.step, m.name AS member, 'held_out/accuracy' AS name,
             (SELECT sum(right_answers) FROM unnest(h.correct) AS right_answers)::float8
             / (h.n * cardinality(h.correct)) AS value
         FROM held_out_results h JOIN members m ON m.id = h.member_id
         WHERE h.run_id = $1 AND cardinality(h.correct) > 0
         UNION ALL
         SELECT step, member, name, value FROM (
             SELECT DISTINCT ON (b.suite, b.member_id, b.step)
                 b.step, m.name AS member, 'benchmark/' || b.suite AS name, b.pass_at_1 AS value
             FROM benchmark_results b JOIN members m ON m.id = b.member_id JOIN (
                 SELECT DISTINCT ON (suite) suite, row_set, decoding FROM benchmark_results
                 WHERE run_id = $1 AND step IS NOT NULL GROUP BY suite, row_set, decoding
                 ORDER BY suite, count(DISTINCT step) DESC, max(rows) DESC, row_set, decoding
             ) way ON (b.suite, b.row_set, b.decoding) = (way.suite, way.row_set, way.decoding)
             WHERE b.run_id = $1 AND b.step IS NOT NULL
             ORDER BY b.suite, b.member_id, b.step, b.seq DESC
         ) AS newest
         ORDER BY 1, 2, 3",
    )
    .bind(run.0)
    .fetch_all(db)
    .await?)
}
