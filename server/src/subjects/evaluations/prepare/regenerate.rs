//! Regenerations: finds the work item that a recorded sample was drawn in.

use lyceum_core::artifact::Digest;
use lyceum_core::config::RunConfig;
use lyceum_core::evaluation::RegenerateSpec;
use lyceum_core::id::{AttemptId, ExecutionId, ProblemId, WorkId};
use lyceum_core::recipe::RegenerateParameters;
use lyceum_core::work::RolloutPayload;
use lyceum_store::versions::weights;
use lyceum_store::work::{self, Rollout};
use lyceum_store::{StoreError, attempts, problems};

use super::{Request, Unprepared, fault};

/// A recorded sample.
struct Recorded {
    pointer: &'static str,
    run: ExecutionId,
    step: u32,
    attempt: Option<AttemptId>,
    problem: ProblemId,
}

impl Recorded {
    async fn find(request: &Request<'_>, spec: &RegenerateSpec) -> Result<Self, Unprepared> {
        let db = request.store.pool();
        match (spec.attempt, spec.problem) {
            (Some(id), None) => {
                let pointer = "/spec/attempt";
                let place = found(attempts::place(db, id).await, pointer)?;
                Ok(Self { pointer, run: place.run, step: place.step, attempt: Some(id), problem: place.problem })
            }
            (None, Some(problem)) => {
                let pointer = "/spec/problem";
                let (run, step) = found(problems::place(db, problem).await, pointer)?;
                Ok(Self { pointer, run, step, attempt: None, problem })
            }
            (Some(_), Some(_)) => Err(fault("/spec/problem", "there is also an attempt: give one of the two")),
            (None, None) => {
                Err(fault("/spec", "give the id of an `attempt`, or of a `problem` to generate its proposal again"))
            }
        }
    }

    /// Whether it is this sample of an item. Identifiers of samples are hashes, so they can only be compared.
    fn is(&self, item: WorkId, request: &str, sample: u32) -> bool {
        match self.attempt {
            Some(attempt) => AttemptId::of(item, request, sample) == attempt,
            None => ProblemId::of(item, request, sample) == self.problem,
        }
    }

    /// The request and sample of an item, if it was drawn there.
    fn place(&self, item: WorkId, payload: &RolloutPayload) -> Option<(String, u32)> {
        let all = payload.requests.iter().flat_map(|request| (0..request.n).map(move |sample| (&request.id, sample)));
        let mut own = all.filter(|(request, sample)| self.is(item, request, *sample));
        own.next().map(|(request, sample)| (request.clone(), sample))
    }
}

/// The config of a regeneration; pointers begin at `/spec`.
pub(super) async fn configured(request: &Request<'_>, spec: &RegenerateSpec) -> Result<RunConfig, Unprepared> {
    let recorded = Recorded::find(request, spec).await?;
    let (rollout, (own_request, sample)) = source(request, &recorded).await?;
    let Rollout { id: item, mut payload, result } = rollout;
    let versions: Vec<Digest> = payload.adapters.iter().map(|adapter| adapter.artifact).collect();
    let tokens: Vec<Digest> = result.tokens.into_iter().collect();
    let mut db = request.store.pool().acquire().await.map_err(StoreError::from)?;
    if let Some(gone) = weights::removed(&mut db, &versions).await?.first() {
        let detail =
            format!("the weights that drew it have been deleted (artifact {gone}), so it cannot be drawn again");
        return Err(fault(recorded.pointer, detail));
    }
    payload.keep_tokens = true;
    payload.compare = if weights::removed(&mut db, &tokens).await?.is_empty() { result.tokens } else { None };
    let json = |error: serde_json::Error| fault("/spec", error.to_string());
    let parameters = RegenerateParameters {
        run: recorded.run,
        step: recorded.step,
        attempt: recorded.attempt,
        problem: recorded.problem,
        item,
        request: own_request,
        sample,
        payload: serde_json::to_string(&payload).map_err(json)?,
        recorded: serde_json::to_string(&result).map_err(json)?,
    };
    let mut config = RunConfig {
        recipe: request.planner.name().to_owned(),
        seed: request.seed,
        steps: 1,
        parameters: serde_json::to_value(parameters).map_err(json)?,
        ..RunConfig::default()
    };
    config.scheduling.priority = request.priority;
    Ok(request.planner.resolve(config)?)
}

/// The item that drew a sample, and its request and index there.
async fn source(request: &Request<'_>, recorded: &Recorded) -> Result<(Rollout, (String, u32)), Unprepared> {
    let db = request.store.pool();
    for item in work::rollouts_of_step(db, recorded.run, recorded.step).await? {
        if let Some(rollout) = work::rollout(db, item).await?
            && let Some(place) = recorded.place(item, &rollout.payload)
        {
            return Ok((rollout, place));
        }
    }
    let detail = match recorded.attempt {
        Some(id) => format!("attempt {id} was drawn by no work item that is still there"),
        None => format!(
            "problem {} was not proposed by a model: it is a seed or a row of a dataset, so choose another",
            recorded.problem
        ),
    };
    Err(fault(recorded.pointer, detail))
}

/// A row, or the fault that there is none.
fn found<T>(row: Result<T, StoreError>, pointer: &str) -> Result<T, Unprepared> {
    row.map_err(|error| match error {
        StoreError::NotFound { .. } => fault(pointer, error.to_string()),
        other => other.into(),
    })
}
