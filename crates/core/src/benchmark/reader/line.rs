//! The lines of a file, their named fields with the JSON kept verbatim, and the rows read from them.

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{BufRead, Read as _};

use super::{LineFault, ReadError, Refused, code, questions, triple};
use crate::benchmark::format::{Expect, Format};
use crate::benchmark::{BenchmarkRow, Suite};
use crate::fault::nearest;
use crate::verify::json_spelling;

/// Maximum number of columns named in a message.
const NAMED: usize = 30;

/// That a text is not JSON. Half of a pair of surrogates is named: what is allowed in Python and JavaScript is no character.
pub(crate) fn not_json(text: &str, error: &serde_json::Error) -> String {
    surrogate_fault(text).map_or_else(|| format!("it is not JSON: {error}"), |fault| format!("it {fault}"))
}

fn surrogate_fault(text: &str) -> Option<String> {
    let half = lone_surrogate(text)?;
    Some(format!("has `{half}`, half of a pair of surrogates and so no character: write both halves, or leave it out"))
}

/// The first `\ud83d` or the like without its other half.
fn lone_surrogate(text: &str) -> Option<&str> {
    let code = |at: usize| u16::from_str_radix(text.get(at..)?.strip_prefix("\\u")?.get(..4)?, 16).ok();
    let mut at = 0;
    while let Some(next) = text.get(at..)?.find('\\') {
        at += next;
        at += match code(at) {
            Some(0xd800..=0xdbff) if matches!(code(at + 6), Some(0xdc00..=0xdfff)) => 12,
            Some(0xd800..=0xdfff) => return text.get(at..at + 6),
            Some(_) => 6,
            // An escaped backslash begins nothing.
            None => 1 + text.get(at + 1..)?.chars().next().map_or(0, char::len_utf8),
        };
    }
    None
}

/// A JSON object.
pub(super) struct Line(BTreeMap<String, Box<RawValue>>);

impl Line {
    pub(super) fn read(bytes: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(unmarked(bytes)).map_err(|error| format!("it is not UTF-8: {error}"))?;
        let error = match serde_json::from_str(text) {
            Ok(fields) => return Ok(Self(fields)),
            Err(error) => error,
        };
        if let Some(fields) = json_spelling(text).and_then(|text| serde_json::from_str(&text).ok()) {
            return Ok(Self(fields));
        }
        Err(match error.classify() {
            serde_json::error::Category::Data => "it is JSON, but not an object".to_owned(),
            _ => not_json(text, &error),
        })
    }

    /// The whole object.
    pub(super) fn object(&self) -> Result<Map<String, Value>, String> {
        let fields = self.0.iter().map(|(name, raw)| {
            let value = serde_json::from_str(raw.get()).map_err(|error| format!("field `{name}`: {error}"))?;
            Ok((name.clone(), value))
        });
        fields.collect()
    }

    /// Whether the field exists and is not null.
    pub(super) fn has(&self, name: &str) -> bool {
        self.raw(name).is_some()
    }

    /// The field's JSON, if it exists and is not null. A dotted name that is not itself a field leads into objects and,
    /// by number, into lists; also into JSON that is written as a text.
    pub(super) fn raw(&self, name: &str) -> Option<Cow<'_, str>> {
        let found = match self.0.get(name) {
            Some(raw) => Some(Cow::Borrowed(raw.get())),
            None => name.split_once('.').and_then(|(outer, path)| within(self.0.get(outer)?.get(), path)),
        };
        found.filter(|raw| raw != "null")
    }

    /// The error that there is no such field, with those that there are.
    pub(super) fn missing(&self, name: &str) -> String {
        let names = || self.0.keys().map(String::as_str);
        let what = match self.0.contains_key(name) {
            true => format!("field `{name}` is null"),
            false => match nearest(name, names()) {
                Some(near) => format!("missing field `{name}` (did you mean `{near}`?)"),
                None => format!("missing field `{name}`"),
            },
        };
        let shown = names().take(NAMED);
        let shown: Vec<String> = shown.map(|name| format!("`{}`", name.chars().take(60).collect::<String>())).collect();
        let more = match self.0.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        match shown.is_empty() {
            true => format!("{what}; the row is empty"),
            false => format!("{what}; the row has {}{more}", shown.join(", ")),
        }
    }

    pub(super) fn get<T: serde::de::DeserializeOwned>(&self, name: &str) -> Result<T, String> {
        let raw = self.raw(name).ok_or_else(|| self.missing(name))?;
        serde_json::from_str(&raw).map_err(|error| match surrogate_fault(&raw) {
            Some(fault) => format!("field `{name}` {fault}"),
            None => format!("field `{name}`: {error}"),
        })
    }

    pub(super) fn text(&self, name: &str) -> Result<String, String> {
        self.get(name)
    }

    /// A text that is not empty.
    pub(super) fn filled(&self, name: &str) -> Result<String, String> {
        match self.text(name)? {
            text if text.trim().is_empty() => Err(format!("field `{name}` is empty")),
            text => Ok(text),
        }
    }

    pub(super) fn optional_text(&self, name: &str) -> Result<Option<String>, String> {
        self.has(name).then(|| self.text(name)).transpose()
    }

    /// A text, or a number or boolean as written.
    pub(super) fn plain(&self, name: &str) -> Result<String, String> {
        let raw = self.raw(name).ok_or_else(|| self.missing(name))?;
        match raw.as_bytes().first() {
            Some(b'"') => self.text(name),
            Some(b'[' | b'{') => Err(format!("field `{name}` is neither a text nor a number")),
            // What `json_spelling` made of `Infinity`.
            _ if matches!(&*raw, "1e999" | "-1e999") => Err(format!("field `{name}` is infinite and no number")),
            _ => Ok(raw.into_owned()),
        }
    }

    /// The elements of a list, each as JSON text. MBPP+ writes some empty lists as empty objects.
    pub(super) fn elements(&self, name: &str) -> Result<Vec<String>, String> {
        let raw = self.raw(name).ok_or_else(|| self.missing(name))?;
        if raw.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).is_some_and(|rest| rest.trim().is_empty()) {
            return Ok(Vec::new());
        }
        let elements: Vec<Box<RawValue>> =
            serde_json::from_str(&raw).map_err(|error| format!("field `{name}` is not a list: {error}"))?;
        Ok(elements.into_iter().map(|raw| Cow::from(raw.get()).into_owned()).collect())
    }

    /// A text, a number or a boolean as written, or a list of these with commas between them.
    fn tag(&self, name: &str) -> Result<String, String> {
        if !self.raw(name).is_some_and(|raw| raw.starts_with('[')) {
            return self.plain(name);
        }
        let items: Vec<Value> = self.get(name)?;
        let text = |item: &Value| item.as_str().map_or_else(|| item.to_string(), str::to_owned);
        Ok(items.iter().map(text).collect::<Vec<_>>().join(", "))
    }

    /// The tags of these columns, without those that the row does not have.
    pub(super) fn tags(&self, names: &[String]) -> Result<BTreeMap<String, String>, String> {
        let present = names.iter().filter(|name| self.has(name));
        present.map(|name| Ok((name.clone(), self.tag(name)?))).collect()
    }

    /// The first of these columns that the row has.
    pub(super) fn first<'n>(&self, names: &'n [String]) -> Result<&'n str, String> {
        let found = names.iter().find(|name| self.has(name));
        found.map(String::as_str).ok_or_else(|| self.missing(&names.join("` or `")))
    }
}

/// The value at `path` inside a value.
fn within<'r>(raw: &'r str, path: &str) -> Option<Cow<'r, str>> {
    let (outer, rest) = match path.split_once('.') {
        Some((outer, rest)) => (outer, Some(rest)),
        None => (path, None),
    };
    let inner = match raw.as_bytes().first()? {
        b'{' => {
            let fields: BTreeMap<String, &RawValue> = serde_json::from_str(raw).ok()?;
            if let Some(whole) = fields.get(path) {
                return Some(Cow::Borrowed(whole.get()));
            }
            fields.get(outer)?.get()
        }
        b'[' => {
            let items: Vec<&RawValue> = serde_json::from_str(raw).ok()?;
            items.get(outer.parse::<usize>().ok()?)?.get()
        }
        b'"' => {
            let text: String = serde_json::from_str(raw).ok()?;
            let json = text.trim();
            // A text in the text is none of these, so this goes one level deep.
            let found = json.starts_with(['{', '[']).then(|| within(json, path))?;
            return found.map(|found| Cow::Owned(found.into_owned()));
        }
        _ => return None,
    };
    match rest {
        Some(rest) => within(inner, rest),
        None => Some(Cow::Borrowed(inner)),
    }
}

/// Maximum bytes in a line: Postgres' limit for a text within JSON.
pub const LONGEST_LINE: u64 = 256 << 20;

/// A line without a byte order mark, which some editors write at the start of a file. Files that were joined have one in
/// their middle.
fn unmarked(mut line: &[u8]) -> &[u8] {
    while let Some(rest) = line.strip_prefix(b"\xef\xbb\xbf") {
        line = rest;
    }
    line
}

/// The lines of a file that are not blank. Only one is in memory.
#[derive(Debug)]
pub struct Lines<R> {
    file: R,
    text: Vec<u8>,
    number: usize,
}

impl<R: BufRead> Lines<R> {
    /// The lines of `file`.
    pub fn new(file: R) -> Self {
        Self { file, text: Vec::new(), number: 0 }
    }

    /// The next line and its number from 1; `None` at the end.
    ///
    /// # Errors
    /// The file cannot be read, or the line is too long.
    pub fn next_line(&mut self) -> Result<Option<(usize, &[u8])>, ReadError> {
        loop {
            self.text.clear();
            self.number += 1;
            let mut limited = self.file.by_ref().take(LONGEST_LINE + 1);
            if limited.read_until(b'\n', &mut self.text)? == 0 {
                return Ok(None);
            }
            if self.text.len() as u64 > LONGEST_LINE {
                let detail = format!("the line is longer than {} MiB, the maximum for a row", LONGEST_LINE >> 20);
                let line = self.number;
                let faults = vec![LineFault { line, detail }];
                return Err(Refused { faults }.into());
            }
            if !unmarked(&self.text).trim_ascii().is_empty() {
                break;
            }
        }
        let line = unmarked(&self.text);
        Ok(Some((self.number, line.strip_suffix(b"\n").unwrap_or(line))))
    }
}

/// How the rows of a file are read: what a suite, a named format or a field map says of its columns.
#[derive(Clone, Copy, Debug)]
pub struct RowReader<'a> {
    /// What tasks are named after, as in `gsm8k/17`; without it they have the bare id.
    pub prefix: Option<&'a str>,
    /// The columns.
    pub format: &'a Format,
    /// What else a row must have.
    pub expect: &'a Expect,
}

impl<'a> RowReader<'a> {
    /// For a suite's own file.
    pub fn of(suite: &'a Suite) -> Self {
        Self { prefix: Some(&suite.name), format: &suite.format, expect: &suite.expect }
    }

    /// Reads a JSON object. A task without a name is named by `index`, the row's number from 0.
    ///
    /// # Errors
    /// What is missing or malformed, by column.
    pub fn read(&self, text: &[u8], index: usize) -> Result<BenchmarkRow, String> {
        self.row(&Line::read(text)?, index)
    }

    pub(super) fn row(&self, line: &Line, index: usize) -> Result<BenchmarkRow, String> {
        let task_id = |ids: &[String]| {
            let id = match ids.iter().find(|name| line.has(name)) {
                Some(name) => line.plain(name)?,
                None => index.to_string(),
            };
            Ok::<_, String>(match self.prefix {
                Some(prefix) => format!("{prefix}/{id}"),
                None => id,
            })
        };
        let row = match self.format {
            Format::HumanEval {} => code::humaneval(line),
            Format::EvalPlus {} => code::evalplus(line),
            Format::LiveCodeBench {} => code::livecodebench(line),
            Format::Math { question, gold, id, tags } => {
                questions::mathematics(line, task_id(id)?, question, gold, tags)
            }
            Format::Tests { id, .. } => code::tested(line, task_id(id)?, self.format),
            Format::CodeO { id, .. } | Format::CodeI { id, .. } | Format::CodeF { id, .. } => {
                triple::triple(line, task_id(id)?, self.format)
            }
            Format::Python { id, .. } => questions::scored(line, task_id(id)?, self.format),
            Format::Verl { tags } => questions::verl(line, task_id(&[])?, tags),
            Format::SelfPlay {} => triple::selfplay(line),
        }?;
        expected(self.expect, line)?;
        Ok(row)
    }
}

fn expected(expect: &Expect, line: &Line) -> Result<(), String> {
    for name in &expect.required {
        if !line.has(name) {
            return Err(line.missing(name));
        }
    }
    for name in &expect.absent {
        if line.has(name) {
            return Err(format!("field `{name}` does not belong to a row of this suite"));
        }
    }
    for name in &expect.numeric {
        let text = line.plain(name)?;
        if text.trim().parse::<f64>().is_err() {
            return Err(format!("field `{name}` is `{text}`; in this suite it must be a number"));
        }
    }
    let said = |name: &str| line.has(name).then(|| line.plain(name)).transpose();
    for name in &expect.empty {
        if let Some(text) = said(name)?.filter(|text| !text.is_empty()) {
            return Err(format!("field `{name}` is `{text}`; in this suite it must be empty"));
        }
    }
    for (name, start) in &expect.prefix {
        if let Some(text) = said(name)?.filter(|text| !text.starts_with(start)) {
            return Err(format!("field `{name}` is `{text}`; in this suite it must begin with `{start}`"));
        }
    }
    for (name, part) in &expect.contains {
        if let Some(text) = said(name)?.filter(|text| !text.contains(part)) {
            return Err(format!("field `{name}` is `{text}`; in this suite it must contain `{part}`"));
        }
    }
    Ok(())
}
