//! A recipe is a pure function from a run's memory and the results of its current step to everything that should exist
//! now.
//!
//! Recipes and evaluations implement [`TypedPlanner`](super::TypedPlanner) and [`TypedRecipe`](super::TypedRecipe), which
//! have types for parameters and memory. [`Planner`] and [`Recipe`] follow from them, for callers with a config and a state.

use serde_json::Value;

use super::{Gates, Metric, Plan, PlanError, Role, RunState, Stages, StepView};
use crate::benchmark::PromptStyle;
use crate::config::{Ancestor, RunConfig};
use crate::dataset::{DatasetUse, problem};
use crate::fault::{Fault, Faults};
use crate::id::{DatasetId, ExecutionId};
use crate::prompt::Templates;
use crate::vocabulary_dropout::VocabularyDropout;
use crate::work::Prompt;

/// Plans an execution: a run or an evaluation. It does no I/O, has no clock and draws only from seeds derived from (run
/// seed, path, item).
///
/// The coordinator calls [`Planner::plan`] after any item of the step ends, so order-sensitive decisions use the index,
/// never the order of completion: the same view must give the same plan, and a fuller view a plan that extends it.
pub trait Planner: Send + Sync {
    /// The name stored with an execution; a recipe's is the value of a config's `recipe` field.
    fn name(&self) -> &'static str;

    /// One sentence for lists and forms.
    fn summary(&self) -> &'static str;

    /// Checks constraints the schema cannot express and fills in every default of `parameters`.
    ///
    /// # Errors
    /// Every fault of `config` at once.
    fn resolve(&self, config: RunConfig) -> Result<RunConfig, Faults>;

    /// The memory of a new execution before step 0.
    fn begin(&self, run: ExecutionId, config: &RunConfig) -> Result<RunState, PlanError>;

    /// Rows or problems that are answered, each counted once, and the answers that are given, by the parameters of a resolved
    /// config; `None` for runs, and where the parameters cannot be read.
    fn size(&self, _parameters: &Value) -> Option<(u64, u64)> {
        None
    }

    /// Everything that should exist now, given the run's memory and the results of the step so far. Returning things
    /// that exist already is harmless: identifiers are hashes of paths.
    fn plan(&self, run: &RunState, step: &StepView) -> Result<Plan, PlanError>;
}

/// An algorithm: a planner of runs.
pub trait Recipe: Planner {
    /// The JSON Schema of the config's `parameters`, with defaults and docs.
    fn parameters_schema(&self) -> serde_json::Value {
        serde_json::json!({ "type": "object" })
    }

    /// The metrics recorded by the recipe, in the order of the values in a [`MetricRecord`](crate::contract::MetricRecord); none by default. Their
    /// names are stored with every run.
    fn metrics(&self) -> Vec<Metric> {
        Vec::new()
    }

    /// The datasets that a resolved config names, so that a run is refused if their rows are missing; none by default.
    ///
    /// # Errors
    /// A config that was not resolved.
    fn datasets(&self, _config: &RunConfig) -> Result<Vec<DatasetUse>, PlanError> {
        Ok(Vec::new())
    }

    /// The rows of a dataset that members of a run answer; none by default.
    ///
    /// # Errors
    /// A config that was not resolved, or whose datasets have not been looked up.
    fn rows_asked(&self, _config: &RunConfig) -> Result<Option<RowsAsked>, PlanError> {
        Ok(None)
    }

    /// The stages of a run of a resolved config; `None`, the default, if its steps are all alike.
    ///
    /// # Errors
    /// A config that was not resolved.
    fn stages(&self, _config: &RunConfig) -> Result<Option<Stages>, PlanError> {
        Ok(None)
    }

    /// The vocabulary dropout of a run of a resolved config, its pointer there, and the name of the base whose tokens it
    /// hides; none by default. The server refuses what the base's vocabulary lacks before a run begins.
    ///
    /// # Errors
    /// A config that was not resolved.
    fn vocabulary_dropout(
        &self,
        _config: &RunConfig,
    ) -> Result<Option<(&'static str, VocabularyDropout, String)>, PlanError> {
        Ok(None)
    }

    /// Whether members of a run of a resolved config learn from an answer by comparing it with the others to its problem, so
    /// that a problem teaches nothing if all answers to it earn the same; they do by default.
    ///
    /// # Errors
    /// A config that was not resolved.
    fn compares_answers(&self, _config: &RunConfig) -> Result<bool, PlanError> {
        Ok(true)
    }

    /// The pointer of the prompts that a run of a resolved config sends as conversations, for which its bases need a chat
    /// template; `None`, the default, if there are none. The server refuses a base without one before a run begins.
    ///
    /// # Errors
    /// A config that was not resolved.
    fn conversations(&self, _config: &RunConfig) -> Result<Option<&'static str>, PlanError> {
        Ok(None)
    }

    /// The scores of a critic that decide what joins the growing set of a run of a resolved config; `None`, the default, if
    /// none do.
    ///
    /// # Errors
    /// A config that was not resolved.
    fn gates(&self, _config: &RunConfig) -> Result<Option<Gates>, PlanError> {
        Ok(None)
    }

    /// The weights of the judge of a run of a resolved config, and the pointer of what names them there; `None`, the default,
    /// without a judge, or if the base judges. Their names are looked up when the run is created.
    ///
    /// # Errors
    /// A config that was not resolved.
    fn judge(&self, _config: &RunConfig) -> Result<Option<(&'static str, Ancestor)>, PlanError> {
        Ok(None)
    }

    /// The roles its members play; none if they follow only from the config.
    fn roles(&self) -> Vec<Role> {
        Vec::new()
    }

    /// The templates of prompts that its runs may render; those of problems of code by default.
    fn templates(&self) -> Templates {
        Templates::of_code()
    }

    /// Warnings about a resolved config that is valid; none by default.
    ///
    /// # Errors
    /// A config that was not resolved.
    fn warnings(&self, _config: &RunConfig) -> Result<Vec<Fault>, PlanError> {
        Ok(Vec::new())
    }

    /// Features of its runs besides problems, attempts and metrics; none by default. Pages and evaluations depend on
    /// it.
    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    /// The names of [`Recipe::metrics`].
    fn metric_names(&self) -> Vec<&'static str> {
        self.metrics().iter().map(|metric| metric.name).collect()
    }

    /// The names of the metrics that a run of a resolved config records, in the order of their values; all by default.
    ///
    /// # Errors
    /// A config that was not resolved.
    fn recorded_metrics(&self, _config: &RunConfig) -> Result<Vec<&'static str>, PlanError> {
        Ok(self.metric_names())
    }
}

/// Features of a recipe's runs besides problems, attempts and metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Capabilities {
    /// Members play matchups and are rated by them.
    pub rates: bool,
    /// Members are born and die after step 0.
    pub evolves: bool,
    /// Valid problems enter an archive.
    pub archives: bool,
    /// Any solver can attempt any proposer's problems, so missing cells of the matrix can be filled.
    pub crosses: bool,
    /// Steps belong to named stages, and their number follows from them ([`Stages`]): a config may leave `steps` out.
    pub stages: bool,
    /// Problems are rows of a dataset, which members answer again and again.
    pub repeats: bool,
    /// Members propose programs with inputs and outputs, so any version can propose fresh problems, and any other
    /// can attempt them.
    pub programs: bool,
    /// Once an iteration, an item of phase [`PHASE`](crate::diversity::PHASE) embeds the valid problems of the last
    /// step that proposed any, in the order of their indices, and measures how much they differ.
    pub measures_diversity: bool,
    /// Problems that members propose join a growing set if they are valid and a critic's score is high enough
    /// ([`Recipe::gates`]). The metric `pool_size` is the size of the set.
    pub admits: bool,
    /// Members work towards hard problems that nobody answers in a run; a map shows which ones come into reach.
    pub has_goalposts: bool,
}

impl Capabilities {
    /// Every feature.
    pub const ALL: Self = Self {
        rates: true,
        evolves: true,
        archives: true,
        crosses: true,
        stages: true,
        repeats: true,
        programs: true,
        measures_diversity: true,
        admits: true,
        has_goalposts: true,
    };
}

/// Rows of a dataset that members answer, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowsAsked {
    /// JSON pointer to the group of the config with the fields `dataset`, `prompts` and `sampling` for these rows.
    pub pointer: &'static str,
    pub dataset: DatasetId,
    /// How many rows are answered, from the first.
    pub rows: u32,
    /// The tag by which rows are chosen, if they are.
    pub tag: Option<String>,
    /// How many of these are learned from, from the first; the others are held out.
    pub learned: u32,
    /// The style of their prompts.
    pub prompts: String,
    /// The most tokens of an answer.
    pub max_tokens: u32,
}

impl RowsAsked {
    /// The prompt for the row at `place`, in the style of [`RowsAsked::prompts`].
    ///
    /// # Errors
    /// The row is not a problem, or the style has no prompt for its kind.
    pub fn prompt(style: &PromptStyle, place: u32, row: &Value) -> Result<Prompt, String> {
        let row = problem(place as usize, row)?;
        style
            .render(&row)
            .map_err(|_| format!("`{}` has no prompt for problems of type {}", style.name(), row.oracle.kind()))
    }
}
