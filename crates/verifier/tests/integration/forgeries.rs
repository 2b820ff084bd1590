//! Forgeries that succeed against other graders (Absolute-Zero-Reasoner's executor, EvalPlus's checker, HumanEval's),
//! one test each, named for the property that holds here.

use crate::support::{assert_alive, modes};
use lyceum_verifier::{Check, JsonText, Oracle, Solution, Status, Tests, Tolerance, Verdict};

/// Grades in every mode; the verdict must never be correct.
fn never_right(check: impl Into<Check>) -> Vec<Verdict> {
    let check = check.into();
    let grade = |mode: &'static crate::support::Mode| {
        let verdict = mode.pool.grade("forgery", check.clone());
        assert_eq!(verdict.correct, Some(false), "{}: {:?} {}", mode.name, verdict.status, verdict.reason);
        assert_alive(mode);
        verdict
    };
    modes().iter().map(grade).collect()
}

fn input(answer: &str) -> Solution {
    Solution::Input {
        program: "def f(x):\n    return x * 2 + 1".to_owned(),
        output: "7".to_owned(),
        answer: answer.to_owned(),
    }
}

fn output(answer: &str) -> Solution {
    Solution::Output {
        program: "def f(x):\n    return x * 2 + 1".to_owned(),
        input: "3".to_owned(),
        answer: answer.to_owned(),
    }
}

fn by_reference(program: &str) -> Tests {
    Tests {
        program: program.to_owned(),
        entry_point: Some("add".to_owned()),
        oracle: Oracle::Reference {
            inputs: vec![JsonText::new("[1, 2]".to_owned()).unwrap(), JsonText::new("[3, 4]".to_owned()).unwrap()],
            reference: "def add(a, b):\n    return a + b".to_owned(),
            atol: Tolerance::default(),
            task_id: None,
        },
    }
}

fn by_script(program: &str) -> Tests {
    let test = "def check(candidate):\n    expected = 3\n    assert candidate(1, 2) == expected\n    assert candidate(3, 4) == 7\n";
    Tests {
        program: program.to_owned(),
        entry_point: Some("add".to_owned()),
        oracle: Oracle::Script { test: test.to_owned(), prompt: None },
    }
}

/// Tries both ways of testing a program.
fn never_passes(program: &str) {
    never_right(by_reference(program));
    never_right(by_script(program));
}

#[test]
fn an_answer_that_closes_the_call_is_no_input() {
    for answer in ["0) or (True", "1) or True or (1", "3), (3", "3)\n(3", "3) if f(3) else (3"] {
        assert!(never_right(input(answer)).iter().all(|verdict| verdict.status == Status::Malformed));
    }
}

#[test]
fn an_answer_that_is_an_expression_is_right_by_its_value_alone() {
    for (right, wrong) in [
        ("print(True) or 3", "print(True) or 7"),
        ("3 if True else 0", "True"),
        ("*[3]", "*[7]"),
        ("(lambda: 3)()", "(lambda: 7)()"),
        ("x = 1 + 2", "x = 3 + 4"),
    ] {
        for mode in modes() {
            let verdict = mode.pool.grade("expression", input(right));
            assert_eq!(verdict.correct, Some(true), "{}: {right}: {}", mode.name, verdict.reason);
        }
        never_right(input(wrong));
    }
}

#[test]
fn an_answer_that_is_an_expression_meets_neither_the_program_nor_its_output() {
    for answer in [
        // Nothing of the problem is in its process.
        "f(3)",
        "f",
        "[v for f in __import__('sys')._current_frames().values() for v in f.f_globals.values() if v == 7][0]",
        "next(v for v in __import__('gc').get_objects() if isinstance(v, dict) and 'f' in v)['f'].__defaults__",
        // Nothing that it changes is left for the program.
        "__import__('builtins').__dict__.update(f=lambda x: 7) or 1",
        "__import__('sys').modules['program'].__dict__.update(f=lambda x: 7) or 1",
        "setattr(__import__('sys').modules['__main__'], 'f', lambda x: 7) or 1",
        // Only exact types leave it.
        "type('E', (int,), {'__mul__': lambda s, o: 6})()",
        "type('E', (), {'__eq__': lambda s, o: True, '__add__': lambda s, o: s, '__mul__': lambda s, o: s})()",
        // Its frames are claims about arguments, and arguments give what they give.
        "__import__('os').write(3, b'V\\0\\0\\0\\x01T') and 3",
        "__import__('os').write(3, b'V\\0\\0\\0\\x03I7;') and __import__('os')._exit(0)",
        "__import__('os')._exit(0)",
        "exit()",
        "[x for x in iter(int, 1)]",
        "[0] * 10 ** 10",
        "open('/etc/passwd').read()",
    ] {
        never_right(input(answer));
    }
}

#[test]
fn an_answer_that_would_compute_the_output_is_no_literal() {
    for answer in
        ["f(3)", "eval(gold_output)", "gold_output", "__import__('os').getpid()", "open('/tmp/x', 'w')", "7 and 7"]
    {
        assert!(never_right(output(answer)).iter().all(|verdict| verdict.status == Status::Malformed));
    }
}

#[test]
fn an_answer_that_equals_everything_is_no_literal() {
    never_right(output("type('E', (), {'__eq__': lambda s, o: True})()"));
    never_right(input("type('E', (int,), {'__mul__': lambda s, o: 6})()"));
}

#[test]
fn an_object_that_equals_everything_passes_no_test() {
    never_passes("class E:\n    def __eq__(self, other):\n        return True\ndef add(a, b):\n    return E()");
    never_passes("class E(int):\n    def __eq__(self, other):\n        return True\ndef add(a, b):\n    return E(0)");
}

#[test]
fn expected_values_are_not_found_by_walking_frames() {
    never_passes(
        "import sys\ndef add(a, b):\n    frame = sys._getframe()\n    while frame:\n        for names in (frame.f_locals, \
         frame.f_globals):\n            if 'expected' in names:\n                return names['expected']\n        \
         frame = frame.f_back\n    return None",
    );
}

#[test]
fn expected_values_are_not_found_among_all_objects() {
    never_passes(
        "import gc\ndef add(a, b):\n    for thing in gc.get_objects():\n        if isinstance(thing, dict) and 'expected' in \
         thing:\n            return thing['expected']\n    return None",
    );
}

#[test]
fn results_of_a_checker_cannot_be_set_from_inside() {
    never_passes(
        "import sys, posix\ndef add(a, b):\n    frame = sys._getframe()\n    while frame:\n        for name in ('stat', 'details', \
         'progress', 'result'):\n            value = frame.f_locals.get(name)\n            if isinstance(value, list):\n                \
         value.append('passed')\n        frame = frame.f_back\n    posix._exit(0)",
    );
}

#[test]
fn ending_the_process_passes_no_test() {
    for leave in ["posix._exit(0)", "os._exit(0)", "sys.exit(0)", "raise SystemExit(0)", "quit()"] {
        never_passes(&format!("import os, posix, sys\ndef add(a, b):\n    {leave}"));
        never_passes(&format!("import os, posix, sys\n{leave}\ndef add(a, b):\n    return a + b"));
    }
}

#[test]
fn patched_comparisons_pass_no_test() {
    never_passes(
        "import builtins, ast\nbuiltins.all = lambda x: True\nbuiltins.AssertionError = None\ndef add(a, b):\n    return 0",
    );
    never_passes("def check(candidate):\n    pass\ndef add(a, b):\n    return 0");
}

/// Grades a program whose entry point is `add` with this test.
fn tested(program: &str, test: &str) -> Tests {
    Tests {
        program: program.to_owned(),
        entry_point: Some("add".to_owned()),
        oracle: Oracle::Script {
            test: test.to_owned(),
            prompt: Some("from math import floor\ndef helper(a):\n    return a * 2\n".to_owned()),
        },
    }
}

#[test]
fn functions_of_a_program_replace_nothing_that_the_test_relies_on() {
    for (name, value, test) in [
        ("abs", "0", "def check(candidate):\n    assert abs(candidate(1, 2) - 3) < 1e-6\n"),
        ("range", "[]", "def check(candidate):\n    for i in range(3):\n        assert candidate(i, i) == 2 * i\n"),
        ("tuple", "0", "def check(candidate):\n    assert tuple(candidate(1, 2)) == tuple([3])\n"),
        ("set", "0", "assert set(add(1, 2)) == set([3])\n"),
        ("floor", "0", "assert floor(add(1, 2)) == floor(3)\n"),
        ("helper", "0", "assert helper(add(1, 2)) == helper(3)\n"),
        ("isclose", "True", "from math import isclose\nassert isclose(add(1, 2), 3)\n"),
        ("List", "0", "assert List(add(1, 2)) == List(3)\n"),
        ("__build_class__", "0", "class A: pass\nassert add(1, 2) == 3\n"),
        ("__builtins__", "0", "assert add(1, 2) == 3\n"),
        ("check", "0", "def check(candidate):\n    assert candidate(1, 2) == 3\n"),
    ] {
        let program = format!("def {name}(*a, **k):\n    return {value}\ndef add(a, b):\n    return [0]");
        never_right(tested(&program, test));
    }
}

#[test]
fn an_exception_of_a_program_ends_no_loop_of_the_test() {
    for exception in ["StopIteration", "StopIteration(True)", "StopAsyncIteration", "GeneratorExit", "SystemExit(0)"] {
        let program = format!("def add(a, b):\n    raise {exception}");
        for test in [
            "def check(candidate):\n    assert all(map(lambda a: candidate(a, 1) == a + 1, [1, 2]))\n",
            "def check(candidate):\n    assert list(map(candidate, [1], [2])) == list(map(candidate, [2], [1]))\n",
            "for value in map(add, [1], [2]):\n    assert value == 3\n",
        ] {
            never_right(tested(&program, test));
        }
    }
}

#[test]
fn a_helper_of_the_program_is_at_hand_where_the_test_asks_for_it() {
    for mode in modes() {
        let program = "def other(a):\n    return -a\ndef add(a, b):\n    return a + b";
        let test = "def check(candidate):\n    assert other(candidate(1, 2)) == -3\n    assert helper(2) == 4\n    try:\n        \
                    add(1)\n    except TypeError:\n        return\n    assert False\n";
        let verdict = mode.pool.grade("helper", tested(program, test));
        assert_eq!(verdict.correct, Some(true), "{}: {}", mode.name, verdict.reason);
    }
}

#[test]
fn frames_written_by_hand_pass_no_test() {
    never_passes(
        "import os\ndef add(a, b):\n    os.write(3, b'V\\0\\0\\0\\1N')\n    os.write(3, b'V\\0\\0\\0\\3I3;')\n    return 0",
    );
    never_passes("import os\nos.write(3, b'V\\0\\0\\0\\1T' * 2)\ndef add(a, b):\n    os._exit(0)");
}

#[test]
fn an_assertion_that_is_caught_by_the_program_still_fails() {
    never_passes(
        "import sys\nsys.excepthook = lambda *a: None\ndef add(a, b):\n    try:\n        raise AssertionError\n    except AssertionError:\n        return 0",
    );
}

#[test]
fn the_right_program_passes() {
    for mode in modes() {
        for tests in [by_reference("def add(a, b):\n    return a + b"), by_script("def add(a, b):\n    return a + b")] {
            let verdict = mode.pool.grade("right", tests);
            assert_eq!(verdict.correct, Some(true), "{}: {}", mode.name, verdict.reason);
        }
        assert_eq!(mode.pool.grade("right", input("3")).correct, Some(true));
        assert_eq!(mode.pool.grade("right", output("7")).correct, Some(true));
    }
}
