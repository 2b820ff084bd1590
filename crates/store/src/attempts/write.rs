//! Writing attempts, and their sums by proposer and solver.

use lyceum_core::{
    id::ExecutionId,
    recipe::{AttemptRecord, Side},
};
use sqlx::{PgConnection, QueryBuilder, types::Json};

use super::roles_of;
use crate::{Result, steps::StepRef, text::storable};

/// Rows per statement; Postgres takes at most 65,535 parameters.
const BATCH: usize = 2000;

/// Writes attempts, and adds the answers among them to cross-play: to that of the run, which also counts them, or to what an
/// evaluation had members attempt.
pub(crate) async fn write(
    tx: &mut PgConnection,
    at: StepRef,
    evaluation: Option<ExecutionId>,
    records: &[AttemptRecord],
) -> Result<()> {
    for batch in records.chunks(BATCH) {
        let mut insert = QueryBuilder::new(
            "WITH inserted AS (INSERT INTO attempts (id, run_id, step, problem_id, member_id, version_id, role, sample,
             text, answer, well_formed, status, reason, correct, reward, reward_parts, tokens, evaluation_id) ",
        );
        insert.push_values(batch, |mut row, record| {
            row.push_bind(record.id.0)
                .push_bind(at.run.0)
                .push_bind(at.number())
                .push_bind(record.problem.0)
                .push_bind(record.solver.0.0)
                .push_bind(record.solver.1.0)
                .push_bind(record.role)
                .push_bind(record.sample.cast_signed())
                .push_bind(storable(&record.text))
                .push_bind(record.answer.as_deref().map(storable))
                .push_bind(record.well_formed)
                .push_bind(record.status)
                .push_bind(storable(&record.reason))
                .push_bind(record.correct)
                .push_bind(record.reward)
                .push_bind(Json(&record.reward_parts))
                .push_bind(record.tokens.cast_signed())
                .push_bind(evaluation.map(|id| id.0));
        });
        insert.push(
            " ON CONFLICT DO NOTHING RETURNING run_id, step, problem_id, member_id, correct, role),
             solved AS (SELECT * FROM inserted WHERE role = ANY(",
        );
        insert.push_bind(roles_of(Side::Solves));
        insert.push(
            ")),
             sums AS (
                 SELECT i.run_id, i.step, p.proposer_id, i.member_id, p.type, count(*), count(*) FILTER (WHERE i.correct)
                 FROM solved i JOIN problems p ON p.id = i.problem_id WHERE p.proposer_id IS NOT NULL
                 GROUP BY i.run_id, i.step, p.proposer_id, i.member_id, p.type)",
        );
        match evaluation {
            None => {
                insert.push(
                    ", met AS (INSERT INTO cross_play AS known (run_id, step, teacher_id, student_id, type, attempts, solved)
                         SELECT * FROM sums ON CONFLICT (run_id, step, teacher_id, student_id, type) DO UPDATE
                         SET attempts = known.attempts + excluded.attempts, solved = known.solved + excluded.solved)
                     UPDATE runs SET attempts = attempts + (SELECT count(*) FROM solved) WHERE id = ",
                );
                insert.push_bind(at.run.0);
            }
            Some(id) => {
                insert
                    .push(" INSERT INTO evaluated_cross_play AS known SELECT ")
                    .push_bind(id.0)
                    .push(
                        ", sums.* FROM sums ON CONFLICT (evaluation_id, step, teacher_id, student_id, type) DO UPDATE
                     SET attempts = known.attempts + excluded.attempts, solved = known.solved + excluded.solved",
                    );
            }
        }
        insert.build().execute(&mut *tx).await?;
    }
    Ok(())
}
