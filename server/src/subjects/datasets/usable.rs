//! Which datasets a run can use.

use lyceum_core::config::{RunConfig, resolve};
use lyceum_core::dataset::{DatasetRef, DatasetUse, Purpose, TagUse, TestPolicy, problem};
use lyceum_core::fault::{Fault, Faults};
use lyceum_core::id::DatasetId;
use lyceum_core::recipe::RowTags;
use lyceum_store::datasets::{self, BadRow, CheckState, Dataset, DatasetCheck};
use lyceum_store::page::{Order, Window};
use lyceum_store::{StoreError, rewards};
use serde_json::{Value, json};
use sqlx::{PgConnection, PgPool};
use std::collections::BTreeSet;

use crate::api_error::ApiError;
use crate::contract::document::apart;
use crate::lab::Lab;
use crate::subjects::datasets::shipped::ShippedDataset;

/// Maximum number of rows that are named in a fault.
const NAMED: u32 = 5;

/// The config with its datasets looked up: each named by its id and with the number of its rows, as a run stores it. A shipped
/// dataset is imported if need be. The faults' pointers are those of the config.
pub(crate) async fn settle(
    db: &mut PgConnection,
    lab: &Lab,
    uses: &[DatasetUse],
    config: RunConfig,
) -> Result<Result<RunConfig, Faults>, ApiError> {
    let mut document = serde_json::to_value(&config).map_err(|error| ApiError::internal(&error))?;
    let (mut faults, mut is_changed) = (Vec::new(), false);
    for one in uses {
        if let Some((pointer, digest)) = &one.reward {
            faults.extend(rewards::unknown(&mut *db, pointer, *digest).await?);
        }
        let Some(mut dataset) = find(&mut *db, one).await? else {
            faults.push(missing(one));
            continue;
        };
        if dataset.purpose == one.purpose {
            dataset = match usable(&mut *db, lab.store.pool(), dataset, one.tests).await? {
                Ok(dataset) => dataset,
                Err(detail) => {
                    faults.push(Fault::new(format!("{}/allow_unchecked", one.pointer), detail));
                    continue;
                }
            };
        }
        // Nobody deletes it before the run is there.
        if !datasets::hold(&mut *db, DatasetId(dataset.id)).await? {
            faults.push(missing(one));
            continue;
        }
        faults.extend(misfits(&mut *db, one, &dataset).await?);
        is_changed |= write(&mut document, one, &dataset);
    }
    Ok(match faults.is_empty() {
        false => Err(Faults(faults)),
        // Only now the number of rows is known, which other values have to fit.
        true if is_changed => {
            let registry = lab.registry.clone();
            apart(move || resolve(&document, &registry)).await?
        }
        true => Ok(config),
    })
}

/// The dataset, imported if it ships with Lyceum.
async fn find(db: &mut PgConnection, one: &DatasetUse) -> Result<Option<Dataset>, StoreError> {
    let (found, shipped) = match &one.dataset {
        DatasetRef::Name(name) => (datasets::find_named(&mut *db, name).await?, ShippedDataset::named(name)),
        DatasetRef::Id(id) => match datasets::find(&mut *db, *id).await {
            Ok(found) => (Some(found), None),
            Err(StoreError::NotFound { .. }) => (None, ShippedDataset::with_id(*id)),
            Err(error) => return Err(error),
        },
    };
    match (found, shipped) {
        (None, Some(shipped)) => Ok(Some(shipped.import(db).await?)),
        (found, _) => Ok(found),
    }
}

fn missing(one: &DatasetUse) -> Fault {
    let import = match &one.dataset {
        DatasetRef::Name(name) => {
            format!("`lyceum dataset import FILE --purpose {} --name '{name}'` imports one, ", one.purpose)
        }
        DatasetRef::Id(_) => String::new(),
    };
    let detail = format!(
        "there is no dataset {}: {import}`lyceum dataset list --purpose {}` lists them",
        one.dataset, one.purpose
    );
    Fault::new(format!("{}/{}", one.pointer, one.dataset.field()), detail)
}

/// Writes the id and the number of rows in place of the name; whether anything changed.
fn write(document: &mut Value, one: &DatasetUse, dataset: &Dataset) -> bool {
    let is_settled = one.dataset == DatasetRef::Id(DatasetId(dataset.id)) && one.rows.is_some();
    let Some(named) = document.pointer_mut(&one.pointer).and_then(Value::as_object_mut) else { return false };
    if !is_settled {
        named.remove("name");
        named.insert("id".to_owned(), json!(dataset.id));
        named.insert("rows".to_owned(), json!(one.rows.unwrap_or(dataset.rows.cast_unsigned())));
    }
    !is_settled
}

async fn misfits(db: &mut PgConnection, one: &DatasetUse, dataset: &Dataset) -> Result<Vec<Fault>, StoreError> {
    let wanted = one.purpose;
    if dataset.purpose != wanted {
        let detail =
            format!("dataset `{}` is for {}: import its rows with purpose `{wanted}`", dataset.name, dataset.purpose);
        return Ok(vec![Fault::new(format!("{}/{}", one.pointer, one.dataset.field()), detail)]);
    }
    let mut faults = Vec::new();
    let rows = dataset.rows.cast_unsigned();
    if let Some(asked) = one.rows.filter(|&asked| asked > rows) {
        let detail = format!("{asked} rows of dataset `{}`, which has {rows}", dataset.name);
        faults.push(Fault::new(format!("{}/rows", one.pointer), detail));
    }
    faults.extend(kind_fault(&mut *db, one, dataset).await?);
    faults.extend(tag_fault(&mut *db, one, dataset).await?);
    if !one.allow_overlap {
        let id = DatasetId(dataset.id);
        for overlap in datasets::overlaps(&mut *db, id).await? {
            if overlap.purpose == Purpose::Benchmark {
                let rows = datasets::overlapping_rows(&mut *db, id, DatasetId(overlap.dataset_id), NAMED).await?;
                let detail = format!(
                    "{} rows of dataset `{}` ask what the benchmark `{}` asks ({}), whose scores would mean nothing: leave \
                     them out, or set `allow_overlap`",
                    overlap.rows,
                    dataset.name,
                    overlap.name,
                    named(&rows, overlap.rows)
                );
                faults.push(Fault::new(format!("{}/allow_overlap", one.pointer), detail));
            }
        }
    }
    Ok(faults)
}

/// The rows that repeat tasks of a benchmark, of which there are `all`.
fn named(rows: &[(i32, Option<String>)], all: i64) -> String {
    let name = |(row, task): &(i32, Option<String>)| match task {
        Some(task) => format!("row {row} is `{task}`"),
        None => format!("row {row}"),
    };
    let mut named: Vec<String> = rows.iter().map(name).collect();
    let more = all - rows.len() as i64;
    if more > 0 {
        named.push(format!("and {more} more"));
    }
    named.join(", ")
}

/// The fault of the first row of a kind that the run cannot use.
async fn kind_fault(db: &mut PgConnection, one: &DatasetUse, dataset: &Dataset) -> Result<Option<Fault>, StoreError> {
    if one.kinds.is_empty() {
        return Ok(None);
    }
    let rows = one.rows.unwrap_or(dataset.rows.cast_unsigned());
    let examples = datasets::examples(db, DatasetId(dataset.id), rows).await?;
    let other = examples.iter().find_map(|(place, row)| {
        let kind = problem(place.cast_unsigned() as usize, row).ok()?.oracle.kind();
        (!one.kinds.contains(&kind)).then_some((place, kind))
    });
    Ok(other.map(|(place, kind)| {
        let valid: Vec<&str> = one.kinds.iter().map(|kind| kind.name()).collect();
        let detail = format!(
            "row {place} of dataset `{}` is a problem of type {}: import one with rows of type {} only",
            dataset.name,
            kind.name(),
            valid.join(" or ")
        );
        Fault::new(format!("{}/{}", one.pointer, one.dataset.field()), detail)
    }))
}

/// The fault of a tag that some rows lack, or of a value that none has.
async fn tag_fault(db: &mut PgConnection, one: &DatasetUse, dataset: &Dataset) -> Result<Option<Fault>, StoreError> {
    let Some(TagUse { pointer, tag, values, rows: needed, held_out }) = &one.tag else { return Ok(None) };
    let rows = 0..one.rows.unwrap_or(dataset.rows.cast_unsigned()).saturating_sub(*held_out);
    let tags = datasets::tags(db, DatasetId(dataset.id), tag).await?;
    let sizes = tags.sizes(&rows);
    let used: BTreeSet<&String> =
        tags.values.iter().zip(&sizes).filter(|(_, size)| **size > 0).map(|(value, _)| value).collect();
    let detail = if let Some(row) = tags.of_rows(&rows).iter().position(|place| *place == RowTags::NONE) {
        format!("row {row} of dataset `{}` has no tag `{tag}`, which every row needs", dataset.name)
    } else if let Some(value) = values.iter().find(|value| !used.contains(value)) {
        let known: Vec<&str> = used.iter().take(NAMED as usize).map(|value| value.as_str()).collect();
        let more = if used.len() > known.len() { " and more" } else { "" };
        format!(
            "no row of dataset `{}` has the tag `{tag}` with `{value}`: {}{more} are valid",
            dataset.name,
            known.join(", ")
        )
    } else {
        let asked = |value: &String| values.is_empty() || values.contains(value);
        let sized = tags.values.iter().zip(&sizes).filter(|(value, size)| **size > 0 && asked(value));
        let Some((value, size)) = sized.into_iter().find(|(_, size)| *size < needed) else { return Ok(None) };
        format!(
            "too few rows of dataset `{}` have the tag `{tag}` with `{value}` for a batch of {needed} ({size}): a smaller `batch`, or \
             `levels` without `{value}`, is valid",
            dataset.name
        )
    };
    Ok(Some(Fault::new(pointer, detail)))
}

/// The rows of `dataset` that may be used, or why none may. A check that is missing is planned, in a transaction of its own: the
/// request is refused.
pub(crate) async fn usable(
    db: &mut PgConnection,
    pool: &PgPool,
    dataset: Dataset,
    policy: TestPolicy,
) -> Result<Result<Dataset, String>, StoreError> {
    let id = DatasetId(dataset.id);
    let Some(check) = datasets::check(&mut *db, id).await? else { return Ok(Ok(dataset)) };
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
        let first = Window { limit: NAMED, after: None, order: Order::Oldest };
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
