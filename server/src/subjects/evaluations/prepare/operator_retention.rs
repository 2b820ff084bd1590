//! Evaluations of operator retention: resolves parents and snapshots to exact weights and rows.

use lyceum_core::artifact::Digest;
use lyceum_core::config::{PopulationConfig, RunConfig};
use lyceum_core::evaluation::{OperatorRetentionSpec, Parent};
use lyceum_core::evolution::operator;
use lyceum_core::fault::{Fault, Faults};
use lyceum_core::id::{DatasetId, MemberId};
use lyceum_core::recipe::{
    ItemConfig, ParentVersion, Planner as _, RetentionParameters, RetentionTask, Rlvr, parameters, rlvr,
};
use lyceum_store::members::{self, MemberName};
use lyceum_store::runs::{self, Run};
use lyceum_store::versions::weights;
use lyceum_store::{StoreError, datasets};
use serde_json::Value;
use sqlx::{PgConnection, PgPool};
use std::collections::BTreeSet;
use std::ops::Range;

use super::{Request, Unprepared, fault};

/// More members than a config can have.
const MEMBERS: u32 = 100_000;

/// Parameters of a run of RLVR in which two parents may differ: their tasks, and how work is cut up.
const OWN: [&str; 4] = ["dataset", "held_out", "slices", "items"];

/// A parent, with what its run says of it.
struct Found {
    run: Run,
    config: RunConfig,
    member: MemberName,
    dataset: DatasetId,
    /// The rows that it learned from.
    rows: Range<u32>,
}

/// The config of an evaluation of operator retention, with everything in its spec looked up; pointers begin at `/spec`.
pub(super) async fn configured(request: &Request<'_>, spec: &OperatorRetentionSpec) -> Result<RunConfig, Unprepared> {
    let mut faults = spec.faults();
    let mut parents = Vec::new();
    for (place, parent) in spec.parents.iter().enumerate() {
        match find(request.store.pool(), parent).await? {
            Ok(found) => parents.push(found),
            Err(Fault { pointer, detail }) => {
                faults.push(Fault::new(format!("/spec/parents/{place}{pointer}"), detail));
            }
        }
    }
    if let [first, second] = &parents[..] {
        faults.extend(misfit(first, second));
    }
    for (place, snapshot) in spec.snapshots.iter().enumerate() {
        let beyond = parents.iter().find(|parent| *snapshot > parent.finished());
        if let Some(parent) = beyond {
            let detail = match parent.finished() {
                0 => format!("{snapshot}: run {} has not finished a step yet", parent.run.id),
                done => format!("{snapshot}: run {} has finished {done} steps: 1 to {done} is valid", parent.run.id),
            };
            faults.push(Fault::new(format!("/spec/snapshots/{place}"), detail));
        }
    }
    Faults(faults).or(())?;
    let mut db = request.store.pool().acquire().await.map_err(StoreError::from)?;
    let (mut tasks, mut faults) = (Vec::new(), Vec::new());
    for parent in &parents {
        match task(&mut db, spec, parent).await? {
            Ok(task) => tasks.push(task),
            Err(fault) => faults.push(fault),
        }
    }
    Faults(faults).or(())?;
    let first = parents.into_iter().next().ok_or_else(|| fault("/spec/parents", "at least one parent is needed"))?;
    Ok(request.planner.resolve(resolved(request, spec, first.config, tasks)?)?)
}

fn resolved(
    request: &Request<'_>,
    spec: &OperatorRetentionSpec,
    of_run: RunConfig,
    tasks: Vec<RetentionTask>,
) -> Result<RunConfig, Unprepared> {
    let operators = spec.operators();
    let mut training =
        parameters::<rlvr::Parameters>(&of_run).map_err(|error| fault("/spec/parents/0/run", error.to_string()))?;
    let mixes = |name: &String| operator(name).is_ok_and(|operator| operator.arity == 2);
    if training.batch < 2 && operators.iter().any(mixes) {
        let detail = "a crossover's child learns both tasks from each batch, and the parents' runs have a batch of 1: name \
                      operators of one parent";
        return Err(fault("/spec/operators", detail));
    }
    // A run of one member updates one at a time for no other reason than that there is no other.
    training.items.update = training.items.update.max(ItemConfig::default().update);
    let internal = |error: serde_json::Error| fault("/spec", error.to_string());
    let parameters = RetentionParameters {
        tasks,
        snapshots: spec.snapshots.clone(),
        operators,
        steps: spec.steps,
        every: spec.every,
        rows: spec.rows,
        n: spec.n,
        seeds: spec.seeds,
        training: serde_json::to_value(&training).map_err(internal)?,
    };
    let mut config = RunConfig {
        recipe: request.planner.name().to_owned(),
        seed: request.seed,
        parameters: serde_json::to_value(parameters).map_err(internal)?,
        benchmarks: None,
        ..of_run
    };
    config.scheduling.priority = request.priority;
    Ok(config)
}

/// The parent, or why it is none; the fault's pointer is below the parent's.
async fn find(db: &PgPool, parent: &Parent) -> Result<Result<Found, Fault>, StoreError> {
    let refused = |pointer: &str, detail: String| Ok(Err(Fault::new(pointer, detail)));
    let run = match runs::find(db, parent.run).await {
        Ok(run) => run,
        Err(error @ StoreError::NotFound { .. }) => return refused("/run", error.to_string()),
        Err(error) => return Err(error),
    };
    if run.run.recipe != Rlvr.name() {
        let detail = format!(
            "run {} is of recipe `{}`: a parent has learned one task by `{}`",
            parent.run,
            run.run.recipe,
            Rlvr.name()
        );
        return refused("/run", detail);
    }
    let read = serde_json::from_value(run.config).map_err(|error| error.to_string()).and_then(|config: RunConfig| {
        Ok((parameters::<rlvr::Parameters>(&config).map_err(|error| error.to_string())?, config))
    });
    let (parameters, config) = match read {
        Ok(read) => read,
        Err(error) => return refused("/run", error),
    };
    let members = members::names(db, parent.run, MEMBERS).await?;
    let named = |member: &MemberName| parent.member.as_ref().is_none_or(|name| *name == member.name);
    let chosen: Vec<usize> = (0..members.len()).filter(|place| named(&members[*place])).collect();
    let [place] = chosen[..] else {
        let names: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
        let names = names.join(", ");
        return match (&parent.member, members.is_empty()) {
            (_, true) => refused("/run", format!("run {} has no members yet", parent.run)),
            (Some(name), _) => {
                refused("/member", format!("run {} has no member `{name}`: valid are {names}", parent.run))
            }
            (None, _) => refused("/member", format!("run {} has several members: name one of {names}", parent.run)),
        };
    };
    let found = parameters.task(place, members.len()).and_then(|rows| Ok((rows, parameters.dataset.settled()?.0)));
    let (rows, dataset) = match found {
        Ok(found) => found,
        Err(error) => return refused("/run", error.to_string()),
    };
    if let Err(StoreError::NotFound { .. }) = datasets::find(db, dataset).await {
        let detail = format!("the dataset {dataset} of run {} was deleted: its children learn from it", parent.run);
        return refused("/run", detail);
    }
    Ok(Ok(Found { run: run.run, config, member: members[place].clone(), dataset, rows }))
}

impl Found {
    /// Finished steps of its run.
    fn finished(&self) -> u32 {
        self.run.step.max(0).cast_unsigned()
    }

    fn population(&self) -> Option<&PopulationConfig> {
        self.config.populations.values().next()
    }
}

/// Why two parents cannot be mixed.
fn misfit(first: &Found, second: &Found) -> Option<Fault> {
    let refused = |detail: String| Some(Fault::new("/spec/parents/1/run", detail));
    let (Some(one), Some(other)) = (first.population(), second.population()) else {
        return refused("a run without a population".to_owned());
    };
    if one.base_model != other.base_model {
        let detail = format!(
            "its base is {}, the first parent's {}: parents share a base",
            other.base_model.name, one.base_model.name
        );
        return refused(detail);
    }
    if one.lora != other.lora {
        let detail =
            format!("its adapters have {}, the first parent's {}: parents share a shape", other.lora, one.lora);
        return refused(detail);
    }
    let shared = |parent: &Found| -> Value {
        let mut parameters = parent.config.parameters.clone();
        if let Some(fields) = parameters.as_object_mut() {
            fields.retain(|name, _| !OWN.contains(&name.as_str()));
        }
        parameters
    };
    let (one, other) = (shared(first), shared(second));
    let names = other.as_object().into_iter().flatten().map(|(name, _)| name);
    let different: Vec<&str> = names.filter(|name| one[*name] != other[*name]).map(String::as_str).collect();
    if one != other {
        let detail = format!(
            "it was trained with other settings than the first parent ({}): children of both are trained with those of both",
            different.join(", ")
        );
        return refused(detail);
    }
    None
}

/// The parent's task, with its weights at all steps that are measured.
async fn task(
    db: &mut PgConnection,
    spec: &OperatorRetentionSpec,
    parent: &Found,
) -> Result<Result<RetentionTask, Fault>, StoreError> {
    let member = MemberId(parent.member.id);
    let last = spec.snapshots.iter().max().map_or(0, |snapshot| snapshot + spec.steps).min(parent.finished());
    let every = (1..=last / spec.every.max(1)).map(|count| count * spec.every);
    let steps: BTreeSet<u32> = every.chain(spec.snapshots.iter().copied()).collect();
    let mut curve = Vec::new();
    for step in steps {
        let found = weights::of_members(&mut *db, parent.run.id.into(), step, &[member]).await?;
        curve.extend(found.first().map(|weights| ParentVersion { step, adapter: weights.adapter }));
    }
    let digests: Vec<Digest> = curve.iter().map(|version| version.adapter.artifact).collect();
    let removed = weights::removed(&mut *db, &digests).await?;
    curve.retain(|version| !removed.contains(&version.adapter.artifact));
    let is_there = |snapshot: &u32| curve.iter().any(|version| version.step == *snapshot);
    if let Some(place) = spec.snapshots.iter().position(|snapshot| !is_there(snapshot)) {
        let steps: Vec<String> = curve.iter().map(|version| version.step.to_string()).collect();
        let detail = format!(
            "the weights of {} of run {} after {} steps are gone; there are those after {}",
            parent.member.name,
            parent.run.id,
            spec.snapshots[place],
            if steps.is_empty() { "none".to_owned() } else { steps.join(", ") },
        );
        return Ok(Err(Fault::new(format!("/spec/snapshots/{place}"), detail)));
    }
    Ok(Ok(RetentionTask {
        run: parent.run.id.into(),
        member,
        name: parent.member.name.clone(),
        dataset: parent.dataset,
        first_row: parent.rows.start,
        rows: parent.rows.end - parent.rows.start,
        curve,
    }))
}
