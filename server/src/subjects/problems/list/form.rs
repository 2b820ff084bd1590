//! Filters of lists of problems, and their form.

use lyceum_core::id::MemberId;
use lyceum_core::verify::ProblemKind;
use lyceum_store::problems::{ProblemFilter, ProblemSort};
use schemars::JsonSchema;
use serde::Deserialize;
use uuid::Uuid;

use crate::api_error::ApiError;
use crate::contract::{Listing, Order};
use crate::frame::sides::Link;

/// The order of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Sort {
    /// Newest first.
    Newest,
    /// Oldest first.
    Oldest,
    /// Least solved first.
    Hardest,
    /// Most solved first.
    Easiest,
}

/// Filters of problems.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProblemsFilter {
    /// With these words in the program or the reason.
    #[schemars(length(max = 1000))]
    q: Option<String>,
    #[serde(rename = "type")]
    problem_type: Option<String>,
    #[schemars(range(max = 2_147_483_647))]
    step: Option<u32>,
    proposer: Option<Uuid>,
    valid: Option<bool>,
    status: Option<String>,
    #[schemars(range(min = 0.0, max = 1.0))]
    solve_rate_min: Option<f32>,
    #[schemars(range(min = 0.0, max = 1.0))]
    solve_rate_max: Option<f32>,
    ast_depth_min: Option<f32>,
    ast_depth_max: Option<f32>,
    cyclomatic_min: Option<f32>,
    cyclomatic_max: Option<f32>,
    loc_min: Option<f32>,
    loc_max: Option<f32>,
    variables_min: Option<f32>,
    variables_max: Option<f32>,
    #[schemars(range(max = 2_147_483_647))]
    cell: Option<u32>,
    pub(super) sort: Option<Sort>,
    pub(super) cursor: Option<String>,
}

impl ProblemsFilter {
    pub(super) fn for_store(&self) -> ProblemFilter {
        ProblemFilter {
            step: self.step,
            problem_type: self.problem_type.clone(),
            valid: self.valid,
            status: self.status.clone(),
            proposer: self.proposer.map(MemberId),
            cell: self.cell,
            solve_rate_min: self.solve_rate_min,
            solve_rate_max: self.solve_rate_max,
            text: self.q.clone(),
            complexity: [
                (self.ast_depth_min, self.ast_depth_max),
                (self.cyclomatic_min, self.cyclomatic_max),
                (self.loc_min, self.loc_max),
                (self.variables_min, self.variables_max),
            ],
            full: false,
        }
    }

    pub(super) fn listing(&self) -> Result<(Listing, ProblemSort), ApiError> {
        let (name, sort, order) = match self.sort {
            None | Some(Sort::Newest) => ("problems", ProblemSort::Age, None),
            Some(Sort::Oldest) => ("problems", ProblemSort::Age, Some(Order::Oldest)),
            Some(Sort::Hardest) => ("problems.hardest", ProblemSort::Hardest, None),
            Some(Sort::Easiest) => ("problems.easiest", ProblemSort::Easiest, None),
        };
        Ok((Listing::new(name, None, self.cursor.as_deref(), order)?, sort))
    }

    /// Whether any filter is set.
    fn is_set(&self) -> bool {
        let filter = self.for_store();
        filter.text.is_some()
            || filter.problem_type.is_some()
            || filter.status.is_some()
            || filter.valid.is_some()
            || filter.proposer.is_some()
            || filter.step.is_some()
            || filter.cell.is_some()
            || filter.solve_rate_min.is_some()
            || filter.solve_rate_max.is_some()
            || filter.complexity.iter().any(|(low, high)| low.is_some() || high.is_some())
    }
}

/// The filter form of both pages.
pub(crate) struct Form {
    pub(super) asked: ProblemsFilter,
    /// Proposers by name; none over all runs.
    pub(super) proposers: Vec<Link>,
    /// What the run calls them.
    pub(super) proposer: String,
    pub(super) of_run: bool,
}

/// Statuses of the verifier.
const STATUSES: [&str; 8] =
    ["ok", "malformed", "error", "timeout", "memory", "nondeterministic", "unsafe", "unserialisable"];
/// Orders of a run's list; over all runs only the first two.
const SORTS: [(&str, &str, Sort); 4] = [
    ("newest", "newest first", Sort::Newest),
    ("oldest", "oldest first", Sort::Oldest),
    ("hardest", "least solved first", Sort::Hardest),
    ("easiest", "most solved first", Sort::Easiest),
];

/// An option of a choice.
pub(crate) struct Choice {
    pub(crate) value: String,
    pub(crate) label: String,
    pub(crate) chosen: bool,
}

/// A field with a least and a greatest value.
pub(crate) struct Bounds {
    pub(crate) name: &'static str,
    pub(crate) label: &'static str,
    pub(crate) low: String,
    pub(crate) high: String,
}

impl Form {
    pub(crate) fn words(&self) -> &str {
        self.asked.q.as_deref().unwrap_or_default()
    }

    pub(crate) fn step(&self) -> String {
        self.asked.step.map(|step| step.to_string()).unwrap_or_default()
    }

    pub(crate) fn cell(&self) -> String {
        self.asked.cell.map(|cell| cell.to_string()).unwrap_or_default()
    }

    pub(crate) fn is_set(&self) -> bool {
        self.asked.is_set()
    }

    pub(crate) fn types(&self) -> Vec<Choice> {
        types(self.asked.problem_type.as_deref())
    }

    pub(crate) fn statuses(&self) -> Vec<Choice> {
        plain(&STATUSES, self.asked.status.as_deref())
    }

    pub(crate) fn validities(&self) -> Vec<Choice> {
        let choice = |value: bool, label: &str| Choice {
            value: value.to_string(),
            label: label.to_owned(),
            chosen: self.asked.valid == Some(value),
        };
        vec![choice(true, "valid"), choice(false, "not valid")]
    }

    pub(crate) fn proposers(&self) -> Vec<Choice> {
        let choice = |link: &Link| Choice {
            value: link.id.to_string(),
            label: link.name.clone(),
            chosen: self.asked.proposer == Some(link.id),
        };
        self.proposers.iter().map(choice).collect()
    }

    pub(crate) fn sorts(&self) -> Vec<Choice> {
        let shown = if self.of_run { &SORTS[..] } else { &SORTS[..2] };
        let choice = |(value, label, sort): &(&str, &str, Sort)| Choice {
            value: (*value).to_owned(),
            label: (*label).to_owned(),
            chosen: self.asked.sort == Some(*sort),
        };
        shown.iter().map(choice).collect()
    }

    pub(crate) fn bounds(&self) -> Vec<Bounds> {
        let text = |value: Option<f32>| value.map(|value| value.to_string()).unwrap_or_default();
        let asked = &self.asked;
        let bounds = [
            ("solve_rate", "Solve rate", asked.solve_rate_min, asked.solve_rate_max),
            ("ast_depth", "AST depth", asked.ast_depth_min, asked.ast_depth_max),
            ("cyclomatic", "Cyclomatic", asked.cyclomatic_min, asked.cyclomatic_max),
            ("loc", "Lines", asked.loc_min, asked.loc_max),
            ("variables", "Variables", asked.variables_min, asked.variables_max),
        ];
        let row = |(name, label, low, high): (&'static str, &'static str, Option<f32>, Option<f32>)| Bounds {
            name,
            label,
            low: text(low),
            high: text(high),
        };
        bounds.into_iter().map(row).collect()
    }
}

/// Types to choose from.
pub(crate) fn types(chosen: Option<&str>) -> Vec<Choice> {
    plain(&ProblemKind::ALL.map(ProblemKind::name), chosen)
}

/// `values` to choose from, and the chosen one if it is not among them, so that an active filter is always visible.
fn plain(values: &[&str], chosen: Option<&str>) -> Vec<Choice> {
    let choice =
        |value: &str| Choice { value: value.to_owned(), label: value.to_owned(), chosen: chosen == Some(value) };
    let unknown = chosen.filter(|chosen| !values.contains(chosen));
    values.iter().copied().chain(unknown).map(choice).collect()
}
