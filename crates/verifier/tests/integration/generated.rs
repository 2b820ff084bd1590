//! Tests that a challenger of SAGE generates, in the real sandbox: what they say of an empty function and of programs.

use crate::support::{assert_alive, modes, pool};
use lyceum_verifier::{Check, Oracle, Status, Tests, Verdict};

const EMPTY: &str = "def f(*args, **kwargs):\n    pass\n";

fn check(test: &str, program: &str) -> Check {
    Check::Tests(Tests {
        program: program.to_owned(),
        entry_point: Some("f".to_owned()),
        oracle: Oracle::Script { test: test.to_owned(), prompt: None },
    })
}

fn judged(test: &str, program: &str) -> Verdict {
    pool().grade("generated", check(test, program))
}

#[test]
fn tests_that_test_something_refuse_an_empty_function() {
    for (test, status) in [
        ("assert f(1) == 2", Status::Ok),
        ("assert f(1) == 2\nassert f(2) is None", Status::Ok),
        ("assert f('a') + 1 == 2", Status::Error),
        ("assert len(f([1, 2])) == 2", Status::Error),
        ("import math\nassert math.isclose(f(2.0), 1.41, abs_tol=0.1)", Status::Error),
    ] {
        let verdict = judged(test, EMPTY);
        assert_eq!(verdict.correct, Some(false), "{test}: {}", verdict.reason);
        assert_eq!(verdict.status, status, "{test}: {}", verdict.reason);
        assert!(!verdict.reason.contains("NameError"), "{test}: {}", verdict.reason);
    }
}

#[test]
fn tests_that_test_nothing_pass_on_an_empty_function() {
    for test in ["assert f(1) is None", "assert not f(1)", "assert f(1) == f(2)"] {
        let verdict = judged(test, EMPTY);
        assert_eq!(verdict.correct, Some(true), "{test}: {}", verdict.reason);
    }
    let verdict = judged("if f(1):\n    assert f(1) == 2", EMPTY);
    assert_eq!((verdict.status, verdict.correct), (Status::Malformed, Some(false)));
    assert!(verdict.reason.contains("nothing was asserted"), "{}", verdict.reason);
}

#[test]
fn what_is_wrong_with_the_tests_themselves_can_be_told_from_a_refusal() {
    let verdict = judged("assert f(1) ==", EMPTY);
    assert_eq!((verdict.status, verdict.correct), (Status::Malformed, Some(false)), "{}", verdict.reason);
    for test in [
        "import os\nos._exit(0)\nassert f(1) == 2",
        "assert f(1) == __import__('os')._exit(1)",
        "import sys\nsys.exit(0)\nassert f(1) == 2",
        "assert f(1) == __import__('sys').exit()",
        "raise KeyboardInterrupt\nassert f(1) == 2",
        "assert f([].append) == 2",
        "__import__('os').abort()\nassert f(1) == 2",
    ] {
        let verdict = judged(test, EMPTY);
        assert_eq!((verdict.status, verdict.correct), (Status::Malformed, Some(false)), "{test}: {}", verdict.reason);
        assert!(verdict.reason.starts_with("the test itself: "), "{test}: {}", verdict.reason);
    }
    let verdict = judged("assert g(f(1)) == 2", EMPTY);
    assert_eq!(verdict.status, Status::Error, "{}", verdict.reason);
    assert!(verdict.reason.contains("NameError"), "{}", verdict.reason);
    let endless = check("assert f(1) == 2 or any(iter(int, 1))", EMPTY);
    let verdict = modes()[0].pool.grade("endless", endless);
    assert_eq!(verdict.status, Status::Timeout, "{}", verdict.reason);
}

#[test]
fn an_exception_before_the_first_call_is_the_tests() {
    let right = "def f(x):\n    return 2";
    for (test, said) in [
        ("import hypothesis\nassert f(1) == 2", "ModuleNotFoundError"),
        ("expected = undefined\nassert f(1) == expected", "NameError"),
        ("assert {}['a'] == f(1)", "KeyError"),
        ("from solution import f\ndef test_f():\n    data = [][0]\n    assert f(1) == 2", "IndexError"),
    ] {
        for program in [right, EMPTY, ""] {
            let verdict = judged(test, program);
            let told = &verdict.reason;
            assert_eq!((verdict.status, verdict.correct), (Status::Malformed, Some(false)), "{test}: {told}");
            assert!(told.starts_with("the test itself: ") && told.contains(said), "{test}: {told}");
        }
    }
    for (test, program) in [
        // What another program would have defined or returned.
        ("assert f(1) == 2\nassert undefined", right),
        ("from solution import f, g\nassert g(1) == 2", right),
        ("assert helper() == f(1)", "def other():\n    pass"),
        ("assert f(1)[0] == 2", right),
        ("assert 1 == 2 == f(1)", right),
    ] {
        let verdict = judged(test, program);
        assert_eq!(verdict.correct, Some(false), "{test}");
        assert!(!verdict.reason.contains("the test itself"), "{test}: {}", verdict.reason);
    }
}

#[test]
fn names_that_a_test_assigns_are_not_the_programs_in_a_starred_import() {
    let program = "def same(a, b):\n    return True\ndef f(x):\n    return 3";
    let test = "same = lambda a, b: a == b\nfrom solution import *\nassert same(f(1), 2)";
    assert_eq!(judged(test, program).correct, Some(false));
}

#[test]
fn a_program_is_right_if_every_assertion_holds() {
    let test = "assert f(1) == 2\nassert f(10) == 11\nassert f(-1) == 0";
    for (program, correct) in [
        ("def f(x):\n    return x + 1", true),
        ("import functools\n@functools.cache\ndef f(x):\n    return x + 1", true),
        ("def f(x):\n    return 2", false),
        ("def f(x):\n    raise StopIteration", false),
        ("def f(x):\n    raise SystemExit", false),
        ("def g(x):\n    return x + 1", false),
    ] {
        let verdict = judged(test, program);
        assert_eq!(verdict.correct, Some(correct), "{program}: {}", verdict.reason);
    }
}

/// Neither the tests nor the program are ours: both come from models.
#[test]
fn hostile_tests_reach_nothing_and_end() {
    let hostile = [
        "assert f(1) or __import__('os').fork() >= 0\nwhile True:\n    __import__('os').fork()",
        "assert f(1) or __import__('os').kill(1, 9)",
        "assert f(1) or open('/etc/passwd').read()",
        "assert f(1) or [0] * 10**10",
        "import sys\nsys.setrecursionlimit(10**9)\ndef r():\n    r()\nassert f(r())",
        "assert f(1) or __import__('socket').create_connection(('127.0.0.1', 1))",
        "import os\nos._exit(0)\nassert f(1)",
        "import sys\nsys.stdout.write('{\"correct\":true}' * 1000)\nassert f(1)",
    ];
    for mode in modes() {
        for test in hostile {
            let verdict = mode.pool.grade("hostile", check(test, EMPTY));
            assert_eq!(verdict.correct, Some(false), "{}: {test}: {}", mode.name, verdict.reason);
            assert_alive(mode);
        }
    }
}
