//! Refuses columns that no run can have a value in, which would otherwise be empty without a reason.

use lyceum_core::fault::nearest;
use lyceum_store::{
    benchmarks,
    runs::{self, RunColumn},
};
use serde_json::Value;

use crate::{api_error::ApiError, lab::Lab};

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
    match faults.is_empty() {
        true => Ok(()),
        false => Err(ApiError::invalid_query(faults)),
    }
}

async fn fault(lab: &Lab, column: &RunColumn) -> Result<Option<String>, ApiError> {
    let db = lab.store.pool();
    Ok(match column {
        RunColumn::Metric(name) => {
            let recipes = lab.registry.recipes();
            let known: Vec<&str> = recipes.flat_map(|recipe| recipe.metric_names()).collect();
            let is_known = known.contains(&name.as_str()) || runs::have_metric(db, name).await?;
            (!is_known).then(|| {
                unknown(
                    &format!("no recipe records the metric `{name}`"),
                    "metrics",
                    name,
                    &known,
                )
            })
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
            let Some(config) = runs::newest_config(db).await? else {
                return Ok(None);
            };
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
fn leaves(value: &Value, path: String, paths: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let path = if path.is_empty() {
                    name.clone()
                } else {
                    format!("{path}.{name}")
                };
                leaves(field, path, paths);
            }
        }
        _ => paths.push(path),
    }
}
