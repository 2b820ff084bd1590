//! Literal arguments of a call.

use std::collections::HashSet;

use crate::value::{PyStr, Value};

use super::parser::{Fault, Parser};

/// Arguments by position and by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Arguments {
    /// By position.
    pub positional: Vec<Value>,
    /// By name, in the order given.
    pub keyword: Vec<(PyStr, Value)>,
}

impl Arguments {
    /// Python source for between the parentheses of a call.
    #[must_use]
    pub fn to_source(&self) -> String {
        let positional = self.positional.iter().map(Value::to_source);
        let keyword = self
            .keyword
            .iter()
            .map(|(name, value)| format!("**{{{}:{}}}", Value::Str(name.clone()), value.to_source()));
        positional.chain(keyword).collect::<Vec<_>>().join(",")
    }
}

impl<'a> Parser<'a> {
    pub(super) fn arguments(&mut self) -> Result<Arguments, Fault> {
        let mut arguments = Arguments {
            positional: Vec::new(),
            keyword: Vec::new(),
        };
        let mut names = HashSet::new();
        self.enter()?;
        loop {
            self.skip_space(true)?;
            if self.cursor.at_end() {
                break;
            }
            if let Some(name) = self.keyword_name()? {
                if !names.insert(name) {
                    return Err(self.fault("the same keyword argument again"));
                }
                let value = self.expression()?;
                arguments.keyword.push((PyStr::from(name), value));
            } else if arguments.keyword.is_empty() {
                let value = self.expression()?;
                arguments.positional.push(value);
            } else {
                return Err(self.fault("a positional argument after a keyword argument"));
            }
            self.skip_space(true)?;
            if !self.cursor.eat(',') {
                break;
            }
        }
        self.leave();
        Ok(arguments)
    }

    /// Parses `name =`, if present.
    fn keyword_name(&mut self) -> Result<Option<&'a str>, Fault> {
        let start = self.cursor.position();
        let name = self.cursor.name();
        if !name.is_empty() {
            self.skip_space(true)?;
            if self.cursor.eat('=') {
                self.skip_space(true)?;
                return Ok(Some(name));
            }
        }
        self.cursor.return_to(start);
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use crate::literal::parse_arguments;

    #[test]
    fn as_many_keyword_arguments_as_a_text_holds_are_read_at_once() {
        // With a look at all earlier names for each, these would be 20 thousand million comparisons.
        let mut text: String = (0..200_000).map(|at| format!("a{at}=1,")).collect();
        let arguments = parse_arguments(&text).expect("different names");
        assert_eq!(arguments.keyword.len(), 200_000);
        text.push_str("a7=1");
        let error = parse_arguments(&text).expect_err("a name given twice");
        assert_eq!(error.what, "the same keyword argument again");
    }
}
