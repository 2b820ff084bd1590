//! The table of all metrics in `docs/METRICS.md`.

use lyceum_core::recipe::{Metric, Registry};
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

const BEGIN: &str = "<!-- generated: metrics -->\n";
const END: &str = "<!-- end -->\n";

/// Every metric with the recipes that record it, in the order of their values: the sentence of one may refer to the one
/// before. A name may have another meaning in another recipe.
fn table() -> String {
    let registry = Registry::shipped();
    let mut rows: Vec<(Metric, Vec<&str>)> = Vec::new();
    for recipe in registry.recipes() {
        for metric in recipe.metrics() {
            let is_same = |known: &Metric| (known.name, known.summary) == (metric.name, metric.summary);
            match rows.iter_mut().find(|(known, _)| is_same(known)) {
                Some((_, recipes)) => recipes.push(recipe.name()),
                None => rows.push((metric, vec![recipe.name()])),
            }
        }
    }
    let mut table = "| metric | unit | recipes | value | charts |\n|---|---|---|---|---|\n".to_owned();
    for (metric, recipes) in rows {
        let Metric { name, unit, summary, .. } = metric;
        let charts = metric.charts.iter().map(|chart| format!("{}: {}", chart.group.title, chart.title));
        let (recipes, charts) = (recipes.join(", "), charts.collect::<Vec<_>>().join("; "));
        // Writing to a string never fails.
        let _ = writeln!(table, "| `{name}` | {unit} | {recipes} | {summary} | {charts} |");
    }
    table
}

#[test]
fn the_table_of_metrics_in_the_manual_is_that_of_the_recipes() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/METRICS.md");
    let manual = fs::read_to_string(&path).unwrap();
    let (before, rest) = manual.split_once(BEGIN).expect("docs/METRICS.md marks where the table begins");
    let (kept, after) = rest.split_once(END).expect("docs/METRICS.md marks where the table ends");
    let now = format!("\n{}\n", table());
    if env::var_os("UPDATE_METRICS").is_some() {
        return fs::write(&path, [before, BEGIN, &now, END, after].concat()).unwrap();
    }
    assert!(
        kept == now,
        "the table of metrics in docs/METRICS.md is out of date; write it with UPDATE_METRICS=1 in the environment of this test"
    );
}
