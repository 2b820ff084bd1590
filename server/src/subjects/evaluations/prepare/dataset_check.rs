//! Checks of datasets: resolves the dataset that is named.

use lyceum_core::{
    config::RunConfig, evaluation::DatasetCheckSpec, id::DatasetId, recipe::DatasetCheckEvaluation,
    recipe::DatasetCheckParameters,
};
use lyceum_store::datasets;

use super::{Request, Unprepared, fault};

/// The config of the check of a dataset; pointers begin at `/spec`.
pub(super) async fn configured(request: &Request<'_>, spec: &DatasetCheckSpec) -> Result<RunConfig, Unprepared> {
    let (db, name) = (request.store.pool(), &spec.dataset);
    let Some(dataset) = datasets::find_called(db, name).await? else {
        let detail = format!("there is no dataset `{name}`: `lyceum dataset list` shows all");
        return Err(fault("/spec/dataset", detail));
    };
    let id = DatasetId(dataset.id);
    if datasets::check(db, id).await?.is_none() {
        let detail = format!(
            "no row of dataset `{}` has tests: only rows with an oracle of type `script` are checked",
            dataset.name
        );
        return Err(fault("/spec/dataset", detail));
    }
    let mut config = DatasetCheckEvaluation.config(DatasetCheckParameters {
        dataset: id,
        rows: dataset.rows.cast_unsigned(),
    })?;
    config.seed = request.seed;
    config.scheduling.priority = request.priority;
    Ok(config)
}
