//! Columns of one's choice in lists of runs: metrics, parameters and scores on benchmarks.

use sqlx::{PgPool, Postgres, QueryBuilder};

use crate::Result;

/// How many of a run's last steps the value of a metric is averaged over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LastSteps {
    /// The last one.
    One,
    /// 16.
    #[default]
    Sixteen,
    /// 64.
    SixtyFour,
}

impl LastSteps {
    /// Their number.
    pub fn count(self) -> i16 {
        match self {
            Self::One => 1,
            Self::Sixteen => 16,
            Self::SixtyFour => 64,
        }
    }

    /// Adds the recent metrics `k` of the executions `e`.
    pub(super) fn push_join(self, query: &mut QueryBuilder<Postgres>) {
        query
            .push(" LEFT JOIN recent_metrics k ON k.run_id = e.id AND k.steps = ")
            .push_bind(self.count());
    }
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunColumn {
    /// A metric of the run, averaged over its last steps.
    Metric(String),
    /// A field of its config, by its path.
    Parameter(Vec<String>),
    /// Mean pass@1, on this suite, of the members that solve, when they were last measured.
    Benchmark(String),
}

impl RunColumn {
    /// Adds an expression of its number in the row of the execution `e` and its recent metrics `k`; NULL if it has none.
    pub(super) fn push_number(&self, query: &mut QueryBuilder<Postgres>) {
        match self {
            Self::Metric(name) => {
                query
                    .push("nullif(k.\"values\"[array_position(e.metrics, ")
                    .push_bind(name.clone())
                    .push(")], 'NaN')");
            }
            Self::Parameter(path) => {
                query
                    .push("(CASE jsonb_typeof(e.config #> ")
                    .push_bind(path.clone())
                    .push(") WHEN 'number' THEN (e.config #>> ")
                    .push_bind(path.clone())
                    .push(")::double precision END)");
            }
            Self::Benchmark(suite) => {
                // Of the largest measurement after the newest step. A member that was measured twice in this way counts
                // once, as the newest measurement has it.
                query
                    .push(
                        "(SELECT avg(pass_at_1) FROM (SELECT DISTINCT ON (member_id) pass_at_1 FROM (
                             SELECT member_id, seq, pass_at_1, rank() OVER (ORDER BY step DESC, rows DESC) AS place
                             FROM benchmark_results WHERE run_id = e.id AND role IN ('student', 'member') AND suite = ",
                    )
                    .push_bind(suite.clone())
                    .push(") own WHERE place = 1 ORDER BY member_id, seq DESC) each)");
            }
        }
    }

    /// Adds an expression of its text, which only parameters have; NULL for others.
    pub(super) fn push_text(&self, query: &mut QueryBuilder<Postgres>) {
        match self {
            Self::Parameter(path) => {
                query.push("(e.config #>> ").push_bind(path.clone()).push(")");
            }
            Self::Metric(_) | Self::Benchmark(_) => {
                query.push("NULL::text");
            }
        }
    }
}

/// Whether a run has recorded a metric of this name.
pub async fn have_metric(db: &PgPool, name: &str) -> Result<bool> {
    let query = sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM executions WHERE kind = 'run' AND $1 = ANY(metrics))");
    Ok(query.bind(name).fetch_one(db).await?)
}

/// Whether the config of a run has a field at this path.
pub async fn have_parameter(db: &PgPool, path: &[String]) -> Result<bool> {
    let query =
        sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM executions WHERE kind = 'run' AND config #> $1 IS NOT NULL)");
    Ok(query.bind(path).fetch_one(db).await?)
}

/// The config of the newest run; none without runs.
pub async fn newest_config(db: &PgPool) -> Result<Option<serde_json::Value>> {
    let query = sqlx::query_scalar("SELECT config FROM executions WHERE kind = 'run' ORDER BY seq DESC LIMIT 1");
    Ok(query.fetch_optional(db).await?)
}
