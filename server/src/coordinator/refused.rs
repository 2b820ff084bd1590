//! Executions that this server cannot plan, and leaves to servers of other releases.

use lyceum_core::id::ExecutionId;
use lyceum_store::plan;
use sqlx::PgPool;
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Instant,
};

/// The release of this server.
const RELEASE: &str = env!("CARGO_PKG_VERSION");

/// When each was refused last.
#[derive(Debug, Default)]
pub(super) struct Refused(Mutex<HashMap<ExecutionId, Instant>>);

impl Refused {
    /// Whether `id` was refused so lately that it need not be tried: while one server tries, no other can.
    pub(super) fn lately(&self, id: ExecutionId) -> bool {
        let refused = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        refused
            .get(&id)
            .is_some_and(|last| last.elapsed() < plan::REFUSED_EVERY)
    }

    /// Records why `id` cannot be planned here, for its page, and warns the first time.
    pub(super) async fn refuse(&self, db: &PgPool, id: ExecutionId, reason: &str) {
        let before = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(id, Instant::now());
        if before.is_none() {
            tracing::warn!(
                execution.id = %id,
                "this server of release {RELEASE} cannot plan execution {id} and leaves it to another: {reason}",
            );
        }
        if let Err(error) = plan::refuse(db, id, RELEASE, reason).await {
            tracing::warn!(execution.id = %id, %error, "cannot record that execution {id} cannot be planned here");
        }
    }
}
