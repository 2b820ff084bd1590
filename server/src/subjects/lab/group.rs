//! Runs in groups: by experiment, arm, recipe, state, or any parameter.

use lyceum_store::runs::{self, GroupBy, RunColumn, RunFilter, RunGroup};
use serde::Serialize;
use sqlx::PgPool;
use std::collections::BTreeMap;

use super::column::Column;
use crate::api_error::ApiError;
use crate::frame::view::View;

/// What runs are grouped by.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct By {
    group: GroupBy,
    /// The parameter of the address that selects one of the groups, and what its value begins with.
    selects: (&'static str, String),
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct Group {
    /// What its runs have in common; none if that is missing.
    key: Option<String>,
    /// It in words.
    pub(super) label: Option<String>,
    pub(super) runs: i64,
    /// How many of them do not count in the columns: runs of an arm with the seed of an earlier one, such as its forks.
    pub(super) repeats: i64,
    /// The columns' means over the runs that count.
    values: BTreeMap<String, Mean>,
    #[serde(skip)]
    pub(super) shown: Vec<String>,
    /// The address of its runs.
    #[serde(skip)]
    pub(super) address: Option<String>,
}

/// A column's mean over the runs of a group.
#[derive(Clone, Debug, Serialize)]
struct Mean {
    mean: Option<f64>,
    /// The sample standard deviation.
    deviation: Option<f64>,
    /// How many runs count and have a value.
    n: i64,
}

impl By {
    /// What the address asks for.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn parse(name: &str) -> Result<Self, String> {
        let group = match name {
            "experiment" => GroupBy::Experiment,
            "arm" => GroupBy::Arm,
            "recipe" => GroupBy::Recipe,
            "state" => GroupBy::State,
            other => match Column::parse(other).map(|column| column.column) {
                Ok(column @ (RunColumn::Parameter(_) | RunColumn::Sampler)) => GroupBy::Column(column),
                _ => {
                    return Err(format!(
                        "runs are not grouped by `{name}`; valid are `experiment`, `arm`, `recipe`, `state`, `sampler` and a parameter, \
                         such as `config.parameters.teachers`"
                    ));
                }
            },
        };
        let selects = match group {
            GroupBy::Experiment => ("experiment", String::new()),
            GroupBy::Arm => ("arm", String::new()),
            GroupBy::Recipe => ("recipe", String::new()),
            GroupBy::State => ("state", String::new()),
            GroupBy::Column(_) => ("where", format!("{name}=")),
        };
        Ok(Self { group, selects })
    }

    /// The column, if runs are grouped by one.
    pub(super) fn column(&self) -> Option<RunColumn> {
        match &self.group {
            GroupBy::Column(column) => Some(column.clone()),
            _ => None,
        }
    }

    /// The groups of the runs that fit `filter`.
    pub(super) async fn load(
        &self,
        db: &PgPool,
        view: &View,
        filter: &RunFilter,
        columns: &[Column],
    ) -> Result<Vec<Group>, ApiError> {
        let of_columns: Vec<RunColumn> = columns.iter().map(|column| column.column.clone()).collect();
        let groups = runs::groups(db, filter, &self.group, &of_columns).await?;
        Ok(groups.into_iter().map(|group| self.shown(view, columns, group)).collect())
    }

    fn shown(&self, view: &View, columns: &[Column], group: RunGroup) -> Group {
        let means = group.means.into_iter().zip(group.deviations).zip(group.counts);
        let means: Vec<Mean> = means.map(|((mean, deviation), n)| Mean { mean, deviation, n }).collect();
        let address = group.key.as_deref().and_then(|key| self.address(view, key));
        Group {
            shown: columns
                .iter()
                .zip(&means)
                .map(|(column, mean)| mean.shown(column, group.runs - group.repeats))
                .collect(),
            values: columns.iter().map(|column| column.name.clone()).zip(means).collect(),
            key: group.key,
            label: group.label,
            runs: group.runs,
            repeats: group.repeats,
            address,
        }
    }

    /// The address of the runs of a group; none if no condition can name it.
    fn address(&self, view: &View, key: &str) -> Option<String> {
        let (parameter, before) = &self.selects;
        if *parameter != "where" {
            return Some(view.with(&[("group", None), (*parameter, Some(key))]));
        }
        // A list of conditions is split at commas.
        if key.contains(',') {
            return None;
        }
        let known = view.parameter("where");
        let all = known.into_iter().chain([format!("{before}{key}")]).collect::<Vec<_>>().join(",");
        Some(view.with(&[("group", None), ("where", Some(&all))]))
    }
}

impl Mean {
    /// The mean, with the number of runs that it is over unless it is all that `count`.
    fn shown(&self, column: &Column, count: i64) -> String {
        let Some(mean) = self.mean else { return "–".to_owned() };
        let mut shown = column.number(&mean);
        if let Some(deviation) = self.deviation {
            shown.push_str(&format!(" ± {}", column.number(&deviation).trim_start_matches('+')));
        }
        if self.n != count {
            shown.push_str(&format!(" (n = {})", self.n));
        }
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_says_how_many_runs_it_is_over_unless_it_is_all() {
        let column = Column::parse("metrics.entropy").unwrap();
        let mean = Mean { mean: Some(0.5), deviation: Some(0.25), n: 2 };
        assert_eq!(mean.shown(&column, 10), "0.5 ± 0.25 (n = 2)");
        assert_eq!(mean.shown(&column, 2), "0.5 ± 0.25");
        let difference = Column::parse("difference.gsm8k").unwrap();
        assert_eq!(mean.shown(&difference, 2), "+50.0 ± 25.0");
        let alone = Mean { deviation: None, n: 1, ..mean };
        assert_eq!(alone.shown(&column, 3), "0.5 (n = 1)");
        let none = Mean { mean: None, deviation: None, n: 0 };
        assert_eq!(none.shown(&column, 3), "–");
    }

    #[test]
    fn runs_are_grouped_by_what_they_have_in_common() {
        assert_eq!(By::parse("arm").unwrap().group, GroupBy::Arm);
        let by = By::parse("config.lora.r").unwrap();
        let path = vec!["lora".to_owned(), "r".to_owned()];
        assert_eq!(by.group, GroupBy::Column(RunColumn::Parameter(path)));
        assert_eq!(by.selects.1, "config.lora.r=");
        for wrong in ["seed", "metrics.entropy", "config."] {
            assert!(By::parse(wrong).unwrap_err().contains(wrong));
        }
    }
}
