//! Tests that a challenger writes: assertions about a function, in Python.

use crate::{
    answer::last_block,
    verify::{Check, Oracle, Tests},
};

/// Functions of Python that assertions call around the one under test.
const AROUND: [&str; 21] = [
    "abs",
    "all",
    "any",
    "bool",
    "dict",
    "float",
    "frozenset",
    "int",
    "isinstance",
    "len",
    "list",
    "max",
    "min",
    "repr",
    "round",
    "set",
    "sorted",
    "str",
    "sum",
    "tuple",
    "type",
];
/// Words that may stand before a bracket without calling anything.
const KEYWORDS: [&str; 8] = ["and", "assert", "else", "if", "in", "is", "not", "or"];

/// Tests of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Generated {
    /// The function under test.
    pub(super) entry_point: String,
    /// The assertions, and what they need.
    pub(super) tests: String,
}

impl Generated {
    /// Reads the tests in what a challenger states as the answer, which may be in a fenced block. The function under test
    /// is the first that an assertion calls, but for Python's own.
    ///
    /// # Errors
    /// Why they cannot be used.
    pub(super) fn read(stated: &str, min_tests: u32) -> Result<Self, String> {
        let tests = last_block(stated, "python").unwrap_or(stated).trim();
        let assertions: Vec<&str> = tests.lines().filter_map(assertion).collect();
        if assertions.len() < min_tests as usize {
            return Err(format!(
                "{} of at least {min_tests} assertions, each on a line that begins with `assert`",
                assertions.len()
            ));
        }
        let called = assertions.iter().find_map(|assertion| called(assertion));
        Ok(Self {
            entry_point: called.ok_or("no assertion calls a function of the program")?,
            tests: tests.to_owned(),
        })
    }

    pub(super) fn check(&self, program: String) -> Check {
        Check::Tests(Tests {
            program,
            entry_point: Some(self.entry_point.clone()),
            oracle: Oracle::Script {
                test: self.tests.clone(),
                prompt: None,
            },
        })
    }

    /// A program that has the function and nothing in it. Tests that it passes test nothing.
    pub(super) fn empty_program(&self) -> String {
        format!("def {}(*args, **kwargs):\n    pass\n", self.entry_point)
    }
}

/// What a line asserts.
fn assertion(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("assert")?;
    rest.starts_with([' ', '(']).then_some(rest)
}

/// The first function that is called, but for Python's own and for methods.
fn called(assertion: &str) -> Option<String> {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let code = without_strings(assertion);
    let called = code.match_indices('(').find_map(|(bracket, _)| {
        let before = code[..bracket].trim_end_matches(is_part);
        let name = &code[before.len()..bracket];
        let is_name = name.starts_with(|letter: char| letter.is_alphabetic() || letter == '_');
        let is_other = before.ends_with('.') || AROUND.contains(&name) || KEYWORDS.contains(&name);
        (is_name && !is_other).then_some(name)
    });
    called.map(str::to_owned)
}

/// A line of Python without what its string literals say.
fn without_strings(line: &str) -> String {
    let (mut code, mut quote, mut is_escaped) = (String::with_capacity(line.len()), None, false);
    for letter in line.chars() {
        match quote {
            None => {
                quote = ['\'', '"'].contains(&letter).then_some(letter);
                code.push(letter);
            }
            Some(_) if is_escaped => is_escaped = false,
            Some(_) if letter == '\\' => is_escaped = true,
            Some(open) if letter == open => {
                quote = None;
                code.push(letter);
            }
            Some(_) => {}
        }
    }
    code
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_function_under_test_is_the_first_that_is_called() {
        for (tests, wanted) in [
            ("assert add(1, 2) == 3", Some("add")),
            ("x = 3\nassert (not is_even(x))", Some("is_even")),
            ("assert sorted(set(pairs([1, 2]))) == []", Some("pairs")),
            ("assert math.isclose(root(2.0), 1.41, abs_tol=0.1)", Some("root")),
            ("assert True\n  assert größe(1)", Some("größe")),
            ("assert len('f(x)') == 4", None),
            (r#"assert "it\"s f(x)" == show("g(y)")"#, Some("show")),
            ("assert 1 + (2) == 3", None),
            ("assert add == 3", None),
            ("asserted(add(1))", None),
        ] {
            let found = Generated::read(tests, 1).ok().map(|generated| generated.entry_point);
            assert_eq!(found.as_deref(), wanted, "{tests}");
        }
    }

    #[test]
    fn tests_may_be_fenced_and_must_be_enough() {
        let fenced = "Like this:\n```python\nimport math\nassert f(1) == 2\nassert f(2) == 3\n```";
        let read = Generated::read(fenced, 2).unwrap();
        assert_eq!(read.tests, "import math\nassert f(1) == 2\nassert f(2) == 3");
        assert_eq!(read.empty_program(), "def f(*args, **kwargs):\n    pass\n");
        let few = Generated::read(fenced, 3).unwrap_err();
        assert!(few.starts_with("2 of at least 3 assertions"), "{few}");
        assert!(Generated::read("", 1).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(assert |f\\(|\\)|é|_|\\.|'|\n| |```|python\n){0,14}") {
            match Generated::read(&text, 1) {
                Ok(read) => prop_assert!(!read.entry_point.is_empty() && read.tests.contains("assert")),
                Err(reason) => prop_assert!(!reason.is_empty()),
            }
        }
    }
}
