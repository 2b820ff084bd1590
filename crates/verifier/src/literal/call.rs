//! The names and calls that count as literals.

use num_traits::ToPrimitive as _;

use crate::value::Value;

use super::parser::{Fault, Parser, unique_pairs};

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
        let argument = if self.at_close()? {
            None
        } else {
            Some(self.expression()?)
        };
        let maxlen = if name == "deque" {
            self.maxlen(argument.is_some())?
        } else {
            None
        };
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
        value
            .map(Value::Float)
            .ok_or_else(|| self.fault("`float` takes a number or the text of one"))
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
