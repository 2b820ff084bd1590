//! `verify`: runs tasks in the sandbox.

use futures::{StreamExt as _, stream};
use lyceum_core::work::{VerifyPayload, VerifyResult, WorkKind};
use lyceum_verifier::{Unjudged, Verdict, Verifier};
use std::sync::Arc;
use std::time::Duration;

use crate::handler::{Context, Handler, HandlerError};

/// Number of tries after which tasks that made the sandbox fail count as wrong. A temporary problem of a machine thus
/// does not affect rewards, and a program that breaks every sandbox does not stop its run.
const TRIES: u32 = 3;

/// Judges items in a pool of confined interpreters.
pub struct VerifyHandler {
    verifier: Verifier,
    /// Tasks of one item in the pool at the same time; the pool itself limits the total.
    at_once: usize,
}

impl VerifyHandler {
    /// Judges with `verifier`, which has `jobs` threads.
    pub fn new(verifier: Verifier, jobs: usize) -> Self {
        Self { verifier, at_once: 2 * jobs.max(1) }
    }
}

impl Handler for VerifyHandler {
    const KIND: WorkKind = WorkKind::Verify;
    type Payload = VerifyPayload;
    type Outcome = VerifyResult;

    async fn run(self: Arc<Self>, payload: VerifyPayload, context: Context) -> Result<VerifyResult, HandlerError> {
        let total = payload.tasks.len().max(1);
        let cpu = payload.limits.cpu_seconds.map(Duration::try_from_secs_f64).transpose();
        let cpu = cpu.map_err(|error| HandlerError::permanent(format!("limits.cpu_seconds: {error}")))?;
        let mut verdicts = Vec::with_capacity(payload.tasks.len());
        let mut judged =
            stream::iter(payload.into_tasks()).map(|task| self.verifier.judge_within(task, cpu)).buffered(self.at_once);
        while let Some(judged) = judged.next().await {
            verdicts.push(settled(judged, context.attempt)?);
            context.progress(verdicts.len() as f32 / total as f32, "judging");
        }
        Ok(VerifyResult { verdicts })
    }
}

/// The verdict that applies at this try of the item.
fn settled(judged: Result<Verdict, Unjudged>, attempt: u32) -> Result<Verdict, HandlerError> {
    judged.or_else(|Unjudged(verdict)| match attempt >= TRIES {
        true => Ok(*verdict),
        false => Err(HandlerError::Transient(verdict.reason)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use lyceum_verifier::Status;

    #[test]
    fn a_sandbox_that_fails_is_asked_again_before_it_counts() {
        let unjudged = || Err(Unjudged(Box::new(Verdict::bare(None, Status::Error, "no sandbox"))));
        for attempt in 1..TRIES {
            assert!(matches!(settled(unjudged(), attempt), Err(HandlerError::Transient(_))));
        }
        assert_eq!(settled(unjudged(), TRIES).unwrap().status, Status::Error);
        let wrong = Verdict::bare(None, Status::Timeout, "it took too long");
        assert_eq!(settled(Ok(wrong.clone()), 1).unwrap(), wrong, "a verdict counts at once");
    }
}
