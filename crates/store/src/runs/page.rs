//! Lists of runs.

use sqlx::{FromRow, PgPool, QueryBuilder};

use super::row::{COLUMNS, FROM};
use super::{Run, RunColumn, RunFilter};
use crate::Result;
use crate::page::{Key, Keyed, Order, Page, Window, by_seq, limited, order_by_value};

/// How a list of runs is sorted. Values other than age are descending if the window is newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RunSort {
    #[default]
    Age,
    /// By current step.
    Step,
    /// By number of valid problems.
    ValidProblems,
    /// By number of occupied cells of the archive.
    Cells,
    /// By the difference from the base in the result by which a run is judged; runs without one come last.
    Difference,
    /// By the number in a column; runs without one come last.
    Column(RunColumn),
}

/// A run and the value by which it is sorted.
#[derive(FromRow)]
struct Sorted {
    #[sqlx(flatten)]
    run: Run,
    sorted_by: f32,
}

impl Keyed for Sorted {
    fn key(&self) -> Key {
        Key { value: Some(self.sorted_by), seq: self.run.seq }
    }
}

/// Numbers as cursors hold them. What they cannot hold (Postgres refuses to round it) is as small or large as they can, and
/// what is missing lies beyond. The offset keeps Postgres from evaluating the number once for each of its mentions.
const ROUNDED: &str = " OFFSET 0) AS own (number), LATERAL (SELECT (CASE WHEN abs(own.number) < 1e-30 THEN 0
    WHEN abs(own.number) > 1e30 THEN sign(own.number) * 1e30 ELSE own.number END)::real) AS rounded (number),
    LATERAL (SELECT coalesce(rounded.number, ";

/// Runs that fit `filter`, sorted.
pub async fn page(db: &PgPool, filter: &RunFilter, sort: &RunSort, window: &Window) -> Result<Page<Run>> {
    let mut query = QueryBuilder::new(format!("SELECT {COLUMNS}"));
    if *sort == RunSort::Age {
        query.push(format_args!(" {FROM}"));
        if !filter.conditions.is_empty() {
            filter.last.push_join(&mut query);
        }
        query.push(" WHERE e.kind = 'run'");
        filter.push(&mut query);
        return by_seq(db, query, "e.seq", window).await;
    }
    // What a run is sorted by is looked up for every run, and the rest of its row only for those on the page. A join that
    // no filter needs is left out by Postgres.
    query.push(format_args!(
        ", sorted.sorted_by {FROM} JOIN (SELECT e.id, value.number AS sorted_by FROM executions e LEFT JOIN runs r ON r.id = e.id"
    ));
    filter.last.push_join(&mut query);
    query.push(", LATERAL (SELECT ");
    match sort {
        RunSort::Age | RunSort::Step => query.push("e.step::double precision"),
        RunSort::ValidProblems => query.push("r.valid_problems::double precision"),
        RunSort::Cells => query.push("r.cells::double precision"),
        RunSort::Difference => query.push("(SELECT difference FROM run_outcomes o WHERE o.run_id = e.id)"),
        RunSort::Column(column) => {
            column.push_number(&mut query);
            &mut query
        }
    };
    let missing: f32 = match window.order {
        Order::Newest => -2e30,
        Order::Oldest => 2e30,
    };
    query.push(ROUNDED).push_bind(missing).push(")) AS value (number) WHERE e.kind = 'run'");
    filter.push(&mut query);
    order_by_value(&mut query, ("value.number", "e.seq"), window);
    query.push(" LIMIT ").push_bind(i64::from(window.limit) + 1).push(") AS sorted ON sorted.id = e.id");
    let whole = Window { after: None, ..*window };
    order_by_value(&mut query, ("sorted.sorted_by", "e.seq"), &whole);
    let page: Page<Sorted> = limited(db, query, window).await?;
    Ok(Page { items: page.items.into_iter().map(|sorted| sorted.run).collect(), next: page.next })
}
