//! Refuses datasets whose rows have tests that were not tried, or that cannot be used.

use lyceum_core::{dataset::TestPolicy, id::DatasetId};
use lyceum_store::{
    StoreError,
    datasets::{self, BadRow, CheckState, Dataset, DatasetCheck},
    page::{Order, Window},
};
use sqlx::{PgConnection, PgPool};

/// Bad rows that a refusal names.
const NAMED: u32 = 5;

/// The rows of `dataset` that may be used, or why none may. A check that is missing is planned, in a transaction of its own: the
/// request is refused.
pub(crate) async fn usable(
    db: &mut PgConnection,
    pool: &PgPool,
    dataset: Dataset,
    policy: TestPolicy,
) -> Result<Result<Dataset, String>, StoreError> {
    let id = DatasetId(dataset.id);
    let Some(check) = datasets::check(&mut *db, id).await? else {
        return Ok(Ok(dataset));
    };
    let is_checked = check.state == CheckState::Checked;
    if is_checked && check.bad_rows == 0 {
        return Ok(Ok(dataset));
    }
    if is_checked && policy.leave_out_bad_rows && check.bad_rows < i64::from(dataset.rows) {
        return Ok(Ok(datasets::without_bad_rows(db, &dataset).await?));
    }
    if policy.allow_unchecked {
        return Ok(Ok(dataset));
    }
    if is_checked {
        let first = Window {
            limit: NAMED,
            after: None,
            order: Order::Oldest,
        };
        let bad = datasets::bad_rows(pool, id, &first).await?;
        return Ok(Err(bad_rows(&dataset, &check, &bad.items)));
    }
    if check.state == CheckState::Unchecked {
        let mut tx = pool.begin().await?;
        datasets::plan_check(&mut tx, &dataset).await?;
        tx.commit().await?;
    }
    Ok(Err(unchecked(&dataset, &check)))
}

fn unchecked(dataset: &Dataset, check: &DatasetCheck) -> String {
    let Dataset { id, name, rows, .. } = dataset;
    let state = match (check.state, &check.error) {
        (CheckState::Checking, _) => format!("are being checked ({} of {rows} rows)", check.rows),
        (_, Some(error)) => format!("have not been checked: the last check failed ({error}), another one begins now"),
        (_, None) => "have not been checked, which begins now".to_owned(),
    };
    format!(
        "the tests of dataset `{name}` {state}: wait for it (`lyceum dataset check {id}`), or set `allow_unchecked` to use its \
         rows as they are"
    )
}

fn bad_rows(dataset: &Dataset, check: &DatasetCheck, first: &[BadRow]) -> String {
    let (all, Dataset { name, rows, .. }) = (check.bad_rows, dataset);
    let mut named: Vec<String> = first
        .iter()
        .map(|row| {
            let place = match row.line {
                Some(line) => format!("line {line}"),
                None => format!("row {}", row.index),
            };
            format!("{place} {}", row.reason.told())
        })
        .collect();
    if all > named.len() as i64 {
        named.push(format!("and {} more", all - named.len() as i64));
    }
    format!(
        "{all} of {rows} rows of dataset `{name}` have tests that cannot be used ({}): mend and import them again, set \
         `leave_out_bad_rows`, or `allow_unchecked` to use them all the same",
        named.join(", ")
    )
}
