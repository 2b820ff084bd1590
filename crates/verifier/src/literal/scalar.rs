//! Numbers, strings and bytes: every notation for them.

use num_bigint::BigInt;

use super::parser::{Fault, Parser};
use crate::value::{MAX_INT_BITS, PyStr, Value};

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
        if self.cursor.peek().is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '.') {
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
            return Ok(if imaginary { Value::Complex(0.0, value) } else { Value::Float(value) });
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
        if digits.is_empty() { Ok(()) } else { self.without_underscores(digits).map(drop) }
    }

    /// Underscores must be single and between digits.
    fn without_underscores(&self, digits: &str) -> Result<String, Fault> {
        if digits.is_empty() || digits.starts_with('_') || digits.ends_with('_') || digits.contains("__") {
            return Err(self.fault("a number without digits, or an underscore that is not between two digits"));
        }
        Ok(digits.replace('_', ""))
    }
}

/// Flags of a string's prefix.
#[derive(Clone, Copy)]
struct Prefix {
    raw: bool,
    bytes: bool,
}

impl Parser<'_> {
    /// Whether a string with one of the prefixes starts here.
    pub(super) fn at_string(&self) -> bool {
        let rest = self.cursor.rest();
        // Prefixes have at most two letters. Looking further would make a list of anything but strings take quadratic
        // time.
        let quote = rest.bytes().take(3).position(|byte| matches!(byte, b'"' | b'\''));
        quote.is_some_and(|at| ["", "r", "b", "u", "br", "rb"].contains(&rest[..at].to_ascii_lowercase().as_str()))
    }

    /// One or more adjacent strings.
    pub(super) fn strings(&mut self) -> Result<Value, Fault> {
        let mut text = PyStr::default();
        let mut bytes = Vec::new();
        let mut kind = None;
        loop {
            let prefix = self.prefix();
            if kind.is_some_and(|kind| kind != prefix.bytes) {
                return Err(self.fault("bytes beside a string"));
            }
            kind = Some(prefix.bytes);
            self.quoted(prefix, &mut text, &mut bytes)?;
            let after = self.cursor.position();
            self.skip_space(self.is_bracketed())?;
            if !self.at_string() {
                self.cursor.return_to(after);
                break;
            }
        }
        Ok(if kind == Some(true) { Value::Bytes(bytes) } else { Value::Str(text) })
    }

    fn prefix(&mut self) -> Prefix {
        let letters = self.cursor.take_while(|c| c != '"' && c != '\'');
        let has = |letter: char| letters.contains([letter, letter.to_ascii_uppercase()]);
        Prefix { raw: has('r'), bytes: has('b') }
    }

    fn quoted(&mut self, prefix: Prefix, text: &mut PyStr, bytes: &mut Vec<u8>) -> Result<(), Fault> {
        let quote = self.cursor.next().unwrap_or('"');
        let (double, triple) = (quote.to_string().repeat(2), quote.to_string().repeat(3));
        let long = self.cursor.eat_str(&double);
        loop {
            if long && self.cursor.eat_str(&triple) || !long && self.cursor.eat(quote) {
                return Ok(());
            }
            let Some(character) = self.cursor.next() else { return Err(self.fault("a string that does not end")) };
            match character {
                '\n' if !long => return Err(self.fault("a line break inside a string")),
                '\\' if prefix.raw => {
                    put(prefix, u32::from('\\'), text, bytes);
                    // In a raw string, a quote after a backslash does not end the string.
                    if let Some(next) = self.cursor.next() {
                        self.plain(prefix, next, text, bytes)?;
                    }
                }
                '\\' => self.escape(prefix, text, bytes)?,
                _ => self.plain(prefix, character, text, bytes)?,
            }
        }
    }

    fn plain(&self, prefix: Prefix, character: char, text: &mut PyStr, bytes: &mut Vec<u8>) -> Result<(), Fault> {
        if prefix.bytes && !character.is_ascii() {
            return Err(self.fault("a character in bytes that is not ASCII"));
        }
        put(prefix, u32::from(character), text, bytes);
        Ok(())
    }

    /// Parses the rest of an escape, after the backslash.
    fn escape(&mut self, prefix: Prefix, text: &mut PyStr, bytes: &mut Vec<u8>) -> Result<(), Fault> {
        let Some(letter) = self.cursor.next() else { return Err(self.fault("a string that does not end")) };
        let code_point = match letter {
            '\n' => return Ok(()),
            '\\' | '\'' | '"' => u32::from(letter),
            'a' => 0x07,
            'b' => 0x08,
            'f' => 0x0C,
            'n' => 0x0A,
            'r' => 0x0D,
            't' => 0x09,
            'v' => 0x0B,
            'x' => self.hexadecimal(2)?,
            'u' if !prefix.bytes => self.hexadecimal(4)?,
            'U' if !prefix.bytes => self.hexadecimal(8)?,
            'N' if !prefix.bytes => self.named()?,
            '0'..='7' => {
                let mut value = letter.to_digit(8).unwrap_or(0);
                for _ in 0..2 {
                    let Some(digit) = self.cursor.peek().and_then(|c| c.to_digit(8)) else { break };
                    self.cursor.next();
                    value = value * 8 + digit;
                }
                if prefix.bytes { value & 0xFF } else { value }
            }
            // Not an escape: the backslash is kept.
            other => {
                put(prefix, u32::from('\\'), text, bytes);
                return self.plain(prefix, other, text, bytes);
            }
        };
        if put(prefix, code_point, text, bytes) { Ok(()) } else { Err(self.fault("a character above U+10FFFF")) }
    }

    fn hexadecimal(&mut self, count: usize) -> Result<u32, Fault> {
        let mut value = 0_u32;
        for _ in 0..count {
            let Some(digit) = self.cursor.peek().and_then(|c| c.to_digit(16)) else {
                return Err(self.fault("an escape with too few digits"));
            };
            self.cursor.next();
            value = value << 4 | digit;
        }
        Ok(value)
    }

    fn named(&mut self) -> Result<u32, Fault> {
        let name = if self.cursor.eat('{') { self.cursor.take_while(|c| c != '}') } else { "" };
        match unicode_names2::character(name) {
            Some(character) if self.cursor.eat('}') => Ok(u32::from(character)),
            _ => Err(self.fault("an unknown character name")),
        }
    }
}

fn put(prefix: Prefix, code_point: u32, text: &mut PyStr, bytes: &mut Vec<u8>) -> bool {
    if prefix.bytes {
        bytes.push(code_point as u8);
        true
    } else {
        text.push(code_point)
    }
}

#[cfg(test)]
mod tests {
    use crate::literal::parse_literal;
    use crate::value::Value;

    #[test]
    fn a_long_list_of_anything_but_strings_is_read_once() {
        // If each element were searched for a quote up to the end of the text, this would take most of an hour.
        let text = format!("[{}]", "None,".repeat(800_000));
        assert!(matches!(parse_literal(&text), Ok(Value::List(items)) if items.len() == 800_000));
    }

    #[test]
    fn every_prefix_is_known_and_no_other_word() {
        for (text, is_string) in [
            ("'a'", true),
            ("r'a'", true),
            ("Rb'a'", true),
            ("bR\"a\"", true),
            ("u'a'", true),
            ("f'a'", false),
            ("ub'a'", false),
            ("rrb'a'", false),
            ("é'a'", false),
            ("a", false),
        ] {
            assert_eq!(parse_literal(text).is_ok(), is_string, "{text}");
        }
    }
}
