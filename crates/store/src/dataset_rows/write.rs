//! Writing the answers to rows of a dataset.

use lyceum_core::recipe::RowAnswersRecord;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::{Result, steps::StepRef};

/// Writes all of a step's counted answers, adds them to their problems, and counts the rows by difficulty.
pub(crate) async fn write(tx: &mut PgConnection, at: StepRef, records: &[RowAnswersRecord]) -> Result<()> {
    if records.is_empty() {
        return Ok(());
    }
    let column = |of: fn(&RowAnswersRecord) -> u32| -> Vec<i32> {
        records.iter().map(|record| of(record).cast_signed()).collect()
    };
    let problems: Vec<Uuid> = records.iter().map(|record| record.problem.0).collect();
    sqlx::query(
        "WITH inserted AS (
             INSERT INTO row_answers (run_id, step, row, problem_id, answers, correct)
             SELECT $1, $2, * FROM unnest($3::int[], $4::uuid[], $5::int[], $6::int[])
             ON CONFLICT DO NOTHING RETURNING row, problem_id, answers, correct
         ), summed AS (
             UPDATE problems p SET attempts = p.attempts + new.answers,
                 solve_rate = (round(coalesce(p.solve_rate, 0) * p.attempts) + new.correct) / (p.attempts + new.answers)
             FROM inserted new WHERE p.id = new.problem_id
         ), changed AS (
             SELECT new.correct = 0 AS is_never, new.correct = new.answers AS is_always,
                 old.correct = 0 AS was_never, old.correct = old.answers AS was_always
             FROM inserted new LEFT JOIN LATERAL (
                 SELECT answers, correct FROM row_answers
                 WHERE run_id = $1 AND row = new.row AND step < $2 ORDER BY step DESC LIMIT 1) old ON true
         ), moved AS (
             SELECT count(*) FILTER (WHERE is_never) - count(*) FILTER (WHERE was_never) AS never,
                 count(*) FILTER (WHERE is_always) - count(*) FILTER (WHERE was_always) AS always,
                 count(*) FILTER (WHERE was_never IS NULL) AS first
             FROM changed HAVING count(*) > 0
         ), before AS (
             SELECT never, sometimes, always FROM row_difficulty
             WHERE run_id = $1 AND step < $2 ORDER BY step DESC LIMIT 1
         )
         INSERT INTO row_difficulty (run_id, step, never, always, sometimes)
         SELECT $1, $2, coalesce(b.never, 0) + m.never, coalesce(b.always, 0) + m.always,
             coalesce(b.sometimes, 0) + m.first - m.never - m.always
         FROM moved m LEFT JOIN before b ON true ON CONFLICT DO NOTHING",
    )
    .bind(at.run.0)
    .bind(at.number())
    .bind(column(|record| record.row))
    .bind(problems)
    .bind(column(|record| record.answers))
    .bind(column(|record| record.correct))
    .execute(tx)
    .await?;
    Ok(())
}
