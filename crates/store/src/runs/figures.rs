//! The values of columns: of each run of a list, and of groups of runs.

use sqlx::{FromRow, PgPool, QueryBuilder};
use std::collections::HashMap;
use uuid::Uuid;

use super::row::FROM;
use super::{LastSteps, RunColumn, RunFilter};
use crate::Result;

/// Maximum number of groups that are listed.
const GROUPS: i64 = 200;

/// A value of a run in a column.
#[derive(Clone, Debug, PartialEq)]
pub enum RunValue {
    Number(f64),
    /// A parameter that is not a number, as JSON has it, but for the quotes of a string.
    Text(String),
}

/// A run, and the numbers and texts of its columns.
type Row = (Uuid, Vec<Option<f64>>, Vec<Option<String>>);

/// The values of `columns` in each of these runs, in the order of the columns.
pub async fn values(
    db: &PgPool,
    runs: &[Uuid],
    columns: &[RunColumn],
    last: LastSteps,
) -> Result<HashMap<Uuid, Vec<Option<RunValue>>>> {
    if runs.is_empty() || columns.is_empty() {
        return Ok(HashMap::new());
    }
    let mut query = QueryBuilder::new("SELECT e.id, ARRAY[");
    push_each(&mut query, columns, |query, column| column.push_number(query));
    query.push("]::double precision[], ARRAY[");
    push_each(&mut query, columns, |query, column| column.push_text(query));
    query.push("]::text[] FROM executions e");
    last.push_join(&mut query);
    query.push(" WHERE e.id = ANY(").push_bind(runs).push(")");
    let rows: Vec<Row> = query.build_query_as().persistent(false).fetch_all(db).await?;
    let value = |(number, text): (Option<f64>, Option<String>)| match number {
        Some(number) => Some(RunValue::Number(number)),
        None => text.map(RunValue::Text),
    };
    let row = |(id, numbers, texts): Row| (id, numbers.into_iter().zip(texts).map(value).collect());
    Ok(rows.into_iter().map(row).collect())
}

/// What runs are grouped by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupBy {
    Experiment,
    Arm,
    Recipe,
    State,
    /// The text of a column.
    Column(RunColumn),
}

/// Runs that have something in common.
#[derive(Clone, Debug, PartialEq, FromRow)]
pub struct RunGroup {
    /// What they have in common; none if that is missing.
    pub key: Option<String>,
    /// It in words, such as the name of an experiment.
    pub label: Option<String>,
    pub runs: i64,
    /// How many of them do not count in the columns: runs of an arm with the seed of an earlier one, such as its forks.
    pub repeats: i64,
    /// Means over the runs that count and have a number, by column.
    pub means: Vec<Option<f64>>,
    /// Their sample standard deviations; none for a single number.
    pub deviations: Vec<Option<f64>>,
    /// How many runs count and have a number, by column.
    pub counts: Vec<i64>,
}

/// The runs that fit `filter` in groups, the largest first.
pub async fn groups(db: &PgPool, filter: &RunFilter, by: &GroupBy, columns: &[RunColumn]) -> Result<Vec<RunGroup>> {
    let mut query =
        QueryBuilder::new("SELECT key, label, count(*) AS runs, count(*) FILTER (WHERE is_repeat) AS repeats");
    for (aggregate, kind, name) in [
        ("avg", "double precision", "means"),
        ("stddev_samp", "double precision", "deviations"),
        ("count", "bigint", "counts"),
    ] {
        let each = (1..=columns.len()).map(|place| format!("{aggregate}(c{place}) FILTER (WHERE NOT is_repeat)"));
        let each = each.collect::<Vec<_>>().join(", ");
        query.push(format_args!(", ARRAY[{each}]::{kind}[] AS {name}"));
    }
    query.push(" FROM (SELECT ");
    match by {
        GroupBy::Experiment => query.push("r.experiment_id::text AS key, x.name AS label"),
        GroupBy::Arm => query.push("r.arm AS key, r.arm AS label"),
        GroupBy::Recipe => query.push("e.recipe AS key, e.recipe AS label"),
        GroupBy::State => query.push("e.state AS key, e.state AS label"),
        GroupBy::Column(column) => {
            column.push_text(&mut query);
            query.push(" AS key, ");
            column.push_text(&mut query);
            query.push(" AS label")
        }
    };
    // The mean over an arm is one over seeds, and a run and its fork have one seed.
    query.push(match by {
        GroupBy::Arm => ", row_number() OVER (PARTITION BY r.arm, r.seed ORDER BY e.seq) > 1 AS is_repeat",
        _ => ", false AS is_repeat",
    });
    for (place, column) in (1..).zip(columns) {
        query.push(", ");
        column.push_number(&mut query);
        query.push(format_args!(" AS c{place}"));
    }
    query.push(format_args!(" {FROM}"));
    filter.last.push_join(&mut query);
    query.push(" WHERE e.kind = 'run'");
    filter.push(&mut query);
    query.push(") each GROUP BY key, label ORDER BY runs DESC, key LIMIT ").push_bind(GROUPS);
    Ok(query.build_query_as().persistent(false).fetch_all(db).await?)
}

fn push_each(
    query: &mut QueryBuilder<sqlx::Postgres>,
    columns: &[RunColumn],
    push: impl Fn(&mut QueryBuilder<sqlx::Postgres>, &RunColumn),
) {
    for (place, column) in columns.iter().enumerate() {
        if place > 0 {
            query.push(", ");
        }
        push(query, column);
    }
}
