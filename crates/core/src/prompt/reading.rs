//! A completion split into its fields.

use super::Field;

/// The fields of a completion, and how well it kept to the format.
///
/// Fields can be read even if the format is broken; the recipe decides the penalty.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    parts: Vec<Part>,
    /// Whether the completion is only white space.
    is_empty: bool,
}

/// How well one field kept to the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// It occurs exactly as often as requested.
    Exact,
    /// It occurs more often than requested; every occurrence is complete.
    Redundant,
    /// It is missing, occurs too rarely, or has an incomplete occurrence.
    Broken,
}

impl Format {
    /// The soft format reward of SAGE (§4.1), with the values of its predecessor Multi-Agent Evolve: 1 if exact, 0.5 if
    /// redundant, 0 if broken.
    pub fn score(self) -> f32 {
        match self {
            Self::Exact => 1.0,
            Self::Redundant => 0.5,
            Self::Broken => 0.0,
        }
    }
}

/// One field of a reading.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Part {
    field: Field,
    /// The occurrences in use, trimmed.
    texts: Vec<String>,
    /// `None` if an optional field does not occur.
    format: Option<Format>,
    /// Why it is not exact.
    reason: String,
}

impl Part {
    /// A field with the occurrences `found` and `nested` more inside them. `mark` is the expected marker, such as
    /// `<question>`.
    pub(super) fn counted(field: &Field, found: Vec<&str>, nested: usize, mark: &str) -> Self {
        let (whole, wanted) = (found.len(), field.count());
        let (format, reason) = if whole == 0 && field.is_optional {
            (None, String::new())
        } else if whole == 0 && wanted > 0 {
            (Some(Format::Broken), format!("there is no {mark}"))
        } else if whole < wanted {
            (Some(Format::Broken), format!("{whole} {mark} found, {wanted} needed"))
        } else if whole + nested > wanted {
            let all = whole + nested;
            (Some(Format::Redundant), format!("{all} {mark} found, {wanted} needed"))
        } else {
            (Some(Format::Exact), String::new())
        };
        Self {
            field: *field,
            texts: field.taken(found).into_iter().map(|text| text.trim().to_owned()).collect(),
            format,
            reason,
        }
    }

    /// A field in a box. Any number of boxes is exact: solutions also box intermediate results.
    pub(super) fn boxed(field: &Field, found: Option<&str>) -> Self {
        Self::counted(field, found.into_iter().collect(), 0, "complete \\boxed{}")
    }

    /// The same field with a broken format.
    pub(super) fn broken(self, reason: String) -> Self {
        Self { format: Some(Format::Broken), reason, ..self }
    }
}

impl Reading {
    pub(super) fn of(text: &str, parts: impl Iterator<Item = Part>) -> Self {
        Self { parts: parts.collect(), is_empty: text.trim().is_empty() }
    }

    /// A reading without any field, all for the same reason.
    pub(super) fn broken(fields: &[Field], text: &str, reason: &str) -> Self {
        let part = |field| Part::counted(field, Vec::new(), 0, "").broken(reason.to_owned());
        Self::of(text, fields.iter().map(part))
    }

    /// The text of a field.
    ///
    /// # Errors
    /// The field is missing or empty.
    pub fn text(&self, name: &str) -> Result<&str, String> {
        match self.texts(name)?.last() {
            Some(text) if !text.is_empty() => Ok(text),
            _ => Err(format!("the {name} is empty")),
        }
    }

    /// The texts of a field, as many as were requested; some may be empty.
    ///
    /// # Errors
    /// Why there are fewer.
    pub fn texts(&self, name: &str) -> Result<&[String], String> {
        let part = self.parts.iter().find(|part| part.field.name == name);
        let part = part.ok_or_else(|| format!("`{name}` is not one of the fields read"))?;
        match part.texts.len() < part.field.count() {
            true if part.reason.is_empty() => Err(format!("there is no {name}")),
            true => Err(part.reason.clone()),
            false => Ok(&part.texts),
        }
    }

    /// How well a field kept to the format; `None` if it is optional and does not occur, or is not a field.
    pub fn format(&self, name: &str) -> Option<Format> {
        self.parts.iter().find(|part| part.field.name == name)?.format
    }

    /// The soft format reward: the mean of [`Format::score`] over the fields, ignoring optional ones that do not occur.
    /// An empty completion gets 0.5 (SAGE's neutral value).
    pub fn score(&self) -> f32 {
        if self.is_empty {
            return 0.5;
        }
        let scores: Vec<f32> = self.parts.iter().filter_map(|part| Some(part.format?.score())).collect();
        match scores.len() {
            0 => 1.0,
            count => scores.iter().sum::<f32>() / count as f32,
        }
    }

    /// Why the format is not exact: the reason of the first inexact field.
    pub fn reason(&self) -> Option<&str> {
        let inexact = |part: &&Part| part.format.is_some_and(|format| format != Format::Exact);
        let part = self.parts.iter().find(inexact)?;
        Some(&part.reason)
    }
}
