//! Named formats of training rows, as described in `configs/formats`.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::{FieldMap, OracleKind};
use crate::benchmark::Suite;
use crate::benchmark::format::{Expect, Format};
use crate::benchmark::reader::RowReader;
use crate::fault::nearest;

/// A format of rows, described by one file of `configs/formats`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowFormat {
    /// The name used in commands and the API.
    pub name: String,
    /// The name shown to people.
    pub title: String,
    /// Other names accepted by commands.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// Where such rows come from.
    pub source: String,
    /// The set's repository on the Hugging Face hub.
    #[serde(default)]
    pub hub: Option<String>,
    /// Whether it was run on the real set; otherwise on hand-made rows only.
    pub real: bool,
    /// Which column is what.
    pub format: Format,
    /// What else a row must have.
    #[serde(default)]
    pub expect: Expect,
}

/// No format has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no format `{name}`{hint}: valid are lyceum, suite, {known}")]
pub struct UnknownFormat {
    name: String,
    hint: String,
    known: String,
}

macro_rules! shipped {
    ($($name:literal),+ $(,)?) => {
        &[$(include_str!(concat!("../../../../configs/formats/", $name, ".toml"))),+]
    };
}

const SHIPPED: &[&str] = shipped![
    "gsm8k",
    "math",
    "deepscaler",
    "big_math",
    "humaneval",
    "mbpp",
    "evalplus",
    "livecodebench",
    "azr_code_o",
    "azr_code_i",
    "azr_code_f",
    "verl",
    "skywork",
    "openr1",
    "numina",
    "kodcode",
];

static FORMATS: LazyLock<Vec<RowFormat>> = LazyLock::new(|| {
    // A test reads every one of them.
    SHIPPED.iter().filter_map(|text| toml::from_str(text).ok()).collect()
});

/// Every named format.
pub fn row_formats() -> &'static [RowFormat] {
    &FORMATS
}

/// The format with this name or alias; case, `-`, `_` and spaces are ignored.
///
/// # Errors
/// There is no such format.
pub fn row_format(name: &str) -> Result<&'static RowFormat, UnknownFormat> {
    let plain = |name: &str| name.to_lowercase().replace(['-', '_', ' '], "");
    let names = |format: &'static RowFormat| [&format.name].into_iter().chain(&format.aliases);
    let asked = plain(name);
    let found = row_formats().iter().find(|format| names(format).any(|name| plain(name) == asked));
    found.ok_or_else(|| {
        let known: Vec<&str> = row_formats().iter().map(|format| format.name.as_str()).collect();
        UnknownFormat {
            name: name.to_owned(),
            hint: nearest(name, known.iter().copied())
                .map(|near| format!(" (did you mean `{near}`?)"))
                .unwrap_or_default(),
            known: known.join(", "),
        }
    })
}

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
            (Some(name), None, None) => {
                row_format(name).map(Self::Format).map_err(|unknown| vec![("format", unknown.to_string())])
            }
            (None, Some(oracle), Some(columns)) => {
                let map = FieldMap { oracle, columns };
                let format = map.format();
                let format =
                    format.map_err(|faults| faults.into_iter().map(|detail| ("map", detail)).collect::<Vec<_>>())?;
                Ok(Self::Map(map, Box::new(format)))
            }
            (None, Some(_), None) => {
                fault("map", "`oracle` is for rows that are read by a map: set `map`, or `format` instead")
            }
            (None, None, Some(_)) => {
                fault("oracle", "a map needs the kind of oracle: math, tests, code_o, code_i, code_f or python")
            }
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
            Self::Format(format) => {
                Some(RowReader { prefix: Some(&format.name), format: &format.format, expect: &format.expect })
            }
            Self::Map(_, format) => Some(RowReader { prefix: None, format, expect: &ANY }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_folder_is_built_in_and_can_be_read() {
        let mut known: Vec<String> =
            SHIPPED.iter().map(|text| toml::from_str::<RowFormat>(text).unwrap().name).collect();
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../configs/formats");
        let files = std::fs::read_dir(folder).unwrap().filter_map(|entry| {
            let path = entry.unwrap().path();
            (path.extension()? == "toml").then(|| path.file_stem().unwrap().to_string_lossy().into_owned())
        });
        let mut names: Vec<String> = files.collect();
        names.sort();
        known.sort();
        assert_eq!(names, known);
    }

    #[test]
    fn a_format_is_found_by_any_of_its_names() {
        assert_eq!(row_format("Big-Math").unwrap().name, "big_math");
        let error = row_format("deepscaller").unwrap_err().to_string();
        assert!(error.contains("did you mean `deepscaler`?"), "{error}");
    }
}
