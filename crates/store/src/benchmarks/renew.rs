//! The results of measurements: each checkpoint's difference from its base, and the result of a run, which is the mean over its
//! members that solve. Computed in the transaction that writes the measurements, from all of them that are of the same way.

use std::collections::{BTreeMap, HashMap};

use lyceum_core::benchmark::Spread;
use lyceum_core::id::ExecutionId;
use lyceum_core::verdict::{Against, Comparison};
use sqlx::{AssertSqlSafe, FromRow, PgConnection, PgPool};
use uuid::Uuid;

use super::HELD_OUT_ROWS;
use crate::{Result, runs};

/// The hash of the contents of rows in their order; null if the dataset was deleted.
macro_rules! row_set {
    ($dataset:literal, $first:literal, $count:literal) => {
        concat!(
            "(SELECT encode(sha256(convert_to(string_agg(md5(row::text), '' ORDER BY index), 'UTF8')), 'hex')
              FROM dataset_rows WHERE dataset_id = ",
            $dataset,
            " AND index >= ",
            $first,
            " AND index < ",
            $first,
            " + ",
            $count,
            ")"
        )
    };
}

/// A suite's row set and a decoding: results that agree in them can be compared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, FromRow)]
struct Way {
    suite: String,
    row_set: String,
    decoding: String,
}

/// Names the row sets and decodings of an evaluation's new results, which are empty until then, and computes what depends on
/// them: its own runs' results, and those of runs that waited for the base to be measured so.
///
/// # Errors
/// Those of the database.
pub async fn renew(tx: &mut PgConnection, evaluation: ExecutionId) -> Result<()> {
    // Both are hashes of jsonb as Postgres prints it. Nobody knows any more which rows a deleted dataset had: results of one
    // run were measured on the same ones.
    let identify = concat!(
        "UPDATE benchmark_results SET row_set = coalesce(",
        row_set!("benchmark_results.dataset_id", "0", "benchmark_results.rows"),
        ", concat_ws('/', 'deleted', coalesce(run_id, evaluation_id), rows)),
            decoding = md5(jsonb_build_array(n, protocol -> 'prompts', protocol -> 'prompts_sha256',
                protocol -> 'chat_template_sha256', protocol -> 'temperature', protocol -> 'top_p',
                protocol -> 'max_tokens', protocol -> 'plain_notation')::text)
         WHERE evaluation_id = $1 AND row_set = ''"
    );
    sqlx::query(identify).bind(evaluation.0).execute(&mut *tx).await?;
    lock(tx).await?;
    let touched: Vec<Touched> = sqlx::query_as(
        "WITH new AS (SELECT DISTINCT run_id, role, suite, row_set, decoding, base_model FROM benchmark_results
             WHERE evaluation_id = $1)
         SELECT run_id, suite, row_set, decoding FROM new WHERE role <> 'base'
         UNION
         SELECT b.run_id, suite, row_set, decoding FROM new JOIN benchmark_results b USING (suite, row_set, decoding, base_model)
         WHERE new.role = 'base' AND b.role <> 'base' AND (b.reference IS NULL OR b.run_id = new.run_id)",
    )
    .bind(evaluation.0)
    .fetch_all(&mut *tx)
    .await?;
    for Touched { run_id, way } in touched {
        renew_way(tx, run_id, &way).await?;
    }
    Ok(())
}

/// Computes the results of one way that are to be computed again; false if there are none.
///
/// # Errors
/// Those of the database.
pub async fn renew_next(db: &PgPool) -> Result<bool> {
    let mut tx = db.begin().await?;
    let next: Option<Touched> = sqlx::query_as(
        "DELETE FROM results_to_renew WHERE ctid = (SELECT ctid FROM results_to_renew LIMIT 1 FOR UPDATE SKIP LOCKED)
         RETURNING run_id, suite, row_set, decoding",
    )
    .fetch_optional(&mut *tx)
    .await?;
    let Some(Touched { run_id, way }) = next else { return Ok(false) };
    match run_id {
        Some(run) if way.suite == HELD_OUT_ROWS => renew_held_out(&mut tx, ExecutionId(run)).await?,
        _ => {
            lock(&mut tx).await?;
            renew_way(&mut tx, run_id, &way).await?;
        }
    }
    tx.commit().await?;
    Ok(true)
}

#[derive(FromRow)]
struct Touched {
    run_id: Option<Uuid>,
    #[sqlx(flatten)]
    way: Way,
}

/// Of two that end at once, the second sees what the first wrote.
async fn lock(tx: &mut PgConnection) -> Result<()> {
    sqlx::query("SELECT pg_advisory_xact_lock(hashtextextended('run_results', 0))").execute(tx).await?;
    Ok(())
}

/// A measurement of a member.
#[derive(Debug, FromRow)]
struct Measured {
    seq: i64,
    member_id: Option<Uuid>,
    step: Option<i32>,
    solves: bool,
    of_suite: String,
    base_model: String,
    temperature: Option<f64>,
    n: i32,
    samples: Vec<i32>,
    correct: Vec<i32>,
    #[sqlx(flatten)]
    difference: Difference,
}

/// The share of right answers by row.
fn shares(samples: &[i32], correct: &[i32]) -> Vec<f64> {
    let share = |(n, correct): (&i32, &i32)| if *n > 0 { f64::from(*correct) / f64::from(*n) } else { 0.0 };
    samples.iter().zip(correct).map(share).collect()
}

/// Computes the differences of a run's members, or of what belongs to no run, and the run's results.
async fn renew_way(tx: &mut PgConnection, run: Option<Uuid>, way: &Way) -> Result<()> {
    if run.is_some() && runs::present(tx, run.into_iter().map(ExecutionId)).await?.is_empty() {
        return Ok(());
    }
    let measured: Vec<Measured> = sqlx::query_as(
        "SELECT seq, member_id, step, role IN ('student', 'member') AND step IS NOT NULL AS solves,
             coalesce(protocol ->> 'suite', suite) AS of_suite, base_model,
             coalesce((protocol ->> 'temperature')::float8, 0) AS temperature, n, samples, correct, reference, difference_low, difference_high
         FROM benchmark_results WHERE run_id IS NOT DISTINCT FROM $1 AND (suite, row_set, decoding) = ($2, $3, $4)
             AND role <> 'base' ORDER BY seq",
    )
    .bind(run)
    .bind(&way.suite)
    .bind(&way.row_set)
    .bind(&way.decoding)
    .fetch_all(&mut *tx)
    .await?;
    let mut bases: HashMap<&str, Option<Vec<f64>>> = HashMap::new();
    for one in &measured {
        if !bases.contains_key(one.base_model.as_str()) {
            bases.insert(&one.base_model, base(tx, run, way, &one.base_model).await?);
        }
        let reference = bases[one.base_model.as_str()].as_deref();
        let difference = Difference::of(reference, &shares(&one.samples, &one.correct));
        // The base's result may have been deleted with the run that measured it.
        let is_lost = reference.is_none() && one.difference.reference.is_some();
        if is_lost || difference == one.difference {
            continue;
        }
        sqlx::query(
            "UPDATE benchmark_results SET reference = $2, difference_low = $3, difference_high = $4 WHERE seq = $1",
        )
        .bind(one.seq)
        .bind(difference.reference)
        .bind(difference.difference_low)
        .bind(difference.difference_high)
        .execute(&mut *tx)
        .await?;
    }
    let Some(run) = run else { return Ok(()) };
    let points = points(&measured);
    let base_model = points.iter().map(|point| point.base_model).max();
    let base = base_model.and_then(|base_model| bases[base_model].as_deref());
    keep(tx, run, way, &points, base).await
}

/// The base's shares: the run's own measurement, or the first that anybody made.
async fn base(tx: &mut PgConnection, run: Option<Uuid>, way: &Way, base_model: &str) -> Result<Option<Vec<f64>>> {
    let found: Option<(Vec<i32>, Vec<i32>)> = sqlx::query_as(
        "SELECT samples, correct FROM benchmark_results
         WHERE role = 'base' AND (suite, row_set, decoding, base_model) = ($2, $3, $4, $5)
         ORDER BY (run_id = $1) IS TRUE DESC, seq LIMIT 1",
    )
    .bind(run)
    .bind(&way.suite)
    .bind(&way.row_set)
    .bind(&way.decoding)
    .bind(base_model)
    .fetch_optional(tx)
    .await?;
    Ok(found.map(|(samples, correct)| shares(&samples, &correct)))
}

/// Computes a run's results on the rows that it holds out of its own dataset. Those that are there keep their way, since the
/// dataset may have been deleted.
pub(crate) async fn renew_held_out(tx: &mut PgConnection, run: ExecutionId) -> Result<()> {
    #[derive(FromRow)]
    struct Row {
        #[sqlx(flatten)]
        way: Way,
        #[sqlx(flatten)]
        measured: Measured,
    }
    lock(tx).await?;
    let query = concat!(
        "WITH config AS (SELECT config -> 'parameters' AS parameters FROM executions WHERE id = $1),
         shapes AS (SELECT DISTINCT n, first_row, cardinality(correct) AS count FROM held_out_results WHERE run_id = $1),
         ways AS (SELECT shapes.*, coalesce(",
        row_set!(
            "CASE WHEN parameters #>> '{dataset,id}' ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
                 THEN (parameters #>> '{dataset,id}')::uuid END",
            "first_row",
            "count"
        ),
        ", concat_ws('/', 'deleted', $1, count)) AS row_set,
             md5(jsonb_build_array(n, parameters -> 'prompts', parameters -> 'sampling',
                 parameters #> '{held_out,temperature}')::text) AS decoding FROM shapes, config)
         SELECT $2 AS suite, coalesce(x.row_set, w.row_set) AS row_set, coalesce(x.decoding, w.decoding) AS decoding,
             h.seq, h.member_id, h.step, true AS solves, $2 AS of_suite, coalesce(p.base_model ->> 'name', '') AS base_model,
             NULL::float8 AS temperature, h.n, array_fill(h.n, ARRAY[w.count]) AS samples, h.correct,
             NULL::float8 AS reference, NULL::float8 AS difference_low, NULL::float8 AS difference_high
         FROM held_out_results h JOIN ways w ON (w.n, w.first_row, w.count) = (h.n, h.first_row, cardinality(h.correct))
         JOIN members m ON m.id = h.member_id JOIN populations p ON p.id = m.population_id
         LEFT JOIN run_results x ON x.run_id = $1 AND x.suite = $2 AND x.step = h.step
         WHERE h.run_id = $1 AND w.count > 0 ORDER BY h.seq"
    );
    let rows: Vec<Row> = sqlx::query_as(query).bind(run.0).bind(HELD_OUT_ROWS).fetch_all(&mut *tx).await?;
    let mut ways: BTreeMap<Way, Vec<Measured>> = BTreeMap::new();
    for Row { way, measured } in rows {
        ways.entry(way).or_default().push(measured);
    }
    for (way, measured) in &ways {
        keep(tx, run.0, way, &points(measured), None).await?;
    }
    Ok(())
}

/// The result of a run after a step, but for what it is compared with.
struct Point<'a> {
    step: i32,
    members: i32,
    of_suite: &'a str,
    base_model: &'a str,
    temperature: Option<f64>,
    n: i32,
    shares: Vec<f64>,
}

/// Of each step the newest measurement of each member that solves. `measured` is in the order in which it was written.
fn points(measured: &[Measured]) -> Vec<Point<'_>> {
    let mut steps: BTreeMap<i32, BTreeMap<Option<Uuid>, &Measured>> = BTreeMap::new();
    for one in measured.iter().filter(|one| one.solves) {
        if let Some(step) = one.step {
            steps.entry(step).or_default().insert(one.member_id, one);
        }
    }
    steps
        .into_iter()
        .filter_map(|(step, members)| Point::of(step, &members.into_values().collect::<Vec<_>>()))
        .collect()
}

impl<'a> Point<'a> {
    fn of(step: i32, members: &[&'a Measured]) -> Option<Self> {
        let last = members.iter().max_by_key(|one| (&one.base_model, &one.of_suite))?;
        let each: Vec<Vec<f64>> = members.iter().map(|one| shares(&one.samples, &one.correct)).collect();
        let mean = |row| {
            let of_row: Vec<f64> = each.iter().filter_map(|shares: &Vec<f64>| shares.get(row).copied()).collect();
            of_row.iter().sum::<f64>() / of_row.len() as f64
        };
        Some(Self {
            step,
            members: i32::try_from(members.len()).unwrap_or(i32::MAX),
            of_suite: &last.of_suite,
            base_model: &last.base_model,
            temperature: members.iter().filter_map(|one| one.temperature).reduce(f64::max),
            n: members.iter().map(|one| one.n).max()?,
            shares: (0..each.iter().map(Vec::len).max()?).map(mean).collect(),
        })
    }
}

/// How much shares exceed those of a reference.
#[derive(Clone, Copy, Debug, Default, PartialEq, FromRow)]
struct Difference {
    reference: Option<f64>,
    difference_low: Option<f64>,
    difference_high: Option<f64>,
}

impl Difference {
    /// Nothing without a reference on the same rows.
    fn of(reference: Option<&[f64]>, shares: &[f64]) -> Self {
        let reference = reference.filter(|reference| reference.len() == shares.len());
        let interval = reference.and_then(|reference| Comparison::paired(Against::Base, 0, reference, shares));
        Self {
            reference: reference.and_then(Spread::of).map(|spread| spread.mean),
            difference_low: interval.map(|compared| compared.difference.low),
            difference_high: interval.map(|compared| compared.difference.high),
        }
    }
}

/// Writes the results of a run that have changed, and removes those of steps whose measurements are gone. They are compared
/// with the base or, where it was not measured on these rows, with the first of them. A difference from a base whose result
/// was deleted stays as it is.
async fn keep(tx: &mut PgConnection, run: Uuid, way: &Way, points: &[Point<'_>], base: Option<&[f64]>) -> Result<()> {
    #[derive(FromRow)]
    struct Known {
        step: i32,
        members: i32,
        shares: Vec<f64>,
        reference_step: Option<i32>,
        #[sqlx(flatten)]
        difference: Difference,
    }
    const WAY: &str = "(run_id, suite, row_set, decoding) = ($1, $2, $3, $4)";
    let removal = AssertSqlSafe(format!("DELETE FROM run_results WHERE {WAY} AND step <> ALL($5)"));
    let of_way = |query| sqlx::query(query).bind(run).bind(&way.suite).bind(&way.row_set).bind(&way.decoding);
    of_way(removal).bind(points.iter().map(|point| point.step).collect::<Vec<_>>()).execute(&mut *tx).await?;
    let known = AssertSqlSafe(format!(
        "SELECT step, members, shares, reference, reference_step, difference_low, difference_high FROM run_results WHERE {WAY}"
    ));
    let known = sqlx::query_as(known).bind(run).bind(&way.suite).bind(&way.row_set).bind(&way.decoding);
    let known: Vec<Known> = known.fetch_all(&mut *tx).await?;
    let Some(first) = points.first() else { return Ok(()) };
    for point in points {
        let Some(spread) = Spread::of(&point.shares) else { continue };
        let of_base = base.filter(|base| base.len() == point.shares.len());
        let is_later = of_base.is_none() && point.step > first.step;
        let reference = of_base.or_else(|| is_later.then_some(&first.shares));
        let reference_step = Some(first.step).filter(|step| is_later && *step > 0);
        let difference = Difference::of(reference, &point.shares);
        let reference_step = reference_step.filter(|_| difference.reference.is_some());
        let before = known.iter().find(|known| known.step == point.step && known.shares == point.shares);
        if before.is_some_and(|before| {
            let was_of_base = before.difference.reference.is_some() && before.reference_step.is_none();
            let is_lost = base.is_none() && was_of_base && before.difference.reference != difference.reference;
            let new = (point.members, reference_step, difference);
            is_lost || (before.members, before.reference_step, before.difference) == new
        }) {
            continue;
        }
        sqlx::query(
            "INSERT INTO run_results (run_id, suite, row_set, decoding, step, of_suite, base_model, temperature, n, rows, members,
                 shares, pass_at_1, standard_error, reference, reference_step, difference_low, difference_high)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, cardinality($10), $11, $10, $12, $13, $14, $15, $16, $17)
             ON CONFLICT (run_id, suite, row_set, decoding, step) DO UPDATE SET of_suite = $6, base_model = $7, temperature = $8,
                 n = $9, rows = cardinality($10), members = $11, shares = $10, pass_at_1 = $12, standard_error = $13,
                 reference = $14, reference_step = $15, difference_low = $16, difference_high = $17",
        )
        .bind(run)
        .bind(&way.suite)
        .bind(&way.row_set)
        .bind(&way.decoding)
        .bind(point.step)
        .bind(point.of_suite)
        .bind(point.base_model)
        .bind(point.temperature)
        .bind(point.n)
        .bind(&point.shares)
        .bind(point.members)
        .bind(spread.mean)
        .bind(spread.standard_error)
        .bind(difference.reference)
        .bind(reference_step)
        .bind(difference.difference_low)
        .bind(difference.difference_high)
        .execute(&mut *tx)
        .await?;
    }
    Ok(())
}
