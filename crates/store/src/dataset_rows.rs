//! Rows of a dataset in the runs that learn from them: their answers over time.

use lyceum_core::id::{DatasetId, ExecutionId};
use lyceum_core::recipe::RowAnswersRecord;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::{FromRow, PgConnection, PgPool, QueryBuilder};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::Result;
use crate::page::{Key, Keyed, Order, Page, Window, and, limited, order_by_value};
use crate::steps::{StepRef, Stretch};

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
#[derive(Clone, Debug, FromRow, Serialize, ToSchema)]
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
        Key { value: Some(self.position), seq: i64::from(self.row) }
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
    query.push(position).push(" AS position FROM row_answers WHERE run_id = ");
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
    and(&mut query, "first_solved >= ", filter.first_solved_from.map(u32::cast_signed));
    and(&mut query, "first_solved <= ", filter.first_solved_to.map(u32::cast_signed));
    let window = Window { order, ..*window };
    order_by_value(&mut query, ("position", "row"), &window);
    limited(db, query, &window).await
}

/// The rows of a run by their latest answers, at the end of some steps.
#[derive(Clone, Debug, PartialEq, Eq, FromRow, Serialize, ToSchema)]
pub struct DifficultyWindow {
    /// The first of the steps.
    pub step: i32,
    /// Rows without a correct answer when they were last asked.
    pub never: i64,
    /// Rows with correct and wrong answers when they were last asked.
    pub sometimes: i64,
    /// Rows with only correct answers when they were last asked.
    pub always: i64,
}

impl DifficultyWindow {
    /// Rows that have been asked.
    pub fn asked(&self) -> i64 {
        self.never + self.sometimes + self.always
    }
}

/// The rows of `run` that have been asked, by their latest answers, at the end of every `steps.width` steps.
pub async fn difficulty(db: &PgPool, run: ExecutionId, steps: Stretch) -> Result<Vec<DifficultyWindow>> {
    let [from, to, width] = steps.binds();
    Ok(sqlx::query_as(
        "SELECT DISTINCT ON (step / $2) step / $2 * $2 AS step, never, sometimes, always FROM row_difficulty
         WHERE run_id = $1 AND step BETWEEN $3 AND $4 ORDER BY step / $2, row_difficulty.step DESC",
    )
    .bind(run.0)
    .bind(width)
    .bind(from)
    .bind(to)
    .fetch_all(db)
    .await?)
}

/// Answers to rows with one value of a tag, in some steps.
#[derive(Clone, Debug, PartialEq, FromRow, Serialize, ToSchema)]
pub struct AskedRows {
    /// The first step.
    pub step: i32,
    /// The tag's value; none for rows without it.
    pub value: Option<String>,
    /// Answers.
    pub answers: i64,
    /// How many are correct.
    pub correct: i64,
}

/// Answers to the rows of `dataset` by the values of a tag, in every `steps.width` steps.
pub async fn asked_by_tag(
    db: &PgPool,
    run: ExecutionId,
    dataset: DatasetId,
    tag: &str,
    steps: Stretch,
) -> Result<Vec<AskedRows>> {
    let [from, to, width] = steps.binds();
    Ok(sqlx::query_as(
        "SELECT a.step / $2 * $2 AS step, coalesce(d.row #>> ARRAY['tags', $6], d.row ->> $6) AS value,
             sum(a.answers)::bigint AS answers, sum(a.correct)::bigint AS correct
         FROM row_answers a JOIN dataset_rows d ON d.dataset_id = $5 AND d.index = a.row
         WHERE a.run_id = $1 AND a.step BETWEEN $3 AND $4 GROUP BY 1, 2 ORDER BY 1, 2",
    )
    .bind(run.0)
    .bind(width)
    .bind(from)
    .bind(to)
    .bind(dataset.0)
    .bind(tag)
    .fetch_all(db)
    .await?)
}

/// Writes all of a step's counted answers, adds them to their problems, and counts the rows by difficulty.
pub(crate) async fn write(tx: &mut PgConnection, at: StepRef, records: &[RowAnswersRecord]) -> Result<()> {
    if records.is_empty() {
        return Ok(());
    }
    let column = |of: fn(&RowAnswersRecord) -> u32| -> Vec<i32> {
        records.iter().map(|record| of(record).cast_signed()).collect()
    };
    let problems: Vec<Uuid> = records.iter().map(|record| record.problem.0).collect();
    sqlx::query(
        "WITH inserted AS (
             INSERT INTO row_answers (run_id, step, row, problem_id, answers, correct)
             SELECT $1, $2, * FROM unnest($3::int[], $4::uuid[], $5::int[], $6::int[])
             ON CONFLICT DO NOTHING RETURNING row, problem_id, answers, correct
         ), summed AS (
             UPDATE problems p SET attempts = p.attempts + new.answers,
                 solve_rate = (round(coalesce(p.solve_rate, 0) * p.attempts) + new.correct) / (p.attempts + new.answers)
             FROM inserted new WHERE p.id = new.problem_id
         ), changed AS (
             SELECT new.correct = 0 AS is_never, new.correct = new.answers AS is_always,
                 old.correct = 0 AS was_never, old.correct = old.answers AS was_always
             FROM inserted new LEFT JOIN LATERAL (
                 SELECT answers, correct FROM row_answers
                 WHERE run_id = $1 AND row = new.row AND step < $2 ORDER BY step DESC LIMIT 1) old ON true
         ), moved AS (
             SELECT count(*) FILTER (WHERE is_never) - count(*) FILTER (WHERE was_never) AS never,
                 count(*) FILTER (WHERE is_always) - count(*) FILTER (WHERE was_always) AS always,
                 count(*) FILTER (WHERE was_never IS NULL) AS first
             FROM changed HAVING count(*) > 0
         ), before AS (
             SELECT never, sometimes, always FROM row_difficulty
             WHERE run_id = $1 AND step < $2 ORDER BY step DESC LIMIT 1
         )
         INSERT INTO row_difficulty (run_id, step, never, always, sometimes)
         SELECT $1, $2, coalesce(b.never, 0) + m.never, coalesce(b.always, 0) + m.always,
             coalesce(b.sometimes, 0) + m.first - m.never - m.always
         FROM moved m LEFT JOIN before b ON true ON CONFLICT DO NOTHING",
    )
    .bind(at.run.0)
    .bind(at.number())
    .bind(column(|record| record.row))
    .bind(problems)
    .bind(column(|record| record.answers))
    .bind(column(|record| record.correct))
    .execute(tx)
    .await?;
    Ok(())
}
