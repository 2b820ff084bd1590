//! The names and calls that count as literals.

use std::collections::HashSet;

use num_traits::ToPrimitive as _;

use super::parser::{Fault, Parser, unique_pairs};
use crate::value::{PyStr, Value};

impl Parser<'_> {
    /// `None`, `True`, `False`, or a call of `float`, `set`, `Counter` or `deque`.
    pub(super) fn name(&mut self) -> Result<Value, Fault> {
        let start = self.cursor.position();
        let name = self.cursor.name();
        match name {
            "None" => return Ok(Value::None),
            "True" => return Ok(Value::Bool(true)),
            "False" => return Ok(Value::Bool(false)),
            _ => {}
        }
        let is_call = ["float", "set", "Counter", "deque"].contains(&name);
        if is_call {
            self.skip_space(self.is_bracketed())?;
        }
        if !is_call || !self.cursor.eat('(') {
            self.cursor.return_to(start);
            return Err(self.fault("a name or character that starts no literal"));
        }
        self.enter()?;
        let argument = if self.at_close()? { None } else { Some(self.expression()?) };
        let maxlen = if name == "deque" { self.maxlen(argument.is_some())? } else { None };
        self.skip_space(true)?;
        if argument.is_some() && maxlen.is_none() {
            self.cursor.eat(',');
        }
        self.close(')')?;
        match (name, argument) {
            ("float", Some(argument)) => self.float(&argument),
            ("float", None) => Ok(Value::Float(0.0)),
            ("Counter", None) => Ok(Value::Counter(Vec::new())),
            ("Counter", Some(Value::Dict(pairs))) => Ok(Value::Counter(unique_pairs(pairs))),
            ("set", None) => Ok(Value::Set(Vec::new())),
            ("set", Some(Value::List(items) | Value::Tuple(items) | Value::Set(items))) => self.set(items),
            ("deque", argument) => {
                let items = match argument {
                    None => Vec::new(),
                    Some(Value::List(items) | Value::Tuple(items)) => items,
                    Some(_) => return Err(self.fault("`deque` takes a list")),
                };
                let excess = maxlen.map_or(0, |limit| items.len().saturating_sub(limit as usize));
                Ok(Value::Deque(items.into_iter().skip(excess).collect(), maxlen))
            }
            (name, _) => Err(self.fault(format!("`{name}` does not take this argument"))),
        }
    }

    /// `, maxlen=N`, or `, N`.
    fn maxlen(&mut self, after_items: bool) -> Result<Option<u64>, Fault> {
        self.skip_space(true)?;
        let start = self.cursor.position();
        if !after_items || !self.cursor.eat(',') {
            return Ok(None);
        }
        if self.at_close()? {
            self.cursor.return_to(start);
            return Ok(None);
        }
        if self.cursor.eat_str("maxlen") {
            self.skip_space(true)?;
            if !self.cursor.eat('=') {
                return Err(self.fault("`maxlen` without `=`"));
            }
        }
        match self.expression()? {
            Value::Int(limit) => match limit.to_u64() {
                Some(limit) if usize::try_from(limit).is_ok() => Ok(Some(limit)),
                _ => Err(self.fault("`maxlen` out of range")),
            },
            Value::None => Ok(None),
            _ => Err(self.fault("`maxlen` is not an integer")),
        }
    }

    fn float(&self, argument: &Value) -> Result<Value, Fault> {
        let value = match argument {
            Value::Float(value) => Some(*value),
            Value::Int(value) => value.to_f64().filter(|value| value.is_finite()),
            Value::Bool(value) => Some(f64::from(u8::from(*value))),
            Value::Str(text) => text.as_str().and_then(read_float),
            _ => None,
        };
        value.map(Value::Float).ok_or_else(|| self.fault("`float` takes a number or the text of one"))
    }
}

/// The texts that Python's `float` accepts, in ASCII.
fn read_float(text: &str) -> Option<f64> {
    let text = text.trim();
    let digits_around = |at: usize| {
        let digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
        digit(text.as_bytes().get(at.wrapping_sub(1))) && digit(text.as_bytes().get(at + 1))
    };
    if text.match_indices('_').any(|(at, _)| !digits_around(at)) {
        return None;
    }
    text.replace('_', "").parse().ok()
}

/// Arguments by position and by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Arguments {
    /// By position.
    pub positional: Vec<Value>,
    /// By name, in the order given.
    pub keyword: Vec<(PyStr, Value)>,
}

impl Arguments {
    /// Python source for between the parentheses of a call.
    #[must_use]
    pub fn to_source(&self) -> String {
        let positional = self.positional.iter().map(Value::to_source);
        let keyword = self
            .keyword
            .iter()
            .map(|(name, value)| format!("**{{{}:{}}}", Value::Str(name.clone()), value.to_source()));
        positional.chain(keyword).collect::<Vec<_>>().join(",")
    }
}

impl<'a> Parser<'a> {
    pub(super) fn arguments(&mut self) -> Result<Arguments, Fault> {
        let mut arguments = Arguments { positional: Vec::new(), keyword: Vec::new() };
        let mut names = HashSet::new();
        self.enter()?;
        loop {
            self.skip_space(true)?;
            if self.cursor.at_end() {
                break;
            }
            if let Some(name) = self.keyword_name()? {
                if !names.insert(name) {
                    return Err(self.fault("the same keyword argument again"));
                }
                let value = self.expression()?;
                arguments.keyword.push((PyStr::from(name), value));
            } else if arguments.keyword.is_empty() {
                let value = self.expression()?;
                arguments.positional.push(value);
            } else {
                return Err(self.fault("a positional argument after a keyword argument"));
            }
            self.skip_space(true)?;
            if !self.cursor.eat(',') {
                break;
            }
        }
        self.leave();
        Ok(arguments)
    }

    /// Parses `name =`, if present.
    fn keyword_name(&mut self) -> Result<Option<&'a str>, Fault> {
        let start = self.cursor.position();
        let name = self.cursor.name();
        if !name.is_empty() {
            self.skip_space(true)?;
            if self.cursor.eat('=') {
                self.skip_space(true)?;
                return Ok(Some(name));
            }
        }
        self.cursor.return_to(start);
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use crate::literal::parse_arguments;

    #[test]
    fn as_many_keyword_arguments_as_a_text_holds_are_read_at_once() {
        // With a look at all earlier names for each, these would be 20 thousand million comparisons.
        let mut text: String = (0..200_000).map(|at| format!("a{at}=1,")).collect();
        let arguments = parse_arguments(&text).expect("different names");
        assert_eq!(arguments.keyword.len(), 200_000);
        text.push_str("a7=1");
        let error = parse_arguments(&text).expect_err("a name given twice");
        assert_eq!(error.what, "the same keyword argument again");
    }
}
