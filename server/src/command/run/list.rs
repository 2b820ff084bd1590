//! `lyceum run list`.

use std::collections::BTreeMap;

use clap::{Args, ValueEnum};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use uuid::Uuid;

use crate::client::Client;
use crate::command::output::json_line;
use crate::command::table::Table;

/// List runs, newest first
///
///   lyceum run list --state running
///   lyceum run list --recipe azr --columns id,progress,valid_problems,name
///   lyceum run list --json | jq .tags
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(super) struct List {
    /// Only those in this state
    #[arg(long, value_parser = ["running", "paused", "completed", "failed", "cancelled"])]
    state: Option<String>,
    /// Only those of this recipe
    #[arg(long)]
    recipe: Option<String>,
    /// Only those of this experiment, by id
    #[arg(long)]
    experiment: Option<Uuid>,
    /// Only those whose configs differ by their seed alone: the arm of a run
    #[arg(long)]
    arm: Option<String>,
    /// Only those with this tag
    #[arg(long)]
    tag: Option<String>,
    /// Only those whose name begins with this, whatever its case
    #[arg(long)]
    name: Option<String>,
    /// Maximum number of runs
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    limit: u32,
    /// What to show of each, separated by commas
    #[arg(long, value_enum, value_delimiter = ',', default_values = ["id", "state", "progress", "recipe", "name"])]
    columns: Vec<Column>,
    /// Print each run as a line of JSON, with all its fields
    #[arg(long, conflicts_with = "columns")]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Column {
    Id,
    Name,
    State,
    /// The current step and the number of steps
    Progress,
    Stage,
    Recipe,
    Experiment,
    Arm,
    Seed,
    Preset,
    Tags,
    Problems,
    ValidProblems,
    Attempts,
    Matchups,
    Cells,
    ForkedFrom,
    CreatedAt,
    UpdatedAt,
    FinishedAt,
    Error,
}

impl Column {
    fn name(self) -> String {
        self.to_possible_value()
            .map(|value| value.get_name().to_owned())
            .unwrap_or_default()
    }

    fn of(self, run: &Value) -> String {
        match self {
            Self::Progress => format!("{}/{}", run["step"], run["steps"]),
            _ => text(&run[self.name()]),
        }
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(text).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

impl List {
    pub(super) fn run(self, client: &Client) -> anyhow::Result<()> {
        let experiment = self.experiment.map(|id| id.to_string());
        let filters = BTreeMap::from([
            ("state", self.state),
            ("recipe", self.recipe),
            ("experiment", experiment),
            ("arm", self.arm),
            ("tag", self.tag),
            ("name", self.name),
        ]);
        let given = filters.iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
        let given: String = given
            .map(|(name, value)| format!("&{name}={}", utf8_percent_encode(value, NON_ALPHANUMERIC)))
            .collect();
        let runs = client.items(&format!("/api/v1/runs?{}", given.trim_start_matches('&')), self.limit)?;
        if self.json {
            return runs.iter().try_for_each(json_line);
        }
        let mut table = Table::new(self.columns.iter().map(|column| column.name()));
        for run in &runs {
            table.row(self.columns.iter().map(|column| column.of(run)));
        }
        table.print()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_column_but_progress_is_a_field_of_a_run() {
        let description = serde_json::to_value(crate::openapi::document()).unwrap();
        let run = &description["components"]["schemas"]["Run"]["properties"];
        for column in Column::value_variants() {
            assert!(
                *column == Column::Progress || run.get(column.name()).is_some(),
                "{column:?}"
            );
        }
        let run = json!({"step": 1, "steps": 9, "tags": ["a", "b"], "error": null});
        let shown = [Column::Progress, Column::Tags, Column::Error].map(|column| column.of(&run));
        assert_eq!(shown, ["1/9", "a,b", ""]);
    }
}
