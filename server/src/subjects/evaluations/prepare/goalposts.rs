//! Evaluations of goalposts: resolves a dataset, runs and steps to exact rows and weights.

use lyceum_core::artifact::Digest;
use lyceum_core::benchmark::{Protocol, SubjectRole, prompt_styles, suite};
use lyceum_core::config::RunConfig;
use lyceum_core::dataset::{Purpose, problem};
use lyceum_core::evaluation::{GoalpostsSpec, RunCheckpoints};
use lyceum_core::fault::{Fault, Faults};
use lyceum_core::id::{DatasetId, ExecutionId};
use lyceum_core::recipe::{BenchmarkSubject, GoalpostParameters, GoalpostSubject, Side, SuiteSlice};
use lyceum_core::verify::ProblemKind;
use lyceum_core::work::BaseModel;
use lyceum_store::StoreError;
use lyceum_store::datasets::{self, Dataset};
use lyceum_store::versions::weights::{self, Weights};
use sqlx::{PgConnection, PgPool};

use super::{MeasuredRun, Request, Unprepared, fault};
use crate::subjects::datasets::shipped::ShippedDataset;
use crate::subjects::datasets::usable::usable;

/// Maximum number of checkpoints and controls of one evaluation.
const SUBJECTS: usize = 1000;
/// Maximum number of attempts of one checkpoint.
const ATTEMPTS: u64 = 1_000_000;
/// Samples per item: seconds of work at the seedling's size, minutes at 7B.
const SAMPLES_PER_ITEM: u32 = 512;
/// Samples per step, whose texts are in the coordinator's memory together.
const SAMPLES_PER_STEP: u32 = 8192;

/// The config of an evaluation of goalposts, with everything in its spec looked up; pointers begin at `/spec`.
pub(super) async fn configured(request: &Request<'_>, spec: &GoalpostsSpec) -> Result<RunConfig, Unprepared> {
    let mut tx = request.store.pool().begin().await.map_err(StoreError::from)?;
    let mut faults = Vec::new();
    let mut runs: Vec<(MeasuredRun, &RunCheckpoints)> = Vec::new();
    for (place, checkpoints) in spec.runs.iter().enumerate() {
        let pointer = format!("/spec/runs/{place}");
        match MeasuredRun::find(request, checkpoints.run).await? {
            Ok(_) if spec.runs[..place].iter().any(|other| other.run == checkpoints.run) => {
                faults.push(Fault::new(format!("{pointer}/run"), "the run is listed twice"));
            }
            Ok(run) => runs.push((run, checkpoints)),
            Err(detail) => faults.push(Fault::new(format!("{pointer}/run"), detail)),
        }
    }
    let problems = match dataset(&mut tx, request.store.pool(), spec, &runs).await? {
        Ok(dataset) => problems(&mut tx, spec, &dataset, &mut faults).await?,
        Err(detail) => {
            faults.push(Fault::new("/spec/dataset", detail));
            None
        }
    };
    let subjects = subjects(&mut tx, spec, &runs, &mut faults).await?;
    if let Some(problems) = &problems {
        let attempts = u64::from(problems.rows) * u64::from(spec.n);
        if attempts > ATTEMPTS {
            let detail = format!(
                "{} attempts at each of {} problems: at most {ATTEMPTS} of one checkpoint are planned, so choose fewer rows",
                spec.n, problems.rows
            );
            faults.push(Fault::new("/spec/n", detail));
        }
        if let Some(misfit) = problems.protocol.misfit(spec.n) {
            faults.push(Fault::new("/spec/temperature", misfit));
        }
    }
    let problems = Faults(faults).or(problems)?;
    let problems = problems.ok_or_else(|| fault("/spec/dataset", "there are no problems"))?;
    let compute = spec.compute.or_else(|| runs.first().map(|(run, _)| run.config.compute));
    let parameters = GoalpostParameters {
        problems,
        n: spec.n,
        subjects,
        compute: compute.unwrap_or_default(),
        samples_per_item: SAMPLES_PER_ITEM,
        samples_per_step: SAMPLES_PER_STEP,
    };
    let mut config = RunConfig {
        recipe: request.planner.name().to_owned(),
        seed: request.seed,
        parameters: serde_json::to_value(parameters).map_err(|error| fault("/spec", error.to_string()))?,
        ..RunConfig::default()
    };
    config.scheduling.priority = request.priority;
    let config = request.planner.resolve(config)?;
    // A shipped dataset may have been imported.
    tx.commit().await.map_err(StoreError::from)?;
    Ok(config)
}

impl MeasuredRun {
    /// The goalposts that its config names.
    fn goalposts(&self) -> Option<DatasetId> {
        let id = self.config.parameters.pointer("/goalposts/id")?.as_str()?;
        id.parse().ok().map(DatasetId)
    }
}

/// The dataset that the spec names, or that of the first run; an error says why there is none.
async fn dataset(
    db: &mut PgConnection,
    pool: &PgPool,
    spec: &GoalpostsSpec,
    runs: &[(MeasuredRun, &RunCheckpoints)],
) -> Result<Result<Dataset, String>, StoreError> {
    let found = match &spec.dataset {
        None => match runs.first().and_then(|(run, _)| run.goalposts()) {
            Some(id) => datasets::find(&mut *db, id).await.map(Some),
            None => {
                return Ok(Err(
                    "name the dataset with the problems: only a first run of recipe `gasp` has some".to_owned()
                ));
            }
        },
        Some(name) => datasets::find_called(&mut *db, name).await,
    };
    let named = spec.dataset.as_deref().unwrap_or("the first run's");
    let dataset = match found {
        Ok(Some(dataset)) => dataset,
        Ok(None) | Err(StoreError::NotFound { .. }) => match ShippedDataset::named(named) {
            Some(shipped) => shipped.import(db).await?,
            None => {
                return Ok(Err(format!("there is no dataset `{named}`: `lyceum dataset list` shows all")));
            }
        },
        Err(error) => return Err(error),
    };
    match dataset.purpose {
        Purpose::Goalposts | Purpose::Training => usable(db, pool, dataset, spec.tests()).await,
        Purpose::Seeds | Purpose::Benchmark => Ok(Err(format!(
            "dataset `{}` is for {}: goalposts, or training data to filter them from, are valid",
            dataset.name, dataset.purpose
        ))),
    }
}

/// The rows and how they are asked; adds faults.
async fn problems(
    db: &mut PgConnection,
    spec: &GoalpostsSpec,
    dataset: &Dataset,
    faults: &mut Vec<Fault>,
) -> Result<Option<SuiteSlice>, StoreError> {
    let rows = dataset.rows.cast_unsigned();
    if let Some(asked) = spec.rows.filter(|&asked| asked > rows) {
        let detail = format!("{asked} rows of dataset `{}`, which has {rows}", dataset.name);
        faults.push(Fault::new("/spec/rows", detail));
    }
    let rows = spec.rows.unwrap_or(rows).min(rows);
    let id = DatasetId(dataset.id);
    let mut kinds = Vec::new();
    for (place, row) in datasets::examples(&mut *db, id, rows).await? {
        let Ok(row) = problem(place.cast_unsigned() as usize, &row) else { continue };
        kinds.push((place, row.oracle.kind()));
    }
    let is_self_play = |kind: &ProblemKind| ProblemKind::TRIPLES.contains(kind);
    let (own, others): (Vec<_>, Vec<_>) = kinds.iter().partition(|(_, kind)| is_self_play(kind));
    if let (Some((first, kind)), Some((other, another))) = (own.first(), others.first()) {
        let detail = format!(
            "row {first} of dataset `{}` is a problem of type {} and row {other} one of type {}, which no prompt style asks both: \
             import them apart",
            dataset.name,
            kind.name(),
            another.name()
        );
        faults.push(Fault::new("/spec/dataset", detail));
    }
    // The suite whose rows are like these says how they are asked.
    let like = match (own.is_empty(), others.iter().any(|(_, kind)| *kind == ProblemKind::Code)) {
        (false, _) => "held-out-seedling",
        (true, true) => "livecodebench",
        (true, false) => "math500",
    };
    let Ok(suite) = suite(like) else { return Ok(None) };
    let prompts = spec.prompts.clone().unwrap_or_else(|| suite.protocol.prompts.clone());
    if !prompt_styles().any(|known| known == prompts) {
        let valid: Vec<&str> = prompt_styles().collect();
        let detail = format!("there is no prompt style `{prompts}`: valid are {}", valid.join(", "));
        faults.push(Fault::new("/spec/prompts", detail));
    }
    Ok(Some(SuiteSlice {
        suite: suite.name.clone(),
        name: None,
        dataset: id,
        rows,
        n: None,
        protocol: Protocol {
            prompts,
            temperature: spec.temperature,
            top_p: spec.top_p,
            max_tokens: spec.max_tokens.unwrap_or(suite.protocol.max_tokens),
            plain_notation: suite.protocol.plain_notation,
        },
    }))
}

/// The checkpoints, each followed by its control; adds faults.
async fn subjects(
    db: &mut PgConnection,
    spec: &GoalpostsSpec,
    runs: &[(MeasuredRun, &RunCheckpoints)],
    faults: &mut Vec<Fault>,
) -> Result<Vec<GoalpostSubject>, StoreError> {
    let mut subjects: Vec<GoalpostSubject> = Vec::new();
    if let Some(base_model) = &spec.base_model {
        if let Some(detail) = base_model.name_fault() {
            faults.push(Fault::new("/spec/base_model/name", detail));
        }
        subjects.push(bare(base_model, None, None));
    }
    for (place, (run, checkpoints)) in runs.iter().enumerate() {
        let pointer = format!("/spec/runs/{place}");
        let mut moments = checkpoints.moments(run.steps);
        if spec.base && moments.first() != Some(&0) {
            moments.insert(0, 0);
        }
        for step in moments {
            if step > run.steps {
                let detail = format!(
                    "step {step} is beyond run `{}`, which has finished {} steps: 0 to {} is valid",
                    run.name, run.steps, run.steps
                );
                faults.push(Fault::new(format!("{pointer}/steps"), detail));
                continue;
            }
            if step == 0 {
                let bases = weights::bases_of_run(&mut *db, run.id).await?;
                subjects.extend(bases.first().map(|base| bare(base, Some(run.id), Some(0))));
                continue;
            }
            let solvers = match solvers(&mut *db, run, step).await? {
                Ok(solvers) => solvers,
                Err(detail) => {
                    faults.push(Fault::new(format!("{pointer}/steps"), detail));
                    continue;
                }
            };
            for of in solvers {
                subjects.push(checkpoint(&of, step, false));
                if spec.control {
                    subjects.push(checkpoint(&of, step, true));
                }
            }
        }
    }
    if subjects.len() > SUBJECTS {
        let detail = format!(
            "{} checkpoints and controls: at most {SUBJECTS} are planned at once, so choose fewer steps, or several evaluations",
            subjects.len()
        );
        faults.push(Fault::new("/spec/runs", detail));
    }
    if subjects.is_empty() && faults.is_empty() {
        faults.push(Fault::new("/spec", "there is no checkpoint to attempt them: give `runs` or `base_model`"));
    }
    Ok(subjects)
}

/// The members of a run that solve problems, with their weights after `step` steps; an error says why there are none.
async fn solvers(
    db: &mut PgConnection,
    run: &MeasuredRun,
    step: u32,
) -> Result<Result<Vec<Weights>, String>, StoreError> {
    let mut alive = weights::of_run(&mut *db, run.id, Some(step)).await?;
    alive.retain(|weights| weights.roles.iter().any(|role| role.side() == Side::Solves));
    if alive.is_empty() {
        return Ok(Err(format!("run `{}` has no member that solves problems after {step} steps", run.name)));
    }
    let digests: Vec<Digest> = alive.iter().map(|weights| weights.adapter.artifact).collect();
    let removed = weights::removed(db, &digests).await?;
    let gone = alive.iter().find(|weights| removed.contains(&weights.adapter.artifact));
    Ok(match gone {
        Some(weights) => Err(format!(
            "the weights of {} after {step} steps of run `{}` have been deleted: choose another step",
            weights.name, run.name
        )),
        None => Ok(alive),
    })
}

fn bare(base_model: &BaseModel, run: Option<ExecutionId>, step: Option<u32>) -> GoalpostSubject {
    GoalpostSubject {
        subject: BenchmarkSubject {
            name: base_model.name.clone(),
            role: SubjectRole::Base,
            run,
            member: None,
            step,
            base_model: base_model.clone(),
            adapter: None,
        },
        control: false,
    }
}

fn checkpoint(of: &Weights, step: u32, control: bool) -> GoalpostSubject {
    GoalpostSubject {
        subject: BenchmarkSubject {
            name: if control { of.base_model.name.clone() } else { of.name.clone() },
            role: if control { SubjectRole::Base } else { SubjectRole::of(&of.roles) },
            run: Some(of.run),
            member: Some(of.member),
            step: Some(step),
            base_model: of.base_model.clone(),
            adapter: (!control).then_some(of.adapter),
        },
        control,
    }
}
