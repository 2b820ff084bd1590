//! Bounds on prompt sizes, computed from their contents, so that no prompt is ever too long for the model.

#[cfg(test)]
mod tests;

use minijinja::Value;
use std::collections::BTreeMap;

use super::{PromptError, PromptSet, Sample, Template};

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
    /// The bytes of the template without its values.
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

/// Number of letters in a probe text; twice as many are tried too.
const TIMES: usize = 64;

/// Lengths of the probe lists, where they may be so short. A record's number has two digits from 10 on.
const RECORDS: [usize; 4] = [0, 1, 2, 12];

/// A template and the letters to probe it with.
struct Probe<'p> {
    prompts: &'p PromptSet,
    template: &'p Template,
    numbers: &'p [(&'p str, u64)],
    letters: &'p str,
}

/// The values for a template: the number of letters in each text, and of records in each list.
#[derive(Clone, Debug, Default)]
struct Filling {
    letters: BTreeMap<String, usize>,
    records: BTreeMap<String, usize>,
}

impl<'p> Probe<'p> {
    fn new(prompts: &'p PromptSet, template: &'p Template, numbers: &'p [(&'p str, u64)], letters: &'p str) -> Self {
        Self { prompts, template, numbers, letters }
    }

    fn measure(&self) -> Result<Size, PromptError> {
        let mut growth = BTreeMap::new();
        for text in self.texts() {
            let mut largest = 1;
            for others in [0, TIMES] {
                let once = self.filled(others, 1).text(&text, TIMES);
                let twice = once.clone().text(&text, 2 * TIMES);
                let added = self.size(&twice)?.saturating_sub(self.size(&once)?);
                largest = added.div_ceil(TIMES * self.letters.len()).max(largest);
            }
            growth.insert(text, largest);
        }
        for (list, _) in self.lists() {
            let mut largest = 0;
            for others in [0, TIMES] {
                for records in [1, 11] {
                    let fewer = self.filled(others, 1).list(list, records);
                    let more = fewer.clone().list(list, records + 1);
                    let added = self.size(&more)?.saturating_sub(self.size(&fewer)?);
                    let of_texts = self.of_values(&more, &growth) - self.of_values(&fewer, &growth);
                    largest = added.saturating_sub(of_texts).max(largest);
                }
            }
            growth.insert(list.to_owned(), largest);
        }
        let mut base = 0;
        for filling in self.fillings() {
            let of_values = self.of_values(&filling, &growth);
            base = self.size(&filling)?.saturating_sub(of_values).max(base);
        }
        Ok(Size { base, growth })
    }

    /// Every text empty, every text full, one text full, and one text empty; each with lists of several lengths.
    fn fillings(&self) -> Vec<Filling> {
        let mut fillings = Vec::new();
        for records in RECORDS {
            let (empty, full) = (self.filled(0, records), self.filled(TIMES, records));
            for text in self.texts() {
                fillings.push(empty.clone().text(&text, TIMES));
                fillings.push(full.clone().text(&text, 0));
            }
            for (list, fewest) in self.lists() {
                fillings.extend([&empty, &full].map(|filling| filling.clone().list(list, fewest)));
            }
            fillings.extend([empty, full]);
        }
        fillings
    }

    /// Every text with `letters` letters, every list with `records` records or its minimum.
    fn filled(&self, letters: usize, records: usize) -> Filling {
        Filling {
            letters: self.texts().into_iter().map(|text| (text, letters)).collect(),
            records: self.lists().map(|(list, fewest)| (list.to_owned(), records.max(fewest))).collect(),
        }
    }

    /// The bytes taken by the values, according to `growth`.
    fn of_values(&self, filling: &Filling, growth: &BTreeMap<String, usize>) -> usize {
        let of_text = |(text, times): (&String, &usize)| {
            let records = text.split_once('.').map_or(1, |(list, _)| filling.records[list]);
            times * self.letters.len() * records * growth[text]
        };
        let of_list = |(list, records): (&String, &usize)| records * growth.get(list).copied().unwrap_or(0);
        filling.letters.iter().map(of_text).sum::<usize>() + filling.records.iter().map(of_list).sum::<usize>()
    }

    fn size(&self, filling: &Filling) -> Result<usize, PromptError> {
        let letters = |text: &str| Value::from(self.letters.repeat(filling.letters[text]));
        let variables = self.template.variables.iter().map(|variable| {
            let name = variable.name;
            let value = match variable.sample {
                Sample::Text(_) => letters(name),
                Sample::Number(sample) => {
                    let given = self.numbers.iter().find(|(number, _)| *number == name);
                    Value::from(given.map_or(sample, |(_, value)| *value))
                }
                Sample::Records { fields, .. } => {
                    let of_field = |(field, _): &(&'static str, _)| (*field, letters(&format!("{name}.{field}")));
                    let record: BTreeMap<&str, Value> = fields.iter().map(of_field).collect();
                    Value::from(vec![Value::from(record); filling.records[name]])
                }
            };
            (name, value)
        });
        let variables: BTreeMap<&str, Value> = variables.collect();
        self.prompts.check_trials(self.template.name)?;
        Ok(self.prompts.render(self.template.name, variables)?.text.len())
    }

    /// The names of the texts; those in lists as `list.field`.
    fn texts(&self) -> Vec<String> {
        let of_variable = self.template.variables.iter().flat_map(|variable| match variable.sample {
            Sample::Text(_) => vec![variable.name.to_owned()],
            Sample::Number(_) => Vec::new(),
            Sample::Records { fields, .. } => {
                let of_field = |(field, _): &(&str, &str)| format!("{}.{field}", variable.name);
                fields.iter().map(of_field).collect()
            }
        });
        of_variable.collect()
    }

    /// The lists, each with its minimum number of records.
    fn lists(&self) -> impl Iterator<Item = (&'static str, usize)> {
        self.template.variables.iter().filter_map(|variable| match variable.sample {
            Sample::Records { may_be_empty, .. } => Some((variable.name, usize::from(!may_be_empty))),
            Sample::Text(_) | Sample::Number(_) => None,
        })
    }
}

impl Filling {
    fn text(mut self, name: &str, letters: usize) -> Self {
        self.letters.insert(name.to_owned(), letters);
        self
    }

    fn list(mut self, name: &str, records: usize) -> Self {
        self.records.insert(name.to_owned(), records);
        self
    }
}
