//! Which part of a completion is its answer: the order of the rules, declared once.
//!
//! 1. The form that the prompt asks for ([`Grammar::answer`]).
//! 2. The last line with `Answer:` or `answer is`.
//! 3. The last `\boxed{}`.
//! 4. For `code_o`, the last text in a block or between backticks, if it is a literal that does not stand in the prompt, spaces
//!    aside. For `code_i` such a text was what the model meant in 7 of 11 answers, and right in none.
//!
//! Rules 2 to 4 count only if they find a Python value (for `code_i`, as many as the function has parameters): they search
//! text in which models also think. A program is read by rule 1 only. Nothing is read from a completion that was cut at its limit,
//! except between the tags of `fenced` and `tagged`, whose papers do.

#[cfg(test)]
mod tests;

use ruff_python_ast::{Expr, Stmt, UnaryOp};
use ruff_python_parser::{parse_expression, parse_module};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Grammar, PromptSet};
use crate::answer::{fenced_blocks, last_boxed};
use crate::problem::Statement;
use crate::verify::ProblemKind;
use crate::work::FinishReason;

/// Which rules read an answer.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    JsonSchema,
    strum::IntoStaticStr,
    strum::VariantArray
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum AnswerReading {
    /// Only the form that the prompt asks for, as in the papers.
    #[default]
    Strict,
    /// Else the last line with `Answer:`, else the last `\boxed{}`, else (for outputs) the last text in a block or between
    /// backticks, unless it stands in the prompt; each only if it is a Python value.
    Flexible,
}

crate::named!(AnswerReading, "a way to read answers");

impl AnswerReading {
    pub(super) fn is_strict(&self) -> bool {
        *self == Self::Strict
    }
}

/// The rule that found an answer.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    strum::IntoStaticStr,
    strum::VariantArray
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ReadingRule {
    /// The form that the prompt asks for.
    Form,
    /// The last line with `Answer:` or `answer is`.
    Line,
    /// The last `\boxed{}`.
    Boxed,
    /// The last text in a block or between backticks, a literal that does not stand in the prompt.
    Literal,
}

crate::named!(ReadingRule, "a rule of reading");

impl ReadingRule {
    /// Its name on pages.
    pub fn title(self) -> &'static str {
        match self {
            Self::Form => "the form",
            Self::Line => "a line “Answer:”",
            Self::Boxed => "a box",
            Self::Literal => "the last literal",
        }
    }
}

/// An answer, and the rule that found it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundAnswer {
    pub text: String,
    pub rule: ReadingRule,
}

impl PromptSet {
    /// The same set, with answers read by every rule.
    pub(crate) fn flexible(mut self) -> Self {
        self.reading = AnswerReading::Flexible;
        self
    }

    /// The same set, with answers read only by the form.
    pub(crate) fn strict(mut self) -> Self {
        self.reading = AnswerReading::Strict;
        self
    }

    /// Whether answers are read by several rules.
    pub fn is_flexible(&self) -> bool {
        !self.reading.is_strict()
    }

    /// The answer in a completion of the prompt for `statement`.
    ///
    /// # Errors
    /// Why there is none.
    pub fn answer(
        &self,
        statement: &Statement<'_>,
        completion: &str,
        finish: FinishReason,
    ) -> Result<FoundAnswer, String> {
        let kind = statement.kind();
        if finish == FinishReason::Length && self.grammar == Grammar::Blocks {
            return Err("it was cut at the token limit".to_owned());
        }
        let form = self.grammar.answer(kind, completion, finish, self.opening());
        if self.reading.is_strict() || !matches!(kind, ProblemKind::CodeI | ProblemKind::CodeO) {
            return form.map(|text| FoundAnswer { text, rule: ReadingRule::Form });
        }
        let prompt = self.solve(statement).map_err(|error| error.to_string())?.text;
        let by = |rule: ReadingRule, found: Option<String>| {
            let text = found.and_then(|text| value_in(kind, &text))?;
            let fits = rule == ReadingRule::Form || fits_parameters(statement, &text);
            fits.then_some(FoundAnswer { text, rule })
        };
        by(ReadingRule::Form, form.clone().ok())
            .or_else(|| by(ReadingRule::Line, answer_line(completion)))
            .or_else(|| by(ReadingRule::Boxed, last_boxed(completion).map(str::to_owned)))
            .or_else(|| {
                // Earlier ones are steps on the way, as often as not.
                let last = marked(completion).pop().filter(|_| kind == ProblemKind::CodeO)?;
                let last = value_in(kind, last)?;
                by(
                    ReadingRule::Literal,
                    Some(last).filter(|value| !without_spaces(&prompt).contains(&without_spaces(value))),
                )
            })
            .ok_or_else(|| match form {
                Ok(_) => "what it marks as its answer is not a Python value".to_owned(),
                Err(reason) => format!("{reason}, and no other rule finds a Python value"),
            })
    }
}

/// The rest of the last line with `Answer:` or `answer is`.
fn answer_line(text: &str) -> Option<String> {
    text.lines().rev().find_map(|line| {
        let lower = line.to_ascii_lowercase();
        let end = ["answer:", "answer**:", "answer is"]
            .iter()
            .filter_map(|mark| Some(lower.rfind(mark)? + mark.len()))
            .max()?;
        Some(line[end..].to_owned())
    })
}

/// The texts in blocks and between backticks, in order.
fn marked(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (at, part) in text.split("```").enumerate() {
        match at % 2 {
            0 => found.extend(part.split('`').skip(1).step_by(2)),
            _ => found.extend(fenced_body(part)),
        }
    }
    found
}

/// The body of the block whose contents, with the tag, are `part`.
fn fenced_body(part: &str) -> Option<&str> {
    let (tag, body) = part.split_once('\n')?;
    tag.trim().chars().all(char::is_alphanumeric).then(|| body.trim())
}

/// The value in a text, without Markdown around it and the sentence's full stop; of `f(1, 2)` the arguments if `kind` asks
/// for them. `None` if it is not a value.
fn value_in(kind: ProblemKind, text: &str) -> Option<String> {
    let text = text.trim();
    let body = fenced_blocks(text).last().map_or(text, |block| block.body);
    let bare = body.trim_matches(|letter: char| letter.is_whitespace() || matches!(letter, '*' | '`' | ':' | '$'));
    let bare =
        bare.strip_suffix('.').filter(|rest| !rest.ends_with(|letter: char| letter.is_ascii_digit())).unwrap_or(bare);
    let bare = bare.trim_matches(|letter: char| letter.is_whitespace() || letter == '`');
    let arguments = match kind {
        ProblemKind::CodeI => bare.strip_prefix("f(").and_then(|rest| rest.strip_suffix(')')),
        _ => None,
    };
    [arguments, Some(bare)].into_iter().flatten().find(|text| is_value(text)).map(str::to_owned)
}

/// Whether the values in `text` are as many as the function of a question for its arguments takes.
fn fits_parameters(statement: &Statement<'_>, text: &str) -> bool {
    let Statement::Input { program, .. } = statement else { return true };
    with_stack_for(program.len() + text.len(), || fits_parameters_of(program, text))
}

fn fits_parameters_of(program: &str, text: &str) -> bool {
    let Ok(module) = parse_module(program) else { return true };
    let function = module.suite().iter().rev().find_map(Stmt::as_function_def_stmt);
    let Some(parameters) = function.map(|function| &function.parameters) else { return true };
    let Ok(call) = parse_expression(&format!("f({text})")) else { return false };
    let given = call.expr().as_call_expr().map_or(0, |call| call.arguments.len());
    let all = parameters.posonlyargs.iter().chain(&parameters.args);
    let needed = all.clone().filter(|parameter| parameter.default.is_none()).count();
    given >= needed && (parameters.vararg.is_some() || given <= all.count())
}

fn without_spaces(text: &str) -> String {
    text.split_whitespace().collect()
}

/// The longest text that is tried as a value.
const MOST_BYTES: usize = 16 << 10;

/// Whether a text is a Python literal, or several with commas between them.
fn is_value(text: &str) -> bool {
    if text.is_empty() || text.len() > MOST_BYTES {
        return false;
    }
    with_stack_for(text.len(), || parse_expression(text).is_ok_and(|parsed| is_literal(parsed.expr())))
}

/// Calls `parse` with the stack for a text of this many bytes: its tree nests as deep, and is walked and dropped recursively.
fn with_stack_for(bytes: usize, parse: impl FnOnce() -> bool) -> bool {
    let stack = (1 << 20) + bytes * (4 << 10);
    stacker::maybe_grow(stack, stack, parse)
}

fn is_literal(expression: &Expr) -> bool {
    match expression {
        Expr::NumberLiteral(_)
        | Expr::StringLiteral(_)
        | Expr::BytesLiteral(_)
        | Expr::BooleanLiteral(_)
        | Expr::NoneLiteral(_) => true,
        Expr::UnaryOp(of) => matches!(of.op, UnaryOp::USub | UnaryOp::UAdd) && of.operand.is_number_literal_expr(),
        Expr::Tuple(of) => of.elts.iter().all(is_literal),
        Expr::List(of) => of.elts.iter().all(is_literal),
        Expr::Set(of) => of.elts.iter().all(is_literal),
        Expr::Dict(of) => {
            of.items.iter().all(|item| item.key.as_ref().is_some_and(is_literal) && is_literal(&item.value))
        }
        // The empty set has no literal.
        Expr::Call(of) => {
            of.arguments.is_empty() && of.func.as_name_expr().is_some_and(|name| name.id.as_str() == "set")
        }
        _ => false,
    }
}
