//! Claiming items.

use lyceum_core::{
    id::{ExecutionId, WorkId, WorkerId},
    work::{Device, Payload, Sampler, Trainer, WorkKey, WorkKind},
};
use sqlx::{AssertSqlSafe, FromRow, PgPool, types::Json};
use std::{sync::LazyLock, time::Duration};
use uuid::Uuid;

use crate::{
    Result,
    queue::{Lane, use_up},
};

/// The items a worker's slot can take.
#[derive(Clone, Debug)]
pub struct Slot {
    /// The worker.
    pub worker: WorkerId,
    /// The kinds of work it takes.
    pub kinds: Vec<WorkKind>,
    /// What generates the tokens of the items it takes; the engine for items without any.
    pub sampler: Sampler,
    /// What takes the optimizer steps of the updates it takes.
    pub trainers: Vec<Trainer>,
    /// The base models it can load; `None` means any.
    pub base_models: Option<Vec<String>>,
    /// The base models it has loaded; their items come first.
    pub loaded_models: Vec<String>,
    /// What it computes on.
    pub device: Device,
    /// Memory of its device, in bytes.
    pub memory_bytes: u64,
    /// How long a claim lasts without renewal.
    pub lease: Duration,
}

impl Slot {
    /// The kinds with the trainers of their items. An item that is no update has the engine as its trainer.
    fn by_trainer(&self) -> (Vec<WorkKind>, Vec<Trainer>) {
        let pairs = self.kinds.iter().flat_map(|kind| {
            let trainers = match kind {
                WorkKind::Update => self.trainers.as_slice(),
                WorkKind::Rollout | WorkKind::Verify | WorkKind::Evolve | WorkKind::Benchmark => &[Trainer::Engine],
            };
            trainers.iter().map(|trainer| (*kind, *trainer))
        });
        pairs.unzip()
    }
}

/// A claimed item.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The item.
    pub id: WorkId,
    /// Its execution.
    pub execution: ExecutionId,
    /// Its place.
    pub key: WorkKey,
    /// Its kind.
    pub kind: WorkKind,
    /// What generates its tokens.
    pub sampler: Sampler,
    /// The number of this try, from 1.
    pub attempt: u32,
    /// Required for the holder's writes. Each claim increments it, so a holder that lost its claim cannot write.
    pub fence: i64,
    /// Links the request to its work (W3C trace id).
    pub trace_id: Option<String>,
    /// The payload, or why it cannot be read.
    pub payload: Result<Payload, String>,
}

#[derive(FromRow)]
struct Claimed {
    id: Uuid,
    execution_id: Uuid,
    step: i32,
    phase: String,
    round: i32,
    chunk: i32,
    kind: WorkKind,
    sampler: Sampler,
    attempts: i32,
    fence: i64,
    trace_id: Option<String>,
    payload: Json<Box<serde_json::value::RawValue>>,
}

/// Each running execution competes with its oldest fitting items: per kind and trainer, one whose base is loaded and one with
/// any base. The highest priority wins, then the execution with the fewest claims, then the loaded base, then age. Each
/// candidate is the first entry of an index, so the cost of a claim grows with the number of executions, not of items.
///
/// `durable` makes this commit wait for the disk whatever the connection's setting: a fence rolled back by a crash of
/// Postgres would be given twice.
static CLAIM: LazyLock<String> = LazyLock::new(|| {
    let used = use_up("$7", "$7::text IS NOT NULL AND EXISTS (SELECT FROM candidate)");
    format!(
        "
WITH durable AS MATERIALIZED (
    SELECT set_config('synchronous_commit', 'on', true)
),
candidate AS (
    SELECT w.id
    FROM (
        SELECT e.id, e.priority, (SELECT count(*) FROM work r WHERE r.execution_id = e.id AND r.state = 'running') AS held,
               e.max_concurrent
        FROM executions e WHERE e.state = 'running'
    ) e
    CROSS JOIN unnest($2::text[], $9::text[]) fits (kind, trainer)
    CROSS JOIN LATERAL (
        SELECT * FROM (
            SELECT w.id, w.seq, true AS loaded
            FROM work w
            WHERE cardinality($4::text[]) > 0 AND w.execution_id = e.id AND w.state = 'ready' AND w.kind = fits.kind
              AND w.sampler = $8 AND w.trainer = fits.trainer AND w.run_at <= now() AND w.memory_bytes <= $5
              AND (w.device IS NULL OR w.device = $10) AND w.base_model = ANY($4)
            ORDER BY w.seq
            LIMIT 1
            FOR UPDATE OF w SKIP LOCKED
        ) loaded
        UNION ALL
        SELECT * FROM (
            SELECT w.id, w.seq, false AS loaded
            FROM work w
            WHERE w.execution_id = e.id AND w.state = 'ready' AND w.kind = fits.kind AND w.sampler = $8
              AND w.trainer = fits.trainer AND w.run_at <= now() AND w.memory_bytes <= $5
              AND (w.device IS NULL OR w.device = $10)
              AND (w.base_model IS NULL OR $3::text[] IS NULL OR w.base_model = ANY($3))
            ORDER BY w.seq
            LIMIT 1
            FOR UPDATE OF w SKIP LOCKED
        ) oldest
    ) w
    WHERE e.max_concurrent IS NULL OR e.held < e.max_concurrent
    ORDER BY e.priority DESC, e.held, w.loaded DESC, w.seq
    LIMIT 1
),
used AS ({used})
UPDATE work w
SET state = 'running', attempts = attempts + 1, fence = fence + 1, worker_id = $1, started_at = now(),
    lease_until = now() + $6 * interval '1 second', progress = NULL, progress_note = NULL, progress_at = now()
FROM candidate c JOIN executions e ON true CROSS JOIN durable
WHERE w.id = c.id AND e.id = w.execution_id
RETURNING w.id, w.execution_id, w.step, w.phase, w.round, w.chunk, w.kind, w.sampler, w.attempts, w.fence, e.trace_id, w.payload"
    )
});

/// Claims an item that fits `slot`, if there is one. This redeems a ticket.
pub async fn claim(db: &PgPool, slot: &Slot) -> Result<Option<Claim>> {
    take(db, slot, None).await
}

/// As [`claim`], for a slot that has just ended an item of `lane` and holds no ticket. If there is an item, an
/// outstanding ticket is deleted with it, so there are still as many tickets as waiting items. Saves the queue's round
/// trips for a ticket: fetching, holding and acknowledging it.
pub async fn claim_next(db: &PgPool, slot: &Slot, lane: Lane) -> Result<Option<Claim>> {
    take(db, slot, Some(lane)).await
}

async fn take(db: &PgPool, slot: &Slot, ticket_of: Option<Lane>) -> Result<Option<Claim>> {
    let (kinds, trainers) = slot.by_trainer();
    let row: Option<Claimed> = sqlx::query_as(AssertSqlSafe(CLAIM.as_str()))
        .bind(slot.worker.0)
        .bind(kinds)
        .bind(slot.base_models.as_deref())
        .bind(&slot.loaded_models)
        .bind(i64::try_from(slot.memory_bytes).unwrap_or(i64::MAX))
        .bind(slot.lease.as_secs_f64())
        .bind(ticket_of.map(Lane::queue))
        .bind(slot.sampler)
        .bind(trainers)
        .bind(slot.device)
        .fetch_optional(db)
        .await?;
    Ok(row.map(Claim::from))
}

impl From<Claimed> for Claim {
    fn from(row: Claimed) -> Self {
        Self {
            id: WorkId(row.id),
            execution: ExecutionId(row.execution_id),
            key: WorkKey::new(row.step.cast_unsigned(), row.phase)
                .round(row.round.cast_unsigned())
                .chunk(row.chunk.cast_unsigned()),
            kind: row.kind,
            sampler: row.sampler,
            attempt: row.attempts.cast_unsigned(),
            fence: row.fence,
            trace_id: row.trace_id,
            payload: serde_json::from_str(row.payload.0.get()).map_err(|error| error.to_string()),
        }
    }
}
