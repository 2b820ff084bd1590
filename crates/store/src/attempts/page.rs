//! Lists of attempts.

use lyceum_core::id::{ExecutionId, MemberId, ProblemId};
use lyceum_core::recipe::Side;
use sqlx::{PgPool, Postgres, QueryBuilder};

use super::span::Span;
use super::{Attempt, COLUMNS, roles_of};
use crate::Result;
use crate::page::{Page, Window, and, by_seq, limited, order_by_seq};

/// Selects attempts.
#[derive(Clone, Debug, Default)]
pub struct AttemptFilter {
    pub problem: Option<ProblemId>,
    pub member: Option<MemberId>,
    /// At problems of this proposer.
    pub proposer: Option<MemberId>,
    pub problem_type: Option<String>,
    /// From this step on, inclusive.
    pub from: Option<u32>,
    /// Up to this step, inclusive.
    pub to: Option<u32>,
    /// Correct or incorrect ones.
    pub correct: Option<bool>,
    /// By members in a role of this side.
    pub side: Option<Side>,
    /// Whether those are included that evaluations had made.
    pub evaluations: bool,
}

/// How many attempts are scanned in list order before the search starts from the problems instead.
const STRETCH: i64 = 2000;

/// Attempts of `run` that fit `filter`.
pub async fn page(db: &PgPool, run: ExecutionId, filter: &AttemptFilter, window: &Window) -> Result<Page<Attempt>> {
    let Some(span) = Span::of(db, run, filter).await? else { return Ok(Page { items: Vec::new(), next: None }) };
    let narrow = |query: &mut QueryBuilder<Postgres>| {
        query.push("attempts.run_id = ").push_bind(run.0);
        and(query, "attempts.problem_id = ", filter.problem.map(|id| id.0));
        and(query, "attempts.member_id = ", filter.member.map(|id| id.0));
        and(query, "attempts.correct = ", filter.correct);
        if !filter.evaluations {
            query.push(" AND attempts.evaluation_id IS NULL");
        }
        if let Some(side) = filter.side {
            query.push(" AND attempts.role = ANY(").push_bind(roles_of(side)).push(")");
        }
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
    // A living teacher has a good part of the attempts, so a page fills quickly. Rarer matches are found through their
    // problems, which are few then. Each attempt's problem is looked up separately, since a page needs few of them.
    let mut stretch = QueryBuilder::new(format!("SELECT {COLUMNS} FROM (SELECT * FROM attempts WHERE "));
    narrow(&mut stretch);
    span.bound(&mut stretch, "attempts.seq");
    order_by_seq(&mut stretch, "seq", window);
    stretch.push(" LIMIT ").push_bind(STRETCH).push(") attempts WHERE (SELECT true");
    of_problem(&mut stretch);
    stretch.push(" FROM problems p WHERE p.id = attempts.problem_id)");
    order_by_seq(&mut stretch, "seq", window);
    let page = limited(db, stretch, window).await?;
    if page.next.is_some() {
        return Ok(page);
    }
    // These attempts are scattered over the table, so their numbers are read only from indices, then the page's rows.
    let mut indexed = QueryBuilder::new(format!(
        "SELECT {COLUMNS} FROM (SELECT met.seq FROM problems p JOIN attempts met ON met.problem_id = p.id WHERE true"
    ));
    of_problem(&mut indexed);
    if filter.proposer.is_none() {
        and(&mut indexed, "p.run_id = ", Some(run.0));
    }
    if let Some(member) = filter.member {
        indexed.push(" AND met.seq IN (SELECT seq FROM attempts WHERE member_id = ").push_bind(member.0).push(")");
    }
    span.bound(&mut indexed, "met.seq");
    order_by_seq(&mut indexed, "met.seq", window);
    indexed.push(" OFFSET 0) found JOIN attempts USING (seq) WHERE ");
    narrow(&mut indexed);
    by_seq(db, indexed, "seq", window).await
}
