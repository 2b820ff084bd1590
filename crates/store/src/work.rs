//! The work table: claims, results, failures, and what is swept up behind the dead.

mod claim;
mod end;
mod fail;
mod lease;
mod sweep;

pub use claim::{Claim, Slot, any_ready, claim, claim_next};
pub use end::end;
pub use fail::{Failure, FailureKind, fail, release, retry};
pub use lease::{Held, Progress, renew};
pub use sweep::{Sweeper, Swept};
