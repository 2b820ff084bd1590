//! Reads a model's completions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Reading, compact, fenced, tagged};
use crate::verify::{ProblemKind, Proposal, Status};
use crate::work::FinishReason;

/// How completions are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Grammar {
    /// Parts between markers such as `<in>`, and nothing else (the seedling).
    Compact,
    /// Fenced blocks, anywhere in the text (models that follow instructions).
    Blocks,
    /// Reasoning between `<think>` tags, then fenced blocks between `<answer>` tags (Absolute Zero).
    Fenced,
    /// Parts between tags such as `<question>` and `</question>`, anywhere in the text (R-Zero, SAGE).
    Tagged,
}

/// The parts of a proposal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProposalText {
    /// Of type `code_i` or `code_o`.
    Io {
        program: String,
        /// Its arguments.
        input: String,
    },
    /// Of type `code_f`, about a program that was shown.
    Function {
        /// Argument lists, as many as were requested.
        inputs: Vec<String>,
        /// The description for the solver.
        message: String,
    },
}

impl ProposalText {
    /// The proposal of type `problem`; a `code_f` one is about the program `about`.
    pub(crate) fn proposal(self, problem: ProblemKind, about: Option<String>) -> Result<Proposal, String> {
        match self {
            Self::Io { program, input } => Ok(Proposal::Io { problem, program, input }),
            Self::Function { inputs, message } => {
                let program = about.ok_or("the program that it is about is not known")?;
                Ok(Proposal::Function { program, inputs, message })
            }
        }
    }
}

/// A solver's answer, or why it does not have the required form.
pub type Answer = Result<String, String>;

impl Grammar {
    /// The fields of a completion of a prompt that ends with `opening`.
    pub fn read(self, fields: &[Field], text: &str, finish: FinishReason, opening: &str) -> Reading {
        match self {
            Self::Compact => compact::read(fields, text, finish),
            Self::Blocks => fenced::read(fields, text, Ok(text)),
            Self::Fenced => fenced::read(fields, text, fenced::answer_part(text, opening)),
            Self::Tagged => tagged::read(fields, text, finish, opening),
        }
    }

    /// Stop texts for a completion that must not contain any of the fields `names`: a model that starts one has moved
    /// on to another problem.
    ///
    /// A closing tag is never a stop: completions are cut before their stop, so the field would lose its end.
    pub fn stops(self, names: &[&str]) -> Vec<String> {
        match self {
            Self::Compact | Self::Tagged => names.iter().map(|name| format!("<{name}>")).collect(),
            Self::Blocks | Self::Fenced => Vec::new(),
        }
    }

    /// The proposal in a completion of a prompt that ends with `opening`.
    ///
    /// # Errors
    /// Why the completion does not have the required form.
    pub fn proposal(
        self,
        problem: ProblemKind,
        text: &str,
        finish: FinishReason,
        opening: &str,
        num_inputs: usize,
    ) -> Result<ProposalText, String> {
        match self {
            Self::Compact => compact::proposal(problem, text, finish, num_inputs),
            Self::Blocks => fenced::proposal(problem, &fenced::closed(text, finish), num_inputs),
            Self::Fenced => fenced::proposal(problem, fenced::answer_part(text, opening)?, num_inputs),
            Self::Tagged => tagged::proposal(problem, text, finish, opening, num_inputs),
        }
    }

    /// The program in a completion of a prompt that ends with `opening`, with inputs and a message about it (GASP).
    ///
    /// # Errors
    /// Why the completion does not have the required form.
    pub fn posed_function(
        self,
        text: &str,
        finish: FinishReason,
        opening: &str,
        num_inputs: usize,
    ) -> Result<Proposal, String> {
        let (program, rest) = match self {
            Self::Compact => compact::before_inputs(text)?,
            Self::Blocks => (fenced::program(text)?, text),
            Self::Fenced => (fenced::program(fenced::answer_part(text, opening)?)?, text),
            Self::Tagged => (tagged::program(text, finish, opening)?, text),
        };
        match self.proposal(ProblemKind::CodeF, rest, finish, opening, num_inputs)? {
            ProposalText::Function { inputs, message } => Ok(Proposal::Function { program, inputs, message }),
            ProposalText::Io { .. } => Err("it has no message".to_owned()),
        }
    }

    /// The answer in a completion of a prompt that ends with `opening`.
    pub fn answer(self, problem: ProblemKind, text: &str, finish: FinishReason, opening: &str) -> Answer {
        match self {
            Self::Compact => compact::answer(problem, text, finish),
            Self::Blocks => fenced::answer(problem, &fenced::closed(text, finish)),
            Self::Fenced => fenced::answer(problem, fenced::answer_part(text, opening)?),
            Self::Tagged => tagged::answer(problem, text, finish, opening),
        }
    }

    /// Whether an extracted answer still violates the format, given the verifier's status. Without tags, the format
    /// only requires a readable literal or program; with tags, the tags are the format (as in Absolute Zero).
    pub fn is_unreadable(self, status: Status) -> bool {
        matches!(self, Self::Compact | Self::Blocks) && status == Status::Malformed
    }

    /// Stop texts for solvers of Python problems.
    pub fn solver_stops(self) -> Vec<String> {
        match self {
            Self::Compact => self.stops(&["in", "out", "ref"]),
            Self::Blocks | Self::Fenced | Self::Tagged => Vec::new(),
        }
    }

    /// Whether values are shown without spaces.
    pub(crate) fn is_compact(self) -> bool {
        self == Self::Compact
    }
}

/// A part of a completion. The grammar defines how a model marks it: between `<name>` and `</name>` (`tagged`), in a
/// block ```` ```name ```` (`fenced`, `blocks`), or after `<name>` (`compact`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Lower-case letters and `_`, such as `question`.
    pub name: &'static str,
    /// Which of its occurrences are used.
    pub take: Take,
    /// Whether a completion may omit it.
    pub is_optional: bool,
}

/// Which occurrences of a field are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Take {
    First,
    Last,
    /// This many, from the end.
    LastOf(usize),
    /// The last `\boxed{}`; with `compact`, a field like any other.
    Boxed,
}

impl Field {
    /// A field whose last occurrence is used: for texts that models draft and refine, such as a question or an answer.
    pub const fn last(name: &'static str) -> Self {
        Self::new(name, Take::Last)
    }

    /// A field whose first occurrence is used: for a verdict, such as a score, which a model may go on to discuss.
    pub const fn first(name: &'static str) -> Self {
        Self::new(name, Take::First)
    }

    /// A field that must occur `count` times; if there are more, the last `count` are used.
    pub const fn times(name: &'static str, count: usize) -> Self {
        Self::new(name, Take::LastOf(count))
    }

    /// A field in `\boxed{}`, outside the other fields.
    pub const fn boxed(name: &'static str) -> Self {
        Self::new(name, Take::Boxed)
    }

    /// The same field, optional.
    pub const fn optional(self) -> Self {
        Self { is_optional: true, ..self }
    }

    const fn new(name: &'static str, take: Take) -> Self {
        Self { name, take, is_optional: false }
    }

    /// The number of occurrences requested.
    pub(super) fn count(&self) -> usize {
        match self.take {
            Take::LastOf(count) => count,
            Take::First | Take::Last | Take::Boxed => 1,
        }
    }

    /// The occurrences to use among those `found`, in order.
    pub(super) fn taken<'t>(&self, mut found: Vec<&'t str>) -> Vec<&'t str> {
        let extra = found.len().saturating_sub(self.count());
        match self.take {
            Take::First => found.truncate(1),
            Take::Last | Take::LastOf(_) | Take::Boxed => drop(found.drain(..extra)),
        }
        found
    }
}

/// A Python literal, or several separated by commas, without white space outside string quotes.
pub fn compact_literal(text: &str) -> String {
    let mut spelled = String::with_capacity(text.len());
    let mut quote = None;
    let mut is_escaped = false;
    for letter in text.chars() {
        match quote {
            Some(_) if is_escaped => is_escaped = false,
            Some(_) if letter == '\\' => is_escaped = true,
            Some(open) if letter == open => quote = None,
            Some(_) => {}
            None if letter.is_whitespace() => continue,
            None if letter == '\'' || letter == '"' => quote = Some(letter),
            None => {}
        }
        spelled.push(letter);
    }
    spelled
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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

    #[test]
    fn python_problems_are_read_between_tags() {
        use ProblemKind::{CodeF, CodeI, CodeO};
        let read = |problem, text| Grammar::Tagged.proposal(problem, text, FinishReason::Stop, "", 2);
        let io = "hm <program>\n```python\ndef f(a):\n    return a\n```\n</program> <input>1, 'x'</input>";
        let expected = ProposalText::Io { program: "def f(a):\n    return a".to_owned(), input: "1, 'x'".to_owned() };
        assert_eq!(read(CodeO, io).unwrap(), expected);
        assert!(read(CodeI, "<program>def f():\n return 1</program><input></input>").is_ok());
        assert_eq!(read(CodeI, "<program>x</program>").unwrap_err(), "there is no <input>");
        let function = "<input>1</input><input>2</input><message>It adds.</message><input>3</input>";
        let expected =
            ProposalText::Function { inputs: vec!["2".to_owned(), "3".to_owned()], message: "It adds.".to_owned() };
        assert_eq!(read(CodeF, function).unwrap(), expected);
        let answer = |problem, text| Grammar::Tagged.answer(problem, text, FinishReason::Stop, "");
        assert_eq!(answer(CodeO, "it is <answer>[1, 2]</answer>").unwrap(), "[1, 2]");
        let program = "<answer>```python\ndef f(a):\n    return a\n```</answer>";
        assert_eq!(answer(CodeF, program).unwrap(), "def f(a):\n    return a");
        assert!(answer(CodeO, "[1, 2]").is_err());
    }

    #[test]
    fn a_program_with_inputs_and_a_message_is_read() {
        let wanted = Proposal::Function {
            program: "def f(a):\n return a".to_owned(),
            inputs: vec!["2".to_owned(), "3".to_owned()],
            message: "itself".to_owned(),
        };
        let compact = "def f(a):\n return a<in>1<in>2<in>3<msg>itself";
        let block = |name: &str, text: &str| format!("```{name}\n{text}\n```\n");
        let inputs: String = ["1", "2", "3"].iter().map(|input| block("input", input)).collect();
        let program = block("python", "def f(a):\n return a");
        let fenced = format!("t</think><answer>{program}{inputs}{}</answer>", block("message", "itself"));
        let tagged = "<program>def f(a):\n return a</program><input>1</input><input>2</input><input>3</input>\
                  <message>itself</message>";
        for (grammar, opening, text) in [
            (Grammar::Compact, "", compact),
            (Grammar::Blocks, "", fenced.as_str()),
            (Grammar::Fenced, "<think>", fenced.as_str()),
            (Grammar::Tagged, "", tagged),
        ] {
            let read = |text: &str, num_inputs| grammar.posed_function(text, FinishReason::Stop, opening, num_inputs);
            assert_eq!(read(text, 2).as_ref(), Ok(&wanted), "{grammar:?}");
            assert!(read(text, 4).is_err(), "{grammar:?}: too few inputs");
        }
        let compact = |text| Grammar::Compact.posed_function(text, FinishReason::Stop, "", 2);
        assert!(compact("<in>1<in>2<msg>x").unwrap_err().contains("program is empty"));
        assert!(compact("def f(a):\n return a<msg>x").unwrap_err().contains("no <in>"));
        let lift = "def f(a):\n return a<in>1<in>2<lift_f><msg>x";
        assert!(compact(lift).unwrap_err().contains("<lift_f>"));
        let cut = Grammar::Compact.posed_function("def f(a):\n return a<in>1<in>2<msg>x", FinishReason::Length, "", 2);
        assert!(cut.unwrap_err().contains("token limit"));
    }

    #[test]
    fn blocks_may_stand_anywhere() {
        let answer = |text| Grammar::Blocks.answer(ProblemKind::CodeO, text, FinishReason::Stop, "");
        assert_eq!(answer("It is 3.\n```output\n3\n```\nDone.").unwrap(), "3");
        assert_eq!(answer("[1, 2]\n").unwrap(), "[1, 2]", "a value alone");
        assert!(answer(" \n").is_err());
        assert_eq!(answer("It is 3.\n```output\n3").unwrap(), "3", "a model may end inside its last block");
        let cut = Grammar::Blocks.proposal(
            ProblemKind::CodeO,
            "```python\nx\n```\n```input\n1, 2",
            FinishReason::Length,
            "",
            2,
        );
        assert!(cut.is_err(), "but not be cut in it");
        let program = Grammar::Blocks.answer(ProblemKind::CodeF, "x = 1", FinishReason::Stop, "");
        assert!(program.unwrap_err().contains("```python"));
        assert!(Grammar::Blocks.is_unreadable(Status::Malformed), "a sentence in place of a value");
        assert!(!Grammar::Fenced.is_unreadable(Status::Malformed), "tags are its format");
    }

    #[test]
    fn stops_never_take_the_end_of_a_field() {
        assert_eq!(Grammar::Compact.solver_stops(), ["<in>", "<out>", "<ref>"]);
        assert_eq!(Grammar::Tagged.stops(&["question"]), ["<question>"]);
        assert!(Grammar::Fenced.stops(&["question"]).is_empty());
    }

    proptest! {
        #[test]
        fn any_fields_of_any_text_are_read_or_missed_with_a_reason(text in parts(), stopped: bool) {
            let finish = if stopped { FinishReason::Stop } else { FinishReason::Length };
            let fields = [Field::last("answer"), Field::times("in", 2), Field::first("msg").optional(), Field::boxed("box")];
            for grammar in [Grammar::Compact, Grammar::Blocks, Grammar::Fenced, Grammar::Tagged] {
                let reading = grammar.read(&fields, &text, finish, "");
                prop_assert!((0.0..=1.0).contains(&reading.score()));
                for field in fields {
                    match reading.texts(field.name) {
                        Ok(found) => prop_assert_eq!(found.len(), field.count()),
                        Err(reason) => prop_assert!(!reason.is_empty()),
                    }
                }
            }
        }

        #[test]
        fn any_text_is_read_or_refused_with_a_reason(text in parts(), stopped: bool, num_inputs in 1_usize..4) {
            let finish = if stopped { FinishReason::Stop } else { FinishReason::Length };
            for grammar in [Grammar::Compact, Grammar::Blocks, Grammar::Fenced, Grammar::Tagged] {
                for problem in [ProblemKind::CodeI, ProblemKind::CodeO, ProblemKind::CodeF] {
                    for opening in ["", "Assistant: <think>\n"] {
                        match grammar.proposal(problem, &text, finish, opening, num_inputs) {
                            Ok(ProposalText::Function { inputs, .. }) => prop_assert_eq!(inputs.len(), num_inputs),
                            Ok(ProposalText::Io { .. }) => prop_assert!(problem != ProblemKind::CodeF),
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

    #[test]
    fn spaces_go_outside_of_quotes_alone() {
        assert_eq!(compact_literal("[1, 'a, b', {\"k k\": -2.5}]"), "[1,'a, b',{\"k k\":-2.5}]");
        assert_eq!(compact_literal(r"'it\'s so', 2"), r"'it\'s so',2");
        assert_eq!(compact_literal("(1, )\n"), "(1,)");
    }
}
