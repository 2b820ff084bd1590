//! Python's `repr`, in a form that the literal parser reads back.

use std::fmt;
use std::fmt::{Display, Formatter, Write as _};

use num_bigint::Sign;
use unicode_general_category::{GeneralCategory as Category, get_general_category};

use super::{Comparison, Value};

/// CPython's repr, except where that is not a literal: infinities and NaN are written as the calls `float('inf')`,
/// `float('-inf')` and `float('nan')`, `Ellipsis` is `...`, and integers are not limited to 4,300 digits.
impl Display for Value {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => out.write_str("None"),
            Self::Ellipsis => out.write_str("..."),
            Self::Bool(true) => out.write_str("True"),
            Self::Bool(false) => out.write_str("False"),
            Self::Int(value) => write!(out, "{value}"),
            Self::Float(value) => write_float(*value, out),
            Self::Complex(re, im) => write_complex(*re, *im, out),
            Self::Str(text) => write_str(text, out),
            Self::Bytes(bytes) => write_bytes(bytes, out),
            Self::List(items) => write_items("[", items, "]", out),
            Self::Tuple(items) if items.len() == 1 => write!(out, "({},)", items[0]),
            Self::Tuple(items) => write_items("(", items, ")", out),
            Self::Set(items) if items.is_empty() => out.write_str("set()"),
            Self::Set(items) => write_items("{", items, "}", out),
            Self::FrozenSet(items) if items.is_empty() => out.write_str("frozenset()"),
            Self::FrozenSet(items) => write_items("frozenset({", items, "})", out),
            Self::Dict(pairs) => write_pairs("{", pairs.iter(), "}", out),
            Self::Counter(pairs) if pairs.is_empty() => out.write_str("Counter()"),
            Self::Counter(pairs) => write_pairs("Counter({", most_common(pairs).into_iter(), "})", out),
            Self::Deque(items, None) => write_items("deque([", items, "])", out),
            Self::Deque(items, Some(limit)) => write_items("deque([", items, &format!("], maxlen={limit})"), out),
        }
    }
}

fn write_items(open: &str, items: &[Value], close: &str, out: &mut Formatter<'_>) -> fmt::Result {
    out.write_str(open)?;
    for (at, item) in items.iter().enumerate() {
        out.write_str(if at == 0 { "" } else { ", " })?;
        item.fmt(out)?;
    }
    out.write_str(close)
}

fn write_pairs<'a>(
    open: &str,
    pairs: impl Iterator<Item = &'a (Value, Value)>,
    close: &str,
    out: &mut Formatter<'_>,
) -> fmt::Result {
    out.write_str(open)?;
    for (at, (key, value)) in pairs.enumerate() {
        out.write_str(if at == 0 { "" } else { ", " })?;
        write!(out, "{key}: {value}")?;
    }
    out.write_str(close)
}

/// A counter prints its highest counts first, if they can be ordered.
fn most_common(pairs: &[(Value, Value)]) -> Vec<&(Value, Value)> {
    let mut sorted: Vec<_> = pairs.iter().collect();
    let integers = pairs.iter().all(|(_, count)| matches!(count, Value::Int(_) | Value::Bool(_)));
    let floats = pairs.iter().all(|(_, count)| matches!(count, Value::Float(value) if !value.is_nan()));
    if integers {
        let size = |value: &Value| match value {
            Value::Int(value) => value.clone(),
            other => u8::from(other.is_truthy()).into(),
        };
        sorted.sort_by_key(|(_, count)| std::cmp::Reverse(size(count)));
    } else if floats {
        sorted.sort_by(|(_, a), (_, b)| match (a, b) {
            (Value::Float(a), Value::Float(b)) => b.partial_cmp(a).unwrap_or(std::cmp::Ordering::Equal),
            _ => std::cmp::Ordering::Equal,
        });
    }
    sorted
}

/// The shortest digits that read back as the same number, formatted like `float.__repr__`.
fn shortest(value: f64, integral_suffix: &str) -> String {
    let mut scientific = format!("{:e}", value.abs());
    // If two shortest representations are equally near, CPython takes the even digit, as formatting to a fixed length
    // does.
    let length = scientific.find('e').unwrap_or(0).saturating_sub(2);
    let even = format!("{:.length$e}", value.abs());
    if even.parse() == Ok(value.abs()) {
        scientific = even;
    }
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let digits: String = mantissa.chars().filter(|c| *c != '.').collect();
    let sign = if value.is_sign_negative() { "-" } else { "" };
    let body = if (-4..16).contains(&exponent) {
        if exponent < 0 {
            format!("0.{}{digits}", "0".repeat((-exponent - 1) as usize))
        } else {
            let whole = exponent as usize + 1;
            if digits.len() <= whole {
                format!("{digits}{}{integral_suffix}", "0".repeat(whole - digits.len()))
            } else {
                format!("{}.{}", &digits[..whole], &digits[whole..])
            }
        }
    } else {
        let (first, rest) = digits.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        format!("{first}{point}{rest}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
    };
    format!("{sign}{body}")
}

fn write_float(value: f64, out: &mut Formatter<'_>) -> fmt::Result {
    if value.is_nan() {
        out.write_str("float('nan')")
    } else if value.is_infinite() {
        out.write_str(if value > 0.0 { "float('inf')" } else { "float('-inf')" })
    } else {
        out.write_str(&shortest(value, ".0"))
    }
}

fn write_complex(re: f64, im: f64, out: &mut Formatter<'_>) -> fmt::Result {
    let part = |value: f64| {
        if value.is_nan() {
            "nan".to_owned()
        } else if value.is_infinite() {
            if value > 0.0 { "inf" } else { "-inf" }.to_owned()
        } else {
            shortest(value, "")
        }
    };
    if re == 0.0 && re.is_sign_positive() {
        write!(out, "{}j", part(im))
    } else {
        let plus = if im.is_nan() || im.is_sign_positive() { "+" } else { "" };
        write!(out, "({}{plus}{}j)", part(re), part(im))
    }
}

fn write_str(text: &PyStr, out: &mut Formatter<'_>) -> fmt::Result {
    let has = |byte: u8| text.as_bytes().contains(&byte);
    let quote = if has(b'\'') && !has(b'"') { '"' } else { '\'' };
    out.write_char(quote)?;
    for code_point in text.code_points() {
        match code_point {
            0x5C => out.write_str("\\\\")?,
            0x0A => out.write_str("\\n")?,
            0x0D => out.write_str("\\r")?,
            0x09 => out.write_str("\\t")?,
            _ if code_point == quote as u32 => write!(out, "\\{quote}")?,
            _ => match char::from_u32(code_point).filter(|character| is_printable(*character)) {
                Some(character) => out.write_char(character)?,
                None if code_point < 0x100 => write!(out, "\\x{code_point:02x}")?,
                None if code_point < 0x1_0000 => write!(out, "\\u{code_point:04x}")?,
                None => write!(out, "\\U{code_point:08x}")?,
            },
        }
    }
    out.write_char(quote)
}

/// `str.isprintable`, for the Unicode version of `unicode-general-category`, which may be newer than CPython's:
/// characters added since are printed instead of escaped, and read back the same.
fn is_printable(character: char) -> bool {
    character == ' '
        || !matches!(
            get_general_category(character),
            Category::Control
                | Category::Format
                | Category::Surrogate
                | Category::PrivateUse
                | Category::Unassigned
                | Category::LineSeparator
                | Category::ParagraphSeparator
                | Category::SpaceSeparator
        )
}

fn write_bytes(bytes: &[u8], out: &mut Formatter<'_>) -> fmt::Result {
    let quote = if bytes.contains(&b'\'') && !bytes.contains(&b'"') { '"' } else { '\'' };
    write!(out, "b{quote}")?;
    for byte in bytes {
        match byte {
            b'\\' => out.write_str("\\\\")?,
            b'\n' => out.write_str("\\n")?,
            b'\r' => out.write_str("\\r")?,
            b'\t' => out.write_str("\\t")?,
            _ if char::from(*byte) == quote => write!(out, "\\{quote}")?,
            b' '..=b'~' => out.write_char(char::from(*byte))?,
            _ => write!(out, "\\x{byte:02x}")?,
        }
    }
    out.write_char(quote)
}

impl Value {
    /// A Python expression that evaluates to this value in the sandbox. Unlike the repr it can represent every value,
    /// and writes integers in hexadecimal, which has no digit limit.
    #[must_use]
    pub fn to_source(&self) -> String {
        let mut out = String::new();
        self.write_source(&mut out);
        out
    }

    fn write_source(&self, out: &mut String) {
        let join = |open: &str, items: &[Self], close: &str, out: &mut String| {
            out.push_str(open);
            for item in items {
                item.write_source(out);
                out.push(',');
            }
            out.push_str(close);
        };
        match self {
            Self::Int(value) => {
                let sign = if value.sign() == Sign::Minus { "-" } else { "" };
                out.push_str(&format!("{sign}0x{:x}", value.magnitude()));
            }
            Self::Complex(re, im) => {
                out.push_str(&format!("complex({},{})", Self::Float(*re), Self::Float(*im)));
            }
            Self::List(items) => join("[", items, "]", out),
            Self::Tuple(items) => join("(", items, ")", out),
            Self::Set(items) if !items.is_empty() => join("{", items, "}", out),
            Self::FrozenSet(items) => join("frozenset((", items, "))", out),
            Self::Deque(items, None) => join("deque((", items, "))", out),
            Self::Deque(items, Some(limit)) => join("deque((", items, &format!("),{limit})"), out),
            Self::Dict(pairs) | Self::Counter(pairs) => {
                let (open, close) = if matches!(self, Self::Dict(_)) { ("{", "}") } else { ("Counter({", "})") };
                out.push_str(open);
                for (key, value) in pairs {
                    key.write_source(out);
                    out.push(':');
                    value.write_source(out);
                    out.push(',');
                }
                out.push_str(close);
            }
            _ => out.push_str(&self.to_string()),
        }
    }
}

impl PartialEq for Value {
    /// Python's `==`.
    fn eq(&self, other: &Self) -> bool {
        Comparison::Python.equal(self, other)
    }
}

/// A sequence of code points, stored as generalised UTF-8 (Python's `surrogatepass`): a surrogate takes three bytes,
/// and two consecutive surrogates stay two. Equal strings have equal bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct PyStr(Vec<u8>);

impl PyStr {
    /// Takes generalised UTF-8; `None` if the bytes are invalid.
    #[must_use]
    pub fn from_generalised(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let (_, length) = split_code_point(rest)?;
            rest = &rest[length..];
        }
        Some(Self(bytes.to_vec()))
    }

    /// Appends one code point; returns false and does nothing if it is above U+10FFFF.
    pub fn push(&mut self, code_point: u32) -> bool {
        match code_point {
            0..0x80 => self.0.push(code_point as u8),
            0x80..0x800 => self.0.extend([0xC0 | (code_point >> 6) as u8, tail(code_point)]),
            0x800..0x1_0000 => {
                self.0.extend([0xE0 | (code_point >> 12) as u8, tail(code_point >> 6), tail(code_point)]);
            }
            0x1_0000..0x11_0000 => self.0.extend([
                0xF0 | (code_point >> 18) as u8,
                tail(code_point >> 12),
                tail(code_point >> 6),
                tail(code_point),
            ]),
            _ => return false,
        }
        true
    }

    /// Appends a text.
    pub fn push_str(&mut self, text: &str) {
        self.0.extend_from_slice(text.as_bytes());
    }

    /// Appends another string.
    pub fn append(&mut self, other: &Self) {
        self.0.extend_from_slice(&other.0);
    }

    /// The text, if it contains no surrogate.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }

    /// The bytes in generalised UTF-8.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether the string is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn code_points(&self) -> impl Iterator<Item = u32> + '_ {
        let mut rest = self.0.as_slice();
        std::iter::from_fn(move || {
            let (code_point, length) = split_code_point(rest)?;
            rest = &rest[length..];
            Some(code_point)
        })
    }
}

impl From<&str> for PyStr {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

fn tail(code_point: u32) -> u8 {
    0x80 | (code_point & 0x3F) as u8
}

fn split_code_point(bytes: &[u8]) -> Option<(u32, usize)> {
    let continued = |at: usize| match bytes.get(at) {
        Some(byte) if byte & 0xC0 == 0x80 => Some(u32::from(byte & 0x3F)),
        _ => None,
    };
    let first = u32::from(*bytes.first()?);
    let (code_point, length, least) = match first {
        0..0x80 => (first, 1, 0),
        0xC0..0xE0 => ((first & 0x1F) << 6 | continued(1)?, 2, 0x80),
        0xE0..0xF0 => ((first & 0xF) << 12 | continued(1)? << 6 | continued(2)?, 3, 0x800),
        0xF0..0xF8 => ((first & 0x7) << 18 | continued(1)? << 12 | continued(2)? << 6 | continued(3)?, 4, 0x1_0000),
        _ => return None,
    };
    (code_point >= least && code_point < 0x11_0000).then_some((code_point, length))
}
