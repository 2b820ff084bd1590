//! The operators `%` and `~`, which Python defines for more than Jinja's engine here does: formatting of texts, and printing
//! of lists, dicts and floats. They are rewritten as filters before a template is compiled.

use std::ops::Range;

use minijinja::machinery::{Token, tokenize};
use minijinja::syntax::SyntaxConfig;
use minijinja::{Error, ErrorKind, Value};

use super::methods::printf;
use super::text::printed;

pub(super) const MODULO: &str = "lyceum_modulo";
pub(super) const CONCATENATE: &str = "lyceum_concatenate";

/// Brackets within one another in an expression.
const MAX_DEPTH: usize = 100;

/// `left % right`: the remainder of numbers, with the sign of the divisor, or a formatted text.
pub(super) fn modulo(left: &Value, right: &Value) -> Result<Value, Error> {
    let invalid = |detail: String| Error::new(ErrorKind::InvalidOperation, detail);
    if let Some(format) = left.as_str() {
        let args = if right.is_tuple() { right.try_iter()?.collect() } else { vec![right.clone()] };
        return printf(format, &args).map(Value::from);
    }
    let whole = |value: &Value| value.is_integer().then(|| value.as_i64()).flatten();
    match (whole(left), whole(right)) {
        (_, Some(0)) => Err(invalid("modulo by zero".to_owned())),
        (Some(left), Some(right)) => {
            Ok(Value::from((i128::from(left) % i128::from(right) + i128::from(right)) % i128::from(right)))
        }
        _ => {
            let number = |value: &Value| f64::try_from(value.clone()).ok();
            match (number(left), number(right)) {
                (Some(left), Some(right)) if right != 0.0 => Ok(Value::from(left - right * (left / right).floor())),
                _ => Err(invalid(format!("`%` is not defined for {} and {}", left.kind(), right.kind()))),
            }
        }
    }
}

/// `a ~ b ~ c`.
pub(super) fn concatenate(items: &Value) -> Result<String, Error> {
    items.try_iter()?.map(|item| printed(&item)).collect()
}

/// What a token is for the order of operations.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Ends the template's data.
    Start,
    End,
    Open,
    Close,
    Modulo,
    Concatenate,
    /// `*`, `/`, `//`
    Multiply,
    /// `+` and `-`, with one operand or two
    Add,
    Power,
    /// What binds less: comparisons, words, commas and the like
    Loose,
    Operand,
}

/// The source with `%` and `~` as filters, and without the statement `generation`, by which transformers marks what the
/// assistant said.
pub(super) fn as_filters(source: &str) -> Result<String, Error> {
    let mut parts: Vec<(Part, Range<usize>)> = Vec::new();
    let mut words: Vec<(Range<usize>, &str)> = Vec::new();
    let mut before = None;
    for token in tokenize(source, false, SyntaxConfig::default()) {
        // The compiler reports what is not a token.
        let Ok((token, span)) = token else { return Ok(source.to_owned()) };
        let place = span.start_offset as usize..span.end_offset as usize;
        let part = part(&token, before.as_ref());
        if let (Token::Ident(name), Some(Token::BlockStart)) = (&token, &before) {
            match *name {
                "generation" => words.push((place.clone(), "if true")),
                "endgeneration" => words.push((place.clone(), "endif")),
                _ => {}
            }
        }
        if let Some(part) = part {
            parts.push((part, place));
        }
        before = Some(token);
    }
    let mut rewriting = Rewriting { source, parts, words, at: 0, copied: 0 };
    let mut out = String::with_capacity(source.len());
    while rewriting.at < rewriting.parts.len() {
        rewriting.expressions(&mut out, 0)?;
        // A bracket that nothing opened.
        rewriting.take(&mut out);
    }
    out.push_str(&source[rewriting.copied..]);
    Ok(out)
}

fn part(token: &Token<'_>, before: Option<&Token<'_>>) -> Option<Part> {
    Some(match token {
        Token::TemplateData(_) => return None,
        Token::VariableStart | Token::BlockStart => Part::Start,
        Token::VariableEnd | Token::BlockEnd => Part::End,
        Token::BracketOpen | Token::ParenOpen | Token::BraceOpen => Part::Open,
        Token::BracketClose | Token::ParenClose | Token::BraceClose => Part::Close,
        Token::Mod => Part::Modulo,
        Token::Tilde => Part::Concatenate,
        Token::Mul | Token::Div | Token::FloorDiv => Part::Multiply,
        Token::Plus | Token::Minus => Part::Add,
        Token::Pow => Part::Power,
        Token::Comma
        | Token::Colon
        | Token::Assign
        | Token::Eq
        | Token::Ne
        | Token::Gt
        | Token::Gte
        | Token::Lt
        | Token::Lte => Part::Loose,
        Token::Ident(name) => match (before, *name) {
            // The word of a statement.
            (Some(Token::BlockStart), _) => Part::Loose,
            // An attribute, a filter, or `is not`.
            (Some(Token::Dot | Token::Pipe), _) | (Some(Token::Ident("is")), "not" | "in") => Part::Operand,
            (_, "and" | "or" | "not" | "in" | "if" | "else" | "recursive") => Part::Loose,
            _ => Part::Operand,
        },
        _ => Part::Operand,
    })
}

struct Rewriting<'s> {
    source: &'s str,
    parts: Vec<(Part, Range<usize>)>,
    /// Words of statements that are replaced.
    words: Vec<(Range<usize>, &'static str)>,
    at: usize,
    /// Where in the source the rest begins.
    copied: usize,
}

impl Rewriting<'_> {
    fn next(&self) -> Option<Part> {
        self.parts.get(self.at).map(|(part, _)| *part)
    }

    /// Copies a token with what is before it.
    fn take(&mut self, out: &mut String) {
        let Some((_, place)) = self.parts.get(self.at) else { return };
        out.push_str(&self.source[self.copied..place.start]);
        match self.words.binary_search_by_key(&place.start, |(place, _)| place.start) {
            Ok(word) => out.push_str(self.words[word].1),
            Err(_) => out.push_str(&self.source[place.clone()]),
        }
        self.copied = place.end;
        self.at += 1;
    }

    /// Leaves a token out.
    fn skip(&mut self) {
        if let Some((_, place)) = self.parts.get(self.at) {
            self.copied = place.end;
            self.at += 1;
        }
    }

    /// Everything up to a closing bracket.
    fn expressions(&mut self, out: &mut String, depth: usize) -> Result<(), Error> {
        if depth > MAX_DEPTH {
            let detail = format!("more than {MAX_DEPTH} brackets within one another");
            return Err(Error::new(ErrorKind::SyntaxError, detail));
        }
        while let Some(part) = self.next() {
            match part {
                Part::Close => break,
                Part::Start | Part::End | Part::Loose => self.take(out),
                _ => self.sum(out, depth)?,
            }
        }
        Ok(())
    }

    fn sum(&mut self, out: &mut String, depth: usize) -> Result<(), Error> {
        self.concatenation(out, depth)?;
        while self.next() == Some(Part::Add) {
            self.take(out);
            self.concatenation(out, depth)?;
        }
        Ok(())
    }

    fn concatenation(&mut self, out: &mut String, depth: usize) -> Result<(), Error> {
        let mut items = vec![self.product(depth)?];
        while self.next() == Some(Part::Concatenate) {
            self.skip();
            items.push(self.product(depth)?);
        }
        match items.as_slice() {
            [only] => out.push_str(only),
            items => {
                out.push_str(" [");
                out.push_str(&items.join(","));
                out.push_str("]|");
                out.push_str(CONCATENATE);
            }
        }
        Ok(())
    }

    fn product(&mut self, depth: usize) -> Result<String, Error> {
        let mut product = String::new();
        let mut remainders = 0;
        self.operand(&mut product, depth)?;
        loop {
            match self.next() {
                Some(Part::Multiply) => {
                    self.take(&mut product);
                    self.operand(&mut product, depth)?;
                }
                Some(Part::Modulo) => {
                    self.skip();
                    remainders += 1;
                    product.push_str(")|");
                    product.push_str(MODULO);
                    product.push('(');
                    self.operand(&mut product, depth)?;
                    product.push(')');
                }
                _ if remainders == 0 => return Ok(product),
                _ => return Ok(format!(" {}{product}", "(".repeat(remainders))),
            }
        }
    }

    /// An operand with its signs, powers, attributes, calls, filters and tests.
    fn operand(&mut self, out: &mut String, depth: usize) -> Result<(), Error> {
        let mut takes_sign = true;
        while let Some(part) = self.next() {
            match part {
                Part::Add if takes_sign => self.take(out),
                Part::Operand => {
                    self.take(out);
                    takes_sign = false;
                }
                Part::Power => {
                    self.take(out);
                    takes_sign = true;
                }
                Part::Open => {
                    self.take(out);
                    self.expressions(out, depth + 1)?;
                    self.take(out);
                    takes_sign = false;
                }
                _ => break,
            }
        }
        Ok(())
    }
}
