//! What a fork takes over of the past of its run: who was born how, how they were rated and what was measured. Problems
//! and attempts stay with the run that made them; the archive points to its elites there.

use sqlx::{AssertSqlSafe, PgConnection};

use super::Fork;
use crate::{Result, benchmarks};

/// Pairs each member of the original run, `old`, with the fork's, `new`, which has its name.
const MEMBERS: &str = "WITH pairs AS (SELECT o.id AS old, n.id AS new FROM members o
    JOIN members n ON n.run_id = $1 AND n.name = o.name WHERE o.run_id = $2),
    versions AS (SELECT o.id AS old, n.id AS new FROM adapter_versions o JOIN pairs ON pairs.old = o.member_id
    JOIN adapter_versions n ON n.member_id = pairs.new AND n.ordinal = o.ordinal) ";

/// Each copies the rows of one table from before the fork; $1 is the fork, $2 the run, $3 the step.
const COPIES: [&str; 13] = [
    "INSERT INTO births (child_id, run_id, step, phase, chunk, operator, parameters, seed, replaces_id, notes, ancestor)
     SELECT child.new, $1, b.step, b.phase, b.chunk, b.operator, b.parameters, b.seed, replaced.new, b.notes, b.ancestor
     FROM births b JOIN pairs child ON child.old = b.child_id LEFT JOIN pairs replaced ON replaced.old = b.replaces_id
     WHERE b.run_id = $2 AND b.step < $3",
    "INSERT INTO birth_parents (child_id, position, version_id)
     SELECT child.new, p.position, coalesce(versions.new, p.version_id)
     FROM birth_parents p JOIN births b ON b.child_id = p.child_id JOIN pairs child ON child.old = p.child_id
     LEFT JOIN versions ON versions.old = p.version_id WHERE b.run_id = $2 AND b.step < $3",
    "INSERT INTO geometry (run_id, step, member_id, version_id, norm, effective_rank)
     SELECT $1, g.step, pairs.new, versions.new, g.norm, g.effective_rank
     FROM geometry g JOIN pairs ON pairs.old = g.member_id JOIN versions ON versions.old = g.version_id
     WHERE g.run_id = $2 AND g.step < $3",
    "INSERT INTO geometry_pairs (run_id, step, first_id, second_id, cosine, distance)
     SELECT $1, g.step, one.new, other.new, g.cosine, g.distance
     FROM geometry_pairs g JOIN versions one ON one.old = g.first_id JOIN versions other ON other.old = g.second_id
     WHERE g.run_id = $2 AND g.step < $3",
    "INSERT INTO ratings (run_id, step, member_id, role, mu, sigma)
     SELECT $1, r.step, pairs.new, r.role, r.mu, r.sigma FROM ratings r JOIN pairs ON pairs.old = r.member_id
     WHERE r.run_id = $2 AND r.step < $3",
    "INSERT INTO standings (member_id, role, run_id, seq, step, mu, sigma)
     SELECT DISTINCT ON (r.member_id, r.role) pairs.new, r.role, $1, m.seq, r.step, r.mu, r.sigma
     FROM ratings r JOIN pairs ON pairs.old = r.member_id JOIN members m ON m.id = pairs.new
     WHERE r.run_id = $2 AND r.step < $3 ORDER BY r.member_id, r.role, r.step DESC",
    "INSERT INTO matchups (id, run_id, step, teacher_id, student_id, proposed, valid, solve_rate, student_score, teacher_reward,
         predicted, winner)
     SELECT gen_random_uuid(), $1, m.step, teacher.new, student.new, m.proposed, m.valid, m.solve_rate, m.student_score,
         m.teacher_reward, m.predicted, m.winner
     FROM matchups m JOIN pairs teacher ON teacher.old = m.teacher_id JOIN pairs student ON student.old = m.student_id
     WHERE m.run_id = $2 AND m.step < $3 ORDER BY m.seq",
    "INSERT INTO cross_play (run_id, step, teacher_id, student_id, type, attempts, solved, problems, solved_squared,
         solved_attempts, attempts_squared)
     SELECT $1, c.step, teacher.new, student.new, c.type, c.attempts, c.solved, c.problems, c.solved_squared,
         c.solved_attempts, c.attempts_squared
     FROM cross_play c JOIN pairs teacher ON teacher.old = c.teacher_id JOIN pairs student ON student.old = c.student_id
     WHERE c.run_id = $2 AND c.step < $3",
    "INSERT INTO archive_insertions (run_id, step, cell, problem_id, status, objective)
     SELECT $1, step, cell, problem_id, status, objective FROM archive_insertions
     WHERE run_id = $2 AND step < $3 ORDER BY seq",
    "INSERT INTO solve_rates (run_id, step, solve_rate, problems)
     SELECT $1, step, solve_rate, problems FROM solve_rates WHERE run_id = $2 AND step < $3",
    "INSERT INTO row_answers (run_id, row, step, problem_id, answers, correct)
     SELECT $1, row, step, problem_id, answers, correct FROM row_answers WHERE run_id = $2 AND step < $3",
    "INSERT INTO row_difficulty (run_id, step, never, sometimes, always)
     SELECT $1, step, never, sometimes, always FROM row_difficulty WHERE run_id = $2 AND step < $3",
    "INSERT INTO held_out_results (run_id, step, member_id, version_id, first_row, n, correct)
     SELECT $1, h.step, pairs.new, versions.new, h.first_row, h.n, h.correct
     FROM held_out_results h JOIN pairs ON pairs.old = h.member_id JOIN versions ON versions.old = h.version_id
     WHERE h.run_id = $2 AND h.step < $3 ORDER BY h.seq",
];

/// Metrics by name, since the fork's config may ask for others; what the run did not measure is NaN.
const METRICS: &str = "INSERT INTO metrics (run_id, step, member_id, \"values\")
    SELECT $1, m.step, pairs.new, ARRAY(SELECT coalesce(m.\"values\"[place], 'NaN') FROM unnest($4::int[]) WITH ORDINALITY
        AS u (place, i) ORDER BY i)
    FROM metrics m LEFT JOIN pairs ON pairs.old = m.member_id
    WHERE m.run_id = $2 AND m.step < $3 AND (m.member_id IS NULL) = (pairs.new IS NULL)";

/// The buckets that ended before the fork.
const LEVELS: &str = "INSERT INTO metric_levels (run_id, level, bucket, member_id, mean, min, max)
    SELECT $1, m.level, m.bucket, pairs.new,
        ARRAY(SELECT coalesce(m.mean[place], 'NaN') FROM unnest($4::int[]) WITH ORDINALITY AS u (place, i) ORDER BY i),
        ARRAY(SELECT coalesce(m.min[place], 'NaN') FROM unnest($4::int[]) WITH ORDINALITY AS u (place, i) ORDER BY i),
        ARRAY(SELECT coalesce(m.max[place], 'NaN') FROM unnest($4::int[]) WITH ORDINALITY AS u (place, i) ORDER BY i)
    FROM metric_levels m LEFT JOIN pairs ON pairs.old = m.member_id
    WHERE m.run_id = $2 AND (m.bucket + 1) * (4 ^ m.level) <= $3 AND (m.member_id IS NULL) = (pairs.new IS NULL)";

/// Copies them. The fork's members and versions are there already.
pub(super) async fn inherit(tx: &mut PgConnection, fork: &Fork<'_>) -> Result<()> {
    for copy in COPIES {
        sqlx::query(AssertSqlSafe(format!("{MEMBERS}{copy}")))
            .bind(fork.id.0)
            .bind(fork.from.0)
            .bind(fork.step.cast_signed())
            .execute(&mut *tx)
            .await?;
    }
    benchmarks::renew_held_out(tx, fork.id).await?;
    let names: Vec<String> = sqlx::query_scalar("SELECT unnest(metrics) FROM executions WHERE id = $1")
        .bind(fork.from.0)
        .fetch_all(&mut *tx)
        .await?;
    // Arrays of Postgres begin at 1, and have NULL at 0.
    let place = |name: &&str| names.iter().position(|known| known == name).map_or(0, |at| at as i32 + 1);
    let places: Vec<i32> = fork.metrics.iter().map(place).collect();
    for copy in [METRICS, LEVELS] {
        sqlx::query(AssertSqlSafe(format!("{MEMBERS}{copy}")))
            .bind(fork.id.0)
            .bind(fork.from.0)
            .bind(fork.step.cast_signed())
            .bind(&places)
            .execute(&mut *tx)
            .await?;
    }
    sqlx::query(
        "UPDATE runs SET
             cells = (SELECT count(DISTINCT cell) FROM archive_insertions WHERE run_id = $1),
             matchups = (SELECT count(*) FROM matchups WHERE run_id = $1)
         WHERE id = $1",
    )
    .bind(fork.id.0)
    .execute(tx)
    .await?;
    Ok(())
}
