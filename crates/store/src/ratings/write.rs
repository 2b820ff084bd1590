//! Writing ratings.

use lyceum_core::recipe::RatingRecord;
use sqlx::{PgConnection, QueryBuilder};

use crate::{Result, steps::StepRef};

/// Writes ratings and updates the standings.
pub(crate) async fn write(tx: &mut PgConnection, at: StepRef, records: &[RatingRecord]) -> Result<()> {
    if records.is_empty() {
        return Ok(());
    }
    let mut insert =
        QueryBuilder::new("WITH inserted AS (INSERT INTO ratings (run_id, step, member_id, role, mu, sigma) ");
    insert.push_values(records, |mut row, record| {
        row.push_bind(at.run.0)
            .push_bind(at.number())
            .push_bind(record.member.0)
            .push_bind(record.role)
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
