//! `verify`: tasks to the sandbox, verdicts back.

use futures::{FutureExt as _, StreamExt as _, future::BoxFuture, stream};
use lyceum_core::work::{Outcome, Payload, VerifyResult, WorkKind};
use lyceum_verifier::Verifier;
use std::sync::Arc;

use crate::handler::{Context, Handler, HandlerError};

/// Judges items in a pool of confined interpreters.
pub struct VerifyHandler {
    verifier: Verifier,
    /// Tasks of one item that are with the pool at once; the pool itself bounds those of all items.
    at_once: usize,
}

impl VerifyHandler {
    /// Judges with `verifier`, which has `jobs` threads.
    pub fn new(verifier: Verifier, jobs: usize) -> Self {
        Self {
            verifier,
            at_once: 2 * jobs.max(1),
        }
    }
}

impl Handler for VerifyHandler {
    fn kind(&self) -> WorkKind {
        WorkKind::Verify
    }

    fn run(self: Arc<Self>, payload: Payload, context: Context) -> BoxFuture<'static, Result<Outcome, HandlerError>> {
        async move {
            let Payload::Verify(verify) = payload else {
                return Err(HandlerError::Permanent(format!(
                    "a payload of kind {} to verify",
                    payload.kind()
                )));
            };
            let total = verify.tasks.len().max(1);
            let mut verdicts = Vec::with_capacity(verify.tasks.len());
            let mut judged = stream::iter(verify.tasks)
                .map(|task| self.verifier.judge_async(task))
                .buffered(self.at_once);
            while let Some(verdict) = judged.next().await {
                verdicts.push(verdict);
                context.progress(verdicts.len() as f32 / total as f32, "judging");
            }
            drop(judged);
            Ok(Outcome::Verify(VerifyResult { verdicts }))
        }
        .boxed()
    }
}
