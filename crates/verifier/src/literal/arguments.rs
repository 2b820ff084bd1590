//! Literal arguments of a call.

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

impl Parser<'_> {
    pub(super) fn arguments(&mut self) -> Result<Arguments, Fault> {
        let mut arguments = Arguments {
            positional: Vec::new(),
            keyword: Vec::new(),
        };
        self.enter()?;
        loop {
            self.skip_space(true)?;
            if self.cursor.at_end() {
                break;
            }
            if let Some(name) = self.keyword_name()? {
                if arguments.keyword.iter().any(|(other, _)| *other == name) {
                    return Err(self.fault("the same keyword argument again"));
                }
                let value = self.expression()?;
                arguments.keyword.push((name, value));
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
    fn keyword_name(&mut self) -> Result<Option<PyStr>, Fault> {
        let start = self.cursor.position();
        let name = self.cursor.name();
        if !name.is_empty() {
            self.skip_space(true)?;
            if self.cursor.eat('=') {
                self.skip_space(true)?;
                return Ok(Some(PyStr::from(name)));
            }
        }
        self.cursor.return_to(start);
        Ok(None)
    }
}
