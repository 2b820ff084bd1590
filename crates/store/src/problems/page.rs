//! Lists of problems, and searching them by words and properties, in list order.

use lyceum_core::id::{ExecutionId, MemberId};
use serde::Serialize;
use sqlx::postgres::PgRow;
use sqlx::{FromRow, PgPool, Postgres, QueryBuilder};
use uuid::Uuid;

use super::Problem;
use super::row::{BRIEF, FULL, LEFT_OUT};
use crate::Result;
use crate::page::{Key, Keyed, Order, Page, Window, and, limited, order_by_seq, order_by_value};

/// Selects problems.
#[derive(Clone, Debug, Default)]
pub struct ProblemFilter {
    pub step: Option<u32>,
    pub problem_type: Option<String>,
    /// Valid or invalid ones.
    pub valid: Option<bool>,
    pub status: Option<String>,
    pub proposer: Option<MemberId>,
    /// In this cell of the archive.
    pub cell: Option<u32>,
    /// With at least this solve rate.
    pub solve_rate_min: Option<f32>,
    /// With at most this solve rate.
    pub solve_rate_max: Option<f32>,
    /// With these words in program or reason.
    pub text: Option<String>,
    /// Minimum and maximum of AST depth, cyclomatic complexity, lines and variables.
    pub complexity: [(Option<f32>, Option<f32>); 4],
    /// With prompt, proposal, values and parts of the reward.
    pub full: bool,
}

/// How a list of problems is sorted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProblemSort {
    /// By age, in the window's order.
    #[default]
    Age,
    /// Least solved first.
    Hardest,
    /// Most solved first.
    Easiest,
}

/// Problems of `run` that fit `filter`.
pub async fn page(
    db: &PgPool,
    run: ExecutionId,
    filter: &ProblemFilter,
    sort: ProblemSort,
    window: &Window,
) -> Result<Page<Problem>> {
    let search = Search {
        run: Some(run),
        filter,
        sort,
        window,
        columns: format!("{BRIEF}, {}", if filter.full { FULL } else { LEFT_OUT }),
        join: "",
    };
    search.page(db).await
}

/// A problem of any run.
#[derive(Clone, Debug, FromRow, Serialize)]
pub struct FoundProblem {
    pub run_id: Uuid,
    /// The run's name.
    pub run: String,
    #[sqlx(flatten)]
    #[serde(flatten)]
    pub problem: Problem,
}

impl Keyed for FoundProblem {
    fn key(&self) -> Key {
        Key { value: None, seq: self.problem.seq }
    }
}

/// Problems of all runs that fit `filter`, by age, without long fields.
pub async fn page_of_all_runs(db: &PgPool, filter: &ProblemFilter, window: &Window) -> Result<Page<FoundProblem>> {
    let brief: Vec<String> = BRIEF.split(',').map(|column| format!("problems.{}", column.trim())).collect();
    let search = Search {
        run: None,
        filter,
        sort: ProblemSort::Age,
        window,
        columns: format!("problems.run_id, r.name AS run, {}, {LEFT_OUT}", brief.join(", ")),
        join: "JOIN runs r ON r.id = problems.run_id",
    };
    search.page(db).await
}

/// How many problems are scanned in list order before indices are used.
const STRETCH: i64 = 8000;

/// A search and the form of its results.
///
/// Postgres cannot estimate how common a combination of conditions is, and each strategy is slow for some: scanning the list
/// for a rare one, indices for one that half of all problems meet. So a stretch of the list is scanned first. Common matches
/// fill a page from it; if they do not, they are rare enough for the indices, whose matches are sorted afterwards. Either way
/// a page is full unless there are no more matches.
pub(super) struct Search<'a> {
    /// The run to search; `None` for all.
    pub(super) run: Option<ExecutionId>,
    /// The conditions.
    pub(super) filter: &'a ProblemFilter,
    /// The order.
    pub(super) sort: ProblemSort,
    /// The part of the list.
    pub(super) window: &'a Window,
    /// The columns, of a table called `problems`.
    pub(super) columns: String,
    pub(super) join: &'static str,
}

impl Search<'_> {
    /// Runs the search.
    pub(super) async fn page<T>(&self, db: &PgPool) -> Result<Page<T>>
    where
        T: Keyed + Send + Unpin + for<'r> FromRow<'r, PgRow>,
    {
        if self.is_in_order_of_an_index() {
            let mut query = self.select();
            query.push("problems ").push(self.join).push(" WHERE true");
            self.facets(&mut query);
            self.order(&mut query);
            return limited(db, query, self.window).await;
        }
        let mut stretch = self.select();
        stretch.push("(SELECT * FROM problems WHERE true");
        if self.run.is_some() {
            self.facets(&mut stretch);
        }
        self.order(&mut stretch);
        stretch.push(" LIMIT ").push_bind(STRETCH).push(") problems ");
        stretch.push(self.join).push(" WHERE true");
        if self.run.is_none() {
            self.facets(&mut stretch);
        }
        self.bounds_and_words(&mut stretch);
        self.order(&mut stretch);
        let page = limited(db, stretch, self.window).await?;
        if page.next.is_some() {
            return Ok(page);
        }
        let mut indexed = self.select();
        indexed.push("(SELECT * FROM problems WHERE true");
        self.facets(&mut indexed);
        self.bounds_and_words(&mut indexed);
        // OFFSET keeps the planner from scanning the list here as well.
        indexed.push(" OFFSET 0) problems ");
        indexed.push(self.join).push(" WHERE true");
        self.order(&mut indexed);
        limited(db, indexed, self.window).await
    }

    fn select(&self) -> QueryBuilder<Postgres> {
        QueryBuilder::new(format!("SELECT {} FROM ", self.columns))
    }

    /// Whether an index has the matches in list order: within a run, all conditions on values; over all runs, one of
    /// them.
    fn is_in_order_of_an_index(&self) -> bool {
        let filter = self.filter;
        let by_bounds_or_words =
            filter.text.is_some() || filter.complexity.iter().any(|(low, high)| low.or(*high).is_some());
        if self.run.is_some() || by_bounds_or_words {
            return !by_bounds_or_words;
        }
        let in_order = [filter.problem_type.is_some(), filter.status.is_some(), filter.proposer.is_some()];
        let others = [
            filter.step.is_some(),
            filter.valid.is_some(),
            filter.cell.is_some(),
            filter.solve_rate_min.is_some(),
            filter.solve_rate_max.is_some(),
        ];
        in_order.iter().chain(&others).filter(|asked| **asked).count()
            <= in_order.iter().filter(|asked| **asked).count().min(1)
    }

    fn facets(&self, query: &mut QueryBuilder<Postgres>) {
        let filter = self.filter;
        and(query, "problems.run_id = ", self.run.map(|run| run.0));
        and(query, "step = ", filter.step.map(u32::cast_signed));
        and(query, "type = ", filter.problem_type.clone());
        and(query, "valid = ", filter.valid);
        and(query, "status = ", filter.status.clone());
        and(query, "proposer_id = ", filter.proposer.map(|id| id.0));
        and(query, "cell = ", filter.cell.map(u32::cast_signed));
        and(query, "solve_rate >= ", filter.solve_rate_min);
        and(query, "solve_rate <= ", filter.solve_rate_max);
    }

    fn bounds_and_words(&self, query: &mut QueryBuilder<Postgres>) {
        let bounds = [
            ("ast_depth >= ", "ast_depth <= "),
            ("cyclomatic >= ", "cyclomatic <= "),
            ("loc >= ", "loc <= "),
            ("variables >= ", "variables <= "),
        ];
        for ((at_least, at_most), (low, high)) in bounds.into_iter().zip(self.filter.complexity) {
            and(query, at_least, low);
            and(query, at_most, high);
        }
        if let Some(text) = &self.filter.text {
            query.push(" AND search @@ plainto_tsquery('simple', ");
            query.push_bind(text.clone()).push(")");
        }
    }

    fn order(&self, query: &mut QueryBuilder<Postgres>) {
        let order = match self.sort {
            ProblemSort::Age => return order_by_seq(query, "problems.seq", self.window),
            ProblemSort::Hardest => Order::Oldest,
            ProblemSort::Easiest => Order::Newest,
        };
        query.push(" AND solve_rate IS NOT NULL");
        let window = Window { order, ..*self.window };
        order_by_value(query, ("solve_rate", "problems.seq"), &window);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn direct(run: Option<ExecutionId>, filter: &ProblemFilter) -> bool {
        let search = Search {
            run,
            filter,
            sort: ProblemSort::Age,
            window: &Window { limit: 1, after: None, order: Order::Newest },
            columns: String::new(),
            join: "",
        };
        search.is_in_order_of_an_index()
    }

    #[test]
    fn what_an_index_has_in_order_is_read_from_it() {
        let all = ProblemFilter::default();
        let typed = ProblemFilter { problem_type: Some("code_o".to_owned()), ..ProblemFilter::default() };
        let typed_and_valid = ProblemFilter { valid: Some(true), ..typed.clone() };
        let long = ProblemFilter {
            complexity: [(None, None), (None, None), (Some(9.0), None), (None, None)],
            ..ProblemFilter::default()
        };
        let stepped = ProblemFilter { step: Some(3), ..ProblemFilter::default() };
        let run = Some(ExecutionId(uuid::Uuid::nil()));
        assert_eq!(
            [&all, &typed, &typed_and_valid, &stepped, &long].map(|filter| direct(None, filter)),
            [true, true, false, false, false]
        );
        assert_eq!(
            [&all, &typed, &typed_and_valid, &stepped, &long].map(|filter| direct(run, filter)),
            [true, true, true, true, false]
        );
    }
}
