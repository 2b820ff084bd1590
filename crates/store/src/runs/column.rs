//! Columns of one's choice in lists of runs: metrics, parameters and scores on benchmarks.

use lyceum_core::recipe::REWARD_PART;
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
        query.push(" LEFT JOIN recent_metrics k ON k.run_id = e.id AND k.steps = ").push_bind(self.count());
    }
}

/// A sampler with fields is an object under its name. GASP has one for real data.
const SAMPLER: &str = "(SELECT CASE jsonb_typeof(named) WHEN 'object' THEN (SELECT min(name) FROM jsonb_object_keys(named) name)
         ELSE named #>> '{}' END
     FROM (SELECT coalesce(e.config #> '{parameters,sampler}', e.config #> '{parameters,real_data,sampler}') AS named) own)";

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunColumn {
    /// A metric of the run, averaged over its last steps.
    Metric(String),
    /// A field of its config, by its path.
    Parameter(Vec<String>),
    /// The name of what draws its rows, of runs that learn from a dataset.
    Sampler,
    /// Mean pass@1, on this suite, of the members that solve, when they were last measured; of runs that were measured on the
    /// rows and in the way in which most were.
    Benchmark(String),
    /// The difference of that from the base, or from the run's first measurement.
    Difference(String),
}

impl RunColumn {
    /// Adds an expression of its number in the row of the execution `e` and its recent metrics `k`; NULL if it has none.
    pub(super) fn push_number(&self, query: &mut QueryBuilder<Postgres>) {
        match self {
            Self::Metric(name) => {
                query.push("nullif(k.\"values\"[array_position(e.metrics, ").push_bind(name.clone()).push(")], 'NaN')");
            }
            Self::Parameter(path) => {
                query
                    .push("(CASE jsonb_typeof(e.config #> ")
                    .push_bind(path.clone())
                    .push(") WHEN 'number' THEN (e.config #>> ")
                    .push_bind(path.clone())
                    .push(")::double precision END)");
            }
            Self::Sampler => {
                query.push("NULL::double precision");
            }
            Self::Benchmark(suite) => push_result(query, suite, true, "pass_at_1"),
            Self::Difference(suite) => push_result(query, suite, true, "pass_at_1 - reference"),
        }
    }

    /// Adds an expression of its text, which parameters and samplers have, and results that were measured otherwise than most; NULL for
    /// others.
    pub(super) fn push_text(&self, query: &mut QueryBuilder<Postgres>) {
        match self {
            Self::Parameter(path) => {
                query.push("(e.config #>> ").push_bind(path.clone()).push(")");
            }
            Self::Sampler => {
                query.push(SAMPLER);
            }
            Self::Metric(_) => {
                query.push("NULL::text");
            }
            Self::Benchmark(suite) => {
                push_result(query, suite, false, "to_char(100 * pass_at_1, 'FM990.0') || ' (n = ' || rows || ')'")
            }
            Self::Difference(suite) => push_result(
                query,
                suite,
                false,
                "to_char(100 * (pass_at_1 - reference), 'FMSG990.0') || ' (n = ' || rows || ')'",
            ),
        }
    }
}

/// Adds an expression over the latest result of the execution `e` on `suite`. `is_usual`: whether of a result on the rows and
/// of the decoding of most runs. Others are no numbers to sort, filter or average by.
fn push_result(query: &mut QueryBuilder<Postgres>, suite: &str, is_usual: bool, expression: &str) {
    query
        .push("(SELECT CASE WHEN ((row_set, decoding) = (SELECT row_set, decoding FROM latest_results WHERE suite = ")
        .push_bind(suite.to_owned());
    query
        .push(format_args!(
            " GROUP BY row_set, decoding ORDER BY count(*) DESC, max(rows) DESC, row_set, decoding LIMIT 1))
                 = {is_usual} THEN {expression} END
             FROM latest_results own WHERE own.run_id = e.id AND own.suite = "
        ))
        .push_bind(suite.to_owned());
    query.push(")");
}

/// Whether a run has recorded a metric of this name.
pub async fn have_metric(db: &PgPool, name: &str) -> Result<bool> {
    let query = sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM executions WHERE kind = 'run' AND $1 = ANY(metrics))");
    Ok(query.bind(name).fetch_one(db).await?)
}

/// The metrics of reward parts that any of the newest runs has recorded.
pub async fn reward_parts(db: &PgPool) -> Result<Vec<String>> {
    let query = sqlx::query_scalar(
        "SELECT DISTINCT name
         FROM (SELECT metrics FROM executions WHERE kind = 'run' ORDER BY seq DESC LIMIT 200) AS newest, unnest(metrics) AS name
         WHERE starts_with(name, $1) ORDER BY name",
    );
    Ok(query.bind(REWARD_PART).fetch_all(db).await?)
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
