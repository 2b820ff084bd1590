//! Named formats of training rows, as described in `configs/formats`.

use serde::Deserialize;
use std::sync::LazyLock;

use crate::{
    benchmark::format::{Expect, Format},
    fault::nearest,
};

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
    let found = row_formats()
        .iter()
        .find(|format| names(format).any(|name| plain(name) == asked));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_folder_is_built_in_and_can_be_read() {
        let mut known: Vec<String> = SHIPPED
            .iter()
            .map(|text| toml::from_str::<RowFormat>(text).unwrap().name)
            .collect();
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
