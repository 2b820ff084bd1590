//! Faults in a document sent by a user: all of them at once, each with its location.

use serde::{Deserialize, Serialize};
use std::fmt;

/// One fault of a submitted document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// The location as a JSON pointer (RFC 6901), such as `/populations/0/lora/rank`; empty for the whole document.
    pub pointer: String,
    /// What is wrong and what would be valid, as text.
    pub detail: String,
}

impl Fault {
    /// A fault at `pointer`.
    pub fn new(pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), detail: detail.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pointer.as_str() {
            "" => f.write_str(&self.detail),
            pointer => write!(f, "{pointer}: {}", self.detail),
        }
    }
}

/// All faults of a document, in document order.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Faults(pub Vec<Fault>);

impl Faults {
    /// Returns `value` if there are no faults.
    pub fn or<T>(self, value: T) -> Result<T, Self> {
        if self.0.is_empty() { Ok(value) } else { Err(self) }
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            fault.fmt(f)?;
        }
        Ok(())
    }
}

/// Longer names are not compared with others, since that takes time and memory of both lengths.
const MAX_COMPARED: usize = 100;

/// The name among `known` that `given` most likely means, if any is similar.
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if given.len() > MAX_COMPARED {
        return None;
    }
    known
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(&given.to_lowercase(), &name.to_lowercase()), name))
        .filter(|(distance, name)| *distance <= name.len().max(3) / 3 + 1)
        .min()
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_keyboard_finds_its_name() {
        assert_eq!(nearest("temprature", ["temperature", "top_p"]), Some("temperature"));
        assert_eq!(nearest("Rank", ["rank", "alpha"]), Some("rank"));
        assert_eq!(nearest("zzzzzz", ["rank", "alpha"]), None);
    }
}
