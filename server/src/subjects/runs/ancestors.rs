//! The weights that members of a new run begin with, or a judge has: versions of other runs, and imported adapters.

use lyceum_core::artifact::Digest;
use lyceum_core::config::{Ancestor, PopulationConfig, RunConfig, pointer_token};
use lyceum_core::fault::Fault;
use lyceum_core::id::{ExecutionId, MemberId, VersionId};
use lyceum_core::recipe::Recipe;
use lyceum_core::work::{BaseModel, LoraShape};
use lyceum_store::versions::weights::{self, Weights};
use lyceum_store::{StoreError, adapters, runs};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::api_error::ApiError;
use crate::base_weights;

/// Runs of one name that a refusal lists.
const LISTED: i64 = 5;
/// After more steps than any run has.
const LATEST: u32 = i32::MAX.cast_unsigned();

/// Weights that were found by what a config says of them.
struct Found {
    id: Uuid,
    /// As refusals call them.
    name: String,
    base_model: BaseModel,
    lora: LoraShape,
    artifact: Digest,
}

impl From<Weights> for Found {
    fn from(weights: Weights) -> Self {
        Self {
            id: weights.adapter.version.0,
            name: format!("version {} of {}", weights.adapter.version, weights.name),
            base_model: weights.base_model,
            lora: weights.lora,
            artifact: weights.adapter.artifact,
        }
    }
}

/// What weights are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    /// Members are born with them.
    Birth,
    /// A judge has them. It does not learn, so its adapter may have another shape.
    Judge,
}

/// Writes the ids and digests of the weights that members begin with, or a judge has, into the config. Returns the faults of those
/// that are not there, or do not fit their population. A fork, before a step of a run with its own config, keeps what that has
/// found.
pub(crate) async fn settle(
    db: &mut PgConnection,
    recipe: &dyn Recipe,
    config: &mut RunConfig,
    fork: Option<(&RunConfig, u32)>,
) -> Result<Vec<Fault>, ApiError> {
    let mut faults = settle_judge(db, recipe, config, fork.map(|(origin, _)| origin)).await?;
    for (name, population) in &mut config.populations {
        for place in 0..population.members.len() {
            let Some(from) = population.members[place].from.clone() else { continue };
            let pointer = format!("/populations/{}/members/{place}/from", pointer_token(name));
            let settled = match fork {
                Some((origin, step)) => match kept(origin.populations.get(name), population, place, step) {
                    Some(kept) => Ok(kept),
                    None if step == 0 => look_up(db, population, &from, Use::Birth).await?,
                    None => Err(vec![Fault::new(
                        "",
                        format!(
                            "members are born in the first step: a fork before step {step} keeps what they began with, and only \
                             one before step 0 can change it"
                        ),
                    )]),
                },
                None => look_up(db, population, &from, Use::Birth).await?,
            };
            match settled {
                Ok(settled) => population.members[place].from = Some(settled),
                Err(found) => faults.extend(below(&pointer, found)),
            }
        }
    }
    Ok(faults)
}

async fn settle_judge(
    db: &mut PgConnection,
    recipe: &dyn Recipe,
    config: &mut RunConfig,
    origin: Option<&RunConfig>,
) -> Result<Vec<Fault>, ApiError> {
    let judge_of = |config: &RunConfig| {
        let judge = recipe.judge(config);
        judge.map_err(|error| ApiError::unprocessable(error.to_string()))
    };
    let (Some((pointer, from)), Some(population)) = (judge_of(config)?, config.populations.values().next()) else {
        return Ok(Vec::new());
    };
    let before = origin.map(judge_of).transpose()?.flatten();
    let kept = before.and_then(|(_, before)| same(&before, &from));
    let settled = match kept {
        Some(kept) => kept,
        None => match look_up(db, population, &from, Use::Judge).await? {
            Ok(settled) => settled,
            Err(found) => return Ok(below(pointer, found)),
        },
    };
    if let Some(place) = pointer.strip_prefix("/parameters").and_then(|place| config.parameters.pointer_mut(place)) {
        *place = serde_json::to_value(settled).map_err(|error| ApiError::internal(&error))?;
    }
    Ok(Vec::new())
}

/// `faults` of what is at `pointer`.
fn below(pointer: &str, faults: Vec<Fault>) -> Vec<Fault> {
    let placed = |fault: Fault| Fault::new(format!("{pointer}{}", fault.pointer), fault.detail);
    faults.into_iter().map(placed).collect()
}

/// `before`, if both name the same weights.
fn same(before: &Ancestor, now: &Ancestor) -> Option<Ancestor> {
    ((&before.version, &before.adapter) == (&now.version, &now.adapter)).then(|| before.clone())
}

/// What the group at `place` begins with in the run that is forked, if the fork names the same.
fn kept(origin: Option<&PopulationConfig>, fork: &PopulationConfig, place: usize, step: u32) -> Option<Ancestor> {
    let origin = origin.filter(|origin| step > 0 || origin.lora == fork.lora)?;
    let of = |population: &PopulationConfig| population.members.get(place)?.from.clone();
    same(&of(origin)?, &of(fork)?)
}

/// `from` with the id and digest of its weights, or its faults.
async fn look_up(
    db: &mut PgConnection,
    population: &PopulationConfig,
    from: &Ancestor,
    of: Use,
) -> Result<Result<Ancestor, Vec<Fault>>, StoreError> {
    let (field, found) = match (&from.version, &from.adapter) {
        (Some(text), _) => ("/version", version(db, text).await?),
        (None, Some(text)) => ("/adapter", adapter(db, text).await?),
        (None, None) => return Ok(Ok(from.clone())),
    };
    let found = match found {
        Ok(found) => found,
        Err(detail) => return Ok(Err(vec![Fault::new(field, detail)])),
    };
    let mut faults = misfits(&found, population, field, of);
    let artifact = found.artifact;
    if !weights::removed(db, &[artifact]).await?.is_empty() {
        let detail = format!("the weights of {}, {artifact}, have been deleted: choose others", found.name);
        faults.push(Fault::new(field, detail));
    }
    if let Some(given) = from.artifact.filter(|given| *given != artifact) {
        let detail = format!("{given}, but the weights of {} are {artifact}: leave it out", found.name);
        faults.push(Fault::new("/artifact", detail));
    }
    let id = found.id.to_string();
    let settled = match field {
        "/version" => (Some(id), None),
        _ => (None, Some(id)),
    };
    let settled = Ancestor { version: settled.0, adapter: settled.1, artifact: Some(artifact) };
    Ok(if faults.is_empty() { Ok(settled) } else { Err(faults) })
}

/// The version called `text`: an id, or `RUN/MEMBER@STEP`. Else what is wrong with it.
async fn version(db: &mut PgConnection, text: &str) -> Result<Result<Found, String>, StoreError> {
    let unknown = || {
        format!(
            "there is no version `{text}`: valid are its id (`version.id` in GET /api/v1/runs/RUN/members) and \
             RUN/MEMBER@STEP, as in `my run/student-1@20`"
        )
    };
    if let Ok(id) = text.parse::<VersionId>() {
        return match weights::of_versions(db, &[id]).await {
            Ok(mut found) => Ok(found.pop().map(Found::from).ok_or_else(unknown)),
            Err(StoreError::NotFound { .. }) => Ok(Err(unknown())),
            Err(error) => Err(error),
        };
    }
    let Some((run, member)) = text.rsplit_once('/') else { return Ok(Err(unknown())) };
    let called = runs::called(&mut *db, run, LISTED).await?;
    let id = match called.as_slice() {
        [only] => ExecutionId(*only),
        [] => {
            return Ok(Err(format!("there is no run `{run}`: the id of one or its exact name is valid")));
        }
        several => {
            let ids: Vec<String> = several.iter().map(Uuid::to_string).collect();
            let ids = ids.join(", ");
            return Ok(Err(format!("several runs are called `{run}`: name one by its id, as {ids}")));
        }
    };
    let (name, step) = member.rsplit_once('@').map_or((member, None), |(name, step)| (name, Some(step)));
    let done = runs::find(&mut *db, id).await?.run.step.cast_unsigned();
    let after = match step.map(str::parse) {
        None => LATEST,
        Some(Ok(step)) if step <= done => step,
        Some(_) => {
            let step = step.unwrap_or_default();
            return Ok(Err(format!("`@{step}`: run `{run}` has done {done} steps, so 0 to {done} are valid")));
        }
    };
    let member = [MemberId::of(id, name)];
    if let Some(found) = weights::of_members(db, id, after, &member).await?.pop() {
        return Ok(Ok(found.into()));
    }
    if let Some(first) = weights::of_members(db, id, LATEST, &member).await?.pop() {
        let (first, last) = (first.name, first.made_in + 1);
        return Ok(Err(format!("`{first}` had no weights yet after {after} steps; its latest are those after {last}")));
    }
    let living = weights::of_run(db, id, None).await?;
    let names: Vec<&str> = living.iter().take(20).map(|member| member.name.as_str()).collect();
    Ok(Err(match names.as_slice() {
        [] => format!("no member of run `{run}` has weights yet"),
        names => format!("run `{run}` has no member `{name}`; its living members are {}", names.join(", ")),
    }))
}

/// The imported adapter called `text`. Else what is wrong with it.
async fn adapter(db: &mut PgConnection, text: &str) -> Result<Result<Found, String>, StoreError> {
    let Some(found) = adapters::find_called(db, text).await? else {
        return Ok(Err(format!(
            "there is no adapter `{text}`: the name or id of one is valid (`lyceum adapter list`); `lyceum adapter import \
             FOLDER` imports one"
        )));
    };
    let artifact = found.artifact.parse();
    Ok(Ok(Found {
        id: found.id,
        name: format!("adapter `{}`", found.name),
        base_model: found.base_model.0,
        lora: found.lora.0,
        artifact: artifact.map_err(|_| StoreError::not_found("artifact", &found.artifact))?,
    }))
}

/// Why members of `population`, or their judge, cannot have these weights.
fn misfits(found: &Found, population: &PopulationConfig, field: &str, of: Use) -> Vec<Fault> {
    let mut faults = Vec::new();
    let (theirs, own) = (&found.base_model, &population.base_model);
    if !base_weights::is_same(theirs, own) {
        let detail = format!(
            "{} was trained on {}, and this population is on {}: `base_model` must be the same, with the same weights",
            found.name,
            base_weights::text(theirs),
            base_weights::text(own)
        );
        faults.push(Fault::new(field, detail));
    }
    // Projections may be listed in any order.
    let own = population.lora.checked().unwrap_or_else(|_| population.lora.clone());
    if of == Use::Birth && found.lora != own {
        let detail = format!(
            "{} has the shape {}, and this population has {own}: `lora` must be the same",
            found.name, found.lora
        );
        faults.push(Fault::new(field, detail));
    }
    faults
}
