//! Benchmark evaluations: resolves requests to exact weights and rows, and puts results into tables.

mod slices;
mod table;

pub(crate) use slices::named_dataset_faults;
pub(crate) use table::{Measured, measured};

use lyceum_core::{
    benchmark::SubjectRole,
    config::RunConfig,
    evaluation::{BenchmarkSpec, EvaluationSpec},
    fault::{Fault, Faults},
    id::ExecutionId,
    recipe::{BenchmarkParameters, BenchmarkSubject, Planner},
    work::BaseModel,
};
use lyceum_store::{
    StoreError,
    evaluations::{self, NewEvaluation},
    versions::weights::{self, Weights},
};
use sqlx::PgConnection;
use uuid::Uuid;

use self::slices::{Defaults, slices};
use super::{Request, Unprepared};

/// Samples per item: seconds of work at the seedling's size, minutes at 7B.
const SAMPLES_PER_ITEM: u32 = 64;

/// The config of a benchmark evaluation; pointers begin at `/spec`.
pub(super) async fn configured(request: &Request<'_>, spec: &BenchmarkSpec) -> Result<RunConfig, Unprepared> {
    let mut tx = request.store.pool().begin().await.map_err(StoreError::from)?;
    let parameters = prepare(&mut tx, spec, "/spec").await?;
    let config = resolve(request.planner, &parameters, request.seed, request.priority)?;
    // Rows of a shipped suite may have been imported.
    tx.commit().await.map_err(StoreError::from)?;
    Ok(config)
}

/// The parameters of a benchmark evaluation, with everything it names looked up; pointers start below `spec`.
async fn prepare(
    db: &mut PgConnection,
    spec: &BenchmarkSpec,
    pointer: &str,
) -> Result<BenchmarkParameters, Unprepared> {
    let BenchmarkSpec {
        suites,
        versions,
        run,
        step,
        base_model,
        base,
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
    };
    let (slices, mut faults) = slices(&mut *db, suites, defaults, &format!("{pointer}/suites")).await?;
    let mut weights: Vec<Measurable> = Vec::new();
    match weights::of_versions(&mut *db, versions).await {
        Ok(found) => weights.extend(found.into_iter().map(|weights| Measurable {
            step: weights.made_in + 1,
            weights,
        })),
        Err(error @ StoreError::NotFound { .. }) => {
            faults.push(Fault::new(format!("{pointer}/versions"), error.to_string()));
        }
        Err(error) => return Err(error.into()),
    }
    if let Some(run) = run {
        let members = weights::of_run(&mut *db, *run, *step).await?;
        if members.is_empty() {
            let when = step.map_or_else(|| "now".to_owned(), |step| format!("after {step} steps"));
            faults.push(Fault::new(
                format!("{pointer}/run"),
                format!("run {run} has no living member {when}"),
            ));
        }
        // Members that skipped updates were alive as well, so all get the run's step.
        let at = members.iter().map(|weights| weights.made_in + 1).max().unwrap_or(0);
        let step = step.unwrap_or(at);
        weights.retain(|named| {
            members
                .iter()
                .all(|member| member.adapter.version != named.weights.adapter.version)
        });
        weights.extend(members.into_iter().map(|weights| Measurable { step, weights }));
    }
    let subjects = subjects(&weights, base_model.as_ref(), *base);
    if subjects.is_empty() && faults.is_empty() {
        let detail = "there is nothing to measure: give `versions`, `run` or `base_model`";
        faults.push(Fault::new(pointer, detail));
    }
    Faults(faults)
        .or(BenchmarkParameters {
            suites: slices,
            subjects,
            n: *n,
            compute: *compute,
            samples_per_item: SAMPLES_PER_ITEM,
        })
        .map_err(Unprepared::from)
}

/// Weights, and the number of finished steps of their run when they were current.
struct Measurable {
    step: u32,
    weights: Weights,
}

/// The subjects: each base once, then a model by name, then members.
fn subjects(measurable: &[Measurable], base_model: Option<&BaseModel>, with_bases: bool) -> Vec<BenchmarkSubject> {
    let mut subjects: Vec<BenchmarkSubject> = Vec::new();
    let bases = measurable
        .iter()
        .filter(|_| with_bases)
        .map(|one| (&one.weights.base_model, Some(one.weights.run)));
    for (base_model, run) in bases.chain(base_model.map(|base_model| (base_model, None))) {
        if !subjects.iter().any(|subject| subject.base_model == *base_model) {
            subjects.push(BenchmarkSubject {
                name: base_model.name.clone(),
                role: SubjectRole::Base,
                run,
                member: None,
                step: None,
                base_model: base_model.clone(),
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

/// Creates the evaluation that a run's config requests after `done` steps, if any. Its id is a hash of run and step, so
/// planning again creates no second one.
pub(crate) async fn begin_scheduled(
    tx: &mut PgConnection,
    recipe: &dyn Planner,
    run: ExecutionId,
    config: &RunConfig,
    done: u32,
) -> Result<Option<ExecutionId>, Unprepared> {
    let Some(schedule) = config
        .benchmarks
        .as_ref()
        .filter(|schedule| schedule.is_due(done, config.steps))
    else {
        return Ok(None);
    };
    let spec = schedule.evaluation(run, done, config.compute);
    let parameters = prepare(&mut *tx, &spec, "/benchmarks").await?;
    let resolved = resolve(recipe, &parameters, config.seed, config.scheduling.priority)?;
    let id = ExecutionId(Uuid::new_v5(&run.0, format!("evaluation/benchmark/{done}").as_bytes()));
    begin(tx, recipe, id, &EvaluationSpec::Benchmark(spec), &resolved).await?;
    Ok(Some(id))
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
    let state = recipe
        .begin(id, config)
        .map_err(|error| Faults(vec![Fault::new("/benchmarks", error.to_string())]))?;
    let new = NewEvaluation {
        spec,
        run: spec.run(),
        config,
        state: &state,
        trace_id: None,
    };
    Ok(evaluations::begin(tx, &new).await?)
}
