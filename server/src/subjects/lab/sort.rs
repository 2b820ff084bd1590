//! The order of the table, and columns that no run can have a value in.

use lyceum_core::fault::nearest;
use lyceum_store::benchmarks;
use lyceum_store::runs::{self, RunColumn, RunSort};
use serde_json::Value;

use super::column::Column;
use crate::api_error::ApiError;
use crate::contract::Order;
use crate::frame::view::View;
use crate::lab::Lab;

/// What the table is sorted by.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Sort {
    /// The built-in columns.
    Age,
    Step,
    ValidProblems,
    Cells,
    /// The difference from the base.
    Difference,
    /// A chosen one.
    Column(Column),
}

/// The built-in columns that sort, by their names in addresses.
static BUILT_IN: [(&str, Sort); 5] = [
    ("age", Sort::Age),
    ("step", Sort::Step),
    ("valid_problems", Sort::ValidProblems),
    ("cells", Sort::Cells),
    ("difference", Sort::Difference),
];

impl Sort {
    /// The order of this name; by age if there is none.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn parse(name: Option<&str>) -> Result<Self, String> {
        let Some(name) = name else { return Ok(Self::Age) };
        if let Some((_, sort)) = BUILT_IN.iter().find(|(known, _)| *known == name) {
            return Ok(sort.clone());
        }
        let known: Vec<String> = BUILT_IN.iter().map(|(name, _)| format!("`{name}`")).collect();
        let known = known.join(", ");
        Column::parse(name)
            .map(Self::Column)
            .map_err(|_| format!("`{name}` is not a column to sort by; valid are {known} and the name of a column, such as `metrics.solve_rate`"))
    }

    /// The name of the list in its cursors. `last`: which of the means a metric is sorted by.
    pub(super) fn list(&self, last: u8) -> String {
        match self {
            Self::Age => "runs".to_owned(),
            Self::Column(column) => format!("runs.{}.{last}", column.name),
            built_in => format!("runs.{}", built_in.name()),
        }
    }

    /// For the store.
    pub(super) fn by(&self) -> RunSort {
        match self {
            Self::Age => RunSort::Age,
            Self::Step => RunSort::Step,
            Self::ValidProblems => RunSort::ValidProblems,
            Self::Cells => RunSort::Cells,
            Self::Difference => RunSort::Difference,
            Self::Column(column) => RunSort::Column(column.column.clone()),
        }
    }

    /// The chosen column.
    pub(super) fn column(&self) -> Option<&RunColumn> {
        match self {
            Self::Column(column) => Some(&column.column),
            _ => None,
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::Column(column) => &column.name,
            built_in => BUILT_IN.iter().find(|(_, sort)| sort == built_in).map_or("age", |(name, _)| *name),
        }
    }
}

/// The head of a column.
#[derive(Clone, Debug)]
pub(super) struct Head {
    /// The column's name in addresses.
    pub(super) name: String,
    /// The words of the head.
    pub(super) title: String,
    /// The address of the table sorted by it, in the other direction if it is already.
    pub(super) address: String,
    /// `ascending` or `descending`, if the table is sorted by it.
    pub(super) sorted: Option<&'static str>,
    /// Whether it has numbers.
    pub(super) is_number: bool,
    /// Whether it is a column of one's choice.
    pub(super) is_chosen: bool,
}

pub(super) fn heads(view: &View, sort: &Sort, order: Option<Order>, columns: &[Column]) -> Vec<Head> {
    let is_ascending = order == Some(Order::Oldest);
    let head = |name: &str, title: String, is_chosen: bool, is_number: bool| {
        let is_sorted = sort.name() == name;
        let turned = (is_sorted && !is_ascending).then_some("oldest");
        let sort = Some(name).filter(|name| *name != "age");
        Head {
            name: name.to_owned(),
            title,
            address: view.with(&[("sort", sort), ("order", turned)]),
            sorted: is_sorted.then_some(if is_ascending { "ascending" } else { "descending" }),
            is_number,
            is_chosen,
        }
    };
    let titles = ["Age", "Step", "Valid problems", "Cells", "Δ held-out"];
    let built_in =
        BUILT_IN.iter().zip(titles).map(|((name, _), title)| head(name, title.to_owned(), false, *name != "age"));
    let chosen = columns.iter().map(|column| head(&column.name, column.title(), true, true));
    built_in.chain(chosen).collect()
}

/// Fails with a fault for each of the columns, named by the parameter of the address that asks for it, that does not exist.
///
/// # Errors
/// That, or those of the database.
pub(super) async fn refuse_unknown(lab: &Lab, columns: &[(&str, &RunColumn)]) -> Result<(), ApiError> {
    let mut faults = Vec::new();
    for (parameter, column) in columns {
        if let Some(detail) = fault(lab, column).await? {
            faults.push(((*parameter).to_owned(), detail));
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(ApiError::invalid_query(faults)) }
}

async fn fault(lab: &Lab, column: &RunColumn) -> Result<Option<String>, ApiError> {
    let db = lab.store.pool();
    Ok(match column {
        RunColumn::Sampler => None,
        RunColumn::Metric(name) => {
            let recipes = lab.registry.recipes();
            let known: Vec<&str> = recipes.flat_map(|recipe| recipe.metric_names()).collect();
            let is_known = known.contains(&name.as_str()) || runs::have_metric(db, name).await?;
            (!is_known).then(|| unknown(&format!("no recipe records the metric `{name}`"), "metrics", name, &known))
        }
        RunColumn::Benchmark(name) | RunColumn::Difference(name) => {
            let shipped = lyceum_core::benchmark::shipped_suites().iter();
            let mut known: Vec<String> = shipped.map(|suite| suite.name.clone()).collect();
            known.extend(benchmarks::measured_suites(db).await?);
            let kind = match column {
                RunColumn::Difference(_) => "difference",
                _ => "benchmarks",
            };
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            let what = format!("`{name}` is no suite, and no result has this name");
            (!known.contains(&name.as_str())).then(|| unknown(&what, kind, name, &known))
        }
        RunColumn::Parameter(path) => {
            let Some(config) = runs::newest_config(db).await? else { return Ok(None) };
            if runs::have_parameter(db, path).await? {
                return Ok(None);
            }
            let mut known = Vec::new();
            leaves(&config, String::new(), &mut known);
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            let name = path.join(".");
            let what = format!("no run's config has the field `{name}`");
            let deeper = known.iter().find(|known| known.ends_with(&format!(".{name}")));
            Some(match deeper {
                Some(deeper) => format!("{what}; did you mean `config.{deeper}`?"),
                None => unknown(&what, "config", &name, &known),
            })
        }
    })
}

fn unknown(what: &str, kind: &str, name: &str, known: &[&str]) -> String {
    match nearest(name, known.iter().copied()) {
        Some(near) => format!("{what}; did you mean `{kind}.{near}`?"),
        None => format!("{what}; the page offers those that exist"),
    }
}

/// The paths of all fields that hold no object.
pub(super) fn leaves(value: &Value, path: String, paths: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                leaves(field, path, paths);
            }
        }
        _ => paths.push(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_have_names_of_their_own() {
        assert_eq!(Sort::parse(None), Ok(Sort::Age));
        for (name, sort) in &BUILT_IN {
            assert_eq!(Sort::parse(Some(name)), Ok(sort.clone()));
            assert_eq!(sort.name(), *name);
        }
        let metric = Sort::parse(Some("metrics.entropy")).unwrap();
        assert_eq!((metric.list(0), metric.name()), ("runs.metrics.entropy.0".to_owned(), "metrics.entropy"));
        assert_ne!(metric.list(0), metric.list(1), "a cursor is of one of the means");
        let said = Sort::parse(Some("entropy")).unwrap_err();
        assert!(said.contains("`entropy`") && said.contains("`valid_problems`"), "{said}");
    }
}
