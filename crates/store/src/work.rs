//! Items of work: claiming, ending, failing, and recovering from lost workers.

mod claim;
mod end;
mod page;
mod sweep;

pub use claim::{Claim, Held, Progress, Slot, claim, claim_next, renew};
pub use end::{Failure, FailureKind, end, fail, release, retry};
pub use page::{
    Backlog, LogLine, Rollout, TryLog, WorkDetail, WorkFilter, WorkItem, WorkState, backlog, find, keep_log, logs,
    page, rollout, rollouts_of_step,
};
pub use sweep::{Sweeper, Swept};

use std::fmt;
use std::sync::LazyLock;

use lyceum_core::id::WorkId;
use lyceum_core::work::{Device, Kernels, Sampler, Trainer, WorkKind};
use sqlx::{AssertSqlSafe, FromRow, PgPool};

use crate::Result;
use claim::{COMPUTES, HOLDS, LOADS, PRESENT, SAMPLES, TAKES, TRAINS};

/// What all workers that are present lack for an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lack {
    /// There are none.
    Workers,
    /// None takes the kind.
    Kind(WorkKind),
    /// None of those has the sampler.
    Sampler(Sampler),
    /// None of those has the trainer.
    Trainer(Trainer),
    /// None of those has the base model, or a server that has it.
    BaseModel(String),
    /// None of those has the device.
    Device(Device),
    /// None of those has a processor with the instruction set.
    Kernels(Kernels),
    /// None of those has the memory.
    Memory {
        /// Bytes that the item needs.
        needed: u64,
        /// The most bytes that one offers.
        offered: u64,
    },
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Workers => f.write_str("there is no worker"),
            Self::Kind(kind) => write!(f, "no worker takes items of kind {kind}"),
            Self::Sampler(sampler) => write!(f, "no worker has the sampler `{sampler}` (`compute.sampler`)"),
            Self::Trainer(trainer) => write!(f, "no worker has the trainer `{trainer}` (`compute.trainer`)"),
            Self::BaseModel(name) => write!(f, "no worker has the base model {name}"),
            Self::Device(device) => write!(f, "no worker has the device `{device}` (`compute.device`)"),
            Self::Kernels(kernels) => {
                write!(f, "no worker computes on a processor with `{kernels}` (`compute.kernels`)")
            }
            Self::Memory { needed, offered } => {
                let gib = |bytes: &u64| *bytes as f64 / f64::from(1 << 30);
                write!(
                    f,
                    "it needs {:.1} GiB of memory, and the most that a worker offers is {:.1} GiB",
                    gib(needed),
                    gib(offered)
                )
            }
        }
    }
}

/// An item, and workers that meet more and more of its requirements.
#[derive(FromRow)]
struct Found {
    kind: WorkKind,
    sampler: Sampler,
    trainer: Trainer,
    base_model: Option<String>,
    device: Option<Device>,
    kernels: Option<Kernels>,
    memory_bytes: i64,
    present: i64,
    take: i64,
    sample: i64,
    train: i64,
    load: i64,
    compute: i64,
    offered: Option<i64>,
}

/// Whether worker `k` could take item `w`.
pub(crate) static ACCEPTS: LazyLock<String> = LazyLock::new(|| {
    format!("{PRESENT} AND {TAKES} AND {SAMPLES} AND {TRAINS} AND {LOADS} AND {COMPUTES} AND {HOLDS}")
});

static FIND: LazyLock<String> = LazyLock::new(|| {
    format!(
        "
SELECT w.kind, w.sampler, w.trainer, w.base_model, w.device, w.kernels, w.memory_bytes, count(k.id) AS present,
    count(*) FILTER (WHERE takes) AS take,
    count(*) FILTER (WHERE takes AND samples) AS sample,
    count(*) FILTER (WHERE takes AND samples AND trains) AS train,
    count(*) FILTER (WHERE takes AND samples AND trains AND loads) AS load,
    count(*) FILTER (WHERE takes AND samples AND trains AND loads AND computes) AS compute,
    max(k.memory_bytes) FILTER (WHERE takes AND samples AND trains AND loads AND computes) AS offered
FROM work w LEFT JOIN workers k ON {PRESENT}
CROSS JOIN LATERAL (
    SELECT {TAKES} AS takes, {SAMPLES} AS samples, {TRAINS} AS trains, {LOADS} AS loads, ({COMPUTES}) AS computes
) fits
WHERE w.id = $1 AND w.state = 'ready' GROUP BY w.id"
    )
});

/// What every worker that is present lacks for `item`; `None` if one could take it, or it is not ready.
pub async fn lacks(db: &PgPool, item: WorkId) -> Result<Option<Lack>> {
    let found: Option<Found> = sqlx::query_as(AssertSqlSafe(FIND.as_str())).bind(item.0).fetch_optional(db).await?;
    let Some(found) = found else { return Ok(None) };
    let offered = found.offered.unwrap_or(0);
    let lack = match found {
        Found { present: 0, .. } => Lack::Workers,
        Found { take: 0, kind, .. } => Lack::Kind(kind),
        Found { sample: 0, sampler, .. } => Lack::Sampler(sampler),
        Found { train: 0, trainer, .. } => Lack::Trainer(trainer),
        Found { load: 0, base_model: Some(name), .. } => Lack::BaseModel(name),
        Found { compute: 0, kernels: Some(kernels), .. } => Lack::Kernels(kernels),
        Found { compute: 0, device: Some(device), .. } => Lack::Device(device),
        Found { memory_bytes, .. } if offered < memory_bytes => {
            Lack::Memory { needed: memory_bytes.cast_unsigned(), offered: offered.cast_unsigned() }
        }
        _ => return Ok(None),
    };
    Ok(Some(lack))
}
