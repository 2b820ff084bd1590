//! Attempts of a run.

use chrono::{DateTime, Utc};
use lyceum_core::id::{ExecutionId, MemberId, ProblemId};
use serde::Serialize;
use sqlx::{FromRow, PgPool, Postgres, QueryBuilder};
use uuid::Uuid;

use super::{
    Page, Window,
    filter::and,
    window::{by_seq, keyed_by_seq, limited, order_by_seq},
};
use crate::Result;

/// One answer of one member to a problem.
#[derive(Clone, Debug, FromRow, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Attempt {
    /// The attempt.
    pub id: Uuid,
    #[serde(skip)]
    #[doc(hidden)]
    pub seq: i64,
    /// The step.
    pub step: i32,
    /// The problem.
    pub problem_id: Uuid,
    /// Who answered.
    pub member_id: Uuid,
    /// By which weights.
    pub version_id: Uuid,
    /// What it played.
    pub role: String,
    /// Which of the samples, from 0.
    pub sample: i32,
    /// What it answered, unparsed.
    pub text: String,
    /// The answer found in it.
    pub answer: Option<String>,
    /// Whether the answer has the form that was asked for.
    pub well_formed: bool,
    /// What the verifier met.
    pub status: String,
    /// The same, said to a person.
    pub reason: String,
    /// Whether it solves the problem.
    pub correct: bool,
    /// What it got.
    pub reward: f32,
    /// The parts that the reward was made of, by name.
    #[cfg_attr(feature = "schema", schema(value_type = Object))]
    pub reward_parts: serde_json::Value,
    /// Its length in tokens.
    pub tokens: i32,
    /// When it was written down.
    pub created_at: DateTime<Utc>,
}

/// Which attempts.
#[derive(Clone, Debug, Default)]
pub struct AttemptFilter {
    /// At this problem.
    pub problem: Option<ProblemId>,
    /// By this member.
    pub member: Option<MemberId>,
    /// At problems of this proposer.
    pub proposer: Option<MemberId>,
    /// At problems of this type.
    pub problem_type: Option<String>,
    /// From this step on.
    pub from: Option<u32>,
    /// Up to this step.
    pub to: Option<u32>,
    /// Those that solve their problem, or those that do not.
    pub correct: Option<bool>,
}

keyed_by_seq!(Attempt);

const COLUMNS: &str =
    "id, seq, step, problem_id, member_id, version_id, role, sample, text, answer, well_formed, status,
    reason, correct, reward, reward_parts, tokens, created_at";

/// How many attempts are walked past, in the list's order, before it begins at the problems instead.
const STRETCH: i64 = 2000;

/// Attempts of `run` that fit `filter`.
pub async fn attempts(db: &PgPool, run: ExecutionId, filter: &AttemptFilter, window: &Window) -> Result<Page<Attempt>> {
    let Some(span) = Span::of(db, run, filter).await? else {
        return Ok(Page {
            items: Vec::new(),
            next: None,
        });
    };
    let narrow = |query: &mut QueryBuilder<Postgres>| {
        query.push("attempts.run_id = ").push_bind(run.0);
        and(query, "attempts.problem_id = ", filter.problem.map(|id| id.0));
        and(query, "attempts.member_id = ", filter.member.map(|id| id.0));
        and(query, "attempts.correct = ", filter.correct);
        and(query, "attempts.step >= ", filter.from.map(u32::cast_signed));
        and(query, "attempts.step <= ", filter.to.map(u32::cast_signed));
        and(query, "attempts.seq >= ", span.first);
        and(query, "attempts.seq <= ", span.last);
    };
    let of_problem = |query: &mut QueryBuilder<Postgres>| {
        and(query, "p.proposer_id = ", filter.proposer.map(|id| id.0));
        and(query, "p.type = ", filter.problem_type.clone());
    };
    if filter.proposer.is_none() && filter.problem_type.is_none() {
        let mut query = QueryBuilder::new(format!("SELECT {COLUMNS} FROM attempts WHERE "));
        narrow(&mut query);
        return by_seq(db, query, "seq", window).await;
    }
    // A teacher has a good part of the attempts while it lives, and a page is soon full; of one that died long ago there are
    // none to be met on the way, but its problems are few.
    let mut stretch = QueryBuilder::new(format!("SELECT {COLUMNS} FROM (SELECT * FROM attempts WHERE "));
    narrow(&mut stretch);
    order_by_seq(&mut stretch, "seq", window);
    stretch
        .push(" LIMIT ")
        .push_bind(STRETCH)
        .push(") attempts WHERE EXISTS (SELECT FROM problems p WHERE p.id = attempts.problem_id");
    of_problem(&mut stretch);
    stretch.push(")");
    order_by_seq(&mut stretch, "seq", window);
    let page = limited(db, stretch, window).await?;
    if page.next.is_some() {
        return Ok(page);
    }
    let mut indexed = QueryBuilder::new(format!(
        "SELECT {COLUMNS} FROM (SELECT attempts.* FROM attempts JOIN problems p ON p.id = attempts.problem_id WHERE "
    ));
    narrow(&mut indexed);
    of_problem(&mut indexed);
    indexed.push(" OFFSET 0) attempts WHERE true");
    by_seq(db, indexed, "seq", window).await
}

/// Between which numbers the attempts of some steps stand. Steps of a run come one after the other, and so do their rows.
#[derive(Default)]
struct Span {
    first: Option<i64>,
    last: Option<i64>,
}

impl Span {
    /// None where there is no attempt in the steps asked for.
    async fn of(db: &PgPool, run: ExecutionId, filter: &AttemptFilter) -> Result<Option<Self>> {
        let mut span = Self::default();
        if let Some(from) = filter.from {
            let least = "SELECT min(seq) FROM (SELECT seq FROM attempts WHERE run_id = $1 AND step = (
                 SELECT min(step) FROM attempts WHERE run_id = $1 AND step >= $2) OFFSET 0) first";
            span.first = Self::end(db, least, run, from).await?;
        }
        if let Some(to) = filter.to {
            let greatest = "SELECT max(seq) FROM (SELECT seq FROM attempts WHERE run_id = $1 AND step = (
                 SELECT max(step) FROM attempts WHERE run_id = $1 AND step <= $2) OFFSET 0) last";
            span.last = Self::end(db, greatest, run, to).await?;
        }
        let has = |asked: Option<u32>, found: Option<i64>| asked.is_none() || found.is_some();
        Ok((has(filter.from, span.first) && has(filter.to, span.last)).then_some(span))
    }

    async fn end(db: &PgPool, statement: &'static str, run: ExecutionId, step: u32) -> Result<Option<i64>> {
        let end = sqlx::query_scalar(statement).bind(run.0).bind(step.cast_signed());
        Ok(end.fetch_one(db).await?)
    }
}
