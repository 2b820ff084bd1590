//! The range of rows that holds the attempts of some steps.

use lyceum_core::id::ExecutionId;
use sqlx::{PgPool, Postgres, QueryBuilder};

use super::AttemptFilter;
use crate::Result;
use crate::page::and;

/// Steps, both ends included.
#[derive(Clone, Copy)]
struct Steps {
    from: Option<i32>,
    to: Option<i32>,
}

impl Steps {
    /// The part from `first` to `last`.
    fn within(self, first: i32, last: i32) -> Self {
        Self {
            from: Some(self.from.map_or(first, |from| from.max(first))),
            to: Some(self.to.map_or(last, |to| to.min(last))),
        }
    }
}

/// The range of row numbers of the attempts of some steps. Steps of a run follow one another, and so do their rows,
/// except those of evaluations, which are written later.
#[derive(Default)]
pub(super) struct Span {
    first: Option<i64>,
    last: Option<i64>,
}

impl Span {
    /// `None` if there are no attempts in the requested steps, or in the steps in which the proposer's problems were
    /// attempted, or in the requested steps in which the member made any.
    pub(super) async fn of(db: &PgPool, run: ExecutionId, filter: &AttemptFilter) -> Result<Option<Self>> {
        let mut steps = Steps { from: filter.from.map(u32::cast_signed), to: filter.to.map(u32::cast_signed) };
        let bounded = filter.from.is_some() || filter.to.is_some();
        let lives = [
            (
                filter.proposer,
                match filter.evaluations {
                    false => "SELECT min(step), max(step) FROM cross_play WHERE teacher_id = $1",
                    true => {
                        "SELECT min(step), max(step) FROM (SELECT step FROM cross_play WHERE teacher_id = $1
                         UNION ALL SELECT step FROM evaluated_cross_play WHERE teacher_id = $1) met"
                    }
                },
            ),
            (filter.member.filter(|_| bounded), "SELECT min(step), max(step) FROM attempts WHERE member_id = $1"),
        ];
        for (member, life) in lives {
            let Some(member) = member else { continue };
            let life: (Option<i32>, Option<i32>) = sqlx::query_as(life).bind(member.0).fetch_one(db).await?;
            let (Some(first), Some(last)) = life else { return Ok(None) };
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

    pub(super) fn bound(&self, query: &mut QueryBuilder<Postgres>, seq: &str) {
        and(query, &format!("{seq} >= "), self.first);
        and(query, &format!("{seq} <= "), self.last);
    }
}
