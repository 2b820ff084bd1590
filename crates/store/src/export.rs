//! Whole tables of a run, in batches, so only a few are in memory at once.

mod table;

pub use table::{Field, Kind, Table};

use chrono::{DateTime, Utc};
use futures::TryStreamExt as _;
use futures::stream::BoxStream;
use lyceum_core::id::ExecutionId;
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, PgPool, Row as _};

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
        Self { columns: fields.iter().map(column).collect(), rows: 0 }
    }

    /// Adds a row whose columns from `fixed` on are the values of one array; returns the bytes of its text.
    fn push(&mut self, row: &PgRow, fixed: usize) -> sqlx::Result<usize> {
        let mut bytes = 0;
        let named: Vec<f64> = if self.columns.len() > fixed { row.try_get(fixed)? } else { Vec::new() };
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

/// A member's share of right answers after a step.
#[derive(Clone, Debug, PartialEq, sqlx::FromRow)]
pub struct Score {
    /// Steps that its weights have seen, or the step in which the held-out rows were asked.
    pub step: i32,
    /// The member's name.
    pub member: String,
    /// `held_out/accuracy`, or `benchmark/` and the suite.
    pub name: String,
    /// The share, from 0 to 1.
    pub value: f64,
}

/// The scores of the members of `run` by step. On each suite, those on the rows and in the way in which members were
/// measured at most steps; of several of the same weights the newest.
pub async fn scores(db: &PgPool, run: ExecutionId) -> Result<Vec<Score>> {
    Ok(sqlx::query_as(
        "SELECT h.step, m.name AS member, 'held_out/accuracy' AS name,
             (SELECT sum(right_answers) FROM unnest(h.correct) AS right_answers)::float8
             / (h.n * cardinality(h.correct)) AS value
         FROM held_out_results h JOIN members m ON m.id = h.member_id
         WHERE h.run_id = $1 AND cardinality(h.correct) > 0
         UNION ALL
         SELECT step, member, name, value FROM (
             SELECT DISTINCT ON (b.suite, b.member_id, b.step)
                 b.step, m.name AS member, 'benchmark/' || b.suite AS name, b.pass_at_1 AS value
             FROM benchmark_results b JOIN members m ON m.id = b.member_id JOIN (
                 SELECT DISTINCT ON (suite) suite, row_set, decoding FROM benchmark_results
                 WHERE run_id = $1 AND step IS NOT NULL GROUP BY suite, row_set, decoding
                 ORDER BY suite, count(DISTINCT step) DESC, max(rows) DESC, row_set, decoding
             ) way ON (b.suite, b.row_set, b.decoding) = (way.suite, way.row_set, way.decoding)
             WHERE b.run_id = $1 AND b.step IS NOT NULL
             ORDER BY b.suite, b.member_id, b.step, b.seq DESC
         ) AS newest
         ORDER BY 1, 2, 3",
    )
    .bind(run.0)
    .fetch_all(db)
    .await?)
}
