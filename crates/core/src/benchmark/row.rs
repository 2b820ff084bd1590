//! A row of a suite as Lyceum keeps it, whatever its file looked like.

use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;

use crate::verify::{CodePair, ProblemKind};

/// One task of a suite. JSON values that a file holds (inputs of any size) are kept as texts, since databases and parsers
/// round numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BenchmarkRow {
    /// The task's name within its suite, such as `HumanEval/0` or `gsm8k/17`.
    pub task_id: String,
    /// What is asked, in the words of the file. Overlap with training data is found by it.
    pub question: String,
    /// A right solution, where the file has one: a whole program, or an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canonical: Option<String>,
    /// What an answer is measured against.
    pub oracle: Question,
    /// Subject, level, date and the like, for filters.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
}

/// What kind of answer a row wants, and what that is measured against.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Question {
    /// HumanEval: a function, tested by a text that defines `check(candidate)`.
    Script {
        /// The function's name.
        entry_point: String,
        /// The text of the test.
        test: String,
    },
    /// EvalPlus: a function, compared with a reference on inputs.
    Reference {
        /// The function's name.
        entry_point: String,
        /// The reference program.
        reference: String,
        /// Lists of arguments of the base benchmark, a text of JSON each.
        base_inputs: Vec<String>,
        /// Those that EvalPlus added.
        plus_inputs: Vec<String>,
        /// Absolute tolerance for floats.
        atol: f64,
    },
    /// LiveCodeBench: a program that reads standard input, or a method of `Solution`.
    LiveCodeBench {
        /// The method's name; none for a program.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        entry_point: Option<String>,
        /// What a solution begins with; may be empty.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        starter_code: String,
        /// `public_test_cases` as it stands in the file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        public_test_cases: Option<String>,
        /// `private_test_cases` as it stands in the file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        private_test_cases: Option<String>,
    },
    /// An answer to a question of mathematics.
    Math {
        /// The right answer.
        gold: String,
    },
    /// The output of a program (deduction).
    CodeO {
        /// The program.
        program: String,
        /// Its arguments.
        input: String,
    },
    /// An input that gives an output (abduction).
    CodeI {
        /// The program.
        program: String,
        /// The output.
        output: String,
    },
    /// A program that maps inputs to outputs (induction).
    CodeF {
        /// What the solver is told.
        message: String,
        /// Inputs and outputs; the first half, rounded up, is shown.
        pairs: Vec<CodePair>,
    },
}

impl BenchmarkRow {
    /// What belongs to the row as a problem: the parts that a solver is shown and those that stay hidden.
    pub fn values(&self) -> serde_json::Value {
        let canonical = self.canonical.as_deref();
        match &self.oracle {
            Question::CodeO { input, .. } => json!({ "input": input, "output": canonical }),
            Question::CodeI { output, .. } => json!({ "input": canonical, "output": output }),
            Question::CodeF { message, pairs } => {
                let (inputs, outputs): (Vec<&String>, Vec<&String>) =
                    pairs.iter().map(|(input, output)| (input, output)).unzip();
                json!({ "inputs": inputs, "outputs": outputs, "message": message, "shown": pairs.len().div_ceil(2) })
            }
            Question::Math { gold } => json!({ "question": self.question, "answer": gold }),
            Question::Script { .. } | Question::Reference { .. } | Question::LiveCodeBench { .. } => {
                json!({ "question": self.question, "canonical": canonical })
            }
        }
    }
}

impl Question {
    /// What is asked of a solver.
    pub fn kind(&self) -> ProblemKind {
        match self {
            Self::CodeO { .. } => ProblemKind::CodeO,
            Self::CodeI { .. } => ProblemKind::CodeI,
            Self::CodeF { .. } => ProblemKind::CodeF,
            Self::Math { .. } => ProblemKind::Math,
            Self::Script { .. } | Self::Reference { .. } | Self::LiveCodeBench { .. } => ProblemKind::Code,
        }
    }

    /// The program that the question is about, where there is one.
    pub fn program(&self) -> Option<&str> {
        match self {
            Self::CodeO { program, .. } | Self::CodeI { program, .. } => Some(program),
            _ => None,
        }
    }

    /// The function under test, where there is one.
    pub fn entry_point(&self) -> Option<&str> {
        match self {
            Self::Script { entry_point, .. } | Self::Reference { entry_point, .. } => Some(entry_point),
            Self::LiveCodeBench { entry_point, .. } => entry_point.as_deref(),
            _ => None,
        }
    }

    /// Whether a solution is a program.
    pub fn is_code(&self) -> bool {
        matches!(
            self,
            Self::Script { .. } | Self::Reference { .. } | Self::LiveCodeBench { .. } | Self::CodeF { .. }
        )
    }

    /// How many of a verdict's tests belong to the base benchmark, where the two are counted apart.
    pub fn base_tests(&self) -> Option<usize> {
        match self {
            Self::Reference { base_inputs, .. } => Some(base_inputs.len()),
            _ => None,
        }
    }
}
