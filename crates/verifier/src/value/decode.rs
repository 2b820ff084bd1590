//! Decodes values leaving the sandbox.
//!
//! A tag byte, then data that depends on the tag: `N` None, `E` Ellipsis, `T` True, `F` False, `I` hexadecimal digits
//! and `;` (an int), `D` 8 bytes (a float, big-endian), `Z` 16 bytes (a complex), `S` and `B` a length, `;` and bytes
//! (a str in generalised UTF-8, a bytes), `L` `U` `G` `R` a count, `;` and items (list, tuple, set, frozenset), `M` `C`
//! a count, `;` and pairs (dict, Counter), `Q` a count, `,`, `maxlen` or nothing, `;` and items (deque). Lengths and
//! counts are decimal.
//!
//! All input comes from an untrusted program, so nothing is taken on trust: a count never reserves memory, depth is
//! limited, and values that Python cannot hold (a list inside a set, a repeated key) are refused.

use num_bigint::BigInt;

use super::{Comparison, MAX_DEPTH, MAX_INT_BITS, PyStr, UniqueKeys, Value};

/// The reason bytes are not a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The bytes end inside a value.
    #[error("the value ends too soon")]
    Truncated,
    /// Bytes follow the value.
    #[error("{0} bytes follow the value")]
    Trailing(usize),
    /// A tag that does not exist.
    #[error("unknown tag byte {0:#04x}")]
    Tag(u8),
    /// A length, count or number that cannot be read.
    #[error("unreadable number")]
    Number,
    /// An integer above [`MAX_INT_BITS`].
    #[error("an integer of more than {MAX_INT_BITS} bits")]
    IntegerSize,
    /// A string that is not generalised UTF-8.
    #[error("a string that is not UTF-8")]
    Text,
    /// Containers nest deeper than [`MAX_DEPTH`].
    #[error("containers nest deeper than {MAX_DEPTH}")]
    Depth,
    /// A set element or dict key that Python could not hash.
    #[error("an unhashable {0} as element of a set or key of a dict")]
    Unhashable(&'static str),
    /// A deque with more items than its `maxlen` allows.
    #[error("a deque with more items than its maxlen")]
    DequeLength,
    /// Frozensets nest deeper than [`MAX_FROZEN_DEPTH`].
    #[error("frozensets nest deeper than {MAX_FROZEN_DEPTH}")]
    FrozenDepth,
    /// The value takes more than [`MAX_MEMORY`] once decoded.
    #[error("the value takes more than {MAX_MEMORY} bytes of memory")]
    Memory,
    /// Two equal elements in a set, or two equal keys in a dict.
    #[error("a set element or dict key is repeated")]
    Duplicate,
}

/// Maximum nesting of frozensets. Each hashes its items anew, with all that these hold.
pub const MAX_FROZEN_DEPTH: usize = 10;

/// Maximum memory of a decoded value, in bytes. An encoding of 1 MiB always fits.
pub const MAX_MEMORY: usize = 64 << 20;

/// Reads exactly one value.
///
/// # Errors
/// If the bytes are anything else.
pub fn decode(bytes: &[u8]) -> Result<Value, DecodeError> {
    let mut reader = Reader {
        rest: bytes,
        // The data of strings and numbers takes about as much as its encoding.
        memory: MAX_MEMORY.saturating_sub(bytes.len()),
        frozen: 0,
    };
    let value = reader.value(0)?;
    match reader.rest.len() {
        0 => Ok(value),
        left => Err(DecodeError::Trailing(left)),
    }
}

struct Reader<'a> {
    rest: &'a [u8],
    /// Memory left for values.
    memory: usize,
    /// Frozensets around the current value.
    frozen: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], DecodeError> {
        let (head, rest) = self.rest.split_at_checked(length).ok_or(DecodeError::Truncated)?;
        self.rest = rest;
        Ok(head)
    }

    fn until(&mut self, end: u8) -> Result<&'a [u8], DecodeError> {
        let at = self.rest.iter().position(|byte| *byte == end).ok_or(DecodeError::Truncated)?;
        let head = self.take(at)?;
        self.take(1)?;
        Ok(head)
    }

    fn count(&mut self) -> Result<usize, DecodeError> {
        let digits = self.until(b';')?;
        parse_decimal(digits)
    }

    fn float(&mut self) -> Result<f64, DecodeError> {
        let bytes = self.take(8)?.try_into().map_err(|_| DecodeError::Truncated)?;
        Ok(f64::from_be_bytes(bytes))
    }

    fn integer(&mut self) -> Result<BigInt, DecodeError> {
        let digits = self.until(b';')?;
        if digits.len() as u64 > MAX_INT_BITS / 4 + 1 {
            return Err(DecodeError::IntegerSize);
        }
        BigInt::parse_bytes(digits, 16).ok_or(DecodeError::Number)
    }

    fn items(&mut self, count: usize, depth: usize) -> Result<Vec<Value>, DecodeError> {
        (0..count).map(|_| self.value(depth)).collect()
    }

    fn elements(&mut self, depth: usize) -> Result<Vec<Value>, DecodeError> {
        let count = self.count()?;
        let items = self.items(count, depth)?;
        check_keys(items.iter())?;
        Ok(items)
    }

    fn pairs(&mut self, depth: usize) -> Result<Vec<(Value, Value)>, DecodeError> {
        let count = self.count()?;
        let pairs: Vec<_> =
            (0..count).map(|_| Ok((self.value(depth)?, self.value(depth)?))).collect::<Result<_, _>>()?;
        check_keys(pairs.iter().map(|(key, _)| key))?;
        Ok(pairs)
    }

    fn value(&mut self, depth: usize) -> Result<Value, DecodeError> {
        if depth > MAX_DEPTH {
            return Err(DecodeError::Depth);
        }
        self.memory = self.memory.checked_sub(size_of::<Value>()).ok_or(DecodeError::Memory)?;
        let inner = depth + 1;
        Ok(match self.take(1)?[0] {
            b'N' => Value::None,
            b'E' => Value::Ellipsis,
            b'T' => Value::Bool(true),
            b'F' => Value::Bool(false),
            b'I' => Value::Int(self.integer()?),
            b'D' => Value::Float(self.float()?),
            b'Z' => Value::Complex(self.float()?, self.float()?),
            b'S' => {
                let length = self.count()?;
                Value::Str(PyStr::from_generalised(self.take(length)?).ok_or(DecodeError::Text)?)
            }
            b'B' => {
                let length = self.count()?;
                Value::Bytes(self.take(length)?.to_vec())
            }
            b'L' => {
                let count = self.count()?;
                Value::List(self.items(count, inner)?)
            }
            b'U' => {
                let count = self.count()?;
                Value::Tuple(self.items(count, inner)?)
            }
            b'G' => Value::Set(self.elements(inner)?),
            b'R' => {
                self.frozen += 1;
                if self.frozen > MAX_FROZEN_DEPTH {
                    return Err(DecodeError::FrozenDepth);
                }
                let items = self.elements(inner)?;
                self.frozen -= 1;
                Value::FrozenSet(items)
            }
            b'M' => Value::Dict(self.pairs(inner)?),
            b'C' => Value::Counter(self.pairs(inner)?),
            b'Q' => {
                let count = parse_decimal(self.until(b',')?)?;
                let limit = match self.until(b';')? {
                    b"" => None,
                    digits => Some(parse_decimal(digits)? as u64),
                };
                if limit.is_some_and(|limit| count as u64 > limit) {
                    return Err(DecodeError::DequeLength);
                }
                Value::Deque(self.items(count, inner)?, limit)
            }
            tag => return Err(DecodeError::Tag(tag)),
        })
    }
}

fn parse_decimal(digits: &[u8]) -> Result<usize, DecodeError> {
    if digits.is_empty() || digits.len() > 18 || !digits.iter().all(u8::is_ascii_digit) {
        return Err(DecodeError::Number);
    }
    Ok(digits.iter().fold(0, |sum, digit| sum * 10 + usize::from(digit - b'0')))
}

fn check_keys<'a>(items: impl Iterator<Item = &'a Value>) -> Result<(), DecodeError> {
    let mut keys = UniqueKeys::new(Comparison::Python);
    for (at, item) in items.enumerate() {
        if !item.is_hashable() {
            return Err(DecodeError::Unhashable(item.type_name()));
        }
        if keys.insert(item, at).is_some() {
            return Err(DecodeError::Duplicate);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{DecodeError, decode};

    #[test]
    fn frozensets_nest_ten_levels_deep() {
        let nested = |depth: usize| format!("{}R0;", "R1;".repeat(depth - 1));
        assert!(decode(nested(10).as_bytes()).is_ok());
        assert_eq!(decode(nested(11).as_bytes()).unwrap_err(), DecodeError::FrozenDepth);
        // Side by side they may be any number.
        assert!(decode(format!("L20;{}", "R1;R0;".repeat(20)).as_bytes()).is_ok());
    }

    #[test]
    fn a_value_that_grows_in_memory_is_refused() {
        let list = |count: usize| [format!("L{count};").into_bytes(), vec![b'N'; count]].concat();
        assert!(decode(&list((1 << 20) - 9)).is_ok());
        assert_eq!(decode(&list(4 << 20)).unwrap_err(), DecodeError::Memory);
    }

    #[test]
    fn a_deque_that_cannot_exist_is_refused() {
        assert!(decode(b"Q1,1;I1;").is_ok());
        assert_eq!(decode(b"Q2,1;I1;I2;").unwrap_err(), DecodeError::DequeLength);
    }
}
