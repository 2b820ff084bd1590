//! One item, from claim to end.

use futures::FutureExt as _;
use lyceum_core::work::{Outcome, Payload};
use lyceum_store::StoreError;
use lyceum_store::work::{Claim, Failure, FailureKind, Held, Progress, end, fail, keep_log, release, renew};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::{Shared, Unfit};
use crate::handler::{Context, HandlerError};
use crate::persist::{PATIENCE, persist};
use crate::{item_log, panic};

/// The longest time between two renewals of a claim, whatever the lease: after a standstill the sweeper waits for the
/// next one (`lyceum_store::work::Sweeper`).
const RENEWAL: Duration = Duration::from_secs(10);

/// The shortest time after which a renewal without an answer is given up.
const SILENCE: Duration = Duration::from_secs(5);

/// How an item ended.
enum Ended {
    Outcome(Box<Outcome>),
    Failed(Failure),
    /// The claim was lost or the item cancelled.
    Lost,
    /// The worker is stopping.
    Abandoned,
}

/// Runs an item and writes the result.
pub(super) async fn run(shared: &Arc<Shared>, claim: Claim) {
    let span = tracing::info_span!(
        item_log::SPAN,
        work.id = %claim.id,
        work.key = %claim.key,
        work.kind = %claim.kind,
        work.attempt = claim.attempt,
        execution.id = %claim.execution,
        trace.id = claim.trace_id.as_deref().unwrap_or_default(),
    );
    run_in_span(shared, claim).instrument(span).await;
}

async fn run_in_span(shared: &Arc<Shared>, claim: Claim) {
    let started = Instant::now();
    let cancelled = CancellationToken::new();
    let artifacts = shared.artifacts.clone();
    let context = Context::new(claim.key.clone(), claim.attempt, artifacts, cancelled.clone()).patient(PATIENCE);
    let ended = handle(shared, &claim, &context).await;
    cancelled.cancel();
    let seconds = started.elapsed().as_secs_f64();
    let log = item_log::take(&tracing::Span::current());
    if let Err(error) = keep_log(shared.store.pool(), &claim, shared.settings.id, &log).await {
        tracing::warn!(%error, "cannot keep the log of work {}", claim.key);
    }
    let written = match ended {
        Ended::Outcome(outcome) => {
            let artifacts = context.written();
            let written = persist(PATIENCE, || end(shared.store.pool(), &claim, &outcome, &artifacts)).await;
            match written {
                // Another try writes its artifacts again. Otherwise the claim would have to run out first.
                Err(error @ StoreError::Removed { .. }) => record(shared, &claim, &again(error.to_string())).await,
                written => written.map(|()| "done"),
            }
        }
        Ended::Failed(failure) => record(shared, &claim, &failure).await,
        Ended::Abandoned => persist(PATIENCE, || release(shared.store.pool(), &claim)).await.map(|()| "handed back"),
        Ended::Lost => Err(StoreError::FenceLost),
    };
    match written {
        Ok(state) => tracing::info!(state, seconds, "work {} ended", claim.key),
        Err(StoreError::FenceLost) => tracing::info!(seconds, "the claim on work {} was lost", claim.key),
        Err(error) => tracing::error!(%error, seconds, "cannot write the result of work {}", claim.key),
    }
}

/// Writes that the item failed, and says what becomes of it.
async fn record(shared: &Shared, claim: &Claim, failure: &Failure) -> Result<&'static str, StoreError> {
    tracing::warn!(error = %failure.message, "work {} failed", claim.key);
    let again = persist(PATIENCE, || fail(shared.store.pool(), claim, failure)).await?;
    Ok(if again { "later" } else { "failed" })
}

/// A failure that another try may not have.
fn again(message: String) -> Failure {
    Failure { kind: FailureKind::Error, message, retry: true }
}

/// Runs the handler on its own task while renewing the claim, and drops it when the claim is lost.
async fn handle(shared: &Arc<Shared>, claim: &Claim, context: &Context) -> Ended {
    let refused = |message| Ended::Failed(Failure { kind: FailureKind::Payload, message, retry: false });
    let payload = match &claim.payload {
        Ok(payload) => payload.clone(),
        Err(error) => {
            let (execution, key, error) = (claim.execution, claim.key.clone(), error.clone());
            shared.be_unfit(Unfit::OtherRelease { execution, key, error });
            return Ended::Abandoned;
        }
    };
    let running = match shared.handlers.run(claim.kind, payload, context.clone()) {
        Some(Ok(running)) => running,
        Some(Err(wrong)) => return refused(format!("a payload of {wrong}")),
        None => return Ended::Abandoned,
    };
    let job = AssertUnwindSafe(running).catch_unwind();
    let mut task = shared.handler_threads.spawn(job.in_current_span());
    let ended = tokio::select! {
        ended = &mut task => Some(ended),
        () = keep(shared, claim, context.watch_progress()) => None,
        () = shared.abandoning.cancelled() => {
            task.abort();
            return Ended::Abandoned;
        }
    };
    match ended {
        None => {
            task.abort();
            Ended::Lost
        }
        Some(Ok(Ok(Ok(outcome)))) => Ended::Outcome(Box::new(outcome)),
        Some(Ok(Ok(Err(error)))) => {
            let message = match &error {
                HandlerError::LacksBase(why) => format!("worker {}: {why}", shared.settings.name),
                error => error.to_string(),
            };
            Ended::Failed(Failure { kind: FailureKind::Error, message, retry: learn_from(shared, claim, error) })
        }
        Some(Ok(Err(panic))) => Ended::Failed(Failure {
            kind: FailureKind::Panic,
            message: format!("panic: {}", panic::message(panic.as_ref()).unwrap_or("without a message")),
            retry: true,
        }),
        Some(Err(error)) => {
            Ended::Failed(Failure { kind: FailureKind::Panic, message: error.to_string(), retry: true })
        }
    }
}

/// What an error tells of this worker, and whether another try may succeed.
fn learn_from(shared: &Shared, claim: &Claim, error: HandlerError) -> bool {
    match error {
        HandlerError::Permanent(_) => return false,
        HandlerError::Transient(_) => {}
        HandlerError::LacksBase(_) => {
            if let Some(base) = claim.payload.as_ref().ok().and_then(Payload::base_model) {
                shared.lacking.note(claim.execution, base.name.clone());
            }
        }
        HandlerError::DeviceLost(why) => shared.be_unfit(Unfit::DeviceLost(why)),
    }
    true
}

/// Renews the claim three times per lease, and to report progress at most twice a second. Returns when the claim is
/// lost. While the database does not respond, the item continues: nobody else can claim it meanwhile, and the fence
/// decides between two results. The claim is renewed as soon as the database is back.
async fn keep(shared: &Shared, claim: &Claim, mut progress: watch::Receiver<Progress>) {
    let lease = shared.settings.lease;
    let mut due = (lease / 3).min(RENEWAL);
    let mut noted = String::new();
    loop {
        let news = tokio::select! {
            changed = progress.changed() => changed.is_ok(),
            () = sleep(due) => false,
        };
        let progress = news.then(|| progress.borrow_and_update().clone());
        if let Some(text) = progress.as_ref().and_then(|progress| progress.note.as_deref())
            && text != noted
        {
            item_log::note(&tracing::Span::current(), text);
            text.clone_into(&mut noted);
        }
        due = (lease / 3).min(RENEWAL);
        let renewed = renew(shared.store.pool(), claim, lease, progress.as_ref());
        // A connection that went silent, as when a router forgot it, must not hold up the renewals after this one.
        match timeout((lease / 3).max(SILENCE), renewed).await {
            Ok(Ok(Held::No)) => return,
            Ok(Ok(Held::Yes)) => {}
            Ok(Err(error)) => {
                tracing::debug!(%error, "cannot renew the claim on work {} now", claim.key);
                due = Duration::ZERO;
            }
            Err(late) => {
                tracing::debug!(%late, "cannot renew the claim on work {} now", claim.key);
                due = Duration::ZERO;
            }
        }
        sleep(Duration::from_millis(500).min(lease / 6)).await;
    }
}
