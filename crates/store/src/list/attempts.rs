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
    };
    if filter.proposer.is_none() && filter.problem_type.is_none() {
        let mut query = QueryBuilder::new(format!("SELECT {COLUMNS} FROM attempts WHERE "));
        narrow(&mut query);
        span.bound(&mut query, "attempts.seq");
        return by_seq(db, query, "seq", window).await;
    }
    let of_problem = |query: &mut QueryBuilder<Postgres>| {
        and(query, "p.proposer_id = ", filter.proposer.map(|id| id.0));
        and(query, "p.type = ", filter.problem_type.clone());
    };
    // A teacher has a good part of the attempts while it lives, and a page is soon full; what is rarer is found by its
    // problems, which are few then. Each attempt's problem is looked up by itself, since a page needs few of the stretch.
    let mut stretch = QueryBuilder::new(format!("SELECT {COLUMNS} FROM (SELECT * FROM attempts WHERE "));
    narrow(&mut stretch);
    span.bound(&mut stretch, "attempts.seq");
    order_by_seq(&mut stretch, "seq", window);
    stretch
        .push(" LIMIT ")
        .push_bind(STRETCH)
        .push(") attempts WHERE (SELECT true");
    of_problem(&mut stretch);
    stretch.push(" FROM problems p WHERE p.id = attempts.problem_id)");
    order_by_seq(&mut stretch, "seq", window);
    let page = limited(db, stretch, window).await?;
    if page.next.is_some() {
        return Ok(page);
    }
    // Those attempts lie all over the table, so their numbers are read from indices alone, and then the rows of a page.
    let mut indexed = QueryBuilder::new(format!(
        "SELECT {COLUMNS} FROM (SELECT met.seq FROM problems p JOIN attempts met ON met.problem_id = p.id WHERE true"
    ));
    of_problem(&mut indexed);
    if filter.proposer.is_none() {
        and(&mut indexed, "p.run_id = ", Some(run.0));
    }
    if let Some(member) = filter.member {
        indexed
            .push(" AND met.seq IN (SELECT seq FROM attempts WHERE member_id = ")
            .push_bind(member.0)
            .push(")");
    }
    span.bound(&mut indexed, "met.seq");
    order_by_seq(&mut indexed, "met.seq", window);
    indexed.push(" OFFSET 0) found JOIN attempts USING (seq) WHERE ");
    narrow(&mut indexed);
    by_seq(db, indexed, "seq", window).await
}

/// Steps, both ends included.
#[derive(Clone, Copy)]
struct Steps {
    from: Option<i32>,
    to: Option<i32>,
}

impl Steps {
    /// Those of them from `first` to `last`.
    fn within(self, first: i32, last: i32) -> Self {
        Self {
            from: Some(self.from.map_or(first, |from| from.max(first))),
            to: Some(self.to.map_or(last, |to| to.min(last))),
        }
    }
}

/// Between which numbers the attempts of some steps stand. Steps of a run come one after the other, and so do their rows, but
/// for those of evaluations: they are written later than those of later steps.
#[derive(Default)]
struct Span {
    first: Option<i64>,
    last: Option<i64>,
}

impl Span {
    /// None where there is no attempt in the steps asked for, or in those in which the proposer's problems were attempted, or,
    /// of the steps asked for, in those in which the member attempted any.
    async fn of(db: &PgPool, run: ExecutionId, filter: &AttemptFilter) -> Result<Option<Self>> {
        let mut steps = Steps {
            from: filter.from.map(u32::cast_signed),
            to: filter.to.map(u32::cast_signed),
        };
        let bounded = filter.from.is_some() || filter.to.is_some();
        let lives = [
            (
                filter.proposer,
                "SELECT min(step), max(step) FROM cross_play WHERE teacher_id = $1",
            ),
            (
                filter.member.filter(|_| bounded),
                "SELECT min(step), max(step) FROM attempts WHERE member_id = $1",
            ),
        ];
        for (member, life) in lives {
            let Some(member) = member else { continue };
            let life: (Option<i32>, Option<i32>) = sqlx::query_as(life).bind(member.0).fetch_one(db).await?;
            let (Some(first), Some(last)) = life else {
                return Ok(None);
            };
            steps = steps.within(first, last);
        }
        let Steps { from, to } = steps;
        if from.zip(to).is_some_and(|(from, to)| from > to) {
            return Ok(None);
        }
        let mut span = Self::default();
        if from.is_none() && to.is_none() {
            return Ok(Some(span));
        }
        let evaluated: Vec<i32> = sqlx::query_scalar(
            "SELECT DISTINCT (spec->>'step')::int FROM evaluations WHERE run_id = $1 AND spec->>'type' = 'cross_play'",
        )
        .bind(run.0)
        .fetch_all(db)
        .await?;
        let end = async |statement: &'static str, step: Option<i32>| -> Result<Option<i64>> {
            let end = sqlx::query_scalar(statement).bind(run.0).bind(step).bind(&evaluated);
            Ok(end.fetch_one(db).await?)
        };
        if from.is_some() {
            let least = "SELECT min(seq) FROM (SELECT seq FROM attempts WHERE run_id = $1 AND step = ANY (ARRAY(
                     SELECT step FROM unnest($3) step WHERE step >= $2 UNION ALL
                     SELECT min(step) FROM attempts WHERE run_id = $1 AND step >= $2 AND step <> ALL($3))) OFFSET 0) first";
            span.first = end(least, from).await?;
        }
        if to.is_some() {
            let greatest = "SELECT max(seq) FROM (SELECT seq FROM attempts WHERE run_id = $1 AND step = ANY (ARRAY(
                     SELECT step FROM unnest($3) step WHERE step <= $2 UNION ALL
                     SELECT max(step) FROM attempts WHERE run_id = $1 AND step <= $2 AND step <> ALL($3))) OFFSET 0) last";
            span.last = end(greatest, to).await?;
        }
        let has = |asked: Option<i32>, found: Option<i64>| asked.is_none() || found.is_some();
        Ok((has(from, span.first) && has(to, span.last)).then_some(span))
    }

    fn bound(&self, query: &mut QueryBuilder<Postgres>, seq: &str) {
        and(query, &format!("{seq} >= "), self.first);
        and(query, &format!("{seq} <= "), self.last);
    }
}
