//! Exceptions of a program, as its test gets them.

use crate::support::pool;
use lyceum_verifier::{Oracle, Tests};

/// Whether a program whose `f` raises this passes the test, and why not.
fn passes(raises: &str, test: &str) -> (bool, String) {
    let tests = Tests {
        program: format!(
            "import json\nclass Own(KeyError):\n    pass\nclass Ending(StopIteration):\n    pass\ndef f():\n    {raises}"
        ),
        entry_point: Some("f".to_owned()),
        oracle: Oracle::Script { test: test.to_owned(), prompt: None },
    };
    let verdict = pool().grade("exception", tests);
    (verdict.correct == Some(true), verdict.reason)
}

#[test]
fn a_test_gets_an_exception_with_its_class_and_its_message() {
    for (raises, class, text) in [
        ("raise ValueError('negative')", "ValueError", "negative"),
        ("raise ValueError", "ValueError", ""),
        ("raise ValueError('a\\0b: c')", "ValueError", "a\\0b: c"),
        ("{}['a']", "KeyError", "'a'"),
        ("{}[1, 'b']", "KeyError", "(1, 'b')"),
        ("raise Own('no such name')", "KeyError", "'no such name'"),
        ("raise FileNotFoundError(2, 'gone')", "FileNotFoundError", "[Errno 2] gone"),
        ("1 / 0", "ZeroDivisionError", "division by zero"),
    ] {
        let test = format!(
            "try:\n    f()\nexcept Exception as error:\n    assert type(error) is {class} and str(error) == \"{text}\", \
             repr(error)\nelse:\n    assert False, 'it raises nothing'"
        );
        assert_eq!(passes(raises, &test), (true, String::new()), "{raises}");
    }
}

#[test]
fn an_exception_of_another_class_is_raised_as_the_nearest_that_the_test_has() {
    for (raises, class) in [
        ("json.loads('{')", "ValueError"),
        ("b'\\xff'.decode()", "UnicodeError"),
        ("raise type('Own', (Exception,), {})('x')", "Exception"),
        ("raise ExceptionGroup('several', [ValueError()])", "Exception"),
        ("raise Ending", "RuntimeError"),
        ("raise KeyboardInterrupt", "RuntimeError"),
    ] {
        let test = format!(
            "try:\n    f()\nexcept {class} as error:\n    assert type(error) is {class}\nelse:\n    assert False"
        );
        assert_eq!(passes(raises, &test), (true, String::new()), "{raises}");
    }
}

#[test]
fn an_exception_that_no_test_expects_is_named_by_its_own_class() {
    for (raises, reason) in [
        ("json.loads('{')", "test 0: it raised JSONDecodeError: Expecting property name enclosed"),
        ("raise Own('x')", "test 0: it raised Own: 'x'"),
        ("raise Ending", "test 0: it raised Ending"),
    ] {
        let (passed, given) = passes(raises, "assert f() == 1");
        assert!(!passed && given.starts_with(reason), "{raises}: {given}");
    }
}
