//! Benchmark evaluations: resolves requests to exact weights and rows, and puts results into tables.

mod pace;
mod slices;

pub(crate) use slices::named_dataset_faults;

use lyceum_core::benchmark::SubjectRole;
use lyceum_core::config::{BenchmarkSchedule, RunConfig};
use lyceum_core::evaluation::{BenchmarkSpec, EvaluationSpec};
use lyceum_core::fault::{Fault, Faults};
use lyceum_core::id::ExecutionId;
use lyceum_core::recipe::{
    BenchmarkEvaluation, BenchmarkParameters, BenchmarkSubject, Planner, Registry, Role, SuiteSlice,
};
use lyceum_core::work::BaseModel;
use lyceum_store::evaluations::{self, NewEvaluation};
use lyceum_store::versions::weights::{self, Weights};
use lyceum_store::{StoreError, event};
use serde_json::json;
use sqlx::{Connection as _, PgConnection, PgPool};
use std::collections::BTreeSet;
use uuid::Uuid;

use self::pace::samples_per_item;
use self::slices::{Defaults, slices};
use super::{Request, Unprepared};

/// The config of a benchmark evaluation; pointers begin at `/spec`.
pub(super) async fn configured(request: &Request<'_>, spec: &BenchmarkSpec) -> Result<RunConfig, Unprepared> {
    let mut tx = request.store.pool().begin().await.map_err(StoreError::from)?;
    let parameters = prepare(&mut tx, request.store.pool(), spec, "/spec", &[]).await?;
    let config = resolve(request.planner, &parameters, request.seed, request.priority)?;
    // Rows of a shipped suite may have been imported.
    tx.commit().await.map_err(StoreError::from)?;
    Ok(config)
}

/// The parameters of a benchmark evaluation, with everything it names looked up; pointers start below `spec`. Suites that are
/// `settled` stay as they are.
async fn prepare(
    db: &mut PgConnection,
    pool: &PgPool,
    spec: &BenchmarkSpec,
    pointer: &str,
    settled: &[SuiteSlice],
) -> Result<BenchmarkParameters, Unprepared> {
    let BenchmarkSpec {
        suites,
        versions,
        run,
        step,
        base_model,
        base,
        roles,
        n,
        rows,
        prompts,
        temperature,
        top_p,
        max_tokens,
        compute,
    } = spec;
    let defaults = Defaults {
        rows: *rows,
        prompts: prompts.as_deref(),
        temperature: *temperature,
        top_p: *top_p,
        max_tokens: *max_tokens,
        settled,
    };
    let (slices, mut faults) = slices(&mut *db, pool, suites, defaults, &format!("{pointer}/suites")).await?;
    let mut weights: Vec<Measurable> = Vec::new();
    let mut bare: Vec<(BaseModel, Option<ExecutionId>)> = Vec::new();
    match weights::of_versions(&mut *db, versions).await {
        Ok(found) => weights.extend(found.into_iter().map(|weights| Measurable { step: weights.made_in + 1, weights })),
        Err(error @ StoreError::NotFound { .. }) => {
            faults.push(Fault::new(format!("{pointer}/versions"), error.to_string()));
        }
        Err(error) => return Err(error.into()),
    }
    if let Some(run) = run {
        let mut members = weights::of_run(&mut *db, *run, *step).await?;
        if members.is_empty() && *base && *step == Some(0) {
            // New members are equal to their base.
            let bases = weights::bases_of_run(&mut *db, *run).await?;
            bare.extend(bases.into_iter().map(|base| (base, Some(*run))));
        } else if members.is_empty() {
            let when = step.map_or_else(|| "now".to_owned(), |step| format!("after {step} steps"));
            faults.push(Fault::new(format!("{pointer}/run"), format!("run {run} has no living member {when}")));
        }
        if let Some(detail) = unplayed(roles, &members) {
            faults.push(Fault::new(format!("{pointer}/roles"), detail));
        }
        // Members that skipped updates were alive as well, so all get the run's step.
        let at = members.iter().map(|weights| weights.made_in + 1).max().unwrap_or(0);
        let step = step.unwrap_or(at);
        members.retain(|member| roles.is_empty() || member.roles.iter().any(|role| roles.contains(role)));
        weights.retain(|named| members.iter().all(|member| member.adapter.version != named.weights.adapter.version));
        weights.extend(members.into_iter().map(|weights| Measurable { step, weights }));
    }
    if let Some(detail) = base_model.as_ref().and_then(BaseModel::name_fault) {
        faults.push(Fault::new(format!("{pointer}/base_model/name"), detail));
    }
    bare.extend(base_model.iter().map(|base_model| (base_model.clone(), None)));
    let subjects = subjects(&weights, bare, *base);
    if subjects.is_empty() && faults.is_empty() {
        let detail = "there is nothing to measure: give `versions`, `run` or `base_model`";
        faults.push(Fault::new(pointer, detail));
    }
    let samples_per_item = samples_per_item(db, &slices, &subjects).await?;
    Faults(faults)
        .or(BenchmarkParameters { suites: slices, subjects, n: *n, compute: *compute, samples_per_item })
        .map_err(Unprepared::from)
}

/// Weights, and the number of finished steps of their run when they were current.
struct Measurable {
    step: u32,
    weights: Weights,
}

/// Why none of the members is measured, if `roles` leaves none.
fn unplayed(roles: &[Role], members: &[Weights]) -> Option<String> {
    let played: BTreeSet<Role> = members.iter().flat_map(|member| member.roles.iter().copied()).collect();
    if roles.is_empty() || played.is_empty() || roles.iter().any(|role| played.contains(role)) {
        return None;
    }
    let names = |roles: &mut dyn Iterator<Item = &Role>| roles.map(|role| role.name()).collect::<Vec<_>>().join(", ");
    Some(format!("no member plays {}: valid are {}", names(&mut roles.iter()), names(&mut played.iter())))
}

/// The subjects: each base once, then models without a member, then members.
fn subjects(
    measurable: &[Measurable],
    bare: Vec<(BaseModel, Option<ExecutionId>)>,
    with_bases: bool,
) -> Vec<BenchmarkSubject> {
    let mut subjects: Vec<BenchmarkSubject> = Vec::new();
    let bases =
        measurable.iter().filter(|_| with_bases).map(|one| (one.weights.base_model.clone(), Some(one.weights.run)));
    for (base_model, run) in bases.chain(bare) {
        if !subjects.iter().any(|subject| subject.base_model == base_model) {
            subjects.push(BenchmarkSubject {
                name: base_model.name.clone(),
                role: SubjectRole::Base,
                run,
                member: None,
                step: None,
                base_model,
                adapter: None,
            });
        }
    }
    subjects.extend(measurable.iter().map(|Measurable { step, weights }| BenchmarkSubject {
        name: weights.name.clone(),
        role: SubjectRole::of(&weights.roles),
        run: Some(weights.run),
        member: Some(weights.member),
        step: Some(*step),
        base_model: weights.base_model.clone(),
        adapter: Some(weights.adapter),
    }));
    subjects
}

/// Begins the measurement that the run's config schedules once `done` steps are done, if any, in the transaction that
/// ends a step or creates the run. One that cannot be made, for example because its rows were deleted, is reported in the
/// run's events and does not stop the run.
pub(crate) async fn measure(
    tx: &mut PgConnection,
    (pool, registry): (&PgPool, &Registry),
    run: ExecutionId,
    config: &RunConfig,
    done: u32,
) -> Result<(), StoreError> {
    let Ok(recipe) = registry.planner(BenchmarkEvaluation.name()) else { return Ok(()) };
    let Some(schedule) = &config.benchmarks else { return Ok(()) };
    // Events name steps that are over; before the first, step 0 is the one that is about to begin.
    let step = done.saturating_sub(1);
    let mut nested = tx.begin().await?;
    match begin_scheduled(&mut nested, pool, recipe.as_ref(), run, (config, schedule), done).await {
        Ok(evaluation) => {
            nested.commit().await?;
            let data = json!({ "step": step, "evaluation": evaluation });
            event::append(tx, run, "measuring", &data).await?;
        }
        Err(Unprepared::Store(error)) => return Err(error),
        Err(Unprepared::Faults(faults)) => {
            nested.rollback().await?;
            tracing::warn!(execution.id = %run, %faults, "cannot measure run {run}");
            let data = json!({ "step": step, "reason": faults.to_string() });
            event::append(tx, run, "not_measured", &data).await?;
        }
    }
    Ok(())
}

/// Creates the evaluation of a schedule. Its id is a hash of run and step, so planning again creates no second one.
async fn begin_scheduled(
    tx: &mut PgConnection,
    pool: &PgPool,
    recipe: &dyn Planner,
    run: ExecutionId,
    (config, schedule): (&RunConfig, &BenchmarkSchedule),
    done: u32,
) -> Result<ExecutionId, Unprepared> {
    let spec = schedule.evaluation(run, done, config.compute);
    let settled = first_suites(&mut *tx, run).await?;
    let parameters = prepare(&mut *tx, pool, &spec, "/benchmarks", &settled).await?;
    let resolved = resolve(recipe, &parameters, config.seed, config.scheduling.priority)?;
    let id = scheduled_id(run, done);
    begin(tx, recipe, id, &EvaluationSpec::Benchmark(spec), &resolved).await?;
    Ok(id)
}

fn scheduled_id(run: ExecutionId, done: u32) -> ExecutionId {
    ExecutionId(Uuid::new_v5(&run.0, format!("evaluation/benchmark/{done}").as_bytes()))
}

/// The rows and protocols that the run's schedule began with: its curves go on with them, whatever is imported later.
async fn first_suites(tx: &mut PgConnection, run: ExecutionId) -> Result<Vec<SuiteSlice>, StoreError> {
    let mut measured = evaluations::first_measured_suites(tx, run).await?.into_iter();
    let first = measured.find(|one| scheduled_id(ExecutionId(one.run_id), one.step.cast_unsigned()).0 == one.id);
    Ok(first.map(|one| one.suites.0).unwrap_or_default())
}

/// The config of an evaluation.
///
/// # Errors
/// Every unsuitable part of the request.
fn resolve(
    recipe: &dyn Planner,
    parameters: &BenchmarkParameters,
    seed: u64,
    priority: i16,
) -> Result<RunConfig, Faults> {
    let mut config = RunConfig {
        recipe: recipe.name().to_owned(),
        seed,
        steps: 1,
        parameters: serde_json::to_value(parameters).unwrap_or_default(),
        ..RunConfig::default()
    };
    config.scheduling.priority = priority;
    recipe.resolve(config)
}

/// Writes an evaluation; it starts when the transaction commits.
async fn begin(
    tx: &mut PgConnection,
    recipe: &dyn Planner,
    id: ExecutionId,
    spec: &EvaluationSpec,
    config: &RunConfig,
) -> Result<(), Unprepared> {
    let state = recipe.begin(id, config).map_err(|error| Faults(vec![Fault::new("/benchmarks", error.to_string())]))?;
    let new = NewEvaluation { spec, run: spec.run(), config, state: &state, trace_id: None };
    Ok(evaluations::begin(tx, &new).await?)
}
