//! What an import's query asks for.

use lyceum_core::{
    benchmark::{Suite, suite},
    dataset::{Filters, Intake, Purpose, ReadAs},
};
use std::collections::BTreeMap;

use super::ImportDatasetQuery;
use crate::{
    api_error::ApiError,
    hub::{Address, NotAnAddress},
};

/// How a file is read, checked and filtered.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) purpose: Purpose,
    pub(super) suite: Option<&'static Suite>,
    pub(super) hub: Option<Address>,
    pub(super) split: Option<String>,
    read_as: ReadAs,
    filters: Filters,
}

impl Plan {
    /// # Errors
    /// Every parameter that does not fit.
    pub(super) fn of(asked: &ImportDatasetQuery) -> Result<Self, ApiError> {
        let mut faults: Vec<(String, String)> = Vec::new();
        let mut fault = |parameter: &str, detail: String| faults.push((parameter.to_owned(), detail));
        let purpose = Purpose::from(asked.purpose);
        let suite = asked.suite.as_deref().map(suite).transpose().unwrap_or_else(|unknown| {
            fault("suite", unknown.to_string());
            None
        });
        let hub = asked.hub.as_deref().map(str::parse).transpose();
        let hub = hub.unwrap_or_else(|wrong: NotAnAddress| {
            fault("hub", wrong.to_string());
            None
        });
        if asked.split.is_some() && asked.hub.is_none() {
            fault(
                "split",
                "a split is of a repository on the hub: set `hub` as well".to_owned(),
            );
        }
        let read_as = read_as(asked, suite, &mut fault);
        if purpose == Purpose::Seeds && !matches!(read_as, Some(ReadAs::Lyceum) | None) {
            fault(
                "purpose",
                "seeds are read in Lyceum's own form (`snippet`, `input`): leave `format` and `map` out".to_owned(),
            );
        }
        let filters = Filters {
            min_question_bytes: asked.min_question_bytes.map(u64::from),
            max_question_bytes: asked.max_question_bytes.map(u64::from),
            // A score on part of a suite is not a score on the suite.
            keep_duplicates: asked.keep_duplicates.unwrap_or(purpose == Purpose::Benchmark),
            skip_bad: asked.skip_bad,
        };
        if let Some(percent) = asked.skip_bad.filter(|percent| *percent > 100) {
            fault(
                "skip_bad",
                format!("{percent} is no share of the rows: 0 to 100 percent are valid"),
            );
        }
        if asked.skip_bad.is_some() && purpose == Purpose::Benchmark {
            fault(
                "skip_bad",
                "a score on part of a suite is not a score on the suite: leave it out for benchmarks".to_owned(),
            );
        }
        if let (Some(least), Some(most)) = (filters.min_question_bytes, filters.max_question_bytes)
            && least > most
        {
            fault(
                "min_question_bytes",
                format!("{least} is more than `max_question_bytes`, {most}"),
            );
        }
        match read_as {
            Some(read_as) if faults.is_empty() => Ok(Self {
                purpose,
                suite,
                hub,
                split: asked.split.clone(),
                read_as,
                filters,
            }),
            _ => Err(ApiError::invalid_query(faults)),
        }
    }

    pub(super) fn intake(self) -> Intake {
        Intake::new(self.purpose, self.suite, self.read_as, self.filters)
    }
}

fn read_as(
    asked: &ImportDatasetQuery,
    suite: Option<&'static Suite>,
    fault: &mut impl FnMut(&str, String),
) -> Option<ReadAs> {
    let columns = asked
        .map
        .as_deref()
        .map(serde_json::from_str::<BTreeMap<String, String>>);
    let columns = columns.transpose().map_err(|error| {
        let example = r#"{"question": "problem", "gold": "answer"}"#;
        fault(
            "map",
            format!("it is not a JSON object of columns by field, such as {example}: {error}"),
        );
    });
    match ReadAs::asked(asked.format.as_deref(), suite, asked.oracle, columns.ok()?) {
        Ok(read_as) => Some(read_as),
        Err(faults) => {
            // That the suite is unknown was said already.
            let unsaid = |parameter| parameter != "suite" || asked.suite.is_none();
            for (parameter, detail) in faults.into_iter().filter(|(parameter, _)| unsaid(*parameter)) {
                fault(parameter, detail);
            }
            None
        }
    }
}
