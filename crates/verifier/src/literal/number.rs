//! Numbers: every notation for int, float and imaginary number.

use num_bigint::BigInt;

use crate::value::{MAX_INT_BITS, Value};

use super::parser::{Fault, Parser};

/// An upper bound on the decimal digits that [`MAX_INT_BITS`] bits can need.
const MAX_DIGITS: usize = (MAX_INT_BITS / 3) as usize;

impl Parser<'_> {
    /// An unsigned number.
    pub(super) fn number(&mut self) -> Result<Value, Fault> {
        let radix = match self.cursor.rest().as_bytes() {
            [b'0', b'x' | b'X', ..] => Some(16),
            [b'0', b'o' | b'O', ..] => Some(8),
            [b'0', b'b' | b'B', ..] => Some(2),
            _ => None,
        };
        let value = match radix {
            Some(radix) => self.radix_integer(radix)?,
            None => self.decimal()?,
        };
        if self
            .cursor
            .peek()
            .is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '.')
        {
            return Err(self.fault("a number runs into other text"));
        }
        Ok(value)
    }

    fn radix_integer(&mut self, radix: u32) -> Result<Value, Fault> {
        self.cursor.next();
        self.cursor.next();
        let digits = self.cursor.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
        let digits = digits.strip_prefix('_').unwrap_or(digits);
        let clean = self.without_underscores(digits)?;
        if !clean.chars().all(|c| c.is_digit(radix)) {
            return Err(self.fault("a digit that its number cannot have"));
        }
        self.integer(&clean, radix)
    }

    fn decimal(&mut self) -> Result<Value, Fault> {
        let is_digit = |c: char| c.is_ascii_digit() || c == '_';
        let start = self.cursor.position();
        let whole = self.cursor.take_while(is_digit);
        let mut is_float = false;
        if self.cursor.peek() == Some('.') {
            self.cursor.next();
            is_float = true;
            let fraction = self.cursor.take_while(is_digit);
            self.checked_digits(fraction)?;
            if whole.is_empty() && fraction.is_empty() {
                return Err(self.fault("a point without digits"));
            }
        }
        if matches!(self.cursor.peek(), Some('e' | 'E')) {
            self.cursor.next();
            is_float = true;
            if matches!(self.cursor.peek(), Some('+' | '-')) {
                self.cursor.next();
            }
            let exponent = self.cursor.take_while(is_digit);
            if exponent.is_empty() {
                return Err(self.fault("an exponent without digits"));
            }
            self.checked_digits(exponent)?;
        }
        self.checked_digits(whole)?;
        let text = self.cursor.since(start).replace('_', "");
        let imaginary = matches!(self.cursor.peek(), Some('j' | 'J'));
        if imaginary {
            self.cursor.next();
        }
        if imaginary || is_float {
            let value = text.parse::<f64>().map_err(|_| self.fault("an unreadable number"))?;
            return Ok(if imaginary {
                Value::Complex(0.0, value)
            } else {
                Value::Float(value)
            });
        }
        if text.len() > 1 && text.starts_with('0') && text.bytes().any(|digit| digit != b'0') {
            return Err(self.fault("an integer with leading zeros"));
        }
        self.integer(&text, 10)
    }

    fn integer(&self, digits: &str, radix: u32) -> Result<Value, Fault> {
        let too_large = || self.fault(format!("an integer of more than {MAX_INT_BITS} bits"));
        let digits_limit = if radix == 10 { MAX_DIGITS } else { MAX_INT_BITS as usize };
        if digits.len() > digits_limit {
            return Err(too_large());
        }
        let value =
            BigInt::parse_bytes(digits.as_bytes(), radix).ok_or_else(|| self.fault("a number without digits"))?;
        if value.bits() > MAX_INT_BITS {
            return Err(too_large());
        }
        Ok(Value::Int(value))
    }

    fn checked_digits(&self, digits: &str) -> Result<(), Fault> {
        if digits.is_empty() {
            Ok(())
        } else {
            self.without_underscores(digits).map(drop)
        }
    }

    /// Underscores must be single and between digits.
    fn without_underscores(&self, digits: &str) -> Result<String, Fault> {
        if digits.is_empty() || digits.starts_with('_') || digits.ends_with('_') || digits.contains("__") {
            return Err(self.fault("a number without digits, or an underscore that is not between two digits"));
        }
        Ok(digits.replace('_', ""))
    }
}
