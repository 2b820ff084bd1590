//! The weights that members of a new run begin with: versions of other runs, and imported adapters.

use lyceum_core::{
    artifact::Digest,
    config::{Ancestor, PopulationConfig, RunConfig, pointer_token},
    fault::Fault,
    id::{ExecutionId, MemberId, VersionId},
    work::{BaseModel, LoraShape},
};
use lyceum_store::{
    StoreError, adapters, runs,
    versions::weights::{self, Weights},
};
use sqlx::PgConnection;
use uuid::Uuid;

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

/// Writes the ids and digests of the weights that members begin with into the config. Returns the faults of those that are not
/// there, or do not fit their population. A fork, before a step of a run with its own config, keeps what that has found.
pub(crate) async fn settle(
    db: &mut PgConnection,
    config: &mut RunConfig,
    fork: Option<(&RunConfig, u32)>,
) -> Result<Vec<Fault>, StoreError> {
    let mut faults = Vec::new();
    for (name, population) in &mut config.populations {
        for place in 0..population.members.len() {
            let Some(from) = population.members[place].from.clone() else {
                continue;
            };
            let pointer = format!("/populations/{}/members/{place}/from", pointer_token(name));
            let settled = match fork {
                Some((origin, step)) => match kept(origin.populations.get(name), population, place, step) {
                    Some(kept) => Ok(kept),
                    None if step == 0 => look_up(db, population, &from).await?,
                    None => Err(vec![Fault::new(
                        "",
                        format!(
                            "members are born in the first step: a fork before step {step} keeps what they began with, and only \
                             one before step 0 can change it"
                        ),
                    )]),
                },
                None => look_up(db, population, &from).await?,
            };
            match settled {
                Ok(settled) => population.members[place].from = Some(settled),
                Err(found) => faults.extend(
                    found
                        .into_iter()
                        .map(|fault| Fault::new(format!("{pointer}{}", fault.pointer), fault.detail)),
                ),
            }
        }
    }
    Ok(faults)
}

/// What the group at `place` begins with in the run that is forked, if the fork names the same.
fn kept(origin: Option<&PopulationConfig>, fork: &PopulationConfig, place: usize, step: u32) -> Option<Ancestor> {
    let origin = origin.filter(|origin| step > 0 || origin.lora == fork.lora)?;
    let of = |population: &PopulationConfig| population.members.get(place)?.from.clone();
    let (before, now) = (of(origin)?, of(fork)?);
    let is_same = (&before.version, &before.adapter) == (&now.version, &now.adapter);
    is_same.then_some(before)
}

/// `from` with the id and digest of its weights, or its faults.
async fn look_up(
    db: &mut PgConnection,
    population: &PopulationConfig,
    from: &Ancestor,
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
    let mut faults = misfits(&found, population, field);
    let artifact = found.artifact;
    if !weights::removed(db, &[artifact]).await?.is_empty() {
        let detail = format!(
            "the weights of {}, {artifact}, have been deleted: choose others",
            found.name
        );
        faults.push(Fault::new(field, detail));
    }
    if let Some(given) = from.artifact.filter(|given| *given != artifact) {
        let detail = format!(
            "{given}, but the weights of {} are {artifact}: leave it out",
            found.name
        );
        faults.push(Fault::new("/artifact", detail));
    }
    let id = found.id.to_string();
    let settled = match field {
        "/version" => (Some(id), None),
        _ => (None, Some(id)),
    };
    let settled = Ancestor {
        version: settled.0,
        adapter: settled.1,
        artifact: Some(artifact),
    };
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
    let Some((run, member)) = text.rsplit_once('/') else {
        return Ok(Err(unknown()));
    };
    let called = runs::called(&mut *db, run, LISTED).await?;
    let id = match called.as_slice() {
        [only] => ExecutionId(*only),
        [] => {
            return Ok(Err(format!(
                "there is no run `{run}`: the id of one or its exact name is valid"
            )));
        }
        several => {
            let ids: Vec<String> = several.iter().map(Uuid::to_string).collect();
            let ids = ids.join(", ");
            return Ok(Err(format!(
                "several runs are called `{run}`: name one by its id, as {ids}"
            )));
        }
    };
    let (name, step) = member
        .rsplit_once('@')
        .map_or((member, None), |(name, step)| (name, Some(step)));
    let done = runs::find(&mut *db, id).await?.run.step.cast_unsigned();
    let after = match step.map(str::parse) {
        None => LATEST,
        Some(Ok(step)) if step <= done => step,
        Some(_) => {
            let step = step.unwrap_or_default();
            return Ok(Err(format!(
                "`@{step}`: run `{run}` has done {done} steps, so 0 to {done} are valid"
            )));
        }
    };
    let member = [MemberId::of(id, name)];
    if let Some(found) = weights::of_members(db, id, after, &member).await?.pop() {
        return Ok(Ok(found.into()));
    }
    if let Some(first) = weights::of_members(db, id, LATEST, &member).await?.pop() {
        let (first, last) = (first.name, first.made_in + 1);
        return Ok(Err(format!(
            "`{first}` had no weights yet after {after} steps; its latest are those after {last}"
        )));
    }
    let living = weights::of_run(db, id, None).await?;
    let names: Vec<&str> = living.iter().take(20).map(|member| member.name.as_str()).collect();
    Ok(Err(match names.as_slice() {
        [] => format!("no member of run `{run}` has weights yet"),
        names => format!(
            "run `{run}` has no member `{name}`; its living members are {}",
            names.join(", ")
        ),
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

/// Why members of `population` cannot begin with these weights.
fn misfits(found: &Found, population: &PopulationConfig, field: &str) -> Vec<Fault> {
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
    if found.lora != own {
        let detail = format!(
            "{} has the shape {}, and this population has {own}: `lora` must be the same",
            found.name, found.lora
        );
        faults.push(Fault::new(field, detail));
    }
    faults
}
