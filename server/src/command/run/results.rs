//! `lyceum run results`.

use anyhow::Context as _;
use lyceum_core::verdict::Against;
use lyceum_store::benchmarks::RunResult;
use serde::Deserialize as _;
use uuid::Uuid;

use crate::{
    client::Client,
    command::{output::json_line, table::Table},
    frame::format,
};

/// Prints the results of the run `id`.
pub(super) fn results(client: &Client, id: Uuid, json: bool) -> anyhow::Result<()> {
    let answer = client.get(&format!("/api/v1/runs/{id}/results"))?;
    let items = answer["items"].as_array().context("the server sent no results")?;
    if json {
        return items.iter().try_for_each(json_line);
    }
    let headings = [
        "suite",
        "step",
        "rows",
        "n",
        "members",
        "pass@1 %",
        "difference, points",
        "from",
    ];
    let mut table = Table::new(headings);
    for item in items {
        let result = RunResult::deserialize(item)?;
        let found = result.comparison();
        let from = match found.map(|found| found.against) {
            Some(Against::Base) => "base".to_owned(),
            Some(Against::Step(step)) => format!("step {step}"),
            None => "–".to_owned(),
        };
        table.row([
            result.suite.clone(),
            result.step.to_string(),
            result.rows.to_string(),
            result.n.to_string(),
            result.members.to_string(),
            format::share(&result.pass_at_1),
            found.as_ref().map_or_else(|| "–".to_owned(), format::difference),
            from,
        ]);
    }
    table.print()
}
