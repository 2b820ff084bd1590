//! Run configs: validates what a user writes and resolves it to what is executed, with every default filled in.

mod diagnose;
mod document;
mod overrides;
mod query;
mod schema;

pub use self::document::from_toml;
pub use self::overrides::apply_overrides;
pub use self::query::parse_query;
pub use self::schema::{Schema, schema_of};
pub(crate) use self::schema::{fill_in, leave_out_nulls};

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

use crate::artifact::Digest;
use crate::benchmark::{MAX_SAMPLES, Protocol, SuiteChoice, suite};
use crate::contract::{Registry, Role};
use crate::evaluations::BenchmarkSpec;
use crate::fault::{Fault, Faults};
use crate::id::ExecutionId;
use crate::work::{AdapterRef, BaseModel, Compute, LoraShape, MAX_TEMPERATURE, ProgramLimits};

/// Maximum steps of a run.
pub const MAX_STEPS: u32 = 1_000_000;

/// Maximum priority; the minimum is its negative.
pub const MAX_PRIORITY: i16 = 100;

/// A run config. Fields are only ever added, never removed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunConfig {
    /// The algorithm.
    pub recipe: String,
    /// Seed of all randomness. Runs of one arm differ only by it.
    #[serde(default)]
    pub seed: u64,
    /// Steps to run.
    #[schemars(range(min = 1, max = MAX_STEPS))]
    pub steps: u32,
    /// The populations by name.
    #[schemars(length(min = 1, max = 16))]
    pub populations: BTreeMap<String, PopulationConfig>,
    /// Parameters specific to the recipe.
    #[serde(default)]
    pub parameters: serde_json::Value,
    /// How the engine computes.
    #[serde(default)]
    pub compute: Compute,
    /// How long programs that models write may run.
    #[serde(default, skip_serializing_if = "ProgramLimits::is_default")]
    pub programs: ProgramLimits,
    /// How the run shares the workers.
    #[serde(default)]
    pub scheduling: SchedulingConfig,
    /// Benchmarks that measure the members during the run and at its end; left out, none do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub benchmarks: Option<BenchmarkSchedule>,
    /// Limits at which the run ends before its last step; none by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
}

/// Limits at which a run ends before its last step, so that arms whose steps cost differently can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// Ends the run after the step that brings the tokens that its members have generated nearest to this many: proposals and
    /// answers that nobody learns from count, answers to held-out rows and benchmarks do not. The error is half a step's tokens.
    #[schemars(range(min = 1))]
    pub generated_tokens: u64,
}

impl RunConfig {
    /// Whether a run is over that has done this many steps and generated this many tokens, `last` of them in its last step: with
    /// another step of that size it would miss its budget by more.
    pub fn is_over(&self, steps: u32, generated_tokens: u64, last: u64) -> bool {
        let nearest = |budget: Budget| generated_tokens + last / 2 >= budget.generated_tokens;
        steps >= self.steps || self.budget.is_some_and(nearest)
    }
}

/// The benchmarks of a run and when they are due. Measuring does not change the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BenchmarkSchedule {
    /// Suites by name, each of which needs an imported dataset; or objects that also name the dataset, `n`, `temperature` and
    /// more.
    #[schemars(length(min = 1, max = 64))]
    pub suites: Vec<SuiteChoice>,
    /// Measures each time this many steps are done; left out, only at the end.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub every: Option<u32>,
    /// Measures the base before the first step too, and not again later: new members are equal to it, unless they begin with
    /// other weights (`from`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_start: bool,
    /// Measures only members that play one of these roles; left out, all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<Role>,
    /// Samples per row.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = MAX_SAMPLES))]
    pub n: u32,
    /// Use only this many rows of each suite, spread over it by a fixed draw. A run keeps the rows that it began with.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub rows: Option<u32>,
    /// Prompt style that replaces the suites' own: `azr`, `chat`, `completion`, `evalplus_chat`, `few_shot`, `plain`, `plain_chat` or
    /// `seedling`.
    #[serde(default)]
    pub prompts: Option<String>,
    /// Softmax temperature that replaces the suites' own; 0 is greedy.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = MAX_TEMPERATURE))]
    pub temperature: Option<f64>,
    /// Maximum tokens per answer; replaces the suites' own limit.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub max_tokens: Option<u32>,
}

fn one() -> u32 {
    1
}

impl BenchmarkSchedule {
    /// Whether the members are measured once `done` of `steps` steps are done.
    pub fn is_due(&self, done: u32, steps: u32) -> bool {
        done >= steps || self.every.is_some_and(|every| every > 0 && done.is_multiple_of(every))
    }

    /// Suites whose samples would all be the same, and roles that nobody plays.
    fn faults(&self, populations: &BTreeMap<String, PopulationConfig>) -> Vec<Fault> {
        let suites = self.suites.iter().enumerate();
        let faults = suites.filter_map(|(at, choice)| {
            let request = choice.request();
            let shipped = &suite(&request.suite).ok()?.protocol;
            let protocol = Protocol {
                temperature: request.temperature.or(self.temperature).unwrap_or(shipped.temperature),
                ..shipped.clone()
            };
            let detail = protocol.misfit(request.n.unwrap_or(self.n))?;
            Some(Fault::new(format!("/benchmarks/suites/{at}"), detail))
        });
        let groups = populations.values().flat_map(|population| &population.members);
        let played: BTreeSet<Role> = groups.flat_map(|group| group.roles.iter().copied()).collect();
        let unplayed = self.roles.iter().enumerate().filter(|(_, role)| !played.contains(role)).map(|(at, role)| {
            let known: Vec<&str> = played.iter().map(|role| role.name()).collect();
            let detail = format!("no member plays {role}: valid are {}", known.join(", "));
            Fault::new(format!("/benchmarks/roles/{at}"), detail)
        });
        faults.chain(unplayed).collect()
    }

    /// The evaluation of `run` once `done` steps are done; after none, that of its base.
    pub fn evaluation(&self, run: ExecutionId, done: u32, compute: Compute) -> BenchmarkSpec {
        BenchmarkSpec {
            suites: self.suites.clone(),
            versions: Vec::new(),
            run: Some(run),
            step: Some(done),
            base_model: None,
            base: done == 0 || !self.at_start,
            roles: self.roles.clone(),
            n: self.n,
            rows: self.rows,
            prompts: self.prompts.clone(),
            temperature: self.temperature,
            top_p: None,
            max_tokens: self.max_tokens,
            compute,
        }
    }
}

/// Members that share a base model and an adapter shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PopulationConfig {
    /// The frozen base.
    pub base_model: BaseModel,
    /// The shape of the adapters.
    pub lora: LoraShape,
    /// The members, in groups.
    #[schemars(length(min = 1))]
    pub members: Vec<MemberGroup>,
}

/// Members with the same roles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemberGroup {
    /// The roles each member plays; it may have several.
    #[schemars(length(min = 1))]
    pub roles: Vec<Role>,
    /// How many members.
    #[schemars(range(min = 1, max = 1024))]
    pub count: u32,
    /// The weights that its members begin with; left out, each begins with fresh ones of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Ancestor>,
}

/// Weights of the same base and adapter shape: exactly one of `version` and `adapter`. Names are looked up once, when the run is
/// created; its config then has their ids and the digest of the weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ancestor {
    /// A version of a member of another run: its id, or `RUN/MEMBER@STEP` with the run's id or name, the member's name, and after
    /// how many steps; without `@STEP` the latest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 500))]
    pub version: Option<String>,
    /// An imported adapter, by name or id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 200))]
    pub adapter: Option<String>,
    /// The digest of the weights; left out, it is looked up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<Digest>,
}

impl Ancestor {
    /// The fault of weights that are not named, or named twice; `pointer` is that of these in the config.
    pub(crate) fn fault(&self, pointer: &str) -> Option<Fault> {
        let detail = match (&self.version, &self.adapter) {
            (Some(version), Some(adapter)) => {
                format!(
                    "there are a version, `{version}`, and an adapter, `{adapter}`: exactly one of the two is valid"
                )
            }
            (None, None) => "there is neither `version` nor `adapter`: exactly one of the two is valid".to_owned(),
            _ => return None,
        };
        Some(Fault::new(pointer, detail))
    }

    /// The weights, once they have been looked up. An imported adapter has its id in place of a version's.
    pub fn weights(&self) -> Option<AdapterRef> {
        Some(AdapterRef {
            version: self.version.as_ref().or(self.adapter.as_ref())?.parse().ok()?,
            artifact: self.artifact?,
            optimizer: None,
        })
    }
}

/// How a run shares the workers with other runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SchedulingConfig {
    /// Priority; items of runs with a higher priority go first.
    #[schemars(range(min = -MAX_PRIORITY, max = MAX_PRIORITY))]
    pub priority: i16,
    /// Maximum number of items of this run in progress at once; left out, there is no limit.
    #[schemars(range(min = 1))]
    pub max_concurrent: Option<u32>,
    /// Number of times an item is tried before the run stops with its error.
    #[schemars(range(min = 1, max = 100))]
    pub max_attempts: Option<u32>,
}

impl SchedulingConfig {
    /// Tries per item if the config does not say.
    pub const DEFAULT_MAX_ATTEMPTS: u32 = 5;
}

/// Validates `document` against the common schema and its recipe's, and fills in every default.
///
/// # Errors
/// Every fault at once, each with a JSON pointer and what would be valid.
pub fn resolve(document: &serde_json::Value, registry: &Registry) -> Result<RunConfig, Faults> {
    let name = document.get("recipe").and_then(|name| name.as_str());
    if let Some(name) = name.filter(|name| registry.is_evaluation(name)) {
        let detail = format!("`{name}` plans evaluations: POST /evaluations creates one");
        return Err(Faults(vec![Fault::new("/recipe", detail)]));
    }
    let recipe = match name.map(|name| registry.get(name)) {
        Some(Ok(recipe)) => Some(recipe),
        Some(Err(unknown)) => {
            let mut faults = vec![Fault::new("/recipe", unknown.to_string())];
            faults.extend(Schema::of::<RunConfig>().diagnose(document));
            return Err(Faults(faults));
        }
        None => None,
    };
    let schema = match recipe.and_then(|recipe| registry.config_schema(recipe.name()).ok()) {
        Some(schema) => schema,
        None => Schema::of::<RunConfig>(),
    };
    let mut faults = schema.diagnose(document);
    if let Some(populations) = document.get("populations").and_then(|all| all.as_object()) {
        for name in populations.keys().filter(|name| !is_name(name)) {
            faults.push(Fault::new(
                format!("/populations/{}", pointer_token(name)),
                format!("`{name}` is not a valid population name: use 1 to 63 of `a` to `z`, `0` to `9`, `_` and `-`"),
            ));
        }
    }
    let of_compute = |name: &str| document.pointer(&format!("/compute/{name}")).and_then(|value| value.as_str());
    if let (Some("cuda"), Some(kernels)) = (of_compute("device"), of_compute("kernels")) {
        let detail = format!("`{kernels}` is for processors, and `device` is `cuda`: leave out one of them");
        faults.push(Fault::new("/compute/kernels", detail));
    }
    let suites = document.pointer("/benchmarks/suites").and_then(|suites| suites.as_array());
    let suites: Vec<(usize, SuiteChoice)> = (0..)
        .zip(suites.into_iter().flatten())
        .filter_map(|(at, suite)| Some((at, SuiteChoice::deserialize(suite).ok()?)))
        .collect();
    let known = suites.iter().map(|(at, suite)| (*at, suite));
    faults.extend(SuiteChoice::faults(known, "/benchmarks/suites"));
    Faults(faults).or(())?;
    let mut document = document.clone();
    if recipe.is_some_and(|recipe| recipe.capabilities().stages)
        && let Some(fields) = document.as_object_mut()
    {
        // The recipe settles it (`Stages::settle`).
        fields.entry("steps").or_insert_with(|| 0.into());
    }
    let config: RunConfig =
        serde_json::from_value(document).map_err(|error| Faults(vec![Fault::new("", error.to_string())]))?;
    let schedule = config.benchmarks.iter();
    let faults = schedule.flat_map(|schedule| schedule.faults(&config.populations));
    Faults(faults.chain(ancestor_faults(&config.populations)).collect()).or(())?;
    match recipe {
        Some(recipe) => recipe.resolve(config),
        None => Err(Faults(vec![Fault::new("/recipe", "a recipe must be named")])),
    }
}

/// Groups of members that name no ancestor in `from`, or two.
fn ancestor_faults(populations: &BTreeMap<String, PopulationConfig>) -> impl Iterator<Item = Fault> {
    let groups = populations.iter().flat_map(|(name, population)| {
        let groups = population.members.iter().enumerate();
        groups.filter_map(move |(place, group)| Some((name, place, group.from.as_ref()?)))
    });
    groups.filter_map(|(name, place, from)| {
        from.fault(&format!("/populations/{}/members/{place}/from", pointer_token(name)))
    })
}

/// `token` as a JSON pointer reference token (RFC 6901, part 3).
pub fn pointer_token(token: &str) -> String {
    token.replace('~', "~0").replace('/', "~1")
}

fn is_name(name: &str) -> bool {
    (1..=63).contains(&name.len()) && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-'))
}
