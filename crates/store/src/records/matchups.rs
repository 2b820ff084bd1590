//! Matchups and ratings, and where each member stands.

use lyceum_core::recipe::{MatchupRecord, RatingRecord, Winner};
use sqlx::{PgConnection, QueryBuilder};

use super::Place;
use crate::Result;

pub(super) async fn matchups(tx: &mut PgConnection, place: Place, records: &[MatchupRecord]) -> Result<()> {
    if records.is_empty() {
        return Ok(());
    }
    let mut insert = QueryBuilder::new(
        "WITH inserted AS (INSERT INTO matchups (id, run_id, step, teacher_id, student_id, proposed, valid, solve_rate,
         predicted, winner) ",
    );
    insert.push_values(records, |mut row, record| {
        row.push_bind(record.id.0)
            .push_bind(place.run.0)
            .push_bind(place.step())
            .push_bind(record.teacher.0)
            .push_bind(record.student.0)
            .push_bind(record.proposed.cast_signed())
            .push_bind(record.valid.cast_signed())
            .push_bind(record.solve_rate)
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
    insert.push_bind(place.run.0);
    insert.build().execute(tx).await?;
    Ok(())
}

pub(super) async fn ratings(tx: &mut PgConnection, place: Place, records: &[RatingRecord]) -> Result<()> {
    if records.is_empty() {
        return Ok(());
    }
    let mut insert =
        QueryBuilder::new("WITH inserted AS (INSERT INTO ratings (run_id, step, member_id, role, mu, sigma) ");
    insert.push_values(records, |mut row, record| {
        row.push_bind(place.run.0)
            .push_bind(place.step())
            .push_bind(record.member.0)
            .push_bind(record.role.name())
            .push_bind(record.mu)
            .push_bind(record.sigma);
    });
    insert.push(
        " ON CONFLICT DO NOTHING RETURNING run_id, step, member_id, role, mu, sigma)
         INSERT INTO standings (member_id, role, run_id, seq, step, mu, sigma)
         SELECT i.member_id, i.role, i.run_id, m.seq, i.step, i.mu, i.sigma
         FROM inserted i JOIN members m ON m.id = i.member_id
         ON CONFLICT (member_id, role) DO UPDATE SET step = excluded.step, mu = excluded.mu, sigma = excluded.sigma
         WHERE standings.step < excluded.step",
    );
    insert.build().execute(tx).await?;
    Ok(())
}
