//! Claiming items.

use std::sync::LazyLock;
use std::time::Duration;

use lyceum_core::id::{ExecutionId, WorkId, WorkerId};
use lyceum_core::work::{Device, Kernels, Payload, Sampler, Trainer, WorkKey, WorkKind};
use sqlx::types::Json;
use sqlx::{AssertSqlSafe, FromRow, PgPool};
use uuid::Uuid;

use crate::Result;
use crate::queue::{Lane, use_up};

/// The items a worker's slot can take.
#[derive(Clone, Debug)]
pub struct Slot {
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
    /// The base models it does not have as these executions ask for them; their items it leaves to others.
    pub lacking: Vec<(ExecutionId, String)>,
    /// What it computes on.
    pub device: Device,
    /// The instruction set of its processor, if that is what it computes on and the set has a name.
    pub kernels: Option<Kernels>,
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
    pub execution: ExecutionId,
    /// Its place.
    pub key: WorkKey,
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

/// Whether the slot can take item `w` of `execution`, of a kind and with a trainer.
///
/// A worker leaves to others what it is no good for: for a while an item that it has failed, and items whose base it does not
/// have. But only if another worker that is present could take the item and has not failed it, so a worker that is alone waits
/// for nobody. An item that it has failed it takes again a minute after it is due, and after twice that time at each further
/// try, at most 16 minutes: a worker on which everything fails at once would else use up all tries while the others are busy.
fn fits(execution: &str, kind: &str, trainer: &str) -> String {
    format!(
        "w.execution_id = {execution} AND w.state = 'ready' AND w.kind = {kind} AND w.sampler = $8 AND w.trainer = {trainer}
         AND w.run_at <= now() AND w.memory_bytes <= $5 AND (w.device IS NULL OR w.device = $10)
         AND (w.kernels IS NULL OR w.kernels = $13)
         AND (w.base_model IS NULL OR $3::text[] IS NULL OR w.base_model = ANY($3))
         AND (
             NOT (
                 (w.attempts > 0 AND w.errors @> jsonb_build_array(jsonb_build_object('worker', $1::uuid))
                     AND w.run_at > now() - interval '30 seconds' * (2 ^ least(w.attempts, 5)))
                 OR (cardinality($11::uuid[]) > 0 AND w.base_model IS NOT NULL
                     AND (w.execution_id, w.base_model) IN (SELECT * FROM unnest($11::uuid[], $12::text[])))
             )
             OR NOT EXISTS (
                 SELECT FROM workers k
                 WHERE k.id <> $1 AND {PRESENT} AND {TAKES} AND {SAMPLES} AND {TRAINS} AND {LOADS} AND {COMPUTES} AND {HOLDS}
                   AND NOT w.errors @> jsonb_build_array(jsonb_build_object('worker', k.id))
             )
         )"
    )
}

/// Each running execution competes with its oldest fitting items: per kind and trainer, one whose base is loaded and one with
/// any base. The highest priority wins, then the execution with the fewest claims, then one that has been served none of these
/// kinds for a minute (but births, which take a moment and load no base), then the loaded base, then the execution that was
/// served least recently, then age. So executions take turns however few slots there are, and a base that no worker has
/// loaded waits no more than a minute for its turn, and for the rest of the item that is then in progress.
///
/// Within that minute the slot keeps its base for five seconds after an item, even if none is ready: the execution is then
/// between two phases, and a long item of another base would take its place in every step.
///
/// Each candidate is the first entry of an index, so the cost of a claim grows with the number of executions, not of items. Only
/// the winner is locked: if another claim has just taken it, its execution's next item is, and if there is none, the
/// next candidate.
///
/// Claims at the same moment do not see one another, so each of them may be the last that `max_concurrent` allows.
///
/// `durable` makes this commit wait for the disk whatever the connection's setting: a fence rolled back by a crash of
/// Postgres would be given twice.
static CLAIM: LazyLock<String> = LazyLock::new(|| {
    let used = use_up("$7", "$7::text IS NOT NULL AND EXISTS (SELECT FROM candidate)");
    let competing = fits("e.id", "fits.kind", "fits.trainer");
    let won = fits("best.execution_id", "best.kind", "best.trainer");
    format!(
        "
WITH durable AS MATERIALIZED (
    SELECT set_config('synchronous_commit', 'on', true)
),
share AS MATERIALIZED (
    SELECT e.id, e.priority, e.max_concurrent,
        (SELECT count(*) FROM work r WHERE r.execution_id = e.id AND r.state = 'running') AS held,
        coalesce(newest.ended, e.created_at) AS served,
        newest.ended > now() - interval '5 seconds' AND newest.base_model = ANY($4) AS goes_on
    FROM executions e
    LEFT JOIN LATERAL (
        SELECT last.*
        FROM unnest($2::text[]) fits (kind)
        CROSS JOIN LATERAL (
            SELECT coalesce(r.finished_at, r.started_at) AS ended, r.base_model FROM work r
            WHERE r.execution_id = e.id AND r.kind = fits.kind AND r.started_at IS NOT NULL
            ORDER BY r.started_at DESC LIMIT 1
        ) last
        WHERE fits.kind <> 'evolve'
        ORDER BY last.ended DESC LIMIT 1
    ) newest ON true
    WHERE e.state = 'running'
),
candidate AS (
    SELECT w.id
    FROM (
        SELECT e.id AS execution_id, fits.kind, fits.trainer, w.loaded
        FROM (SELECT *, served < now() - interval '1 minute' AS overdue FROM share) e
        CROSS JOIN unnest($2::text[], $9::text[]) fits (kind, trainer)
        CROSS JOIN LATERAL (
            SELECT loaded.*, true AS loaded
            FROM unnest($4::text[]) base (name)
            CROSS JOIN LATERAL (
                SELECT w.seq, w.base_model FROM work w
                WHERE w.base_model = base.name AND {competing} ORDER BY w.seq LIMIT 1
            ) loaded
            UNION ALL
            SELECT * FROM (
                SELECT w.seq, w.base_model, false AS loaded FROM work w WHERE {competing} ORDER BY w.seq LIMIT 1
            ) oldest
        ) w
        WHERE (e.max_concurrent IS NULL OR e.held < e.max_concurrent) AND (
            w.base_model IS NULL OR w.base_model = ANY($4) OR e.overdue OR e.goes_on
            OR coalesce(e.priority > (SELECT max(priority) FROM share WHERE goes_on), true)
        )
        ORDER BY e.priority DESC, e.held, e.overdue DESC, (w.loaded AND NOT e.overdue) DESC, e.served, w.loaded DESC, w.seq
    ) best
    CROSS JOIN LATERAL (
        SELECT w.id FROM work w
        WHERE (NOT best.loaded OR w.base_model = ANY($4)) AND {won}
        ORDER BY w.seq LIMIT 1
        FOR UPDATE OF w SKIP LOCKED
    ) w
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
    let (of, bases): (Vec<Uuid>, Vec<&str>) = slot.lacking.iter().map(|(of, base)| (of.0, base.as_str())).unzip();
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
        .bind(of)
        .bind(bases)
        .bind(slot.kernels)
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

/// It has not left and is not about to. For a join: whether there is a `k` at all.
pub(super) const PRESENT: &str = "k.stopped_at IS NULL AND k.state <> 'draining'";

pub(super) const TAKES: &str = "w.kind = ANY(k.kinds)";

/// It has the sampler, if tokens are generated.
pub(super) const SAMPLES: &str =
    "(w.kind NOT IN ('rollout', 'benchmark') OR k.samplers = '{}' OR w.sampler = ANY(k.samplers))";

/// It has the trainer, if optimizer steps are taken.
pub(super) const TRAINS: &str = "(w.kind <> 'update' OR k.trainers = '{}' OR w.trainer = ANY(k.trainers))";

/// It has the base model, or a server that has it.
pub(super) const LOADS: &str = "(w.base_model IS NULL OR CASE w.sampler
    WHEN 'served' THEN w.base_model = ANY(k.loaded_models)
    ELSE k.base_models = '{}' OR w.base_model = ANY(k.base_models) END)";

pub(super) const COMPUTES: &str =
    "(w.device IS NULL OR (w.device = 'cpu') = (k.device = 'cpu')) AND (w.kernels IS NULL OR w.kernels = k.kernels)";

pub(super) const HOLDS: &str = "w.memory_bytes <= k.memory_bytes";

/// A handler's progress.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// From 0 to 1, if known.
    pub share: Option<f32>,
    /// The current activity.
    pub note: Option<String>,
}

/// Whether an item is still held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// It is still held.
    Yes,
    /// It was cancelled or given to another worker: further work on it is wasted.
    No,
}

/// Renews the claim. `progress` is given if there is any; its time determines "stalled since".
pub async fn renew(db: &PgPool, claim: &Claim, lease: Duration, progress: Option<&Progress>) -> Result<Held> {
    let renewed = sqlx::query(
        "UPDATE work SET lease_until = now() + $3 * interval '1 second',
             progress = coalesce($4, progress), progress_note = coalesce($5, progress_note),
             progress_at = CASE WHEN $6 THEN now() ELSE progress_at END
         WHERE id = $1 AND fence = $2 AND state = 'running'",
    )
    .bind(claim.id.0)
    .bind(claim.fence)
    .bind(lease.as_secs_f64())
    .bind(progress.and_then(|progress| progress.share).map(|share| share.clamp(0.0, 1.0)))
    .bind(progress.and_then(|progress| progress.note.as_deref()))
    .bind(progress.is_some())
    .execute(db)
    .await?;
    Ok(if renewed.rows_affected() == 1 { Held::Yes } else { Held::No })
}
