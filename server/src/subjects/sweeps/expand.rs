//! The runs of a sweep, and whether all their configs are valid.

use lyceum_core::config::RunConfig;
use lyceum_core::fault::Fault;
use lyceum_store::StoreError;
use lyceum_store::sweeps::PlannedRun;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::api_error::ApiError;
use crate::contract::document::apart;
use crate::lab::Lab;
use crate::subjects::runs::create::{CreateRun, configured, settle_datasets};
use crate::subjects::sweeps::file::{Source, SweepPlan};
use crate::subjects::sweeps::schedule::Outlook;

/// Maximum number of runs of a sweep.
pub(crate) const MAX_RUNS: usize = 20_000;
/// A sweep of more runs begins only if their number was confirmed.
pub(crate) const ASKED_ABOVE: usize = 100;
/// Maximum number of characters of a run's name.
const NAME: usize = 200;

/// Values of the grid's fields.
pub(crate) type Point = BTreeMap<String, Value>;

impl SweepPlan {
    /// How many runs it has; `None` if that is beyond counting.
    pub(crate) fn count(&self) -> Option<usize> {
        let lengths = self.grid.values().map(Vec::len);
        lengths.chain([self.arms.len(), self.seeds.len()]).try_fold(1_usize, usize::checked_mul)
    }

    /// Every combination of the grid's values; the first field changes slowest.
    pub(crate) fn points(&self) -> Vec<Point> {
        let mut points = vec![Point::new()];
        for (field, values) in &self.grid {
            points = points
                .iter()
                .flat_map(|point| {
                    values.iter().map(|value| {
                        let mut point = point.clone();
                        point.insert(field.clone(), value.clone());
                        point
                    })
                })
                .collect();
        }
        points
    }

    /// All runs, in the order in which they begin: the first seed of every arm and point, then the second.
    pub(crate) fn runs(&self) -> Vec<PlannedRun> {
        let points = self.points();
        let mut runs = Vec::new();
        for seed in &self.seeds {
            for arm in self.arms.keys() {
                for point in &points {
                    runs.push(PlannedRun {
                        ordinal: u32::try_from(runs.len()).unwrap_or(u32::MAX),
                        arm: arm.clone(),
                        point: Value::Object(point.clone().into_iter().collect()),
                        seed: *seed,
                        name: name(arm, point, *seed),
                    });
                }
            }
        }
        runs
    }

    pub(crate) fn request(&self, arm: &str, point: &Map<String, Value>, seed: u64, name: Option<&str>) -> CreateRun {
        let of_arm = self.arms.get(arm).cloned().unwrap_or_default();
        let mut overrides = self.common.clone();
        if let Some(base) = &self.base {
            overrides.insert(BASE.to_owned(), Value::from(base.as_str()));
        }
        overrides.extend(of_arm.overrides);
        overrides.extend(point.clone());
        overrides.insert("seed".to_owned(), Value::from(seed));
        CreateRun {
            preset: of_arm.preset,
            config: of_arm.config,
            name: name.map(str::to_owned),
            overrides,
            ..CreateRun::default()
        }
    }

    /// Where in the plan a fault of a run of `arm` at `pointer` of its request is.
    pub(crate) fn place(&self, arm: &str, pointer: &str) -> String {
        let of_arm = format!("/arms/{}", lyceum_core::config::pointer_token(arm));
        let Some(token) = pointer.strip_prefix("/overrides/") else { return format!("{of_arm}{pointer}") };
        let path = token.replace("~1", "/").replace("~0", "~");
        let is_of_arm = self.arms.get(arm).is_some_and(|arm| arm.overrides.contains_key(&path));
        match path.as_str() {
            "seed" => "/seeds".to_owned(),
            path if self.grid.contains_key(path) => format!("/grid/{token}"),
            _ if is_of_arm => format!("{of_arm}/overrides/{token}"),
            BASE if self.base.is_some() => "/base".to_owned(),
            _ => format!("/common/{token}"),
        }
    }
}

/// The field that `base` sets.
const BASE: &str = "populations.main.base_model.name";

/// A run's name: its arm, the grid's values by the last parts of their fields, and its seed.
fn name(arm: &str, point: &Point, seed: u64) -> String {
    let values = point.iter().map(|(field, value)| {
        let field = field.rsplit('.').next().unwrap_or(field);
        match value {
            Value::String(text) => format!("{field}={text}"),
            other => format!("{field}={other}"),
        }
    });
    let parts: Vec<String> = std::iter::once(arm.to_owned()).chain(values).collect();
    let seed = format!("/{seed}");
    let kept: String = parts.join("/").chars().take(NAME - seed.len()).collect();
    kept + &seed
}

/// Configs checked at a time, so that the checks of others get their turn in between.
const AT_ONCE: usize = 64;

/// Resolves the config of every arm at every point, and works out how long all runs take. Nothing is written.
///
/// # Errors
/// The faults of the first configs that have some, each where the plan has the value.
pub(crate) async fn check(
    lab: &Lab,
    plan: &SweepPlan,
    source: Source,
    unused: Vec<String>,
) -> Result<Outlook, ApiError> {
    let mut outlook = Outlook::new(plan, unused);
    let mut tx = lab.store.pool().begin().await.map_err(StoreError::from)?;
    let points = plan.points();
    for arm in plan.arms.keys() {
        let at = |error| placed(error, plan, arm, source);
        let requests = points.iter().map(|point| {
            let point: Map<String, Value> = point.clone().into_iter().collect();
            plan.request(arm, &point, plan.seeds[0], None)
        });
        let requests: Vec<CreateRun> = requests.collect();
        let requests = Arc::new(requests);
        for from in (0..requests.len()).step_by(AT_ONCE) {
            let to = (from + AT_ONCE).min(requests.len());
            let (shared, asked) = (lab.clone(), Arc::clone(&requests));
            let resolved = apart(move || {
                let part = asked[from..to].iter();
                part.map(|request| configured(&shared, request)).collect::<Result<Vec<RunConfig>, ApiError>>()
            });
            let resolved = resolved.await?.map_err(at)?;
            for (config, request) in resolved.into_iter().zip(&requests[from..to]) {
                let recipe =
                    lab.registry.get(&config.recipe).map_err(|unknown| ApiError::unprocessable(unknown.to_string()))?;
                let steps = config.steps;
                let name = config.recipe.clone();
                settle_datasets(&mut tx, lab, recipe.as_ref(), config, request).await.map_err(at)?;
                outlook.count(lab.store.pool(), arm, &name, request.preset.as_deref(), steps).await?;
            }
        }
    }
    tx.rollback().await.map_err(StoreError::from)?;
    Ok(outlook)
}

/// A fault of a run's request, located in the plan.
fn placed(error: ApiError, plan: &SweepPlan, arm: &str, source: Source) -> ApiError {
    if error.errors().is_empty() {
        return error;
    }
    let faults = error.errors().iter().map(|fault| {
        let pointer = fault.pointer.as_deref().unwrap_or_default();
        Fault::new(format!("{}{}", source.pointer(), plan.place(arm, pointer)), fault.detail.clone())
    });
    ApiError::invalid(faults.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(text: &str) -> SweepPlan {
        SweepPlan::from_toml(text).ok().unwrap().plan
    }

    const GRID: &str = "title = 't'\nseeds = [1, 2]\n[common]\nsteps = 5\n[arms.a]\npreset = 'demo'\n[arms.b]\npreset = 'demo'\n\
        overrides = {steps = 9}\n[grid]\n'x.r' = [1, 2]\nmode = ['p', 'q', 'r']\n";

    #[test]
    fn runs_are_arms_times_points_times_seeds_with_the_first_seed_of_all_first() {
        let plan = plan(GRID);
        let runs = plan.runs();
        assert_eq!((plan.count(), runs.len()), (Some(24), 24));
        assert_eq!(runs[0].name, "a/mode=p/r=1/1");
        assert_eq!(runs[5].name, "a/mode=r/r=2/1");
        assert_eq!((runs[6].arm.as_str(), runs[11].seed, runs[12].seed), ("b", 1, 2));
        let ordinals: Vec<u32> = runs.iter().map(|run| run.ordinal).collect();
        assert_eq!(ordinals, (0..24).collect::<Vec<u32>>());
        let names: std::collections::HashSet<&str> = runs.iter().map(|run| run.name.as_str()).collect();
        assert_eq!(names.len(), 24);
    }

    #[test]
    fn an_arm_overrides_what_is_common_and_the_grid_overrides_both() {
        let plan = plan(GRID);
        let point: Map<String, Value> = [("mode".to_owned(), Value::from("q"))].into_iter().collect();
        let (a, b) = (plan.request("a", &point, 2, None), plan.request("b", &point, 2, None));
        assert_eq!((&a.overrides["steps"], &b.overrides["steps"]), (&Value::from(5), &Value::from(9)));
        assert_eq!((&a.overrides["mode"], &a.overrides["seed"]), (&Value::from("q"), &Value::from(2)));
    }

    #[test]
    fn a_fault_is_placed_where_its_value_was_written() {
        let plan = plan(GRID);
        assert_eq!(plan.place("a", "/overrides/x.r"), "/grid/x.r");
        assert_eq!(plan.place("b", "/overrides/steps"), "/arms/b/overrides/steps");
        assert_eq!(plan.place("a", "/overrides/steps"), "/common/steps");
        assert_eq!(plan.place("a", "/preset"), "/arms/a/preset");
        assert_eq!(plan.place("a", "/overrides/seed"), "/seeds");
    }

    #[test]
    fn a_grid_beyond_counting_is_told_as_one() {
        let mut large = plan(GRID);
        large.grid = (0..64).map(|field| (format!("f{field}"), vec![Value::from(1); 64])).collect();
        assert_eq!(large.count(), None);
    }
}
