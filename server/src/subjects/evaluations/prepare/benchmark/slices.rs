//! Resolves the suites of an evaluation to exact rows and protocols.

use lyceum_core::benchmark::{Protocol, Suite, SuiteChoice, SuiteRequest, suite};
use lyceum_core::dataset::Purpose;
use lyceum_core::fault::Fault;
use lyceum_core::id::DatasetId;
use lyceum_core::recipe::SuiteSlice;
use lyceum_store::StoreError;
use lyceum_store::datasets::{self, Dataset};
use sqlx::{PgConnection, PgPool};

use crate::subjects::datasets::shipped::ShippedDataset;
use crate::subjects::datasets::usable::usable;

/// The default protocol of suites.
#[derive(Clone, Copy, Default)]
pub(super) struct Defaults<'a> {
    pub(super) rows: Option<u32>,
    pub(super) prompts: Option<&'a str>,
    pub(super) temperature: Option<f64>,
    pub(super) top_p: Option<f64>,
    pub(super) max_tokens: Option<u32>,
    /// Suites that are resolved already, as long as their rows are there.
    pub(super) settled: &'a [SuiteSlice],
}

/// The slices of `choices`, or all their faults; `pointer` is that of the list.
pub(super) async fn slices(
    db: &mut PgConnection,
    pool: &PgPool,
    choices: &[SuiteChoice],
    defaults: Defaults<'_>,
    pointer: &str,
) -> Result<(Vec<SuiteSlice>, Vec<Fault>), StoreError> {
    let mut faults = SuiteChoice::faults(choices.iter().enumerate(), pointer);
    let mut slices = Vec::new();
    for (at, choice) in choices.iter().enumerate() {
        let request = choice.request();
        let Ok(suite) = suite(&request.suite) else { continue };
        let settled = defaults.settled.iter().find(|slice| slice.name() == request.result_name());
        if let Some(slice) = settled {
            match datasets::find(&mut *db, slice.dataset).await {
                Err(StoreError::NotFound { .. }) => {}
                found => {
                    found?;
                    slices.push(slice.clone());
                    continue;
                }
            }
        }
        match usable_of(&mut *db, pool, suite, &request).await? {
            Ok(dataset) => {
                let rows = request.rows.or(defaults.rows).unwrap_or(u32::MAX);
                let dataset = match rows < dataset.rows.cast_unsigned() {
                    true => datasets::sample(db, &dataset, rows).await?,
                    false => dataset,
                };
                slices.push(slice(suite, &dataset, request, defaults));
            }
            Err(detail) => faults.push(Fault::new(choice.place(pointer, at, "dataset"), detail)),
        }
    }
    faults.sort_by(|a, b| a.pointer.cmp(&b.pointer));
    Ok((slices, faults))
}

/// Faults of the datasets of `choices` that are there. Choices without a dataset are resolved when the measurement starts.
pub(crate) async fn named_dataset_faults(
    db: &mut PgConnection,
    pool: &PgPool,
    choices: &[SuiteChoice],
    pointer: &str,
) -> Result<Vec<Fault>, StoreError> {
    let mut faults = Vec::new();
    for (at, choice) in choices.iter().enumerate() {
        let request = choice.request();
        let Ok(suite) = suite(&request.suite) else { continue };
        let is_there = request.dataset.is_some() || datasets::newest_of_suite(&mut *db, &suite.name).await?.is_some();
        if is_there && let Err(detail) = usable_of(&mut *db, pool, suite, &request).await? {
            faults.push(Fault::new(choice.place(pointer, at, "dataset"), detail));
        }
    }
    Ok(faults)
}

/// The rows to measure with, if their tests can be used; an error says why not.
async fn usable_of(
    db: &mut PgConnection,
    pool: &PgPool,
    suite: &Suite,
    request: &SuiteRequest,
) -> Result<Result<Dataset, String>, StoreError> {
    match dataset_of(&mut *db, suite, request).await? {
        Ok(dataset) => usable(db, pool, dataset, request.tests()).await,
        missing => Ok(missing),
    }
}

/// The requested dataset, or the suite's newest benchmark, or its shipped rows; an error says why there is none.
async fn dataset_of(
    db: &mut PgConnection,
    suite: &Suite,
    request: &SuiteRequest,
) -> Result<Result<Dataset, String>, StoreError> {
    let Some(id) = request.dataset else {
        let newest = match datasets::newest_of_suite(&mut *db, &suite.name).await? {
            None => match ShippedDataset::of_suite(&suite.name) {
                Some(shipped) => Some(shipped.import(db).await?),
                None => None,
            },
            found => found,
        };
        return Ok(newest.ok_or_else(|| {
            format!("no rows of `{}` have been imported: lyceum benchmark import {} FILE", suite.name, suite.name)
        }));
    };
    let dataset = match datasets::find(db, id).await {
        Ok(dataset) => dataset,
        Err(StoreError::NotFound { .. }) => {
            return Ok(Err(format!("there is no dataset {id}: `lyceum dataset list` shows all")));
        }
        Err(error) => return Err(error),
    };
    let wrong = if dataset.purpose == Purpose::Seeds {
        Some("has seeds, which cannot be used to judge answers".to_owned())
    } else if dataset.suite.as_deref() != Some(&suite.name) {
        let of = dataset.suite.as_deref().unwrap_or("none");
        Some(format!("belongs to the suite `{of}`, not `{}`: import its rows with --suite {}", suite.name, suite.name))
    } else {
        None
    };
    Ok(match wrong {
        Some(wrong) => Err(format!("dataset `{}` {wrong}", dataset.name)),
        None => Ok(dataset),
    })
}

fn slice(suite: &Suite, dataset: &Dataset, request: SuiteRequest, defaults: Defaults<'_>) -> SuiteSlice {
    let shipped = &suite.protocol;
    let prompts = request.prompts.or_else(|| defaults.prompts.map(str::to_owned));
    SuiteSlice {
        suite: suite.name.clone(),
        name: request.name.filter(|name| *name != suite.name),
        dataset: DatasetId(dataset.id),
        rows: dataset.rows.cast_unsigned(),
        n: request.n,
        protocol: Protocol {
            prompts: prompts.unwrap_or_else(|| shipped.prompts.clone()),
            temperature: request.temperature.or(defaults.temperature).unwrap_or(shipped.temperature),
            top_p: request.top_p.or(defaults.top_p).unwrap_or(shipped.top_p),
            max_tokens: request.max_tokens.or(defaults.max_tokens).unwrap_or(shipped.max_tokens),
            plain_notation: request.plain_notation.unwrap_or(shipped.plain_notation),
        },
    }
}
