//! The grammar.

use num_bigint::BigInt;
use num_traits::ToPrimitive as _;

use crate::value::{Comparison, MAX_DEPTH, UniqueKeys, Value};

use super::{Cursor, LiteralError};

/// A parse error, boxed because it is rare.
pub(super) type Fault = Box<LiteralError>;

/// A recursive-descent parser with limited depth.
pub(super) struct Parser<'a> {
    pub(super) cursor: Cursor<'a>,
    depth: usize,
}

impl<'a> Parser<'a> {
    /// Parses a whole text by one rule.
    pub(super) fn run<T>(
        text: &'a str,
        rule: impl FnOnce(&mut Parser<'_>) -> Result<T, Fault>,
    ) -> Result<T, LiteralError> {
        if text.contains('\0') {
            return Err(LiteralError { what: "a NUL character, which Python source cannot hold".to_owned(), at: 1 });
        }
        let unified;
        let text = if text.contains('\r') {
            unified = text.replace("\r\n", "\n").replace('\r', "\n");
            &unified
        } else {
            text
        };
        let mut parser = Parser { cursor: Cursor::new(text.trim_matches([' ', '\t', '\n', '\x0C'])), depth: 0 };
        let result = rule(&mut parser).and_then(|value| {
            parser.skip_space(true)?;
            if parser.cursor.at_end() { Ok(value) } else { Err(parser.fault("text after the end of the literal")) }
        });
        result.map_err(|fault| *fault)
    }

    pub(super) fn fault(&self, what: impl Into<String>) -> Fault {
        Box::new(LiteralError { what: what.into(), at: self.cursor.column() })
    }

    pub(super) fn enter(&mut self) -> Result<(), Fault> {
        self.depth += 1;
        if self.depth > MAX_DEPTH + 1 {
            return Err(self.fault(format!("nesting deeper than {MAX_DEPTH}")));
        }
        Ok(())
    }

    pub(super) fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Whether line breaks count as whitespace here.
    pub(super) fn is_bracketed(&self) -> bool {
        self.depth > 0
    }

    pub(super) fn skip_space(&mut self, line_breaks: bool) -> Result<(), Fault> {
        loop {
            self.cursor.take_while(|c| matches!(c, ' ' | '\t' | '\x0C') || (line_breaks && c == '\n'));
            match self.cursor.peek() {
                Some('#') => {
                    self.cursor.take_while(|c| c != '\n');
                }
                Some('\\') => {
                    if !self.cursor.eat_str("\\\n") {
                        return Err(self.fault("a backslash that ends no line"));
                    }
                }
                _ => return Ok(()),
            }
        }
    }

    /// A literal, or a tuple without parentheses.
    pub(super) fn expression_list(&mut self) -> Result<Value, Fault> {
        self.skip_space(true)?;
        let first = self.expression()?;
        self.skip_space(false)?;
        if !self.cursor.eat(',') {
            return Ok(first);
        }
        let mut items = vec![first];
        loop {
            self.skip_space(false)?;
            if self.cursor.at_end() || self.cursor.peek() == Some('\n') {
                return Ok(Value::Tuple(items));
            }
            items.push(self.expression()?);
            self.skip_space(false)?;
            if !self.cursor.eat(',') {
                return Ok(Value::Tuple(items));
            }
        }
    }

    /// A literal: a signed or unsigned number, a complex sum, or anything else without a sign.
    pub(super) fn expression(&mut self) -> Result<Value, Fault> {
        let (left, is_number) = self.signed()?;
        if !is_number {
            return Ok(left);
        }
        let after = self.cursor.position();
        self.skip_space(self.is_bracketed())?;
        let minus = match self.cursor.peek() {
            Some('+') => false,
            Some('-') => true,
            _ => {
                self.cursor.return_to(after);
                return Ok(left);
            }
        };
        self.cursor.next();
        self.skip_space(self.is_bracketed())?;
        let (right, _) = self.unsigned()?;
        self.complex(&left, &right, minus)
    }

    fn complex(&self, left: &Value, right: &Value, minus: bool) -> Result<Value, Fault> {
        let re = match left {
            Value::Int(value) => value.to_f64().filter(|value| value.is_finite()),
            Value::Float(value) => Some(*value),
            _ => None,
        };
        match (re, right) {
            (Some(re), Value::Complex(zero, im)) => {
                // As in CPython: the real number becomes a complex with imaginary part 0.
                Ok(if minus { Value::Complex(re - zero, 0.0 - im) } else { Value::Complex(re + zero, 0.0 + im) })
            }
            _ => Err(self.fault("a sum that is not a complex number")),
        }
    }

    /// Returns the value and whether it is a number that may be part of a complex sum.
    fn signed(&mut self) -> Result<(Value, bool), Fault> {
        let minus = match self.cursor.peek() {
            Some('-') => true,
            Some('+') => false,
            _ => return self.unsigned(),
        };
        self.cursor.next();
        self.skip_space(self.is_bracketed())?;
        match self.unsigned()? {
            (value, false) => Err(self.fault(format!("a sign before a value of type {}", value.type_name()))),
            (value, true) if minus => Ok((negate(value), true)),
            (value, true) => Ok((value, true)),
        }
    }

    fn unsigned(&mut self) -> Result<(Value, bool), Fault> {
        let value = match self.cursor.peek() {
            None => return Err(self.fault("the end of the text where a literal should be")),
            Some('(') => return self.parenthesised(),
            Some('[') => Value::List(self.items(']')?),
            Some('{') => self.braced()?,
            Some('.') if self.cursor.eat_str("...") => Value::Ellipsis,
            Some('.' | '0'..='9') => return Ok((self.number()?, true)),
            Some(_) if self.at_string() => self.strings()?,
            Some(_) => {
                let value = self.name()?;
                let is_number = matches!(value, Value::Float(_));
                return Ok((value, is_number));
            }
        };
        Ok((value, false))
    }

    /// `()`, `(item)`, `(item,)`, `(item, item)`; a number in parentheses is still a number.
    fn parenthesised(&mut self) -> Result<(Value, bool), Fault> {
        self.cursor.next();
        self.enter()?;
        if self.at_close()? {
            self.close(')')?;
            return Ok((Value::Tuple(Vec::new()), false));
        }
        let start = self.cursor.peek();
        let first = self.expression()?;
        self.skip_space(true)?;
        if self.cursor.peek() == Some(')') {
            self.close(')')?;
            let plain = matches!(first, Value::Int(_) | Value::Float(_) | Value::Complex(..));
            return Ok((first, plain && !matches!(start, Some('+' | '-'))));
        }
        let mut items = vec![first];
        self.more_items(&mut items, ')')?;
        Ok((Value::Tuple(items), false))
    }

    fn items(&mut self, close: char) -> Result<Vec<Value>, Fault> {
        self.cursor.next();
        self.enter()?;
        let mut items = Vec::new();
        if self.at_close()? {
            self.close(close)?;
        } else {
            items.push(self.expression()?);
            self.more_items(&mut items, close)?;
        }
        Ok(items)
    }

    fn more_items(&mut self, items: &mut Vec<Value>, close: char) -> Result<(), Fault> {
        loop {
            self.skip_space(true)?;
            if !self.cursor.eat(',') || self.at_close()? {
                return self.close(close);
            }
            items.push(self.expression()?);
        }
    }

    /// A dict or a set.
    fn braced(&mut self) -> Result<Value, Fault> {
        self.cursor.next();
        self.enter()?;
        if self.at_close()? {
            self.close('}')?;
            return Ok(Value::Dict(Vec::new()));
        }
        let first = self.key()?;
        self.skip_space(true)?;
        if self.cursor.peek() != Some(':') {
            let mut items = vec![first];
            loop {
                self.skip_space(true)?;
                if !self.cursor.eat(',') || self.at_close()? {
                    self.close('}')?;
                    return self.set(items);
                }
                items.push(self.key()?);
            }
        }
        let mut pairs = Vec::new();
        let mut key = first;
        loop {
            self.skip_space(true)?;
            if !self.cursor.eat(':') {
                return Err(self.fault("a dict key without `:`"));
            }
            self.skip_space(true)?;
            let value = self.expression()?;
            pairs.push((key, value));
            self.skip_space(true)?;
            if !self.cursor.eat(',') || self.at_close()? {
                self.close('}')?;
                return Ok(Value::Dict(unique_pairs(pairs)));
            }
            key = self.key()?;
        }
    }

    pub(super) fn set(&self, items: Vec<Value>) -> Result<Value, Fault> {
        Value::set_of(items).ok_or_else(|| self.fault("an unhashable element of a set"))
    }

    fn key(&mut self) -> Result<Value, Fault> {
        let key = self.expression()?;
        if key.is_hashable() {
            Ok(key)
        } else {
            Err(self.fault(format!("an unhashable {} as element of a set or key of a dict", key.type_name())))
        }
    }

    /// Whether the next character is a closing bracket.
    pub(super) fn at_close(&mut self) -> Result<bool, Fault> {
        self.skip_space(true)?;
        Ok(matches!(self.cursor.peek(), Some(')' | ']' | '}')))
    }

    pub(super) fn close(&mut self, bracket: char) -> Result<(), Fault> {
        self.skip_space(true)?;
        if !self.cursor.eat(bracket) {
            return Err(self.fault(format!("something other than `,` or `{bracket}`")));
        }
        self.leave();
        Ok(())
    }
}

fn negate(value: Value) -> Value {
    match value {
        Value::Int(value) => Value::Int(-value),
        Value::Float(value) => Value::Float(-value),
        Value::Complex(re, im) => Value::Complex(-re, -im),
        other => other,
    }
}

/// Like a dict, keeps the first of equal keys at its position, with the last value.
pub(super) fn unique_pairs(pairs: Vec<(Value, Value)>) -> Vec<(Value, Value)> {
    let mut keys = UniqueKeys::new(Comparison::Python);
    let places: Vec<Option<usize>> = pairs.iter().enumerate().map(|(at, (key, _))| keys.insert(key, at)).collect();
    let mut kept: Vec<Option<(Value, Value)>> = pairs.into_iter().map(Some).collect();
    for (at, place) in places.into_iter().enumerate() {
        if let Some(place) = place
            && let Some((_, value)) = kept[at].take()
            && let Some(first) = &mut kept[place]
        {
            first.1 = value;
        }
    }
    kept.into_iter().flatten().collect()
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(BigInt::from(value))
    }
}
