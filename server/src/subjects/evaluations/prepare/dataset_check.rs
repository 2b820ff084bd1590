//! Checks of datasets: resolves the dataset that is named.

use lyceum_core::config::RunConfig;
use lyceum_core::evaluation::DatasetCheckSpec;
use lyceum_core::fault::Faults;
use lyceum_core::id::DatasetId;
use lyceum_core::recipe::{DatasetCheckEvaluation, DatasetCheckParameters};
use lyceum_store::{datasets, rewards};

use super::{Request, Unprepared, fault};

/// The config of the check of a dataset; pointers begin at `/spec`.
pub(super) async fn configured(request: &Request<'_>, spec: &DatasetCheckSpec) -> Result<RunConfig, Unprepared> {
    let (db, name) = (request.store.pool(), &spec.dataset);
    let Some(dataset) = datasets::find_called(db, name).await? else {
        let detail = format!("there is no dataset `{name}`: `lyceum dataset list` shows all");
        return Err(fault("/spec/dataset", detail));
    };
    let id = DatasetId(dataset.id);
    if let Some((rows, tried)) = spec.dry_run() {
        match &tried.oracle {
            Some(oracle) => {
                if let Some(unknown) = rewards::unknown(db, "/spec/oracle/file", oracle.file).await? {
                    return Err(Faults(vec![unknown]).into());
                }
            }
            None if rewards::of_dataset(db, id, 1).await?.is_empty() => {
                let detail = format!(
                    "the rows of dataset `{}` name no reward: {{\"type\": \"python\", \"file\": DIGEST}} is valid",
                    dataset.name
                );
                return Err(fault("/spec/oracle", detail));
            }
            None => {}
        }
        return config(
            request,
            DatasetCheckParameters { dataset: id, rows: rows.min(dataset.rows.cast_unsigned()), dry_run: Some(tried) },
        );
    }
    if datasets::check(db, id).await?.is_none() {
        let detail = format!(
            "no row of dataset `{}` has tests: only rows with an oracle of type `script` are checked",
            dataset.name
        );
        return Err(fault("/spec/dataset", detail));
    }
    let parameters = DatasetCheckParameters { dataset: id, rows: dataset.rows.cast_unsigned(), dry_run: None };
    config(request, parameters)
}

fn config(request: &Request<'_>, parameters: DatasetCheckParameters) -> Result<RunConfig, Unprepared> {
    let mut config = DatasetCheckEvaluation.config(parameters)?;
    config.seed = request.seed;
    config.scheduling.priority = request.priority;
    Ok(config)
}
