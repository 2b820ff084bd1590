//! Writing matchups.

use lyceum_core::recipe::{MatchupRecord, Winner};
use sqlx::{PgConnection, QueryBuilder};

use crate::{Result, steps::StepRef};

/// Writes matchups, and counts them on the run.
pub(crate) async fn write(tx: &mut PgConnection, at: StepRef, records: &[MatchupRecord]) -> Result<()> {
    if records.is_empty() {
        return Ok(());
    }
    let mut insert = QueryBuilder::new(
        "WITH inserted AS (INSERT INTO matchups (id, run_id, step, teacher_id, student_id, proposed, valid, solve_rate,
         student_score, teacher_reward, predicted, winner) ",
    );
    insert.push_values(records, |mut row, record| {
        row.push_bind(record.id.0)
            .push_bind(at.run.0)
            .push_bind(at.number())
            .push_bind(record.teacher.0)
            .push_bind(record.student.0)
            .push_bind(record.proposed.cast_signed())
            .push_bind(record.valid.cast_signed())
            .push_bind(record.solve_rate)
            .push_bind(record.student_score)
            .push_bind(record.teacher_reward)
            .push_bind(record.predicted)
            .push_bind(match record.winner {
                Winner::Teacher => "teacher",
                Winner::Student => "student",
            });
    });
    insert.push(
        " ON CONFLICT DO NOTHING RETURNING 1)
         UPDATE runs SET matchups = matchups + (SELECT count(*) FROM inserted) WHERE id = ",
    );
    insert.push_bind(at.run.0);
    insert.build().execute(tx).await?;
    Ok(())
}
