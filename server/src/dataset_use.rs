//! Checks the datasets named in a run's config before the run begins.

use lyceum_core::{
    dataset::{DatasetUse, Purpose},
    fault::Fault,
    id::DatasetId,
};
use lyceum_store::{
    StoreError,
    datasets::{self, Dataset},
};
use sqlx::PgConnection;

/// Faults of the datasets of a config; pointers are those of the config.
pub(crate) async fn faults(db: &mut PgConnection, uses: &[DatasetUse]) -> Result<Vec<Fault>, StoreError> {
    let mut faults = Vec::new();
    for one in uses {
        match datasets::find(&mut *db, one.dataset).await {
            Ok(dataset) => faults.extend(misfits(&mut *db, one, &dataset).await?),
            Err(StoreError::NotFound { .. }) => {
                let detail = format!(
                    "there is no dataset {}: `lyceum dataset list --purpose {}` lists them",
                    one.dataset, one.purpose
                );
                faults.push(Fault::new(format!("{}/id", one.pointer), detail));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(faults)
}

async fn misfits(db: &mut PgConnection, one: &DatasetUse, dataset: &Dataset) -> Result<Vec<Fault>, StoreError> {
    let wanted = one.purpose;
    if dataset.purpose != wanted {
        let detail = format!(
            "dataset `{}` is for {}: import its rows with purpose `{wanted}`",
            dataset.name, dataset.purpose
        );
        return Ok(vec![Fault::new(format!("{}/id", one.pointer), detail)]);
    }
    let mut faults = Vec::new();
    let rows = dataset.rows.cast_unsigned();
    if let Some(asked) = one.rows.filter(|&asked| asked > rows) {
        let detail = format!("{asked} rows of dataset `{}`, which has {rows}", dataset.name);
        faults.push(Fault::new(format!("{}/rows", one.pointer), detail));
    }
    if !one.allow_overlap {
        for overlap in datasets::overlaps(db, DatasetId(dataset.id)).await? {
            if overlap.purpose == Purpose::Benchmark {
                let detail = format!(
                    "{} rows of dataset `{}` ask what the benchmark `{}` asks, whose scores would mean nothing: leave them out, \
                     or set `allow_overlap`",
                    overlap.rows, dataset.name, overlap.name
                );
                faults.push(Fault::new(format!("{}/allow_overlap", one.pointer), detail));
            }
        }
    }
    Ok(faults)
}
