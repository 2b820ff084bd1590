//! Frozen-side evaluations: resolves runs, steps and members to exact weights.

use lyceum_core::artifact::Digest;
use lyceum_core::config::RunConfig;
use lyceum_core::evaluation::{FrozenSideSpec, Moment};
use lyceum_core::fault::{Fault, Faults};
use lyceum_core::id::ExecutionId;
use lyceum_core::recipe::{FrozenSideParameters, FrozenVersion, Pool, Side};
use lyceum_core::verify::ProblemKind;
use lyceum_store::versions::weights::{self, Weights};
use lyceum_store::{StoreError, runs};
use std::collections::{BTreeSet, HashMap};

use super::{MeasuredRun, Request, Unprepared, fault};

/// Maximum attempts of an evaluation; its plan is made in memory.
const ATTEMPTS: u64 = 200_000;
/// Maximum versions of a side.
const VERSIONS: usize = 64;
/// Samples per work item: seconds of work at the seedling's size, minutes at 7B.
const SAMPLES_PER_ITEM: u32 = 512;

/// The config of a frozen-side evaluation, with everything in its spec looked up; pointers begin at `/spec`.
pub(super) async fn configured(request: &Request<'_>, spec: &FrozenSideSpec) -> Result<RunConfig, Unprepared> {
    let own = find(request, spec.run, "/spec/run").await?;
    let mut seen = Seen { request, own: &own, others: HashMap::new(), faults: Vec::new() };
    let students = seen.side(Side::Solves, &spec.students, &spec.steps, "students").await?;
    let teachers = seen.side(Side::Proposes, &spec.teachers, &spec.steps, "teachers").await?;
    let mut faults: Vec<Fault> = Vec::new();
    for fault in seen.faults {
        // A step that was given for both sides has the same fault on both.
        if !faults.contains(&fault) {
            faults.push(fault);
        }
    }
    let pool = pool(request, &own, spec.pool_step).await?;
    let attempts = (students.len() * teachers.len()) as u64 * u64::from(spec.problems) * u64::from(spec.samples);
    if attempts > ATTEMPTS {
        let detail = format!(
            "{attempts} attempts by {} student versions at the problems of {} teacher versions: at most {ATTEMPTS} are planned \
             at once, so choose fewer problems, samples or steps",
            students.len(),
            teachers.len()
        );
        faults.push(Fault::new("/spec/problems", detail));
    }
    let parameters = Faults(faults).or(FrozenSideParameters {
        run: spec.run,
        problems: spec.problems,
        samples: spec.samples,
        students,
        teachers,
        pool,
        samples_per_item: SAMPLES_PER_ITEM,
        play: own.config.parameters.clone(),
    })?;
    let mut config = RunConfig {
        recipe: request.planner.name().to_owned(),
        seed: request.seed,
        steps: 1,
        parameters: serde_json::to_value(parameters).map_err(|error| fault("/spec", error.to_string()))?,
        benchmarks: None,
        ..own.config
    };
    config.scheduling.priority = request.priority;
    Ok(request.planner.resolve(config)?)
}

/// The run's pool after `step` steps.
async fn pool(request: &Request<'_>, own: &MeasuredRun, step: u32) -> Result<Pool, Unprepared> {
    let pointer = "/spec/pool_step";
    own.reached(step, pointer).map_err(|fault| Faults(vec![fault]))?;
    let state = match runs::state_at(request.store.pool(), own.id, step).await {
        Ok(state) => state,
        Err(error @ StoreError::NoSuchStep { .. }) => return Err(fault(pointer, error.to_string())),
        Err(error) => return Err(error.into()),
    };
    let pool = Pool::of_state(&state).map_err(|error| fault(pointer, error.to_string()))?;
    if pool.is_empty(&ProblemKind::TRIPLES) {
        let detail = format!("the pool is empty after {step} steps: choose a later step");
        return Err(fault(pointer, detail));
    }
    Ok(pool)
}

/// The run `id`, if its members propose programs that can be solved.
async fn find(request: &Request<'_>, id: ExecutionId, pointer: &str) -> Result<MeasuredRun, Unprepared> {
    let found = MeasuredRun::find(request, id).await?;
    let run = found.map_err(|detail| fault(pointer, detail))?;
    let known = request.registry.get(&run.config.recipe);
    if !known.is_ok_and(|recipe| recipe.capabilities().programs) {
        let recipes = request.registry.recipes();
        let valid = recipes.filter(|recipe| recipe.capabilities().programs);
        let valid = valid.map(|recipe| recipe.name()).collect::<Vec<_>>().join(", ");
        let detail = format!(
            "run {id} is of recipe `{}`, whose members do not propose programs for others to solve: it can be a run of {valid}",
            run.config.recipe
        );
        return Err(fault(pointer, detail));
    }
    Ok(run)
}

impl MeasuredRun {
    /// Refuses a step that the run has not reached.
    fn reached(&self, step: u32, pointer: &str) -> Result<(), Fault> {
        if step <= self.steps {
            return Ok(());
        }
        let detail = format!(
            "step {step} is beyond run `{}`, which has finished {} steps: 0 to {} is valid",
            self.name, self.steps, self.steps
        );
        Err(Fault::new(pointer, detail))
    }

    /// Refuses versions that cannot share a batch with those of `other`.
    fn fits(&self, other: &Self, pointer: &str) -> Result<(), Fault> {
        let [own, theirs] = [self, other].map(|run| run.config.populations.values().next());
        let (Some(own), Some(theirs)) = (own, theirs) else {
            return Err(Fault::new(pointer, "a run without a population"));
        };
        if own.base_model != theirs.base_model {
            let name = |base: &lyceum_core::work::BaseModel| match &base.revision {
                Some(revision) => format!("{} at {revision}", base.name),
                None => base.name.clone(),
            };
            let detail = format!(
                "run `{}` is on another base model, {}: versions must be on {}",
                self.name,
                name(&own.base_model),
                name(&theirs.base_model)
            );
            return Err(Fault::new(pointer, detail));
        }
        if own.lora != theirs.lora {
            let detail = format!(
                "the adapters of run `{}` have another shape (r = {}): versions must have that of run `{}` (r = {})",
                self.name, own.lora.r, other.name, theirs.lora.r
            );
            return Err(Fault::new(pointer, detail));
        }
        Ok(())
    }
}

/// The lookup of both sides, with the faults so far.
struct Seen<'a> {
    request: &'a Request<'a>,
    own: &'a MeasuredRun,
    /// Runs besides the evaluation's own.
    others: HashMap<ExecutionId, MeasuredRun>,
    faults: Vec<Fault>,
}

impl Seen<'_> {
    /// The versions of a side.
    async fn side(
        &mut self,
        side: Side,
        given: &[Moment],
        steps: &[u32],
        field: &str,
    ) -> Result<Vec<FrozenVersion>, Unprepared> {
        let of_steps = steps.iter().enumerate().map(|(at, step)| {
            let moment = Moment { run: None, step: *step, member: None };
            (format!("/spec/steps/{at}"), String::new(), moment)
        });
        let of_moments = given
            .iter()
            .enumerate()
            .map(|(at, moment)| (format!("/spec/{field}/{at}"), "/step".to_owned(), moment.clone()));
        let moments: Vec<_> = match given {
            [] => of_steps.collect(),
            _ => of_moments.collect(),
        };
        if moments.is_empty() {
            let detail = format!("give `steps`, or the versions of this side as `{field}`");
            self.faults.push(Fault::new(format!("/spec/{field}"), detail));
        }
        let mut versions: Vec<FrozenVersion> = Vec::new();
        let mut known = BTreeSet::new();
        for (pointer, step, moment) in moments {
            for version in self.versions(side, &moment, [&pointer, &step]).await? {
                if known.insert(version.adapter.version) {
                    versions.push(version);
                }
            }
        }
        if versions.len() > VERSIONS {
            let detail = format!(
                "{} versions of this side: at most {VERSIONS} can play, so choose fewer steps, or name members",
                versions.len()
            );
            self.faults.push(Fault::new(format!("/spec/{field}"), detail));
        }
        Ok(versions)
    }

    /// The versions of a moment; `place` is its pointer and the name of its step in it.
    async fn versions(
        &mut self,
        side: Side,
        moment: &Moment,
        [pointer, step]: [&str; 2],
    ) -> Result<Vec<FrozenVersion>, Unprepared> {
        let id = moment.run.unwrap_or(self.own.id);
        if id != self.own.id && !self.others.contains_key(&id) {
            let other = find(self.request, id, &format!("{pointer}/run")).await?;
            self.others.insert(id, other);
        }
        let run = self.others.get(&id).unwrap_or(self.own);
        let checked = run
            .fits(self.own, &format!("{pointer}/run"))
            .and_then(|()| run.reached(moment.step, &format!("{pointer}{step}")));
        if let Err(fault) = checked {
            self.faults.push(fault);
            return Ok(Vec::new());
        }
        let mut db = self.request.store.pool().acquire().await.map_err(StoreError::from)?;
        let mut alive = match moment.step {
            0 => weights::first_of_run(&mut db, id).await?,
            step => weights::of_run(&mut db, id, Some(step)).await?,
        };
        alive.retain(|weights| weights.roles.iter().any(|role| role.side() == side));
        let named = |weights: &Weights| moment.member.as_ref().is_none_or(|name| *name == weights.name);
        let chosen: Vec<&Weights> = alive.iter().filter(|weights| named(weights)).collect();
        let activity = side.name();
        if chosen.is_empty() {
            let fault = match &moment.member {
                Some(name) => {
                    let valid: Vec<&str> = alive.iter().map(|weights| weights.name.as_str()).collect();
                    let detail = format!(
                        "run `{}` has no member `{name}` {activity} after {} steps: valid are {}",
                        run.name,
                        moment.step,
                        valid.join(", ")
                    );
                    Fault::new(format!("{pointer}/member"), detail)
                }
                None => {
                    let detail = format!("run `{}` has no member {activity} after {} steps", run.name, moment.step);
                    Fault::new(format!("{pointer}{step}"), detail)
                }
            };
            self.faults.push(fault);
        }
        let digests: Vec<Digest> = chosen.iter().map(|weights| weights.adapter.artifact).collect();
        let removed = weights::removed(&mut db, &digests).await?;
        for weights in chosen.iter().filter(|weights| removed.contains(&weights.adapter.artifact)) {
            let detail = format!(
                "the weights of {} after {} steps of run `{}` have been deleted: choose another step",
                weights.name, moment.step, run.name
            );
            self.faults.push(Fault::new(format!("{pointer}{step}"), detail));
        }
        let version = |weights: &&Weights| FrozenVersion {
            run: id,
            run_name: (id != self.own.id).then(|| run.name.clone()),
            member: weights.member,
            name: weights.name.clone(),
            step: moment.step,
            adapter: weights.adapter,
        };
        Ok(chosen.iter().map(version).collect())
    }
}
