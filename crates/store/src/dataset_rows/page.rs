//! Lists of rows.

use lyceum_core::id::ExecutionId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::{FromRow, PgPool, QueryBuilder};
use uuid::Uuid;

use crate::{
    Result,
    page::{Key, Keyed, Order, Page, Window, and, limited, order_by_value},
};

/// How a row was answered when it was last asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LatestAnswers {
    /// Never correctly.
    Never,
    /// Sometimes correctly.
    Sometimes,
    /// Always correctly.
    Always,
}

/// A row of a dataset in a run that learns from it.
#[derive(Clone, Debug, FromRow, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct RowProgress {
    /// Its place in the dataset, from 0.
    pub row: i32,
    /// Its problem.
    pub problem_id: Uuid,
    /// The step in which it was first asked.
    pub first_asked: i32,
    /// The step in which it was last asked.
    pub last_asked: i32,
    /// The step of its first correct answer; none if there is no such answer.
    pub first_solved: Option<i32>,
    /// Answers in the step in which it was last asked.
    pub latest_answers: i32,
    /// How many of these are correct.
    pub latest_correct: i32,
    /// All answers to it.
    pub answers: i64,
    /// How many of them are correct.
    pub correct: i64,
    /// The run that has the problem: that from which this one was forked, for what it took over.
    #[serde(skip)]
    #[doc(hidden)]
    pub problem_run_id: Uuid,
    #[serde(skip)]
    #[doc(hidden)]
    pub position: f32,
}

impl Keyed for RowProgress {
    fn key(&self) -> Key {
        Key {
            value: Some(self.position),
            seq: i64::from(self.row),
        }
    }
}

/// Selects rows.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
pub struct RowFilter {
    /// `true` for rows with a correct answer, `false` for rows without any.
    pub solved: Option<bool>,
    /// How they were answered when they were last asked.
    pub latest: Option<LatestAnswers>,
    /// First solved in this step or later.
    #[schemars(range(max = 2_147_483_647))]
    pub first_solved_from: Option<u32>,
    /// First solved in this step or earlier.
    #[schemars(range(max = 2_147_483_647))]
    pub first_solved_to: Option<u32>,
    /// `row` (the default), `first_solved`, `last_solved`, `hardest` or `easiest`.
    pub sort: Option<RowSort>,
}

/// How a list of rows is sorted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum RowSort {
    /// By place in the dataset.
    #[default]
    Row,
    /// First solved first; those never solved last.
    FirstSolved,
    /// The other way round.
    LastSolved,
    /// Smallest share of correct answers first.
    Hardest,
    /// Largest share of correct answers first.
    Easiest,
}

impl RowSort {
    /// The value of a row that it is sorted by, and the order.
    fn position(self) -> (&'static str, Order) {
        const FIRST_SOLVED: &str = "coalesce(min(step) FILTER (WHERE correct > 0), 2147483647)::real";
        const SHARE: &str = "(sum(correct)::float8 / sum(answers))::real";
        match self {
            Self::Row => ("0::real", Order::Oldest),
            Self::FirstSolved => (FIRST_SOLVED, Order::Oldest),
            Self::LastSolved => (FIRST_SOLVED, Order::Newest),
            Self::Hardest => (SHARE, Order::Oldest),
            Self::Easiest => (SHARE, Order::Newest),
        }
    }
}

/// Rows of `run` that have been asked and fit `filter`. The order of `window` is ignored.
pub async fn page(db: &PgPool, run: ExecutionId, filter: &RowFilter, window: &Window) -> Result<Page<RowProgress>> {
    let (position, order) = filter.sort.unwrap_or_default().position();
    let mut query = QueryBuilder::new(
        "SELECT row, problem_id, (SELECT p.run_id FROM problems p WHERE p.id = rows.problem_id) AS problem_run_id, first_asked,
             last[1] AS last_asked, first_solved, last[2] AS latest_answers,
             last[3] AS latest_correct, answers, correct, position FROM (
             SELECT row, problem_id, min(step) AS first_asked, max(ARRAY[step, answers, correct]) AS last,
                 min(step) FILTER (WHERE correct > 0) AS first_solved,
                 sum(answers) AS answers, sum(correct) AS correct, ",
    );
    query
        .push(position)
        .push(" AS position FROM row_answers WHERE run_id = ");
    query.push_bind(run.0);
    query.push(" GROUP BY row, problem_id) rows WHERE true");
    match filter.solved {
        Some(true) => query.push(" AND first_solved IS NOT NULL"),
        Some(false) => query.push(" AND first_solved IS NULL"),
        None => &mut query,
    };
    query.push(match filter.latest {
        Some(LatestAnswers::Never) => " AND last[3] = 0",
        Some(LatestAnswers::Sometimes) => " AND last[3] > 0 AND last[3] < last[2]",
        Some(LatestAnswers::Always) => " AND last[3] = last[2]",
        None => "",
    });
    and(
        &mut query,
        "first_solved >= ",
        filter.first_solved_from.map(u32::cast_signed),
    );
    and(
        &mut query,
        "first_solved <= ",
        filter.first_solved_to.map(u32::cast_signed),
    );
    let window = Window { order, ..*window };
    order_by_value(&mut query, ("position", "row"), &window);
    limited(db, query, &window).await
}
