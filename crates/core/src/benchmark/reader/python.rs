//! Facts about Python code that follow from its words, without parsing it.

use crate::benchmark::extract::defines_function;

/// Functions that tests wrap around the function under test.
const WRAPPERS: [&str; 22] = [
    "abs",
    "all",
    "any",
    "bool",
    "dict",
    "float",
    "frozenset",
    "int",
    "isclose",
    "isinstance",
    "len",
    "list",
    "max",
    "min",
    "next",
    "print",
    "range",
    "round",
    "set",
    "sorted",
    "str",
    "tuple",
];

/// The function that `tests` are about: the first one that they call and `solution` defines, of a module (`solution.f`) only if
/// they call no other; without a solution, the first one they call that is neither a common function of Python, a method, nor
/// defined by the tests themselves.
pub(super) fn function_under_test(tests: &str, solution: Option<&str>) -> Option<String> {
    let is_tested = |name: &str| match solution {
        Some(solution) => defines_function(solution, name),
        None => !WRAPPERS.contains(&name) && !defines_function(tests, name),
    };
    let calls = calls(tests);
    let first = |is_member| {
        let mut called = calls.iter().filter(|call| call.is_member == is_member);
        called.find(|call| is_tested(call.name))
    };
    let found = first(false).or_else(|| solution.and_then(|_| first(true)));
    found.map(|call| call.name.to_owned())
}

/// `text` as a module with a docstring, which is how EvalPlus writes MBPP's tasks.
pub(super) fn docstring(text: &str) -> String {
    // Backslashes of formulas are not escapes.
    let raw = if text.contains('\\') { "r" } else { "" };
    format!("{raw}\"\"\"\n{}\n\"\"\"\n", text.replace("\"\"\"", "'''"))
}

/// A call in a text.
struct Call<'c> {
    name: &'c str,
    /// Whether it follows a dot.
    is_member: bool,
}

/// The names in `code` that are followed by `(`, outside of strings and comments, without definitions.
fn calls(code: &str) -> Vec<Call<'_>> {
    let mut found = Vec::new();
    let mut rest = code;
    let mut before = "";
    while let Some(letter) = rest.chars().next() {
        if letter.is_alphabetic() || letter == '_' {
            let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_'));
            let (name, after) = rest.split_at(end.unwrap_or(rest.len()));
            let is_keyword = matches!(
                name,
                "assert" | "not" | "and" | "or" | "in" | "is" | "if" | "else" | "for" | "return" | "lambda"
            );
            let is_definition = matches!(before, "def" | "class");
            if after.trim_start_matches(' ').starts_with('(') && !is_keyword && !is_definition {
                let is_member = before == ".";
                found.push(Call { name, is_member });
            }
            (before, rest) = (name, after);
            continue;
        }
        rest = match letter {
            '#' => rest.find('\n').map_or("", |end| &rest[end..]),
            '"' | '\'' => after_string(rest),
            _ => &rest[letter.len_utf8()..],
        };
        if !letter.is_whitespace() {
            before = if letter == '.' { "." } else { "" };
        }
    }
    found
}

/// What follows the string that `text` begins with.
fn after_string(text: &str) -> &str {
    let quote = &text[..1];
    let triple = quote.repeat(3);
    let mark = if text.starts_with(&triple) { &triple } else { quote };
    let mut rest = &text[mark.len()..];
    while !rest.is_empty() && !rest.starts_with(mark) {
        let mut letters = rest.chars();
        if letters.next() == Some('\\') {
            letters.next();
        }
        rest = letters.as_str();
    }
    rest.strip_prefix(mark).unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_function_under_test_is_found_among_what_is_called() {
        for (tests, solution, found) in [
            ("assert add(1, 2) == 3", None, Some("add")),
            ("assert set(shared((3, 4), (4,))) == set((4,))", None, Some("shared")),
            ("import math\nassert math.isclose(area(3), 28.2, rel_tol=0.001)", None, Some("area")),
            ("assert not is_odd (2)  # odd(3)", None, Some("is_odd")),
            ("assert (equal(1)) == ('''not(1)''', \"no(\\\")(\")", None, Some("equal")),
            ("def check(f):\n    assert f(1)\ncheck(one)", None, Some("f")),
            (
                "root = Node('a(b)')\nassert height(root) == 1",
                Some("class Node:\n  pass\ndef height(n):\n  return 1"),
                Some("height"),
            ),
            ("assert add(1, 2) == 3", Some("def sum_of(a, b): return a + b"), None),
            ("import solution as s\nassert s.add(1, 2) == 3", Some("def add(a, b): return a + b"), Some("add")),
            ("import solution\nassert solution.add(1, 2) == 3", None, None),
            ("x = [].pop()\nassert s.low(low(x))", Some("def low(x): return x\ndef pop(): pass"), Some("low")),
            ("assert \"f(1)\" == '''g(2)'''", None, None),
            ("", None, None),
        ] {
            assert_eq!(function_under_test(tests, solution).as_deref(), found, "{tests}");
        }
    }

    #[test]
    fn a_task_is_a_docstring_whatever_it_has_in_it() {
        assert_eq!(docstring("Add."), "\"\"\"\nAdd.\n\"\"\"\n");
        assert!(docstring("Take \\x and \\N.").starts_with("r\"\"\""));
        assert_eq!(docstring("\"\"\"").matches("\"\"\"").count(), 2);
    }

    proptest! {
        #[test]
        fn any_text_is_read_to_its_end(text in "[a(\"'\\\\#.\n é_]{0,40}") {
            let _ = function_under_test(&text, None);
        }
    }
}
