//! Problems of a run.

use chrono::{DateTime, Utc};
use lyceum_core::id::{ExecutionId, MemberId, ProblemId};
use serde::Serialize;
use sqlx::{FromRow, PgPool, Postgres, QueryBuilder};
use uuid::Uuid;

use super::{
    Key, Order, Page, Window,
    filter::and,
    window::{Keyed, limited, order_by_seq, order_by_value},
};
use crate::{Result, StoreError};

/// A problem. A list leaves out what is long unless it is asked for in full.
#[derive(Clone, Debug, FromRow, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Problem {
    /// The problem.
    pub id: Uuid,
    #[serde(skip)]
    #[doc(hidden)]
    pub seq: i64,
    /// The step that it was proposed in.
    pub step: i32,
    /// Its place within the step, from 0.
    pub index: i32,
    /// Who proposed it; none for a row of a dataset.
    pub proposer_id: Option<Uuid>,
    /// By which weights.
    pub version_id: Option<Uuid>,
    /// What sort of problem it is, such as `code_o`.
    #[serde(rename = "type")]
    #[sqlx(rename = "type")]
    pub problem_type: String,
    /// Whether it may be attempted.
    pub valid: bool,
    /// What the verifier met: `ok`, `malformed`, `error`, `timeout`, `memory`, `nondeterministic`, `unsafe` or
    /// `unserialisable`.
    pub status: String,
    /// The same, said to a person.
    pub reason: String,
    /// Its program.
    pub program: Option<String>,
    /// Nesting depth of the program's syntax tree.
    pub ast_depth: Option<f32>,
    /// Cyclomatic complexity.
    pub cyclomatic: Option<f32>,
    /// Lines of code.
    pub loc: Option<f32>,
    /// Distinct variables.
    pub variables: Option<f32>,
    /// The cell of the archive that it falls into.
    pub cell: Option<i32>,
    /// Share of the attempts that solved it; none where it was not attempted.
    pub solve_rate: Option<f32>,
    /// Attempts made.
    pub attempts: i32,
    /// What its proposer got.
    pub reward: Option<f32>,
    /// When it was written down.
    pub created_at: DateTime<Utc>,
    /// What the proposer was asked; in full only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// What it answered, unparsed; in full only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposal: Option<String>,
    /// Inputs, outputs and message; in full only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<Object>))]
    pub values: Option<serde_json::Value>,
    /// The parts that the reward was made of, by name; in full only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<Object>))]
    pub reward_parts: Option<serde_json::Value>,
}

/// What a problem came from, or what came from it.
#[derive(Clone, Debug, FromRow, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ProblemParent {
    /// The problem that came of it.
    pub problem_id: Uuid,
    /// The problem that it came from.
    pub parent_id: Uuid,
    /// What the earlier is to the later: `reference`, `goalpost` or `lemma`.
    pub relation: String,
}

/// Which problems.
#[derive(Clone, Debug, Default)]
pub struct ProblemFilter {
    /// Of this step.
    pub step: Option<u32>,
    /// Of this type.
    pub problem_type: Option<String>,
    /// Those that are valid, or those that are not.
    pub valid: Option<bool>,
    /// Those at which the verifier met this.
    pub status: Option<String>,
    /// By this proposer.
    pub proposer: Option<MemberId>,
    /// In this cell of the archive.
    pub cell: Option<u32>,
    /// Solved by at least this share of the attempts.
    pub solve_rate_min: Option<f32>,
    /// Solved by at most this share of the attempts.
    pub solve_rate_max: Option<f32>,
    /// With these words in program or reason.
    pub text: Option<String>,
    /// Whose AST depth, cyclomatic complexity, lines and variables are at least and at most this.
    pub complexity: [(Option<f32>, Option<f32>); 4],
    /// With prompt, proposal, values and parts of the reward.
    pub full: bool,
}

/// By what a list of problems is sorted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProblemSort {
    /// By age; the window says which way.
    #[default]
    Age,
    /// Least solved first.
    Hardest,
    /// Most solved first.
    Easiest,
}

impl Keyed for Problem {
    fn key(&self) -> Key {
        Key {
            value: self.solve_rate,
            seq: self.seq,
        }
    }
}

const BRIEF: &str = "id, seq, step, index, proposer_id, version_id, type, valid, status, reason, program, ast_depth,
    cyclomatic, loc, variables, cell, solve_rate, attempts, reward, created_at";
const FULL: &str = "prompt, proposal, \"values\", reward_parts";
const LEFT_OUT: &str =
    "NULL::text AS prompt, NULL::text AS proposal, NULL::json AS \"values\", NULL::jsonb AS reward_parts";

/// How many problems, in the list's order, are looked through for words before the index of words is asked, and for
/// anything where there is no index.
pub const STRETCH: i64 = 8000;

/// Problems of `run` that fit `filter`.
pub async fn problems(
    db: &PgPool,
    run: ExecutionId,
    filter: &ProblemFilter,
    sort: ProblemSort,
    window: &Window,
) -> Result<Page<Problem>> {
    let columns = format!("{BRIEF}, {}", if filter.full { FULL } else { LEFT_OUT });
    let Some(text) = &filter.text else {
        let mut query = QueryBuilder::new(format!("SELECT {columns} FROM problems WHERE "));
        narrow(&mut query, run, filter);
        order(&mut query, sort, window);
        return limited(db, query, window).await;
    };
    // Postgres cannot tell how common a word is, and each way of looking for it is slow for some: a walk along the list
    // for a rare word, the index of words for one that half of all programs hold. So a stretch of the list is walked
    // first. A common word fills a page from it; what does not, is rare enough for the index.
    let mut stretch = QueryBuilder::new(format!("SELECT {columns} FROM (SELECT * FROM problems WHERE "));
    narrow(&mut stretch, run, filter);
    order(&mut stretch, sort, window);
    stretch.push(" LIMIT ").push_bind(STRETCH).push(") problems WHERE ");
    with_words(&mut stretch, text);
    order(&mut stretch, sort, window);
    let page = limited(db, stretch, window).await?;
    if page.next.is_some() {
        return Ok(page);
    }
    // OFFSET keeps the planner from walking the list here too.
    let mut indexed = QueryBuilder::new(format!("SELECT {columns} FROM (SELECT * FROM problems WHERE "));
    with_words(&mut indexed, text);
    indexed.push(" OFFSET 0) problems WHERE ");
    narrow(&mut indexed, run, filter);
    order(&mut indexed, sort, window);
    limited(db, indexed, window).await
}

/// Conditions on everything but words.
fn narrow(query: &mut QueryBuilder<Postgres>, run: ExecutionId, filter: &ProblemFilter) {
    query.push("run_id = ").push_bind(run.0);
    narrow_further(query, filter);
}

fn narrow_further(query: &mut QueryBuilder<Postgres>, filter: &ProblemFilter) {
    and(query, "step = ", filter.step.map(u32::cast_signed));
    and(query, "type = ", filter.problem_type.clone());
    and(query, "valid = ", filter.valid);
    and(query, "status = ", filter.status.clone());
    and(query, "proposer_id = ", filter.proposer.map(|id| id.0));
    and(query, "cell = ", filter.cell.map(u32::cast_signed));
    and(query, "solve_rate >= ", filter.solve_rate_min);
    and(query, "solve_rate <= ", filter.solve_rate_max);
    let bounds = [
        ("ast_depth >= ", "ast_depth <= "),
        ("cyclomatic >= ", "cyclomatic <= "),
        ("loc >= ", "loc <= "),
        ("variables >= ", "variables <= "),
    ];
    for ((at_least, at_most), (low, high)) in bounds.into_iter().zip(filter.complexity) {
        and(query, at_least, low);
        and(query, at_most, high);
    }
}

fn with_words(query: &mut QueryBuilder<Postgres>, text: &str) {
    let text = text.to_owned();
    query
        .push("search @@ plainto_tsquery('simple', ")
        .push_bind(text)
        .push(")");
}

fn order(query: &mut QueryBuilder<Postgres>, sort: ProblemSort, window: &Window) {
    let order = match sort {
        ProblemSort::Age => return order_by_seq(query, "seq", window),
        ProblemSort::Hardest => Order::Oldest,
        ProblemSort::Easiest => Order::Newest,
    };
    query.push(" AND solve_rate IS NOT NULL");
    order_by_value(query, ("solve_rate", "seq"), &Window { order, ..*window });
}

/// A problem of any run.
#[derive(Clone, Debug, FromRow, Serialize)]
pub struct FoundProblem {
    /// The run.
    pub run_id: Uuid,
    /// The run's name.
    pub run: String,
    /// The problem.
    #[sqlx(flatten)]
    #[serde(flatten)]
    pub problem: Problem,
}

impl Keyed for FoundProblem {
    fn key(&self) -> Key {
        Key {
            value: None,
            seq: self.problem.seq,
        }
    }
}

/// Problems of all runs that fit `filter`, by age. Filters over all runs have no index, so one page looks through
/// [`STRETCH`] problems at most: it may hold few rows, or none, and still have a next one.
pub async fn problems_of_all_runs(db: &PgPool, filter: &ProblemFilter, window: &Window) -> Result<Page<FoundProblem>> {
    let columns = BRIEF
        .split(',')
        .map(|column| format!("p.{}", column.trim()))
        .collect::<Vec<_>>()
        .join(", ");
    let mut query = QueryBuilder::new(format!(
        "SELECT p.run_id, r.name AS run, {columns}, {LEFT_OUT} FROM (SELECT * FROM problems WHERE true"
    ));
    order_by_seq(&mut query, "seq", window);
    query.push(" LIMIT ").push_bind(STRETCH);
    query.push(") p JOIN runs r ON r.id = p.run_id WHERE true");
    narrow_further(&mut query, filter);
    if let Some(text) = &filter.text {
        query.push(" AND ");
        with_words(&mut query, text);
    }
    order_by_seq(&mut query, "seq", window);
    let page: Page<FoundProblem> = limited(db, query, window).await?;
    if page.next.is_some() {
        return Ok(page);
    }
    let mut last = QueryBuilder::new("SELECT count(*), ");
    last.push(match window.order {
        Order::Newest => "min(seq)",
        Order::Oldest => "max(seq)",
    });
    last.push(" FROM (SELECT seq FROM problems WHERE true");
    order_by_seq(&mut last, "seq", window);
    last.push(" LIMIT ").push_bind(STRETCH).push(") looked_through");
    let (count, seq): (i64, Option<i64>) = last.build_query_as().fetch_one(db).await?;
    Ok(Page {
        next: seq.filter(|_| count == STRETCH).map(|seq| Key { value: None, seq }),
        ..page
    })
}

/// Problems of `run` by their ids, in brief, in no order.
pub async fn problems_by_id(db: &PgPool, run: ExecutionId, ids: &[Uuid]) -> Result<Vec<Problem>> {
    let mut query = QueryBuilder::new(format!("SELECT {BRIEF}, {LEFT_OUT} FROM problems WHERE run_id = "));
    query
        .push_bind(run.0)
        .push(" AND id = ANY(")
        .push_bind(ids.to_vec())
        .push(")");
    Ok(query.build_query_as().fetch_all(db).await?)
}

/// One problem in full.
///
/// # Errors
/// [`StoreError::NotFound`].
pub async fn problem(db: &PgPool, run: ExecutionId, id: ProblemId) -> Result<Problem> {
    let mut query = QueryBuilder::new(format!("SELECT {BRIEF}, {FULL} FROM problems WHERE run_id = "));
    query.push_bind(run.0).push(" AND id = ").push_bind(id.0);
    let problem = query.build_query_as().fetch_optional(db).await?;
    problem.ok_or_else(|| StoreError::not_found("problem", id))
}

/// What a problem came from, and what came from it; at most a thousand of each.
pub async fn problem_parents(db: &PgPool, id: ProblemId) -> Result<Vec<ProblemParent>> {
    Ok(sqlx::query_as(
        "(SELECT problem_id, parent_id, relation FROM problem_parents WHERE problem_id = $1 LIMIT 1000)
         UNION ALL
         (SELECT problem_id, parent_id, relation FROM problem_parents WHERE parent_id = $1 LIMIT 1000)",
    )
    .bind(id.0)
    .fetch_all(db)
    .await?)
}
