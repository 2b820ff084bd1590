//! Reading what a model wrote.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{compact, fenced};
use crate::{
    verify::{ProblemType, Status},
    work::FinishReason,
};

/// How completions are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Grammar {
    /// Parts between markers such as `<in>`, and nothing else (the seedling).
    Compact,
    /// Reasoning between `<think>` tags, then fenced blocks between `<answer>` tags (Absolute Zero).
    Fenced,
}

/// What a proposer wrote, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProposalText {
    /// Of type `code_i` or `code_o`.
    Io {
        /// The program.
        program: String,
        /// Its arguments.
        input: String,
    },
    /// Of type `code_f`, about a program that was shown.
    Function {
        /// Lists of arguments, as many as were asked for.
        inputs: Vec<String>,
        /// What the solver is told.
        message: String,
    },
}

/// What a solver wrote: the answer in it, or why it does not have the form that was asked for.
pub type Answer = Result<String, String>;

impl Grammar {
    /// The proposal in a completion of a prompt that ends with `opening`.
    ///
    /// # Errors
    /// Why the completion does not have the form that was asked for.
    pub fn proposal(
        self,
        problem: ProblemType,
        text: &str,
        finish: FinishReason,
        opening: &str,
        num_inputs: usize,
    ) -> Result<ProposalText, String> {
        match self {
            Self::Compact => compact::proposal(problem, text, finish, num_inputs),
            Self::Fenced => fenced::proposal(problem, text, opening, num_inputs),
        }
    }

    /// The answer in a completion of a prompt that ends with `opening`.
    pub fn answer(self, problem: ProblemType, text: &str, finish: FinishReason, opening: &str) -> Answer {
        match self {
            Self::Compact => compact::answer(text, finish),
            Self::Fenced => fenced::answer(problem, text, opening),
        }
    }

    /// Whether an answer that was found still fails the format, given what the verifier met. Where there are no tags, being
    /// readable as a literal or a program is the format; with tags, they are (as in Absolute Zero).
    pub fn is_unreadable(self, status: Status) -> bool {
        self == Self::Compact && status == Status::Malformed
    }

    /// Texts that end a solver's completion.
    pub fn solver_stops(self) -> Vec<String> {
        match self {
            Self::Compact => ["<in>", "<out>", "<ref>"].map(str::to_owned).to_vec(),
            Self::Fenced => Vec::new(),
        }
    }

    /// Whether values are shown without spaces.
    pub(crate) fn is_compact(self) -> bool {
        self == Self::Compact
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parts() -> impl Strategy<Value = String> {
        let part = prop_oneof![
            Just("<in>".to_owned()),
            Just("<msg>".to_owned()),
            Just("</think>".to_owned()),
            Just("<answer>".to_owned()),
            Just("</answer>".to_owned()),
            Just("```".to_owned()),
            Just("```python\n".to_owned()),
            Just("```input\n".to_owned()),
            ".{0,6}",
        ];
        proptest::collection::vec(part, 0..14).prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused_with_a_reason(text in parts(), stopped: bool, num_inputs in 1_usize..4) {
            let finish = if stopped { FinishReason::Stop } else { FinishReason::Length };
            for grammar in [Grammar::Compact, Grammar::Fenced] {
                for problem in [ProblemType::CodeI, ProblemType::CodeO, ProblemType::CodeF] {
                    for opening in ["", "Assistant: <think>\n"] {
                        match grammar.proposal(problem, &text, finish, opening, num_inputs) {
                            Ok(ProposalText::Function { inputs, .. }) => prop_assert_eq!(inputs.len(), num_inputs),
                            Ok(ProposalText::Io { .. }) => prop_assert!(problem != ProblemType::CodeF),
                            Err(reason) => prop_assert!(!reason.is_empty()),
                        }
                        if let Err(reason) = grammar.answer(problem, &text, finish, opening) {
                            prop_assert!(!reason.is_empty());
                        }
                    }
                }
            }
        }
    }
}
