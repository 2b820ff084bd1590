//! Values as Python prints them, and as its `json` module writes them.

use std::fmt::Write as _;

use minijinja::value::{Kwargs, ValueKind};
use minijinja::{Error, ErrorKind, Value};
use unicode_general_category::{GeneralCategory as Category, get_general_category};

/// Lists and dicts within one another.
const MAX_DEPTH: usize = 200;

/// `str(value)`; nothing for what is not defined.
pub(super) fn printed(value: &Value) -> Result<String, Error> {
    if let Some(text) = value.as_str() {
        return Ok(text.to_owned());
    }
    represented(value)
}

/// `repr(value)`.
pub(super) fn represented(value: &Value) -> Result<String, Error> {
    let mut out = String::new();
    represent(value, &mut out, 0)?;
    Ok(out)
}

fn represent(value: &Value, out: &mut String, depth: usize) -> Result<(), Error> {
    bounded(depth)?;
    match value.kind() {
        ValueKind::String => quote(value.as_str().unwrap_or_default(), out),
        ValueKind::Number if !value.is_integer() => out.push_str(&float(value)),
        ValueKind::Seq => {
            let (open, close) = if value.is_tuple() { ('(', ')') } else { ('[', ']') };
            out.push(open);
            for (at, item) in value.try_iter()?.enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                represent(&item, out, depth + 1)?;
            }
            if value.is_tuple() && value.len() == Some(1) {
                out.push(',');
            }
            out.push(close);
        }
        ValueKind::Map => {
            out.push('{');
            for (at, key) in value.try_iter()?.enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                represent(&key, out, depth + 1)?;
                out.push_str(": ");
                represent(&value.get_item(&key)?, out, depth + 1)?;
            }
            out.push('}');
        }
        // Whole numbers, truth values and none are printed as in Python; what is left has no text of its own there.
        _ => write!(out, "{value}").map_err(|_| Error::from(ErrorKind::BadSerialization))?,
    }
    Ok(())
}

fn bounded(depth: usize) -> Result<(), Error> {
    match depth > MAX_DEPTH {
        true => Err(Error::new(
            ErrorKind::InvalidOperation,
            format!("a value with more than {MAX_DEPTH} lists or dicts within one another cannot be printed"),
        )),
        false => Ok(()),
    }
}

/// A float as Python prints it: the shortest digits that give it back, with an exponent below 1e-4 and from 1e16.
fn float(value: &Value) -> String {
    let number = f64::try_from(value.clone()).unwrap_or(f64::NAN);
    if !number.is_finite() {
        return match (number.is_nan(), number > 0.0) {
            (true, _) => "nan",
            (_, true) => "inf",
            (_, false) => "-inf",
        }
        .to_owned();
    }
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    match exponent {
        -4..=15 => format!("{number:?}"),
        _ => format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs()),
    }
}

/// A text in quotes, double ones if it has only single ones.
fn quote(text: &str, out: &mut String) {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    out.push(quote);
    for letter in text.chars() {
        let code = u32::from(letter);
        // Writing to a string cannot fail.
        let _ = match letter {
            '\\' => out.write_str("\\\\"),
            '\n' => out.write_str("\\n"),
            '\r' => out.write_str("\\r"),
            '\t' => out.write_str("\\t"),
            _ if letter == quote => write!(out, "\\{quote}"),
            _ if is_printable(letter) => out.write_char(letter),
            _ if code < 0x100 => write!(out, "\\x{code:02x}"),
            _ if code < 0x1_0000 => write!(out, "\\u{code:04x}"),
            _ => write!(out, "\\U{code:08x}"),
        };
    }
    out.push(quote);
}

/// Whether Python shows a letter in `repr`.
pub(super) fn is_printable(letter: char) -> bool {
    letter == ' '
        || !matches!(
            get_general_category(letter),
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

/// How `json.dumps` lays a value out.
pub(super) struct Layout {
    indent: Option<String>,
    between: String,
    after_key: String,
    sorts: bool,
    is_ascii: bool,
}

impl Layout {
    /// By the arguments of transformers' filter `tojson`.
    pub(super) fn of(options: &Kwargs) -> Result<Self, Error> {
        let indent = match options.get::<Option<Value>>("indent")? {
            Some(value) if !value.is_none() => match value.as_str() {
                Some(text) => Some(text.to_owned()),
                None => Some(" ".repeat(value.as_usize().unwrap_or_default().min(100))),
            },
            _ => None,
        };
        let separators: Option<Vec<String>> = options.get("separators")?;
        let (between, after_key) = match separators.as_deref() {
            Some([between, after_key]) => (between.clone(), after_key.clone()),
            Some(_) => {
                return Err(Error::new(ErrorKind::InvalidOperation, "`separators` of tojson are two texts"));
            }
            None if indent.is_some() => (",".to_owned(), ": ".to_owned()),
            None => (", ".to_owned(), ": ".to_owned()),
        };
        Ok(Self {
            indent,
            between,
            after_key,
            sorts: options.get::<Option<bool>>("sort_keys")?.unwrap_or(false),
            is_ascii: options.get::<Option<bool>>("ensure_ascii")?.unwrap_or(false),
        })
    }

    fn line(&self, out: &mut String, depth: usize) {
        if let Some(indent) = &self.indent {
            out.push('\n');
            (0..depth).for_each(|_| out.push_str(indent));
        }
    }
}

/// `json.dumps(value)`.
pub(super) fn json(value: &Value, layout: &Layout) -> Result<String, Error> {
    let mut out = String::new();
    write_json(value, layout, &mut out, 0)?;
    Ok(out)
}

fn write_json(value: &Value, layout: &Layout, out: &mut String, depth: usize) -> Result<(), Error> {
    bounded(depth)?;
    let unwritable = || {
        let detail = format!("a value of kind {} cannot be written as JSON", value.kind());
        Error::new(ErrorKind::BadSerialization, detail)
    };
    match value.kind() {
        ValueKind::None => out.push_str("null"),
        ValueKind::Bool => out.push_str(if value.is_true() { "true" } else { "false" }),
        ValueKind::Number if value.is_integer() => out.push_str(&value.to_string()),
        ValueKind::Number => out.push_str(match float(value).as_str() {
            "nan" => "NaN",
            "inf" => "Infinity",
            "-inf" => "-Infinity",
            number => number,
        }),
        ValueKind::String => json_text(value.as_str().unwrap_or_default(), layout.is_ascii, out),
        ValueKind::Seq | ValueKind::Iterable => {
            let items: Vec<Value> = value.try_iter()?.collect();
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at > 0 { &layout.between } else { "" });
                layout.line(out, depth + 1);
                write_json(item, layout, out, depth + 1)?;
            }
            if !items.is_empty() {
                layout.line(out, depth);
            }
            out.push(']');
        }
        ValueKind::Map => {
            let mut keys: Vec<Value> = value.try_iter()?.collect();
            if layout.sorts {
                keys.sort();
            }
            out.push('{');
            for (at, key) in keys.iter().enumerate() {
                out.push_str(if at > 0 { &layout.between } else { "" });
                layout.line(out, depth + 1);
                match key.as_str() {
                    Some(name) => json_text(name, layout.is_ascii, out),
                    None => {
                        let name = json(key, layout)?;
                        json_text(&name, layout.is_ascii, out);
                    }
                }
                out.push_str(&layout.after_key);
                write_json(&value.get_item(key)?, layout, out, depth + 1)?;
            }
            if !keys.is_empty() {
                layout.line(out, depth);
            }
            out.push('}');
        }
        _ => return Err(unwritable()),
    }
    Ok(())
}

fn json_text(text: &str, is_ascii: bool, out: &mut String) {
    out.push('"');
    for letter in text.chars() {
        // Writing to a string cannot fail.
        let _ = match letter {
            '"' => out.write_str("\\\""),
            '\\' => out.write_str("\\\\"),
            '\n' => out.write_str("\\n"),
            '\r' => out.write_str("\\r"),
            '\t' => out.write_str("\\t"),
            '\u{8}' => out.write_str("\\b"),
            '\u{c}' => out.write_str("\\f"),
            _ if letter < ' ' || (is_ascii && !letter.is_ascii()) => {
                letter.encode_utf16(&mut [0; 2]).iter().try_for_each(|unit| write!(out, "\\u{unit:04x}"))
            }
            _ => out.write_char(letter),
        };
    }
    out.push('"');
}
