//! Suites: what `configs/benchmarks` says about each.

use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, sync::LazyLock};

use crate::fault::nearest;

/// A suite of tasks. One file of `configs/benchmarks` each.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    /// The name used in commands, SQL and the API.
    pub name: String,
    /// The name that people write.
    pub title: String,
    /// Other names that commands understand.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// The paper, and which rows.
    pub source: String,
    /// The average that it counts to.
    pub group: Group,
    /// Its place among the columns of a table.
    pub order: u32,
    /// Rows of the complete suite; none where releases differ.
    #[serde(default)]
    pub rows: Option<u32>,
    /// How its file is read.
    pub format: Format,
    /// What tells its file from others.
    #[serde(default)]
    pub expect: Expect,
    /// How models are asked, unless an evaluation says otherwise.
    pub protocol: Protocol,
    /// Where it is on the hub.
    #[serde(default)]
    pub hub: Option<Hub>,
}

/// What a suite measures. The papers average the first two apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// Programs.
    Code,
    /// Mathematics.
    Math,
    /// Problems made by Lyceum, which no published average has.
    HeldOut,
}

/// How a line of a suite's file becomes a row.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Format {
    /// HumanEval: `task_id`, `prompt`, `entry_point`, `canonical_solution`, `test`.
    HumanEval {},
    /// EvalPlus: `task_id`, `prompt`, `entry_point`, `canonical_solution`, `base_input`, `plus_input`, `atol`.
    EvalPlus {},
    /// LiveCodeBench: `question_content`, `question_id`, `contest_date`, `starter_code`, test cases, `metadata`.
    LiveCodeBench {},
    /// A question and an answer.
    Math {
        /// Fields that may hold the question; the first that a row has counts.
        question: Vec<String>,
        /// Where the answer is.
        gold: Gold,
        /// Fields that may name the task; the number of the row where it has none of them.
        #[serde(default)]
        id: Vec<String>,
        /// Fields that are kept as tags.
        #[serde(default)]
        tags: Vec<String>,
    },
    /// Problems of self-play: `task_id`, `type`, and `program`, `input`, `output` or `message`, `pairs`.
    SelfPlay {},
}

/// Where a row has its right answer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gold {
    /// The field.
    pub field: String,
    /// It is what follows the last of this mark.
    #[serde(default)]
    pub after: Option<String>,
    /// It is what the last `\boxed{}` holds.
    #[serde(default)]
    pub boxed: bool,
    /// It is the first of a list.
    #[serde(default)]
    pub first: bool,
}

/// What a row of this suite, and of no other, looks like.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Expect {
    /// Fields that a row has besides those that are read.
    pub required: Vec<String>,
    /// Fields that it does not have.
    pub absent: Vec<String>,
    /// Fields that are numbers, or texts of numbers.
    pub numeric: Vec<String>,
    /// Fields that, where they are there, hold nothing.
    pub empty: Vec<String>,
    /// What fields, where they are there, begin with.
    pub prefix: BTreeMap<String, String>,
    /// What fields, where they are there, hold somewhere.
    pub contains: BTreeMap<String, String>,
}

/// How models are asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Protocol {
    /// The style of the prompts: a file of `configs/benchmarks/prompts`.
    pub prompts: String,
    /// Softmax temperature; 0 is greedy.
    #[schemars(range(min = 0.0, max = 100.0))]
    pub temperature: f64,
    /// Nucleus.
    #[serde(default = "one")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub top_p: f64,
    /// Tokens of an answer, at most.
    #[schemars(range(min = 1))]
    pub max_tokens: u32,
}

fn one() -> f64 {
    1.0
}

/// A file of the Hugging Face hub.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hub {
    /// The dataset, such as `HuggingFaceH4/MATH-500`.
    pub repository: String,
    /// The file in it.
    pub file: String,
}

/// A description that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the description of a suite: {0}")]
pub struct SuiteError(#[from] toml::de::Error);

/// A name that no suite has.
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
    /// What is wrong with it, with its line.
    pub fn from_toml(text: &str) -> Result<Self, SuiteError> {
        Ok(toml::from_str(text)?)
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
];

static SUITES: LazyLock<Vec<Suite>> = LazyLock::new(|| {
    // Every one of them is read by a test.
    let mut suites: Vec<Suite> = SHIPPED.iter().filter_map(|text| Suite::from_toml(text).ok()).collect();
    suites.sort_by_key(|suite| suite.order);
    suites
});

/// Every suite, in the order of a table's columns.
pub fn shipped_suites() -> &'static [Suite] {
    &SUITES
}

/// The suite called `name`, or by one of its other names; case, `-`, `_` and spaces do not count, and `+` is `plus`.
///
/// # Errors
/// When there is none.
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
        known: shipped_suites()
            .iter()
            .map(|suite| suite.name.as_str())
            .collect::<Vec<_>>()
            .join(", "),
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
