//! Judges a sample of a run's verdicts again on this machine, and compares them with what the run's workers wrote: those may be
//! on machines of others.

use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _, stream};
use lyceum_core::verify::{Failure, Task, Verdict};
use lyceum_core::work::{Outcome, Payload};
use lyceum_store::{Remote, StoreError};
use lyceum_verifier::{Unjudged, Verifier};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Items per request.
const PAGE: u32 = 100;

/// What is judged again, and with what.
pub struct Recheck<'a> {
    /// The run's server.
    pub server: &'a Remote,
    /// Judges here.
    pub verifier: &'a Verifier,
    /// Tasks in the pool at the same time.
    pub at_once: usize,
    /// The share of verdicts to judge again, from 0 to 1. They are drawn anew each time.
    pub share: f64,
}

/// A verdict that is another here.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The item that it is part of.
    pub item: Uuid,
    /// The worker that wrote it.
    pub worker: String,
    /// What the run has.
    pub stored: Verdict,
    /// What comes out here.
    pub here: Verdict,
}

/// What of a worker was judged again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub verdicts: usize,
    /// Those that were drawn.
    pub judged: usize,
    /// Those that are others here.
    pub different: usize,
}

/// Why a sample cannot be judged.
#[derive(Debug, thiserror::Error)]
pub enum RecheckError {
    /// The server did not give what is needed.
    #[error(transparent)]
    Server(#[from] StoreError),
    /// It answered something else.
    #[error("the server's answer to {path}: {reason}")]
    Answer {
        /// What was asked for.
        path: String,
        /// What is wrong with the answer.
        reason: String,
    },
    /// The sandbox failed here.
    #[error("the sandbox of this machine failed: {0}")]
    Sandbox(String),
}

/// A page of `GET /api/v1/work`.
#[derive(Deserialize)]
struct Page {
    items: Vec<Listed>,
    next: Option<String>,
}

#[derive(Deserialize)]
struct Listed {
    id: Uuid,
}

/// What matters here of `GET /api/v1/work/{id}`.
#[derive(Deserialize)]
struct Finished {
    worker: Option<String>,
    payload: Payload,
    result: Option<Outcome>,
}

impl Recheck<'_> {
    /// Judges a sample of the finished verdicts of `run`. Calls `differs` for each that is another here, and returns the
    /// counts by worker.
    ///
    /// # Errors
    /// The server does not answer, or the sandbox fails.
    pub async fn run(
        &self,
        run: Uuid,
        mut differs: impl FnMut(Difference),
    ) -> Result<BTreeMap<String, Counts>, RecheckError> {
        let draw = RandomState::new();
        let mut counts: BTreeMap<String, Counts> = BTreeMap::new();
        let list = format!("/api/v1/work?run={run}&kind=verify&state=done&order=oldest&limit={PAGE}");
        let mut path = list.clone();
        loop {
            let page: Page = self.get(&path).await?;
            for Listed { id } in page.items {
                let path = format!("/api/v1/work/{id}");
                let finished: Finished = self.get(&path).await?;
                let worker = finished.worker.unwrap_or_else(|| "unknown".to_owned());
                let of_worker = counts.entry(worker.clone()).or_default();
                let (Payload::Verify(payload), Some(Outcome::Verify(result))) = (finished.payload, finished.result)
                else {
                    let reason = "no verdicts of an item that is done".to_owned();
                    return Err(RecheckError::Answer { path, reason });
                };
                of_worker.verdicts += result.verdicts.len();
                let is_drawn = |at: usize| (draw.hash_one((id, at)) as f64) < self.share * 2_f64.powi(64);
                let limits = payload.limits;
                let drawn = payload.into_tasks().zip(result.verdicts).enumerate();
                let drawn = drawn.filter(|(at, _)| is_drawn(*at)).map(|(_, pair)| pair).collect();
                for (stored, here) in self.judged(drawn, limits.cpu_seconds).await? {
                    of_worker.judged += 1;
                    if essence(&stored) != essence(&here) {
                        of_worker.different += 1;
                        differs(Difference { item: id, worker: worker.clone(), stored, here });
                    }
                }
            }
            match page.next {
                Some(cursor) => path = format!("{list}&cursor={cursor}"),
                None => return Ok(counts),
            }
        }
    }

    /// The stored verdicts with those that come out here.
    async fn judged(
        &self,
        drawn: Vec<(Task, Verdict)>,
        cpu_seconds: Option<f64>,
    ) -> Result<Vec<(Verdict, Verdict)>, RecheckError> {
        let cpu = cpu_seconds.map(Duration::try_from_secs_f64).transpose();
        let cpu = cpu.map_err(|error| RecheckError::Sandbox(format!("limits.cpu_seconds: {error}")))?;
        let judge = |(task, stored)| async move {
            match self.verifier.judge_within(task, cpu).await {
                Ok(here) => Ok((stored, here)),
                Err(Unjudged(verdict)) => Err(RecheckError::Sandbox(verdict.reason)),
            }
        };
        stream::iter(drawn).map(judge).buffered(self.at_once).try_collect().await
    }

    async fn get<T: for<'de> Deserialize<'de>>(&self, path: &str) -> Result<T, RecheckError> {
        let wrong = |reason: String| RecheckError::Answer { path: path.to_owned(), reason };
        let body = self.server.get(path.to_owned()).await?.ok_or_else(|| wrong("404 Not found".to_owned()))?;
        serde_json::from_slice(&body).map_err(|error| wrong(error.to_string()))
    }
}

/// A verdict without its words and times, which may differ.
fn essence(verdict: &Verdict) -> Verdict {
    let failures =
        verdict.failures.iter().flatten().map(|failure| Failure { reason: String::new(), ..failure.clone() });
    Verdict {
        reason: String::new(),
        millis: 0.0,
        failures: verdict.failures.is_some().then(|| failures.collect()),
        ..verdict.clone()
    }
}
