//! Items of work: claiming, ending, failing, and recovering from lost workers.

mod backlog;
mod claim;
mod end;
mod fail;
mod fits;
mod lease;
mod log;
mod page;
pub mod rollouts;
mod state;
mod sweep;
mod waiting;

pub use backlog::{Backlog, backlog};
pub use claim::{Claim, Slot, claim, claim_next};
pub use end::end;
pub use fail::{Failure, FailureKind, fail, release, retry};
pub use lease::{Held, Progress, renew};
pub use log::{LogLine, TryLog, keep_log, logs};
pub use page::{WorkDetail, WorkFilter, WorkItem, find, page};
pub use state::WorkState;
pub use sweep::{Sweeper, Swept};
pub use waiting::{Lack, lacks};
