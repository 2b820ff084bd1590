//! Tests as public sets write them: pytest's functions and classes, unittest's cases, files that import the program.

use crate::support::{assert_alive, modes, pool};
use lyceum_verifier::{Oracle, Status, Tests, Verdict};

const RIGHT: &str = "def negated(a):\n    return -a\ndef add(a, b):\n    if not isinstance(a, (int, float)):\n        raise \
                     ValueError('a is no number')\n    return a + b";

fn tests(program: &str, test: &str) -> Tests {
    Tests {
        program: program.to_owned(),
        entry_point: Some("add".to_owned()),
        oracle: Oracle::Script { test: test.to_owned(), prompt: None },
    }
}

fn judged(program: &str, test: &str) -> Verdict {
    pool().grade("script", tests(program, test))
}

/// The right program passes, and neither a wrong one nor none at all.
fn tells_right_from_wrong(test: &str) {
    for (program, right) in [
        (RIGHT, true),
        ("def negated(a):\n    return a\ndef add(a, b):\n    return 0", false),
        ("def add(a, b):\n    raise AssertionError", false),
        ("import os\ndef add(a, b):\n    os._exit(0)", false),
        ("", false),
    ] {
        let verdict = judged(program, test);
        assert_eq!(verdict.correct, Some(right), "{test}\n{program}: {}", verdict.reason);
        if right {
            assert_eq!((verdict.status, verdict.passed, verdict.total), (Status::Ok, Some(1), Some(1)));
        }
    }
}

#[test]
fn a_prompt_in_words_defines_nothing_and_one_in_code_its_functions() {
    let test = "def check(candidate):\n    assert candidate(1, 2) == three()\n";
    let judged = |prompt: &str, program: &str| {
        let oracle = Oracle::Script { test: test.to_owned(), prompt: Some(prompt.to_owned()) };
        let tests = Tests { oracle, ..tests(program, test) };
        pool().grade("script", tests).correct
    };
    let three = "def three():\n    return 3\n";
    for words in ["Add two numbers.", "Subtract", "\"\"\"Add.\"\"\"", "Add [1, 2", "three"] {
        assert_eq!(judged(words, &format!("{RIGHT}\n{three}")), Some(true), "{words}");
        assert_eq!(judged(words, three), Some(false), "{words}");
    }
    let header = format!("{three}def add(a, b):\n    \"\"\"Adds.\"\"\"\n");
    assert_eq!(judged(&header, RIGHT), Some(true), "the prompt's function is used");
    let forged = format!("{RIGHT}\ndef three():\n    return add(0, 0)\n");
    assert_eq!(judged(&header, &forged), Some(true));
    assert_eq!(judged("Add.", &forged), Some(false));
}

#[test]
fn functions_that_nothing_calls_are_run() {
    for test in [
        "def test_add():\n    assert add(1, 2) == 3\n",
        "def test():\n    assert add(1, 2) == 3\n",
        "def test_other():\n    assert add(0, 0) == 0\ndef test_add():\n    assert add(1, 2) == 3\n",
        "class TestAdd:\n    def test_add(self):\n        assert add(1, 2) == 3\n",
        "class Base:\n    def test_add(self):\n        assert add(1, 2) == self.three\nclass TestAdd(Base):\n    three = 3\n",
        "class TestAll:\n    class TestAdd:\n        def test_add(self):\n            assert add(1, 2) == 3\n    def test_true(self):\n        assert True\n",
        "numbers = []\ndef setup_function(function):\n    numbers.append(2)\ndef test_add():\n    assert add(1, numbers[-1]) == 3\n",
        "import solution as s\ndef test_add():\n    assert s.add(1, 2) == 3\n",
        "class TestAdd:\n    def setup_method(self, method):\n        self.three = 3\n    def test_add(self):\n        assert add(1, 2) == self.three\n",
        "def test_add(candidate):\n    assert candidate(1, 2) == 3\n",
        "def test_add():\n    if add(1, 2) != 3:\n        raise ValueError('no')\n",
        "def test_add():\n    try:\n        add('x', 1)\n    except ValueError:\n        pass\n    else:\n        assert False\n",
        "import pytest\n@pytest.mark.slow\ndef test_add():\n    assert add(1, 2) == 3\nif __name__ == '__main__':\n    pytest.main()\n",
    ] {
        tells_right_from_wrong(test);
    }
}

#[test]
fn unittests_cases_are_run() {
    for test in [
        "import unittest\nclass T(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(1, 2), 3)\nunittest.main()\n",
        "from unittest import TestCase, main\nclass Add(TestCase):\n    def setUp(self):\n        self.three = 3\n    @classmethod\n    def \
         setUpClass(cls):\n        cls.one = 1\n    def test_add(self):\n        self.assertAlmostEqual(add(self.one, 2), self.three)\n\
         if __name__ == '__main__':\n    main()\n",
        "import unittest\nclass T(unittest.TestCase):\n    def test_add(self):\n        for i in range(1, 3):\n            with \
         self.subTest(i=i):\n                self.assertEqual(add(i, i), 2 * i)\n    @unittest.skip('later')\n    def test_later(self):\n        \
         self.fail()\n    @unittest.expectedFailure\n    def test_known(self):\n        self.assertEqual(1, 2)\n",
        "import unittest, pytest\nclass T(unittest.TestCase):\n    @pytest.fixture(autouse=True)\n    def prepared(self):\n        \
         self.three = 3\n    def test_add(self):\n        self.assertEqual(add(1, 2), self.three)\n",
        "import unittest\nclass T(unittest.TestCase):\n    def test_add(self):\n        with self.assertRaises(ValueError):\n            add('x', 1)\n",
    ] {
        tells_right_from_wrong(test);
    }
}

#[test]
fn what_tests_use_of_pytest_is_there() {
    for test in [
        "@pytest.mark.parametrize('a, b, c', [(1, 2, 3), (-1, 1, 0)])\ndef test_add(a, b, c):\n    assert add(a, b) == c\n",
        "@pytest.mark.parametrize('a', [1, 2])\n@pytest.mark.parametrize(['b', 'c'], [(1, 1), (2, 2)])\nclass TestAdd:\n    def \
         test_add(self, a, b, c):\n        assert add(a, b) == a + c\n",
        "@pytest.mark.parametrize('a', [pytest.param(1, id='one'), pytest.param(5, marks=pytest.mark.skip)])\ndef test_add(a):\n    \
         assert add(a, 1) == 2\n",
        "def test_add():\n    with pytest.raises(ValueError, match='no number') as caught:\n        add('x', 1)\n    assert 'no number' in \
         str(caught.value) and caught.type is ValueError\n",
        "def test_add():\n    pytest.raises(ValueError, add, 'x', 1)\n",
        "def test_add():\n    assert add(0.1, 0.2) == pytest.approx(0.3)\n    assert [add(0.1, 0.2)] == pytest.approx([0.3])\n    assert \
         {'a': add(1, 2)} == pytest.approx({'a': 3.0000001})\n    assert add(1, 2) != pytest.approx(3.1)\n    assert add(1, 2) == \
         pytest.approx(3.1, abs=0.2)\n",
        "@pytest.fixture\ndef two():\n    yield 2\n@pytest.fixture(name='three')\ndef made(two):\n    return two + 1\ndef test_add(two, \
         three):\n    assert add(1, two) == three\n",
        "class TestAdd:\n    @pytest.fixture(autouse=True)\n    def numbers(self):\n        self.three = 3\n    @pytest.fixture\n    def \
         two(self):\n        return 2\n    def test_add(self, two):\n        assert add(1, two) == self.three\n",
        "@pytest.fixture\ndef three():\n    global total\n    total = 3\n@pytest.mark.usefixtures('three')\ndef test_add():\n    assert add(1, 2) \
         == total\n",
        "@pytest.mark.parametrize('a, b', [(1, 2), (2, 1)], ids=['up', 'down'])\ndef test_add(a, b):\n    assert add(a, b) == 3\n",
        "@pytest.mark.xfail\ndef test_known():\n    assert add(1, 2) == 4\n@pytest.mark.skipif(True, reason='x')\ndef test_no():\n    \
         assert False\ndef test_add():\n    assert add(1, 2) == 3\n",
    ] {
        tells_right_from_wrong(&format!("import pytest\n{test}"));
    }
}

#[test]
fn the_program_is_imported_from_the_module_that_the_test_names() {
    for test in [
        "from solution import add\n\nassert add(1, 2) == 3\n",
        "from solution import add as plus\nassert plus(1, 2) == 3\n",
        "from solution import add, negated\nassert negated(add(1, 2)) == -3\n",
        "import solution\nassert solution.add(1, 2) == 3 and solution.negated(1) == -1\n",
        "from solution import *\nassert negated(add(1, 2)) == -3\n",
        "from your_module import add\ndef test_add():\n    assert add(1, 2) == 3\n",
        "import os, sys\nsys.path.insert(0, os.path.dirname(__file__))\nfrom solution import add\nassert add(1, 2) == 3\n",
        "from src.adding import add\ndef test_add():\n    assert add(1, 2) == 3\n",
    ] {
        tells_right_from_wrong(test);
    }
    let method = "class Solution:\n    def add(self, a, b):\n        return a + b";
    for test in [
        "from solution import Solution\ndef test_add():\n    assert Solution().add(1, 2) == 3\n",
        "assert Solution().add(1, 2) == 3\n",
    ] {
        let verdict = judged(method, test);
        assert_eq!(verdict.correct, Some(true), "{test}: {}", verdict.reason);
        assert_eq!(judged(&method.replace('+', "-"), test).correct, Some(false), "{test}");
    }
    for program in [RIGHT.to_owned(), format!("class Adder:\n    pass\n{RIGHT}")] {
        let verdict = judged(&program, "from solution import Adder\nassert Adder().add(1, 2) == 3\n");
        assert_eq!(verdict.correct, Some(false));
        assert!(verdict.reason.contains("Adder"), "{}", verdict.reason);
    }
}

#[test]
fn an_exception_of_the_programs_own_class_is_caught_by_that_class() {
    let program = "class Bad(ValueError):\n    pass\nclass Other(Exception):\n    pass\ndef add(a, b):\n    raise Bad('no number')";
    for (test, right) in [
        (
            "from solution import Bad\ndef test_add():\n    with pytest.raises(Bad, match='number'):\n        add(1, 2)\n",
            true,
        ),
        ("from solution import Bad\ndef test_add():\n    with pytest.raises(ValueError):\n        add(1, 2)\n", true),
        ("from solution import Other\ndef test_add():\n    with pytest.raises(Other):\n        add(1, 2)\n", false),
        (
            "import solution\ntry:\n    add(1, 2)\n    assert False\nexcept solution.Bad as error:\n    assert str(error) == 'no number'\n",
            true,
        ),
    ] {
        let verdict = judged(program, &format!("import pytest\n{test}"));
        assert_eq!(verdict.correct, Some(right), "{test}: {}", verdict.reason);
    }
}

#[test]
fn a_module_of_the_language_is_not_replaced_by_the_program() {
    let program = "def isclose(a, b):\n    return True\ndef add(a, b):\n    return 0";
    for test in [
        "from math import isclose\nfrom solution import *\nassert isclose(add(1, 2), 3)\n",
        "from solution import *\nassert abs(add(1, 2)) == 3\n",
    ] {
        let verdict = judged(program, test);
        assert_eq!(verdict.correct, Some(false), "{test}: {}", verdict.reason);
    }
    let gcd = Tests {
        entry_point: Some("gcd".to_owned()),
        ..tests("def gcd(a, b):\n    return 1", "from math import gcd as right\nassert gcd(4, 6) == right(4, 6)\n")
    };
    assert_eq!(pool().grade("gcd", gcd).correct, Some(false));
}

#[test]
fn a_test_in_which_nothing_is_asserted_is_an_error_of_the_row() {
    for test in [
        "x = 1\n",
        "def test_add():\n    add(1, 2)\n",
        "def check(candidate):\n    candidate(1, 2)\n",
        "def helper():\n    assert add(1, 2) == 3\n",
        "class Checks:\n    def test_add(self):\n        assert add(1, 2) == 3\n",
        "import pytest\n@pytest.mark.skip\ndef test_add():\n    assert add(1, 2) == 3\n",
        "import unittest\nclass T(unittest.TestCase):\n    def check_add(self):\n        self.assertEqual(add(1, 2), 3)\n",
        "for case in []:\n    assert add(*case) == 3\n",
        "def run_all():\n    assert add(1, 2) == 3\nif __name__ == '__main__':\n    run_all()\n",
        "\"\"\"\n>>> add(1, 2)\n3\n\"\"\"\nif __name__ == '__main__':\n    import doctest\n    doctest.testmod()\n",
    ] {
        for mode in modes() {
            let verdict = mode.pool.grade("nothing", tests(RIGHT, test));
            assert_eq!(
                (verdict.correct, verdict.status),
                (Some(false), Status::Malformed),
                "{}: {test}: {}",
                mode.name,
                verdict.reason
            );
            assert!(verdict.reason.contains("nothing was asserted"), "{test}: {}", verdict.reason);
            assert_alive(mode);
        }
    }
}

#[test]
fn what_is_not_offered_is_refused_by_name() {
    for (test, name) in [
        ("def test_add(tmp_path):\n    assert add(1, 2) == 3\n", "`tmp_path`"),
        ("def test_one():\n    assert True\ndef test_add(caplog):\n    assert add(1, 2) == 3\n", "`caplog`"),
        ("def test_add(monkeypatch, n=1):\n    assert add(1, 2) == 3\n", "`monkeypatch`"),
        ("async def test_add():\n    assert add(1, 2) == 3\n", "`test_add` is asynchronous"),
        (
            "import unittest\nclass T(unittest.TestCase):\n    def test_one(self):\n        self.assertTrue(True)\n    async def \
             test_add(self):\n        self.assertEqual(add(1, 2), 3)\n",
            "`test_add` is asynchronous",
        ),
        (
            "from unittest import IsolatedAsyncioTestCase\nclass T(IsolatedAsyncioTestCase):\n    async def test_add(self):\n        \
             self.assertEqual(add(1, 2), 3)\n",
            "`test_add` is asynchronous",
        ),
        (
            "def test_one():\n    assert True\ndef test_add():\n    assert add(1, 2) == 3\n    yield\n",
            "`test_add` is a generator",
        ),
        (
            "import pytest\n@pytest.mark.usefixtures('tmp_path')\ndef test_add():\n    assert add(1, 2) == 3\n",
            "`tmp_path`",
        ),
        ("import pytest\npytest.importorskip('numpy')\n", "`pytest.importorskip`"),
        (
            "import pytest\n@pytest.fixture(params=[1, 2])\ndef n(request):\n    return request.param\ndef test_add(n):\n    assert add(n, 1) == n + 1\n",
            "`n`",
        ),
        (
            "import pytest\n@pytest.mark.parametrize('a, b', [(1,)])\ndef test_add(a, b):\n    assert add(a, b) == 3\n",
            "2 parameters",
        ),
    ] {
        let verdict = judged(RIGHT, test);
        assert_eq!((verdict.correct, verdict.status), (Some(false), Status::Malformed), "{test}: {}", verdict.reason);
        assert!(verdict.reason.contains(name), "{test}: {}", verdict.reason);
    }
}

#[test]
fn a_script_may_call_its_own_functions() {
    let test = "def test_case(a, b, c):\n    assert add(a, b) == c\ntest_case(1, 2, 3)\ntest_case(0, 0, 0)\n";
    tells_right_from_wrong(test);
}

#[test]
fn a_script_that_ends_before_its_last_assertion_is_wrong() {
    for end in ["exit()", "import sys; sys.exit(0)", "raise SystemExit", "import os; os._exit(0)"] {
        let test = format!("def test_add():\n    assert add(1, 2) == 3\n    {end}\n    assert add(1, 2) == 4\n");
        assert_eq!(judged(RIGHT, &test).correct, Some(false), "{end}");
    }
}

#[test]
fn a_program_forges_no_verdict_of_a_test_function() {
    let test = "import pytest\nfrom solution import add\n@pytest.mark.parametrize('a', [1, 2])\ndef test_add(a):\n    assert add(a, 1) == a + 1\n";
    for program in [
        "class E:\n    def __eq__(self, other):\n        return True\ndef add(a, b):\n    return E()",
        "import sys, types\nsys.modules['pytest'] = types.ModuleType('pytest')\ndef add(a, b):\n    return 0",
        "def test_add(a):\n    pass\ndef add(a, b):\n    return 0",
        "def __lyceum_asserted__():\n    return True\ndef add(a, b):\n    return 0",
        "import unittest\ndef add(a, b):\n    raise unittest.SkipTest('x')",
        "class Skipped(BaseException):\n    pass\ndef add(a, b):\n    raise Skipped",
        "import os\ndef add(a, b):\n    os.write(3, b'V\\0\\0\\0\\3I9;')\n    os._exit(0)",
    ] {
        for mode in modes() {
            let verdict = mode.pool.grade("forgery", tests(program, test));
            assert_eq!(verdict.correct, Some(false), "{}: {program}: {}", mode.name, verdict.reason);
            assert_alive(mode);
        }
    }
}
