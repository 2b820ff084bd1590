//! How a row of a file becomes a row of Lyceum: the formats of suites, of training sets and of field maps.
//!
//! Columns are named as in the file; a dotted name such as `reward_model.ground_truth` or `prompt.0.content` is a column
//! within a column.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

use super::Question;
use crate::artifact::Digest;
use crate::verify::RewardPackage;

/// How a row of a file is read.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Format {
    /// HumanEval: `task_id`, `prompt`, `entry_point`, `test`, and `canonical_solution` if the set has solutions.
    HumanEval {},
    /// EvalPlus: `task_id`, `prompt`, `entry_point`, `canonical_solution`, `base_input`, `plus_input`, `atol`.
    EvalPlus {},
    /// LiveCodeBench: `question_content`, `question_id`, `contest_date`, `starter_code`, test cases, `metadata`.
    LiveCodeBench {},
    /// A question and an answer.
    Math {
        /// Columns that may hold the question; the first one present is used.
        question: Vec<String>,
        /// Where the correct answer is.
        gold: Gold,
        /// Columns that may name the task; without any of them, the row's number.
        #[serde(default)]
        id: Vec<String>,
        /// Columns kept as tags.
        #[serde(default)]
        tags: Vec<String>,
    },
    /// A task for a function, and code that tests it.
    Tests {
        /// Columns that may hold the task; the first one present is used.
        question: Vec<String>,
        /// The tests: Python code, or a list of statements such as MBPP's assertions.
        tests: String,
        /// The name of the function; without it, or in a row without it, the first function that the tests call.
        #[serde(default)]
        entry_point: Option<String>,
        /// Columns with code to run before the tests: Python code, or a list of lines.
        #[serde(default)]
        setup: Vec<String>,
        /// A correct program.
        #[serde(default)]
        solution: Option<String>,
        /// Whether the question shows the first test, as EvalPlus' MBPP does.
        #[serde(default)]
        shows_first_test: bool,
        /// Columns that may name the task; without any of them, the row's number.
        #[serde(default)]
        id: Vec<String>,
        /// Columns kept as tags.
        #[serde(default)]
        tags: Vec<String>,
    },
    /// The output of a program (deduction).
    CodeO {
        /// The program, with a function `f`.
        program: String,
        /// Its arguments.
        input: String,
        #[serde(default)]
        output: Option<String>,
        /// Columns that may name the task; without any of them, the row's number.
        #[serde(default)]
        id: Vec<String>,
        /// Columns kept as tags.
        #[serde(default)]
        tags: Vec<String>,
    },
    /// An input that produces an output (abduction).
    CodeI {
        /// The program, with a function `f`.
        program: String,
        /// Arguments that produce the output.
        #[serde(default)]
        input: Option<String>,
        output: String,
        /// Columns that may name the task; without any of them, the row's number.
        #[serde(default)]
        id: Vec<String>,
        /// Columns kept as tags.
        #[serde(default)]
        tags: Vec<String>,
    },
    /// A program from inputs and outputs (induction).
    CodeF {
        /// The description shown to the solver.
        message: String,
        /// A list of pairs of an input and an output.
        #[serde(default)]
        pairs: Option<String>,
        /// Or a list of inputs,
        #[serde(default)]
        inputs: Option<String>,
        /// and a list of their outputs.
        #[serde(default)]
        outputs: Option<String>,
        /// A correct program.
        #[serde(default)]
        program: Option<String>,
        /// Columns that may name the task; without any of them, the row's number.
        #[serde(default)]
        id: Vec<String>,
        /// Columns kept as tags.
        #[serde(default)]
        tags: Vec<String>,
    },
    /// Rows for verl: `prompt`, a conversation whose last user message is the question, and `reward_model.ground_truth`:
    /// an answer, or the first of a list, or lists of `inputs` and `outputs` of programs.
    Verl {
        /// Columns kept as tags.
        #[serde(default)]
        tags: Vec<String>,
    },
    /// A question, and a reward that scores the answers. The reward gets the whole row.
    Python {
        /// Columns that may hold the question; the first one present is used.
        question: Vec<String>,
        /// An answer to show, and to try the reward with.
        #[serde(default)]
        answer: Option<String>,
        reward: RewardUse,
        /// Columns that may name the task; without any of them, the row's number.
        #[serde(default)]
        id: Vec<String>,
        /// Columns kept as tags.
        #[serde(default)]
        tags: Vec<String>,
    },
    /// Problems of self-play: `task_id`, `type`, and `program`, `input`, `output` or `message`, `pairs`.
    SelfPlay {},
}

/// The user's own reward, as an import names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RewardUse {
    pub file: Digest,
    /// Seconds of CPU time for a completion.
    pub timeout: u32,
    /// Packages that it needs.
    pub packages: Vec<RewardPackage>,
}

impl RewardUse {
    pub fn oracle(&self, row: Map<String, Value>) -> Question {
        Question::Python { file: self.file, source: None, timeout: self.timeout, packages: self.packages.clone(), row }
    }
}

/// Where a row has its correct answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gold {
    /// The column.
    pub field: String,
    /// Takes the text after the last occurrence of this mark.
    #[serde(default)]
    pub after: Option<String>,
    /// Takes the contents of the last `\boxed{}`.
    #[serde(default)]
    pub boxed: bool,
    /// Takes the first element of a list.
    #[serde(default)]
    pub first: bool,
    /// The column whose last `\boxed{}` is the answer of a row without `field`.
    #[serde(default)]
    pub or_boxed: Option<String>,
    /// Words that say that there is no answer.
    #[serde(default)]
    pub none: Vec<String>,
}

/// What distinguishes the rows of one set from those of others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Expect {
    /// Fields a row must have besides those that are read.
    pub required: Vec<String>,
    /// Fields a row must not have.
    pub absent: Vec<String>,
    /// Fields that are numbers or texts of numbers.
    pub numeric: Vec<String>,
    /// Fields that are empty if present.
    pub empty: Vec<String>,
    /// What fields begin with if present.
    pub prefix: BTreeMap<String, String>,
    /// What fields contain if present.
    pub contains: BTreeMap<String, String>,
}

impl Format {
    /// Whether its rows have such an oracle.
    pub fn asks(&self, oracle: &Question) -> bool {
        match self {
            Self::HumanEval {} | Self::Tests { .. } => matches!(oracle, Question::Script { .. }),
            Self::EvalPlus {} => matches!(oracle, Question::Reference { .. }),
            Self::LiveCodeBench {} => matches!(oracle, Question::LiveCodeBench { .. }),
            Self::Math { .. } => matches!(oracle, Question::Math { .. }),
            Self::Python { .. } => matches!(oracle, Question::Python { .. }),
            Self::Verl { .. } => matches!(oracle, Question::Math { .. } | Question::LiveCodeBench { .. }),
            Self::CodeO { .. } => matches!(oracle, Question::CodeO { .. }),
            Self::CodeI { .. } => matches!(oracle, Question::CodeI { .. }),
            Self::CodeF { .. } => matches!(oracle, Question::CodeF { .. }),
            Self::SelfPlay {} => {
                matches!(oracle, Question::CodeO { .. } | Question::CodeI { .. } | Question::CodeF { .. })
            }
        }
    }

    /// Whether its rows are problems of self-play: a program, and something to find about it.
    pub fn is_self_play(&self) -> bool {
        matches!(self, Self::SelfPlay {} | Self::CodeO { .. } | Self::CodeI { .. } | Self::CodeF { .. })
    }
}
