//! A row of a suite as Lyceum stores it, whatever the format of its file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

use crate::artifact::Digest;
use crate::problem::Values;
use crate::verify::{CodePair, MAX_REWARD_TIMEOUT, ProblemKind, RewardPackage};

/// One task of a suite. JSON values from the file (inputs of any size) are kept as text, since databases and parsers
/// round numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BenchmarkRow {
    /// The task's name within its suite, such as `HumanEval/0` or `gsm8k/17`.
    pub task_id: String,
    /// The question as written in the file. Also used to find overlap with training data.
    pub question: String,
    /// A correct solution, if the file has one: a whole program or an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canonical: Option<String>,
    /// The kind of answer, and how it is checked.
    pub oracle: Question,
    /// Subject, level, date and the like, for filters.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
}

/// The kind of answer a row wants, and what it is checked against.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Question {
    /// HumanEval: a function, tested by code that defines `check(candidate)`.
    Script {
        /// The function's name.
        entry_point: String,
        /// The test code.
        test: String,
    },
    /// EvalPlus: a function, compared with a reference program on inputs.
    Reference {
        /// The function's name.
        entry_point: String,
        /// The reference program.
        reference: String,
        /// Argument lists of the base benchmark, each as JSON text.
        base_inputs: Vec<String>,
        /// Argument lists added by EvalPlus.
        plus_inputs: Vec<String>,
        /// Absolute tolerance for floats.
        atol: f64,
    },
    /// LiveCodeBench: a program that reads standard input, or a method of `Solution`.
    LiveCodeBench {
        /// The method's name; `None` for a program.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        entry_point: Option<String>,
        /// The code a solution starts with; may be empty.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        starter_code: String,
        /// `public_test_cases`, as in the file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        public_test_cases: Option<String>,
        /// `private_test_cases`, as in the file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        private_test_cases: Option<String>,
    },
    /// An answer to a mathematics question.
    Math {
        /// The correct answer.
        gold: String,
    },
    /// The output of a program (deduction).
    CodeO {
        program: String,
        /// Its arguments.
        input: String,
    },
    /// An input that produces an output (abduction).
    CodeI { program: String, output: String },
    /// A program that maps inputs to outputs (induction).
    CodeF {
        /// The description shown to the solver.
        message: String,
        /// Inputs and outputs; the first half, rounded up, is shown.
        pairs: Vec<CodePair>,
    },
    /// Any text, scored by the user's own reward.
    Python {
        /// The digest of its file.
        file: Digest,
        /// Its text, which is stored once for all rows.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<String>,
        /// Seconds of CPU time for a completion.
        #[serde(default = "default_timeout")]
        timeout: u32,
        /// Packages that it needs.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        packages: Vec<RewardPackage>,
        /// What the reward gets as `row`.
        #[serde(default)]
        row: Map<String, Value>,
    },
}

fn default_timeout() -> u32 {
    5
}

/// A reward of the user's own that scores rows in place of what they name themselves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OwnOracle {
    /// `python`: a Python file with `score(prompt, completion, row)`.
    pub r#type: OwnOracleType,
    /// The digest of the file, which `lyceum reward add FILE` stores.
    pub file: Digest,
    /// Seconds of CPU time for a completion.
    #[serde(default = "default_timeout")]
    #[schemars(range(min = 1, max = MAX_REWARD_TIMEOUT))]
    pub timeout: u32,
    /// Packages that it needs, of those of the sandbox: `numpy`, `sympy`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub packages: Vec<RewardPackage>,
}

/// What kind of reward an [`OwnOracle`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OwnOracleType {
    Python,
}

impl OwnOracle {
    /// `row` with this oracle; `source` is the text of its file. A row of another oracle is given to the reward as it is stored.
    #[must_use]
    pub fn judging(&self, row: &BenchmarkRow, source: &str) -> BenchmarkRow {
        let data = match (&row.oracle, serde_json::to_value(row)) {
            (Question::Python { row, .. }, _) => row.clone(),
            (_, Ok(Value::Object(row))) => row,
            (_, _) => Map::new(),
        };
        BenchmarkRow {
            oracle: Question::Python {
                file: self.file,
                source: Some(source.to_owned()),
                timeout: self.timeout,
                packages: self.packages.clone(),
                row: data,
            },
            canonical: row.own_answer().map(str::to_owned),
            ..row.clone()
        }
    }
}

impl BenchmarkRow {
    /// A correct answer, if the row has one.
    pub fn own_answer(&self) -> Option<&str> {
        match &self.oracle {
            Question::Math { gold } => Some(gold),
            _ => self.canonical.as_deref(),
        }
    }

    /// The row's values as a problem: the parts shown to a solver and the hidden ones.
    pub fn values(&self) -> Values {
        let canonical = self.canonical.clone();
        match &self.oracle {
            Question::CodeO { input, .. } => Values::Io { input: Some(input.clone()), output: canonical },
            Question::CodeI { output, .. } => Values::Io { input: canonical, output: Some(output.clone()) },
            Question::CodeF { message, pairs } => {
                let (inputs, outputs) = pairs.iter().cloned().unzip();
                Values::Function {
                    inputs,
                    outputs,
                    message: message.clone(),
                    // Rounded up so that at least one pair is shown. Self-play rounds down, as Absolute Zero does.
                    shown: pairs.len().div_ceil(2),
                }
            }
            Question::Math { gold } => Values::Math { question: self.question.clone(), answer: gold.clone() },
            Question::Python { .. } => {
                Values::Math { question: self.question.clone(), answer: canonical.unwrap_or_default() }
            }
            Question::Script { .. } | Question::Reference { .. } | Question::LiveCodeBench { .. } => Values::Code {
                question: self.question.clone(),
                canonical,
                entry_point: self.oracle.entry_point().map(str::to_owned),
                starter_code: self.oracle.starter_code().map(str::to_owned),
                tests: None,
            },
        }
    }
}

impl Question {
    /// The kind of problem a solver gets.
    pub fn kind(&self) -> ProblemKind {
        match self {
            Self::CodeO { .. } => ProblemKind::CodeO,
            Self::CodeI { .. } => ProblemKind::CodeI,
            Self::CodeF { .. } => ProblemKind::CodeF,
            Self::Math { .. } | Self::Python { .. } => ProblemKind::Math,
            Self::Script { .. } | Self::Reference { .. } | Self::LiveCodeBench { .. } => ProblemKind::Code,
        }
    }

    /// The program the question is about, if there is one.
    pub fn program(&self) -> Option<&str> {
        match self {
            Self::CodeO { program, .. } | Self::CodeI { program, .. } => Some(program),
            _ => None,
        }
    }

    /// The function under test, if there is one.
    pub fn entry_point(&self) -> Option<&str> {
        match self {
            Self::Script { entry_point, .. } | Self::Reference { entry_point, .. } => Some(entry_point),
            Self::LiveCodeBench { entry_point, .. } => entry_point.as_deref(),
            _ => None,
        }
    }

    /// The code a solution starts with, if there is any.
    pub fn starter_code(&self) -> Option<&str> {
        match self {
            Self::LiveCodeBench { starter_code, .. } => Some(starter_code.as_str()).filter(|code| !code.is_empty()),
            _ => None,
        }
    }

    /// The name of its type in JSON.
    pub fn name(&self) -> &'static str {
        self.into()
    }

    /// Whether a solution is a program.
    pub fn is_code(&self) -> bool {
        matches!(self, Self::Script { .. } | Self::Reference { .. } | Self::LiveCodeBench { .. } | Self::CodeF { .. })
    }

    /// How many of a verdict's tests belong to the base benchmark, if base and added tests are counted separately.
    pub fn base_tests(&self) -> Option<usize> {
        match self {
            Self::Reference { base_inputs, .. } => Some(base_inputs.len()),
            _ => None,
        }
    }
}
