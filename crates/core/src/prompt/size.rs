//! Bounds on prompt sizes, computed from their contents, so that no prompt is ever too long for the model.

mod probe;

use std::collections::BTreeMap;

use super::{PromptError, PromptSet, Template};
use probe::Probe;

/// An upper bound on a prompt's bytes: a base, plus a number of bytes for each unit of content.
///
/// It holds for templates that show texts unchanged, any number of times, that may show other text if a text or a list
/// is empty, and that do not nest loops over lists; lists have up to 99 records. [`PromptSet::stretched`] finds
/// templates that change texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Size {
    base: usize,
    /// By text (`program`), list (`pairs`) and text in a record (`pairs.input`).
    growth: BTreeMap<String, usize>,
}

impl Size {
    /// The bytes of the template alone.
    pub fn base(&self) -> usize {
        self.base
    }

    /// The bytes taken by each byte of the text `name`, or by each record of the list `name` without its texts. A text
    /// in a record is named like `pairs.input`. `None` if the template has no such variable.
    pub fn growth(&self, name: &str) -> Option<usize> {
        self.growth.get(name).copied()
    }

    /// The maximum bytes of a prompt with these `amounts`: the bytes of a text, the records of a list, or the bytes of
    /// a text summed over all records of a list.
    ///
    /// # Panics
    /// If the template has no variable with one of the names: a mistake in the recipe, whatever the input.
    pub fn bound(&self, amounts: &[(&str, usize)]) -> usize {
        let of_amount = |(name, amount): &(&str, usize)| amount.saturating_mul(self.growth[*name]);
        amounts.iter().map(of_amount).fold(self.base, usize::saturating_add)
    }
}

impl PromptSet {
    /// Measures a template with its system message and frame. `numbers` are the values of its numbers in this run; by
    /// default, those of the samples.
    ///
    /// # Errors
    /// The template is missing or cannot be rendered.
    pub fn measure(&self, template: &Template, numbers: &[(&str, u64)]) -> Result<Size, PromptError> {
        Probe::new(self, template, numbers, "0").measure()
    }

    /// A text, such as `program` or `pairs.input`, that the template lengthens if it contains certain characters, so
    /// that its length does not bound the prompt's.
    ///
    /// # Errors
    /// The template is missing or cannot be rendered.
    pub fn stretched(&self, template: &Template, numbers: &[(&str, u64)]) -> Result<Option<String>, PromptError> {
        let plain = self.measure(template, numbers)?;
        for letters in STRETCHED {
            let size = Probe::new(self, template, numbers, letters).measure()?;
            let mut growth = size.growth.into_iter();
            if let Some((name, _)) = growth.find(|(name, growth)| *growth > plain.growth[name]) {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }
}

/// Characters that filters such as `escape` and `indent` lengthen.
const STRETCHED: [&str; 9] = ["\n0", "\"", "'", "\\", "<", "&", "/", "\u{1}", "é"];

#[cfg(test)]
mod tests;
