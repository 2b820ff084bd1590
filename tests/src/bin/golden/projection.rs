//! The rows of a run in comparable form.

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Map, Value};
use sqlx::PgPool;
use uuid::Uuid;

use crate::key::{Key, Part};
use crate::names::Names;
use crate::recording::{Recording, Row};
use crate::tables::{NOT_COMPARED, TABLES, Table, is_duration, is_left_out};

/// Adds the rows of `run`, called `name`, to the recording.
///
/// # Errors
/// If the database cannot be read, a table is unknown, or two rows have the same key.
pub(crate) async fn project(pool: &PgPool, run: Uuid, name: &str, recording: &mut Recording) -> Result<()> {
    refuse_unknown_tables(pool).await?;
    let mut names = Names::default();
    let mut found = Vec::new();
    for table in &TABLES {
        let rows = rows(pool, table, run).await?;
        for row in &rows {
            let key = key(table, name, row, &names)?;
            if let Some(id) = row.get("id").and_then(Value::as_str) {
                names.add(id.parse()?, table.row, &key);
            }
        }
        found.push((table, rows));
    }
    let metrics = metrics(&found)?;
    for (table, rows) in found {
        for row in rows {
            let key = key(table, name, &row, &names)?;
            let place = format!("{} {key}", table.name);
            let fields = fields(table, row, &metrics, &names).with_context(|| place.clone())?;
            let row = Row { run: name.to_owned(), table: table.name.to_owned(), key, fields };
            ensure!(recording.insert(row), "two rows are {place}");
        }
    }
    Ok(())
}

/// Otherwise a newly added table would silently not be compared.
async fn refuse_unknown_tables(pool: &PgPool) -> Result<()> {
    let tables: Vec<String> = sqlx::query_scalar(
        "SELECT DISTINCT table_name::text FROM information_schema.columns
         WHERE table_schema = 'public' AND column_name IN ('run_id', 'execution_id') ORDER BY 1",
    )
    .fetch_all(pool)
    .await?;
    let is_known =
        |name: &String| TABLES.iter().any(|table| table.name == name) || NOT_COMPARED.contains(&name.as_str());
    match tables.iter().find(|name| !is_known(name)) {
        Some(name) => bail!("the table `{name}` has rows of runs; add it to tables.rs of this tool"),
        None => Ok(()),
    }
}

async fn rows(pool: &PgPool, table: &Table, run: Uuid) -> Result<Vec<Map<String, Value>>> {
    // As text: Postgres copies `json` columns verbatim, and writes floats so that they round-trip.
    let sql = format!("SELECT row_to_json(t)::text FROM {} t WHERE {}", table.name, table.condition);
    let rows: Vec<String> = sqlx::query_scalar(sqlx::AssertSqlSafe(sql))
        .bind(run)
        .fetch_all(pool)
        .await
        .with_context(|| format!("cannot read the table `{}`", table.name))?;
    let parsed = rows.iter().map(|row| serde_json::from_str(row));
    parsed.collect::<Result<_, _>>().with_context(|| format!("a row of `{}` is not JSON", table.name))
}

/// The key of a row; the run itself is identified by its name.
fn key(table: &Table, run: &str, row: &Map<String, Value>, names: &Names) -> Result<Key> {
    if table.key.is_empty() {
        return Ok(Key(vec![Part::Text(run.to_owned())]));
    }
    let part = |column: &&str| {
        let value = row.get(*column).with_context(|| format!("the table `{}` has no column `{column}`", table.name))?;
        names.part(value)
    };
    Ok(Key(table.key.iter().map(part).collect::<Result<_>>()?))
}

/// The names of the run's metrics, in the order of their values.
fn metrics(found: &[(&Table, Vec<Map<String, Value>>)]) -> Result<Vec<String>> {
    let execution = found.iter().find(|(table, _)| table.name == "executions");
    let row = execution.and_then(|(_, rows)| rows.first()).context("there is no such run")?;
    let names = row.get("metrics").context("the table `executions` has no column `metrics`")?;
    Ok(serde_json::from_value(names.clone())?)
}

fn fields(table: &Table, row: Map<String, Value>, metrics: &[String], names: &Names) -> Result<Value> {
    let columns = row
        .into_iter()
        .filter(|(column, _)| !is_left_out(column) && !table.without.contains(&column.as_str()))
        .map(|(column, value)| {
            let value = match (table.name, column.as_str()) {
                ("metrics", "values") | ("metric_levels", "min" | "max") => by_metric(value, metrics)?,
                _ => value,
            };
            Ok((column, value))
        });
    let mut fields = Value::Object(columns.collect::<Result<_>>()?);
    leave_out_durations(&mut fields);
    names.replace(&mut fields)?;
    fields.sort_all_objects();
    Ok(fields)
}

/// Metric values by name, so a release can add or reorder metrics.
fn by_metric(values: Value, metrics: &[String]) -> Result<Value> {
    let Value::Array(values) = values else {
        bail!("the values of metrics are {values}, not a list");
    };
    ensure!(values.len() == metrics.len(), "{} values of {} metrics", values.len(), metrics.len());
    Ok(metrics.iter().cloned().zip(values).collect())
}

fn leave_out_durations(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(leave_out_durations),
        Value::Object(fields) => {
            fields.retain(|field, _| !is_duration(field));
            fields.values_mut().for_each(leave_out_durations);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn table(name: &str) -> &'static Table {
        TABLES.iter().find(|table| table.name == name).unwrap()
    }

    fn row(value: Value) -> Map<String, Value> {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn clocks_durations_and_workers_are_left_out_wherever_they_are() {
        let work = row(json!({
            "step": 3, "phase": "check", "round": 0, "chunk": 1,
            "seq": 9, "created_at": "now", "lease_until": null, "worker_id": "who", "attempts": 2,
            "result": { "verdicts": [{ "id": "0", "millis": 3.5, "correct": true }], "usage": { "seconds": 1.0, "tokens": 4 } },
        }));
        let names = Names::default();
        assert_eq!(key(table("work"), "demo", &work, &names).unwrap().to_string(), "3/check/0/1");
        let expected = json!({
            "step": 3, "phase": "check", "round": 0, "chunk": 1,
            "result": { "verdicts": [{ "id": "0", "correct": true }], "usage": { "tokens": 4 } },
        });
        assert_eq!(fields(table("work"), work, &[], &names).unwrap(), expected);
    }

    #[test]
    fn metrics_are_told_by_name() {
        let metrics = ["solve_rate", "solve_seconds"].map(str::to_owned);
        let values = row(json!({ "step": 1, "member_id": null, "values": [0.5, 2.0] }));
        let names = Names::default();
        assert_eq!(key(table("metrics"), "demo", &values, &names).unwrap().to_string(), "1/-");
        let projected = fields(table("metrics"), values.clone(), &metrics, &names).unwrap();
        assert_eq!(projected["values"], json!({ "solve_rate": 0.5 }));
        assert!(fields(table("metrics"), values, &metrics[..1], &names).is_err());
    }
}
