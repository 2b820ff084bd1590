//! Tasks for a verifier.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::{ProblemKind, Reward};

/// JSON kept as written, so that numbers of any size survive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonText(String);

impl JsonText {
    /// Wraps a text that is valid JSON.
    ///
    /// # Errors
    /// The text is not valid JSON.
    pub fn new(text: String) -> Result<Self, serde_json::Error> {
        RawValue::from_string(text).map(|raw| Self(raw.get().to_owned()))
    }

    /// The JSON.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Serialize for JsonText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RawValue::from_string(self.0.clone()).map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for JsonText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(|raw| Self(raw.get().to_owned()))
    }
}

/// An input and its required output: Python literals for code, plain texts for a command-line program.
pub type CodePair = (String, String);

/// A proposed problem: is it well-formed, safe and deterministic, and what is its answer?
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proposal {
    /// Types `code_i` and `code_o`: a program `f` and one input (its arguments, separated by commas).
    Io {
        /// [`ProblemKind::CodeI`] or [`ProblemKind::CodeO`].
        problem: ProblemKind,
        /// Source with a function `f`.
        program: String,
        /// The arguments.
        input: String,
    },
    /// Type `code_f`: a program `f`, several inputs and a message that describes it.
    Function {
        /// Source with a function `f`.
        program: String,
        /// Several argument lists.
        inputs: Vec<String>,
        /// The description for the student.
        message: String,
    },
}

/// An answer to a problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Solution {
    /// Type `code_o`: is `answer` the value of `f(input)`?
    Output {
        /// Source with a function `f`.
        program: String,
        /// The arguments.
        input: String,
        /// A Python literal.
        answer: String,
    },
    /// Type `code_i`: does `f(answer)` give `output`? Any input that does is correct.
    Input {
        /// Source with a function `f`.
        program: String,
        /// A Python literal.
        output: String,
        /// Arguments, as Python literals separated by commas.
        answer: String,
    },
    /// Type `code_f`: does the program `answer` map every input to its output?
    Function {
        /// Inputs and outputs, as Python literals.
        pairs: Vec<CodePair>,
        /// Source with a function `f`.
        answer: String,
    },
}

/// The check for a program under test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Oracle {
    /// HumanEval's `test` text (it defines `check(candidate)`), or a text of assertions as in MBPP.
    Script {
        /// The text.
        test: String,
        /// HumanEval's `prompt`; helper functions defined in it replace the program's. A description in words defines nothing.
        prompt: Option<String>,
    },
    /// EvalPlus: inputs, and a reference program that computes the expected outputs.
    Reference {
        /// Argument lists: each is a JSON list, or a JSON string with arguments as Python literals.
        inputs: Vec<JsonText>,
        /// The reference program.
        reference: String,
        /// Absolute tolerance for floats.
        atol: Tolerance,
        /// `Mbpp/N` or `HumanEval/N`: selects type restoration and special oracles. Without it, the task's `id` is used
        /// if it has this form.
        task_id: Option<String>,
    },
    /// Standard input and the required output; with an `entry_point`, LiveCodeBench's functional form (arguments as
    /// JSON, one per line; the result as JSON).
    Pairs(Vec<CodePair>),
    /// LiveCodeBench's fields as in its rows.
    LiveCodeBench {
        /// `public_test_cases`.
        public: Option<String>,
        /// `private_test_cases`: JSON, or base64 of zlib of a pickled JSON string.
        private: Option<String>,
    },
}

/// An absolute tolerance: finite and not negative.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Default)]
pub struct Tolerance(f64);

impl Eq for Tolerance {}

impl Tolerance {
    /// `None` if `value` is not finite or is negative.
    #[must_use]
    pub fn new(value: f64) -> Option<Self> {
        (value.is_finite() && value >= 0.0).then_some(Self(value))
    }

    /// The number.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }
}

/// A program and its tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tests {
    pub program: String,
    /// The function under test; `None` for a program that reads standard input.
    pub entry_point: Option<String>,
    /// The check.
    pub oracle: Oracle,
}

/// A mathematical answer and the correct one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MathPair {
    /// The correct answer.
    pub gold: String,
    /// The answer to judge, or a whole response whose last `\boxed{}` is the answer.
    pub answer: String,
    /// Whether both may also be in plain notation, such as `pi/2`, `-2*pi` or `exp(16)-1`.
    pub plain: bool,
}

/// Texts to group by how much they repeat one another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wordings {
    pub texts: Vec<String>,
    /// Groups merge while their mean distance, 1 − BLEU, is below this.
    pub distance: Tolerance,
}

/// The thing to judge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Check {
    /// Kind `propose`.
    Propose(Proposal),
    /// Kind `solve`.
    Solve(Solution),
    /// Kind `tests`.
    Tests(Tests),
    /// Kind `math`.
    Math(MathPair),
    /// Kind `cluster`: mathematical answers to one question, grouped by equality.
    Cluster(Vec<String>),
    /// Kind `repetition`.
    Repetition(Wordings),
    /// Kind `reward`.
    Reward(Reward),
}

/// One thing to judge, with an id for its verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Chosen by the caller; returned in the verdict.
    pub id: String,
    /// The thing to judge.
    pub check: Check,
}

impl From<Proposal> for Check {
    fn from(proposal: Proposal) -> Self {
        Self::Propose(proposal)
    }
}

impl From<Solution> for Check {
    fn from(solution: Solution) -> Self {
        Self::Solve(solution)
    }
}

impl From<Tests> for Check {
    fn from(tests: Tests) -> Self {
        Self::Tests(tests)
    }
}

impl From<Wordings> for Check {
    fn from(wordings: Wordings) -> Self {
        Self::Repetition(wordings)
    }
}

impl From<Reward> for Check {
    fn from(reward: Reward) -> Self {
        Self::Reward(reward)
    }
}

impl From<MathPair> for Check {
    fn from(pair: MathPair) -> Self {
        Self::Math(pair)
    }
}
