//! Suites, as described in `configs/benchmarks`.

use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

use super::Question;
use super::format::{Expect, Format};
use crate::fault::nearest;
use crate::work::{MAX_TEMPERATURE, Sampling};

/// A suite of tasks, described by one file of `configs/benchmarks`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    /// The name used in commands, SQL and the API.
    pub name: String,
    /// The name shown to people.
    pub title: String,
    /// Other names accepted by commands.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// The paper, and which rows are used.
    pub source: String,
    /// The average it counts towards.
    pub group: Group,
    /// Its place among the columns of a table.
    pub order: u32,
    /// Rows of the complete suite; left out if releases differ.
    #[serde(default)]
    pub rows: Option<u32>,
    /// How its file is read.
    pub format: Format,
    /// What distinguishes its file from other suites' files.
    #[serde(default)]
    pub expect: Expect,
    /// How models are asked, unless an evaluation overrides it.
    pub protocol: Protocol,
    /// Its location on the Hugging Face hub.
    #[serde(default)]
    pub hub: Option<Hub>,
}

/// The subject of a suite. The papers average the first two separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// Programs.
    Code,
    /// Mathematics.
    Math,
    /// Problems made by Lyceum; not part of any published average.
    HeldOut,
}

/// How models are asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Protocol {
    /// The prompt style: a file of `configs/benchmarks/prompts`.
    pub prompts: String,
    /// Softmax temperature; 0 is greedy.
    #[schemars(range(min = 0.0, max = MAX_TEMPERATURE))]
    pub temperature: f64,
    /// Nucleus sampling: the probability mass to sample from.
    #[serde(default = "one")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub top_p: f64,
    /// Maximum tokens per answer.
    #[schemars(range(min = 1))]
    pub max_tokens: u32,
    /// Whether mathematical answers may also be in plain notation, such as `pi/2` or `exp(16)-1`. As in other evaluations,
    /// only LaTeX is read by default.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub plain_notation: bool,
}

impl Protocol {
    /// Why `n` samples a row cannot be drawn so, if they cannot.
    pub fn misfit(&self, n: u32) -> Option<String> {
        (n > 1 && self.temperature == 0.0).then(|| {
            format!("{n} samples at temperature 0 would be the same {n} times: set `temperature`, or `n` to 1")
        })
    }

    /// How answers are sampled that end at `stop`.
    pub fn sampling(&self, stop: Vec<String>) -> Sampling {
        Sampling {
            temperature: self.temperature,
            top_p: self.top_p,
            max_tokens: self.max_tokens,
            stop,
            ..Sampling::default()
        }
    }
}

fn one() -> f64 {
    1.0
}

/// A file on the Hugging Face hub.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hub {
    /// The dataset, such as `HuggingFaceH4/MATH-500`.
    pub repository: String,
    /// The file in the dataset.
    pub file: String,
}

/// The description is not valid.
#[derive(Debug, thiserror::Error)]
#[error("suite description: {0}")]
pub struct SuiteError(#[from] toml::de::Error);

/// No suite has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no suite `{name}`{hint}: valid are {known}")]
pub struct UnknownSuite {
    name: String,
    hint: String,
    known: String,
}

impl Suite {
    /// Reads a description.
    ///
    /// # Errors
    /// The fault, with its line.
    pub fn from_toml(text: &str) -> Result<Self, SuiteError> {
        Ok(toml::from_str(text)?)
    }

    /// Whether its rows have such an oracle.
    pub fn asks(&self, oracle: &Question) -> bool {
        self.format.asks(oracle)
    }
}

macro_rules! shipped {
    ($($name:literal),+ $(,)?) => {
        &[$(include_str!(concat!("../../../../configs/benchmarks/", $name, ".toml"))),+]
    };
}

const SHIPPED: &[&str] = shipped![
    "humaneval",
    "humaneval_plus",
    "mbpp_plus",
    "livecodebench",
    "gsm8k",
    "math500",
    "amc23",
    "aime24",
    "aime25",
    "minerva_math",
    "olympiadbench",
    "held-out-seedling",
    "held-out-outputs",
    "held-out-seedling-math",
];

static SUITES: LazyLock<Vec<Suite>> = LazyLock::new(|| {
    // A test reads every one of them.
    let mut suites: Vec<Suite> = SHIPPED.iter().filter_map(|text| Suite::from_toml(text).ok()).collect();
    suites.sort_by_key(|suite| suite.order);
    suites
});

/// Every suite, in the order of a table's columns.
pub fn shipped_suites() -> &'static [Suite] {
    &SUITES
}

/// The suite with this name or alias; case, `-`, `_` and spaces are ignored, and `+` reads as `plus`.
///
/// # Errors
/// There is no such suite.
pub fn suite(name: &str) -> Result<&'static Suite, UnknownSuite> {
    let plain = |name: &str| name.to_lowercase().replace('+', "plus").replace(['-', '_', ' '], "");
    let asked = plain(name);
    let found = shipped_suites()
        .iter()
        .find(|suite| plain(&suite.name) == asked || suite.aliases.iter().any(|alias| plain(alias) == asked));
    found.ok_or_else(|| UnknownSuite {
        name: name.to_owned(),
        hint: nearest(name, shipped_suites().iter().map(|suite| suite.name.as_str()))
            .map(|near| format!(" (did you mean `{near}`?)"))
            .unwrap_or_default(),
        known: shipped_suites().iter().map(|suite| suite.name.as_str()).collect::<Vec<_>>().join(", "),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::benchmark::PromptStyle;

    #[test]
    fn every_file_of_the_folder_is_built_in_and_can_be_used() {
        for text in SHIPPED {
            let suite = Suite::from_toml(text).unwrap();
            PromptStyle::shipped(&suite.protocol.prompts).unwrap();
        }
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../configs/benchmarks");
        let files = std::fs::read_dir(folder).unwrap().filter_map(|entry| {
            let path = entry.unwrap().path();
            (path.extension()? == "toml").then(|| path.file_stem().unwrap().to_string_lossy().into_owned())
        });
        let mut names: Vec<String> = files.collect();
        names.sort();
        let mut known: Vec<String> = shipped_suites().iter().map(|suite| suite.name.clone()).collect();
        known.sort();
        assert_eq!(names, known);
    }

    #[test]
    fn a_suite_is_found_by_any_of_its_names() {
        for name in ["humaneval_plus", "HumanEval+", "human-eval-plus", "humanevalplus"] {
            assert_eq!(suite(name).unwrap().name, "humaneval_plus");
        }
        assert_eq!(suite("minerva").unwrap().name, "minerva_math");
        let error = suite("gms8k").unwrap_err().to_string();
        assert!(error.contains("did you mean `gsm8k`?"), "{error}");
    }
}
