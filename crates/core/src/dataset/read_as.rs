//! How the rows of a file are read.

use std::{collections::BTreeMap, sync::LazyLock};

use super::{FieldMap, OracleKind, RowFormat, row_format};
use crate::benchmark::{
    Suite,
    format::{Expect, Format},
    reader::RowReader,
};

/// How the rows of a file are read.
#[derive(Clone, Debug)]
pub enum ReadAs {
    /// In Lyceum's own form.
    Lyceum,
    /// As the file of a suite.
    Suite(&'static Suite),
    /// In a named format.
    Format(&'static RowFormat),
    /// By a field map, which describes the format.
    Map(FieldMap, Box<Format>),
}

/// A field map says where values are, not what they look like.
static ANY: LazyLock<Expect> = LazyLock::new(Expect::default);

impl ReadAs {
    /// What a request asks for: a `format` by name, with `suite` for that of its own file, or an `oracle` and the `columns` of
    /// its map; nothing is Lyceum's own form.
    ///
    /// # Errors
    /// What does not fit, by the name of the parameter.
    pub fn asked(
        format: Option<&str>,
        suite: Option<&'static Suite>,
        oracle: Option<OracleKind>,
        columns: Option<BTreeMap<String, String>>,
    ) -> Result<Self, Vec<(&'static str, String)>> {
        let fault = |parameter, detail: &str| Err(vec![(parameter, detail.to_owned())]);
        match (format, oracle, columns) {
            (None | Some("lyceum"), None, None) => Ok(Self::Lyceum),
            (Some("suite"), None, None) => match suite {
                Some(suite) => Ok(Self::Suite(suite)),
                None => fault("suite", "the format `suite` is that of a suite's own file: set `suite`"),
            },
            (Some(name), None, None) => row_format(name)
                .map(Self::Format)
                .map_err(|unknown| vec![("format", unknown.to_string())]),
            (None, Some(oracle), Some(columns)) => {
                let map = FieldMap { oracle, columns };
                let format = map.format();
                let format =
                    format.map_err(|faults| faults.into_iter().map(|detail| ("map", detail)).collect::<Vec<_>>())?;
                Ok(Self::Map(map, Box::new(format)))
            }
            (None, Some(_), None) => fault(
                "map",
                "`oracle` is for rows that are read by a map: set `map`, or `format` instead",
            ),
            (None, None, Some(_)) => fault(
                "oracle",
                "a map needs the kind of oracle: math, tests, code_o, code_i or code_f",
            ),
            (Some(_), ..) => fault("format", "set `format`, or `oracle` and `map`, but not both"),
        }
    }

    /// Its name in reports.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Lyceum => "lyceum".to_owned(),
            Self::Suite(suite) => format!("suite {}", suite.name),
            Self::Format(format) => format.name.clone(),
            Self::Map(map, _) => format!("map {}", map.oracle),
        }
    }

    pub(super) fn reader(&self) -> Option<RowReader<'_>> {
        match self {
            Self::Lyceum => None,
            Self::Suite(suite) => Some(RowReader::of(suite)),
            Self::Format(format) => Some(RowReader {
                prefix: Some(&format.name),
                format: &format.format,
                expect: &format.expect,
            }),
            Self::Map(_, format) => Some(RowReader {
                prefix: None,
                format,
                expect: &ANY,
            }),
        }
    }
}
