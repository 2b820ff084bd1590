//! One line of a suite's file as named fields, with their JSON kept verbatim.

use std::{borrow::Cow, collections::BTreeMap};

use serde_json::value::RawValue;

use crate::verify::finite_spelling;

/// A JSON object.
pub(super) struct Line(BTreeMap<String, Box<RawValue>>);

impl Line {
    pub(super) fn read(bytes: &[u8]) -> Result<Self, String> {
        // Some editors start files with a byte order mark.
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let text = std::str::from_utf8(bytes).map_err(|error| format!("it is not UTF-8: {error}"))?;
        let error = match serde_json::from_str(text) {
            Ok(fields) => return Ok(Self(fields)),
            Err(error) => error,
        };
        if let Some(fields) = finite_spelling(text).and_then(|text| serde_json::from_str(&text).ok()) {
            return Ok(Self(fields));
        }
        Err(match error.classify() {
            serde_json::error::Category::Data => "it is JSON, but not an object".to_owned(),
            _ => format!("it is not JSON: {error}"),
        })
    }

    /// Whether the field exists and is not null.
    pub(super) fn has(&self, name: &str) -> bool {
        self.raw(name).is_some()
    }

    pub(super) fn raw(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|raw| raw.get()).filter(|raw| *raw != "null")
    }

    pub(super) fn get<T: serde::de::DeserializeOwned>(&self, name: &str) -> Result<T, String> {
        let raw = self.raw(name).ok_or_else(|| format!("missing field `{name}`"))?;
        serde_json::from_str(raw).map_err(|error| format!("field `{name}`: {error}"))
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
        let raw = self.raw(name).ok_or_else(|| format!("missing field `{name}`"))?;
        match raw.as_bytes().first() {
            Some(b'"') => self.text(name),
            Some(b'[' | b'{') => Err(format!("field `{name}` is neither a text nor a number")),
            _ => Ok(raw.to_owned()),
        }
    }

    /// The elements of a list, each as JSON text. MBPP+ writes some empty lists as empty objects.
    pub(super) fn elements(&self, name: &str) -> Result<Vec<String>, String> {
        let raw = self.raw(name).ok_or_else(|| format!("missing field `{name}`"))?;
        if raw
            .strip_prefix('{')
            .and_then(|rest| rest.strip_suffix('}'))
            .is_some_and(|rest| rest.trim().is_empty())
        {
            return Ok(Vec::new());
        }
        let elements: Vec<Box<RawValue>> =
            serde_json::from_str(raw).map_err(|error| format!("field `{name}` is not a list: {error}"))?;
        Ok(elements
            .into_iter()
            .map(|raw| Cow::from(raw.get()).into_owned())
            .collect())
    }
}
