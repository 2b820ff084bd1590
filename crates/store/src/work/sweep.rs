//! Recovering from lost workers.

use chrono::{DateTime, TimeDelta, Utc};
use lyceum_core::id::WorkId;
use sqlx::PgPool;
use std::collections::HashMap;
use std::time::Duration;
use uuid::Uuid;

use super::end::fail_in;
use super::{Failure, FailureKind};
use crate::queue::{self, Lane};
use crate::{Result, StoreError};

/// The findings of a sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Items with an expired lease.
    pub lost: u32,
    /// Missing tickets.
    pub tickets: u32,
    /// Workers that had disappeared.
    pub workers: u32,
}

/// Grace period for claims that expired during a standstill: workers renew theirs at least every ten seconds, and
/// immediately when the database is back.
const GRACE: TimeDelta = TimeDelta::seconds(15);

/// An expired claim: its item, its fence and the end of its lease.
type LateClaim = (Uuid, i64, DateTime<Utc>);

/// Returns items with an expired lease, replaces lost tickets, and marks workers not seen for a minute as lost. Several
/// servers may sweep at the same time.
///
/// A standstill of the whole system (a laptop asleep, Postgres down, a machine overloaded) loses no claims: those that
/// expired while this sweeper could not check either get another 15 s, once. What was before its first sweep it cannot
/// know: a server that starts may be the first to be back.
#[derive(Debug)]
pub struct Sweeper {
    /// A longer time than this between two sweeps is a standstill.
    patience: TimeDelta,
    grace: TimeDelta,
    looked: Option<DateTime<Utc>>,
    spared: HashMap<LateClaim, DateTime<Utc>>,
}

impl Sweeper {
    /// A sweeper that is run at this interval.
    pub fn every(pace: Duration) -> Self {
        let pace = TimeDelta::from_std(pace).unwrap_or(TimeDelta::MAX / 4);
        Self { patience: pace * 2 + TimeDelta::seconds(1), grace: GRACE, looked: None, spared: HashMap::new() }
    }

    /// Sweeps once.
    pub async fn sweep(&mut self, db: &PgPool) -> Result<Swept> {
        let mut swept = Swept::default();
        let late: Vec<(Uuid, i64, DateTime<Utc>, Option<String>)> = sqlx::query_as(
            "SELECT w.id, w.fence, w.lease_until, k.name FROM work w LEFT JOIN workers k ON k.id = w.worker_id
             WHERE w.state = 'running' AND w.lease_until < now() LIMIT 1000",
        )
        .fetch_all(db)
        .await?;
        // After what is late was read: a standstill between the two is noticed then.
        let (now, stood_still) = self.look(db).await?;
        self.spare(late.iter().map(|(id, fence, lease_until, _)| (*id, *fence, *lease_until)), now, stood_still);
        for (id, fence, lease_until, worker) in late {
            if self.spared.get(&(id, fence, lease_until)).is_some_and(|until| now < *until) {
                continue;
            }
            let worker = worker.unwrap_or_else(|| "its worker".to_owned());
            let message = format!("{worker} stopped renewing its claim");
            let failure = Failure { kind: FailureKind::Lost, message, retry: true };
            let mut tx = db.begin().await?;
            match fail_in(&mut tx, WorkId(id), fence, &failure).await {
                Ok(_) => swept.lost += 1,
                // Renewed, or swept by another server, in the meantime.
                Err(StoreError::FenceLost) => continue,
                Err(error) => return Err(error),
            }
            tx.commit().await?;
        }
        let mut connection = db.acquire().await?;
        for lane in Lane::ALL {
            swept.tickets += queue::top_up(&mut connection, lane).await?;
        }
        if !stood_still {
            let gone = sqlx::query(
                "UPDATE workers SET state = 'lost', stopped_at = now()
                 WHERE stopped_at IS NULL AND last_seen < now() - interval '1 minute'",
            )
            .execute(&mut *connection)
            .await?;
            swept.workers = u32::try_from(gone.rows_affected()).unwrap_or(u32::MAX);
        }
        Ok(swept)
    }

    /// The database's time, and whether the last sweep was too long ago.
    async fn look(&mut self, db: &PgPool) -> Result<(DateTime<Utc>, bool)> {
        let now: DateTime<Utc> = sqlx::query_scalar("SELECT clock_timestamp()").fetch_one(db).await?;
        Ok((now, self.stood_still(now)))
    }

    fn stood_still(&mut self, now: DateTime<Utc>) -> bool {
        let looked = self.looked.replace(now);
        looked.is_none_or(|looked| now - looked > self.patience)
    }

    /// Gives claims a grace period after a standstill, and forgets those that are no longer late.
    fn spare(&mut self, late: impl Iterator<Item = LateClaim>, now: DateTime<Utc>, stood_still: bool) {
        let before = std::mem::take(&mut self.spared);
        self.spared = late
            .filter_map(|claim| {
                let until = before.get(&claim).copied();
                Some((claim, until.or_else(|| stood_still.then(|| now + self.grace))?))
            })
            .collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sweeper() -> Sweeper {
        Sweeper::every(Duration::from_secs(2))
    }

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds)
    }

    fn claim(lease_until: i64) -> LateClaim {
        (Uuid::from_u128(1), 1, at(lease_until))
    }

    fn is_spared(sweeper: &Sweeper, claim: LateClaim, now: i64) -> bool {
        sweeper.spared.get(&claim).is_some_and(|until| at(now) < *until)
    }

    #[test]
    fn the_first_sweep_follows_a_standstill_and_so_does_one_that_comes_late() {
        let mut sweeper = sweeper();
        let stood_still = [0, 2, 7, 13, 15].map(|now| sweeper.stood_still(at(now)));
        assert_eq!(stood_still, [true, false, false, true, false]);
    }

    #[test]
    fn a_claim_that_runs_out_under_our_eyes_is_not_spared() {
        let mut sweeper = sweeper();
        sweeper.spare([claim(9)].into_iter(), at(10), false);
        assert!(!is_spared(&sweeper, claim(9), 10));
    }

    #[test]
    fn a_claim_that_ran_out_in_a_standstill_is_spared_once() {
        let mut sweeper = sweeper();
        sweeper.spare([claim(9)].into_iter(), at(100), true);
        assert!(is_spared(&sweeper, claim(9), 100));
        // However many standstills follow.
        for now in [105, 110, 120] {
            sweeper.spare([claim(9)].into_iter(), at(now), true);
        }
        assert!(is_spared(&sweeper, claim(9), 114) && !is_spared(&sweeper, claim(9), 115));
    }

    #[test]
    fn a_claim_that_was_renewed_is_another() {
        let mut sweeper = sweeper();
        sweeper.spare([claim(9)].into_iter(), at(100), true);
        sweeper.spare([claim(130)].into_iter(), at(131), false);
        assert!(!is_spared(&sweeper, claim(130), 131));
        assert_eq!(sweeper.spared.len(), 0, "and the old one is forgotten");
    }
}
