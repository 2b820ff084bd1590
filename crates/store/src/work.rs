//! Items of work: claiming, ending, failing, and recovering from lost workers.

mod claim;
mod end;
mod page;
mod sweep;
mod waiting;

pub use claim::{Claim, Held, Progress, Slot, claim, claim_next, renew};
pub use end::{Failure, FailureKind, end, fail, release, retry};
pub use page::{
    Backlog, LogLine, Rollout, TryLog, WorkDetail, WorkFilter, WorkItem, WorkState, backlog, find, keep_log, logs,
    page, rollout, rollouts_of_step,
};
pub use sweep::{Sweeper, Swept};
pub use waiting::{Lack, lacks};
