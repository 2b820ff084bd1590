//! Rows of an export, by column.

use chrono::{DateTime, Utc};
use futures::{TryStreamExt as _, stream::BoxStream};
use lyceum_core::id::ExecutionId;
use sqlx::{AssertSqlSafe, PgPool, Row as _, postgres::PgRow};

use super::{Field, Kind, Table};
use crate::Result;

/// Maximum number of rows in a batch.
const ROWS: usize = 20_000;
/// Bytes of text after which a batch is closed: a row may have a megabyte.
const BYTES: usize = 8 << 20;

/// Values of one column.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    Text(Vec<Option<String>>),
    /// Whole numbers.
    Int(Vec<Option<i64>>),
    /// Numbers.
    Float(Vec<Option<f64>>),
    /// Booleans.
    Bool(Vec<Option<bool>>),
    /// Times.
    Time(Vec<Option<DateTime<Utc>>>),
}

/// Some rows, with one column for each field of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    pub columns: Vec<Column>,
    /// Number of rows.
    pub rows: usize,
}

impl Batch {
    fn new(fields: &[Field]) -> Self {
        let column = |field: &Field| match field.kind {
            Kind::Text => Column::Text(Vec::new()),
            Kind::Int => Column::Int(Vec::new()),
            Kind::Float => Column::Float(Vec::new()),
            Kind::Bool => Column::Bool(Vec::new()),
            Kind::Time => Column::Time(Vec::new()),
        };
        Self {
            columns: fields.iter().map(column).collect(),
            rows: 0,
        }
    }

    /// Adds a row whose columns from `fixed` on are the values of one array; returns the bytes of its text.
    fn push(&mut self, row: &PgRow, fixed: usize) -> sqlx::Result<usize> {
        let mut bytes = 0;
        let named: Vec<f64> = match self.columns.len() > fixed {
            true => row.try_get(fixed)?,
            false => Vec::new(),
        };
        for (place, column) in self.columns.iter_mut().enumerate() {
            match column {
                Column::Float(values) if place >= fixed => {
                    // NaN means that there is no value.
                    values.push(named.get(place - fixed).copied().filter(|value| !value.is_nan()));
                }
                Column::Text(values) => {
                    let value: Option<String> = row.try_get(place)?;
                    bytes += value.as_ref().map_or(0, String::len);
                    values.push(value);
                }
                Column::Int(values) => values.push(row.try_get(place)?),
                Column::Float(values) => values.push(row.try_get(place)?),
                Column::Bool(values) => values.push(row.try_get(place)?),
                Column::Time(values) => values.push(row.try_get(place)?),
            }
        }
        self.rows += 1;
        Ok(bytes)
    }
}

/// A table of a run, being read.
pub struct Batches<'a> {
    rows: BoxStream<'a, sqlx::Result<PgRow>>,
    fields: Vec<Field>,
    fixed: usize,
}

impl<'a> Batches<'a> {
    /// Reads all of `table` of `run` in one statement, as of one moment. Holds a connection until dropped.
    pub fn of(db: &'a PgPool, run: ExecutionId, table: Table, metrics: &[String]) -> Self {
        Self {
            rows: sqlx::query(AssertSqlSafe(table.statement())).bind(run.0).fetch(db),
            fields: table.fields(metrics),
            fixed: table.sources().len(),
        }
    }

    /// The next rows; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Batch>> {
        let mut batch = Batch::new(&self.fields);
        let mut bytes = 0;
        while batch.rows < ROWS && bytes < BYTES {
            let Some(row) = self.rows.try_next().await? else { break };
            bytes += batch.push(&row, self.fixed)?;
        }
        Ok((batch.rows > 0).then_some(batch))
    }
}
