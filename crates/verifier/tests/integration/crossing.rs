//! Values that cross between a test and the program: of the standard library, functions, objects of the program, printed text,
//! changes in place.

use crate::support::pool;
use lyceum_verifier::{Oracle, Status, Tests, Verdict};

fn judged(program: &str, test: &str) -> Verdict {
    let oracle = Oracle::Script { test: test.to_owned(), prompt: None };
    pool().grade("script", Tests { program: program.to_owned(), entry_point: Some("add".to_owned()), oracle })
}

#[test]
fn values_of_the_standard_library_cross_between_test_and_program() {
    for (entry_point, program, test) in [
        (
            "half",
            "from fractions import Fraction\ndef half(n): return Fraction(n, 2)",
            "f(3) == Fraction(3, 2) and f(Fraction(3)) == Fraction(3, 2)",
        ),
        (
            "double",
            "def double(d): return [d * 2]",
            "f(Decimal('1.10')) == [Decimal('2.20')] and str(f(Decimal('1.10'))[0]) == '2.20'",
        ),
        (
            "later",
            "import datetime\ndef later(d): return d + datetime.timedelta(days=1)",
            "f(date(2024, 2, 28)) == date(2024, 2, 29)",
        ),
        (
            "gap",
            "def gap(a, b): return {b - a: (a, b)}",
            "f(datetime(2024, 1, 1), datetime(2024, 1, 2, 3)) == \
             {timedelta(1, 10800): (datetime(2024, 1, 1), datetime(2024, 1, 2, 3))}",
        ),
        (
            "point",
            "from collections import namedtuple\nP = namedtuple('P', 'x y')\ndef point(a, b): return P(a, b)",
            "f(1, 2) == (1, 2) and f(1, 2).y == 2",
        ),
        ("evens", "def evens(n):\n    for i in range(0, n, 2): yield i", "list(f(5)) == [0, 2, 4] and next(f(5)) == 0"),
        (
            "all_of",
            "import itertools\ndef all_of(n): return itertools.chain(map(abs, [-n]), range(n))",
            "list(f(2)) == [2, 0, 1]",
        ),
        ("span", "def span(n): return range(n)", "f(3) == range(3)"),
        (
            "forever",
            "def forever():\n    n = 0\n    while True:\n        yield n\n        n += 1",
            "[a for a, _ in zip(f(), 'abc')] == [0, 1, 2]",
        ),
        (
            "apply",
            "def apply(g, *xs): return [g(x) for x in xs]",
            "f(lambda x: x * 2, 1, 2) == [2, 4] and f(str, 1) == ['1']",
        ),
        (
            "fold",
            "from functools import reduce\ndef fold(g, xs): return reduce(g, xs)",
            "f(operator.add, [1, 2]) == f(plus(0), [1, 2]) == 3",
        ),
        (
            "twice",
            "def twice(g, x): return g(g(x))\ndef one(x): return x + 1",
            "f(factorial, 3) == 720 and f(str.upper, 'a') == 'A'",
        ),
        ("same", "def same(g, x): return x if g is None else g(None, x)", "f(f, 3) == 3"),
        (
            "greet",
            "def greet(n):\n    print('Hello', n)\n    return n",
            "shown(f, 'Bo') == ('Hello Bo\\n', 'Bo') and f(1) == 1",
        ),
        ("Solution().total", "class Solution:\n    def total(self, xs): return sum(xs)", "f(xs=[1, 2]) == 3"),
    ] {
        let imports = "from fractions import Fraction\nfrom decimal import Decimal\nfrom datetime import date, datetime, timedelta\n\
                       import contextlib, io, operator\nZERO = 0\n\
                       def plus(n): return lambda a, b: operator.add(a, b) + n + ZERO\n\
                       def factorial(n): return 1 if n < 2 else n * factorial(n - 1)\n\
                       def shown(f, *given):\n    out = io.StringIO()\n    with contextlib.redirect_stdout(out): value = f(*given)\n    \
                       return out.getvalue(), value\n";
        for (claim, correct) in [(test.to_owned(), true), (format!("not ({test})"), false)] {
            let test = format!("{imports}def check(f):\n    assert {claim}\n");
            let tests = Tests {
                program: program.to_owned(),
                entry_point: Some(entry_point.to_owned()),
                oracle: Oracle::Script { test, prompt: None },
            };
            let verdict = pool().grade("copies", tests);
            assert_eq!((verdict.correct, verdict.status), (Some(correct), Status::Ok), "{claim}: {}", verdict.reason);
        }
    }
    for (program, reason) in [
        ("def f():\n    return ('\\0lyceum', 'eval', ('1',))", "KeyError"),
        ("def f():\n    return ('\\0lyceum', 'namedtuple', ('a b', ('c',), (1,)))", "ValueError"),
        ("def f():\n    n = 0\n    while True:\n        yield n", "more than 10000 items"),
    ] {
        let tests = Tests {
            program: program.to_owned(),
            entry_point: Some("f".to_owned()),
            oracle: Oracle::Script { test: "assert list(f()) == 2".to_owned(), prompt: None },
        };
        let verdict = pool().grade("copies", tests);
        assert_eq!(verdict.correct, Some(false), "{program}");
        assert!(verdict.reason.contains(reason), "{program}: {}", verdict.reason);
    }
}

#[test]
fn what_a_call_changes_in_place_is_seen_by_its_test() {
    let test = "def check(candidate):\n    xs = kept = [3, 1, 3]\n    table, seen = {'a': 1}, {1}\n    assert candidate(xs, 3, seen, table=table) == 1\n    \
                assert xs == kept == [1] and xs is kept and table == {'n': 1} and seen == {1, 2}\n";
    let right = "def add(xs, x, seen, table):\n    xs[:] = [y for y in xs if y != x]\n    table.clear()\n    table['n'] = len(xs)\n    \
                 seen.add(2)\n    return len(xs)";
    assert_eq!(judged(right, test).correct, Some(true), "{}", judged(right, test).reason);
    for wrong in [right.replace("seen.add(2)", "pass"), right.replace("xs[:] =", "xs ="), right.replace("'n'", "'m'")] {
        assert_eq!(judged(&wrong, test).correct, Some(false), "{wrong}");
    }
    // Nothing but the arguments of the call is written to.
    let sorted = "expected = [1, 2]\nxs = [2, 1]\nassert add(xs) is None\nassert xs == expected\n";
    assert_eq!(judged("def add(xs): xs.sort()", sorted).correct, Some(true));
    let forged = "def add(xs): return ('\\0lyceum', 'changed', (([2, 1], [2, 1]), None))";
    assert_eq!(judged(forged, sorted).correct, Some(false));
    let own = "class A: pass\ndef add(xs): xs.append(A())";
    assert_eq!(judged(own, "xs = []\nassert add(xs) is None").correct, Some(true), "what cannot cross stays there");
}

#[test]
fn functions_that_keep_something_make_a_row_unusable() {
    for (function, said) in [
        ("calls.append", "builtin_function_or_method"),
        ("lambda x: calls.append(x)", "refers to a value of type list"),
        ("kept", "changes `calls`"),
        ("counter()", "changes `n`"),
        ("Kind", "a value of type type"),
        ("lambda x: solution.add(x)", "refers to the module `solution`"),
        ("turn", "in turns"),
    ] {
        let test = format!(
            "import solution\ncalls = []\nclass Kind: pass\ndef turn(x): return other(x)\ndef other(x): return turn(x)\ndef kept(x):\n    global calls\n    calls = x\n\
             def counter():\n    n = 0\n    def count(x):\n        nonlocal n\n        n += x\n        return n\n    return count\n\
             def check(candidate):\n    assert candidate({function}) != 5\n"
        );
        let verdict = judged("def add(g): return g(1)", &test);
        assert_eq!(
            (verdict.correct, verdict.status),
            (Some(false), Status::Malformed),
            "{function}: {}",
            verdict.reason
        );
        assert!(verdict.reason.contains(said), "{function}: {}", verdict.reason);
    }
    // A program cannot have its test run anything.
    for mark in ["'function', ('print',)", "'named', ('os', '_exit')", "'module', ('os',)"] {
        let verdict = judged(&format!("def add(): return ('\\0lyceum', {mark})"), "assert add()");
        assert_eq!(verdict.correct, Some(false), "{mark}: {}", verdict.reason);
        assert!(verdict.reason.contains("KeyError"), "{mark}: {}", verdict.reason);
    }
}

#[test]
fn printed_text_is_captured_as_pytest_does() {
    let test = "import pytest\ndef test_greet(capsys):\n    greet('A')\n    greet('B')\n    assert capsys.readouterr().out == 'A\\nB\\n'\n    \
                assert capsys.readouterr().out == ''\n";
    for (program, correct) in
        [("def greet(n): print(n)", true), ("def greet(n): print(n * 2)", false), ("def greet(n): pass", false)]
    {
        let verdict = judged(program, test);
        assert_eq!(verdict.correct, Some(correct), "{program}: {}", verdict.reason);
    }
}

/// Each program passes its test, and fails it with the second text in place of the first.
#[test]
fn objects_of_the_program_are_used_by_its_test() {
    let account = "
class Account:
    least = 0
    def __init__(self, owner, balance=0):
        self.owner, self.balance = owner, balance
    @classmethod
    def empty(cls):
        return cls('nobody')
    def deposit(self, n):
        if n < 0:
            raise ValueError('negative')
        self.balance += n
        return self
";
    let stack = "
class Stack:
    def __init__(self):
        self.items = []
    def append(self, x):
        self.items.append(x)
    def pop(self):
        return self.items.pop()
    def __len__(self):
        return len(self.items)
    def __iter__(self):
        return iter(self.items)
    def __getitem__(self, i):
        return self.items[i]
";
    let data = "
from dataclasses import dataclass
@dataclass
class P:
    x: int
    y: int = 0
def add(p, q):
    return P(p.x + q.x, p.y + q.y)
";
    let light = "
from enum import Enum
class Light(Enum):
    RED = 1
    GREEN = 2
def add(light):
    return Light.GREEN if light is Light.RED else Light.RED
";
    let list = "
class Node:
    def __init__(self, value, following=None):
        self.value, self.following = value, following
def add(values):
    first = None
    for value in reversed(values):
        first = Node(value, first)
    return first
";
    let vector = "
class V:
    def __init__(self, x):
        self.x = x
    def __add__(self, other):
        return V(self.x + other.x)
    def __eq__(self, other):
        return self.x == other.x
    def __lt__(self, other):
        return self.x < other.x
    def __str__(self):
        return f'<{self.x}>'
";
    let person = "
class Person:
    def __init__(self, age):
        self.age = age
def add(people):
    people.sort(key=lambda one: one.age)
";
    let count = "
def add():
    n = 0
    def count():
        nonlocal n
        n += 1
        return n
    return count
";
    for (program, first, second, test) in [
        (account, "+= n", "-= n", "a = Account('A', 5)\na.deposit(3)\nassert a.balance == 8 and a.owner == 'A'"),
        (account, "return self", "return n", "assert Account('A').deposit(3).deposit(4).balance == 7"),
        (account, "'negative'", "n", "with pytest.raises(ValueError, match='negative'):\n    Account('A').deposit(-1)"),
        (account, "'nobody'", "'A'", "assert Account.empty().owner == 'nobody' and Account.least == 0"),
        (
            account,
            "+= n",
            "= n",
            "a = Account('A')\na.balance = 4\na.deposit(1)\nassert a.balance == 5 and isinstance(a, Account)",
        ),
        (
            stack,
            "pop()",
            "pop(0)",
            "s = Stack()\ns.append(1)\ns.append(2)\nassert len(s) == 2 and s.pop() == 2 and list(s) == [s[0]] == [1]",
        ),
        (stack, "len(self.items)", "1", "s = Stack()\nassert not s\ns.append(1)\nassert s"),
        (data, "q.y", "q.x", "assert add(P(1, 2), P(3)) == P(4, 2) and add(P(1), P(2)).x == 3"),
        (
            light,
            "is Light.RED",
            "is Light.GREEN",
            "assert add(Light.RED) is Light.GREEN and add(Light(2)) == Light['RED']",
        ),
        (light, "GREEN = 2", "GREEN = 3", "assert [one.value for one in Light] == [1, 2] and Light.RED.name == 'RED'"),
        (
            "def add(n):\n    return lambda x: x + n",
            "x + n",
            "n",
            "assert add(2)(3) == 5 and list(map(add(1), [1, 2])) == [2, 3]",
        ),
        (count, "n += 1", "n = 1", "count = add()\nassert count() == 1 and count() == 2"),
        (
            list,
            "reversed(values)",
            "values",
            "node, found = add([1, 2]), []\nwhile node:\n    found.append(node.value)\n    node = node.following\nassert found == [1, 2]",
        ),
        (
            vector,
            "self.x < other.x",
            "other.x < self.x",
            "assert V(1) == V(1) and V(1) != V(2) and V(1) < V(2) and (V(1) + V(2)).x == 3 and str(V(4)) == f'{V(4)}' == '<4>'",
        ),
        (
            person,
            "one.age)",
            "-one.age)",
            "old, young = Person(40), Person(3)\npeople = [old, young]\nadd(people)\nassert people == [young, old]",
        ),
    ] {
        let test = format!("import pytest\n{test}\n");
        let verdict = judged(program, &test);
        assert_eq!(verdict.correct, Some(true), "{program}: {test}: {}", verdict.reason);
        let wrong = program.replace(first, second);
        assert_ne!(wrong, program);
        let verdict = judged(&wrong, &test);
        assert_eq!(verdict.correct, Some(false), "{wrong}: {test}: {}", verdict.reason);
        assert_ne!(verdict.status, Status::Malformed, "{wrong}: {test}: {}", verdict.reason);
    }
}

/// An object that a program returns in place of a number or a text decides nothing.
#[test]
fn objects_of_the_program_forge_no_verdict() {
    let agreeable = "
class Yes:
    def __init__(self, *_):
        pass
    def agree(self, *_):
        return True
    def zero(self, *_):
        return 0
    __eq__ = __lt__ = __gt__ = __le__ = __ge__ = __contains__ = startswith = isdigit = agree
    __sub__ = __rsub__ = __abs__ = __float__ = __index__ = __mod__ = count = zero
";
    for test in [
        "assert add(1, 2) == 3",
        "assert 3 == add(1, 2)",
        "assert abs(add(1, 2) - 3) < 1e-6",
        "assert 2 < add(1, 2) < 4",
        "assert add(1, 2) % 3 == 0",
        "assert 3 in add(1, 2)",
        "assert add('ab', 'c').startswith('abc')",
        "assert add(1, 2).count(3) == 0",
        "assert [add(1, 2)] == [3]",
        "assert {'a': add(1, 2)} == {'a': 3}",
        "import math\nassert math.isclose(add(1, 2), 3)",
        "import pytest\nassert add(1, 2) == pytest.approx(3)",
        "assert isinstance(add(1, 2), int)",
        "assert add(1, 2) in [3]",
        "assert add(1, 2) == Yes(1, 2)",
        "assert Yes(1, 2) == add(1, 2)",
        "assert add(1, 2) > Yes(1, 2)",
        "assert Yes(1, 2) == 3",
        "assert 3 == Yes(1, 2)",
        "assert Yes(1, 2) > 3",
        "assert Yes('a').startswith('b')",
        "assert Yes('a').isdigit()",
        "assert abs(Yes(1, 2) - 3) < 1e-6",
        "assert 3 in Yes(1, 2)",
    ] {
        for rest in ["def add(*_):\n    return Yes()", "add = Yes", "class add(Yes): pass"] {
            let verdict = judged(&format!("{agreeable}{rest}"), &format!("{test}\n"));
            assert_eq!(verdict.correct, Some(false), "{test}: {rest}: {}", verdict.reason);
        }
    }
    // One that the test has made.
    let kept = agreeable.replace("        pass\n", "        MADE.append(self)\n");
    let program = format!("MADE = []\n{kept}def add(*_):\n    return MADE[0]");
    for test in ["abs(add(1, 2) - 3) < 1e-6", "3 in add(1, 2)", "add('a', 'b').startswith('ab')", "add(1, 2) == 3"] {
        let verdict = judged(&program, &format!("Yes()\nassert {test}\n"));
        assert_eq!(verdict.correct, Some(false), "{test}: {}", verdict.reason);
    }
    for mark in ["'held', (0, ('int',))", "'held', (0, ())", "'held', ([], 3)", "'held', ('x', ('a\\0',))"] {
        let verdict = judged(&format!("def add(): return ('\\0lyceum', {mark})"), "assert add() == 3\n");
        assert_eq!(verdict.correct, Some(false), "{mark}: {}", verdict.reason);
    }
}
