//! The decoder, the literal parser, the repr and the comparison, checked against CPython on generated values.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use lyceum_verifier::literal::parse_literal;
use lyceum_verifier::value::decode;
use lyceum_verifier::{Comparison, Interpreter};
use proptest::prelude::*;

/// Generates values, and variants of them.
const GENERATOR: &str = r##"
import random, sys
random.seed(int(sys.argv[2]))
LETTERS = ["a", "Z", "'", '"', "\\", "\n", "\r", "\t", "\0", "\x7f", "\xe9", "\u200b", "\u3042", "\U0001F600", "\ud800", "\udfff", " "]
NUMBERS = [0, 1, -1, True, False, 0.0, -0.0, 1.0, 1e16, 1e-5, 123456789.125, 5e-324, 1.7976931348623157e308, 2**53, 2**53 + 1,
           float(2**53), 10**40, -(2**200), float("inf"), float("-inf"), float("nan"), 1j, -2.5j, complex(1, -0.5), complex(3, 0)]
def text():
    return "".join(random.choices(LETTERS, k=random.randrange(6)))
def atom():
    kind = random.randrange(8)
    if kind < 3: return random.choice(NUMBERS)
    if kind == 3: return random.choice([None, ...])
    if kind == 4: return random.uniform(-1, 1) * 10.0 ** random.randrange(-30, 30)
    if kind == 5: return random.getrandbits(random.randrange(1, 300)) * random.choice([1, -1])
    if kind == 6: return bytes(random.choices(range(256), k=random.randrange(5)))
    return text()
def hashable(depth):
    if depth <= 0 or random.random() < 0.7: return atom()
    return tuple(hashable(depth - 1) for _ in range(random.randrange(4)))
def value(depth):
    if depth <= 0 or random.random() < 0.4: return atom()
    size = random.randrange(5)
    kind = random.randrange(7)
    if kind < 2: return [value(depth - 1) for _ in range(size)]
    if kind == 2: return tuple(value(depth - 1) for _ in range(size))
    if kind == 3: return {hashable(depth - 1) for _ in range(size)}
    if kind == 4: return {hashable(depth - 1): value(depth - 1) for _ in range(size)}
    if kind == 5: return Counter({hashable(depth - 1): random.randrange(-2, 4) for _ in range(size)})
    return deque((value(depth - 1) for _ in range(size)), random.choice([None, 7]))
def variant(v):
    # The same value in another type or order, or another value.
    kind = type(v)
    if random.random() < 0.1: return value(1)
    if kind is int and abs(v) < 2: return random.choice([v, float(v), bool(v), complex(v)])
    if kind is list: return [variant(i) for i in v]
    if kind is tuple: return tuple(variant(i) for i in v)
    if kind is set: return set(random.sample(list(v), len(v)))
    if kind is dict: return {k: variant(v[k]) for k in random.sample(list(v), len(v))}
    if kind is Counter: return Counter({**v, "extra": 0}) if random.random() < 0.5 else Counter(dict(reversed(v.items())))
    return v
"##;

/// Prints pairs of values, for each the encoding, the repr (in hexadecimal, since it may contain surrogates) and the
/// result of `==` with its partner.
const PAIRS: &str = r##"
for _ in range(int(sys.argv[1])):
    a = value(3); b = variant(a)
    # Through the encoding and back, so that no two NaN are the same object.
    parts = [encode(a, False, 1 << 20).hex(), repr(a).encode("utf-8", "surrogatepass").hex(),
             encode(b, False, 1 << 20).hex(), repr(b).encode("utf-8", "surrogatepass").hex()]
    import copy, pickle
    print(*parts, int(pickle.loads(pickle.dumps(a)) == pickle.loads(pickle.dumps(b))))
"##;

/// Compares digests of large values with what marshal writes, and digests of values that share parts with digests of
/// values that do not. Prints how many pairs of values had equal and different digests, and how many values had none.
const DIGESTS: &str = r##"
def written(v):
    try: return type(v), dumps(v, 2)
    except ValueError: return None
def hashed(v):
    try: return digest(v)
    except Unserialisable: return None
def rebuilt(v):
    kind = type(v)
    if kind is str: return v.encode("utf-8", "surrogatepass").decode("utf-8", "surrogatepass")
    if kind in (list, tuple, set): return kind([rebuilt(i) for i in v])
    if kind is dict: return {rebuilt(k): rebuilt(v[k]) for k in v}
    return v
equal = different = none = 0
for _ in range(int(sys.argv[1])):
    a = value(3); b = variant(a)
    assert (written(a) is None) == (hashed(a) is None), a
    assert (written(a) == written(b)) == (hashed(a) == hashed(b)), (a, b)
    assert hashed([a, a, rebuilt(a)]) == hashed([rebuilt(a), a, a]), a
    none += hashed(a) is None
    equal += hashed(a) == hashed(b) != None
    different += hashed(a) != hashed(b)
class Own:
    def __reduce_ex__(self, protocol): raise SystemExit("a method of the program was called")
for refused in ([Own()], [Own], [len]):
    assert hashed(refused) is None
print(equal, different, none)
"##;

fn bytes(hexadecimal: &str) -> Vec<u8> {
    (0..hexadecimal.len()).step_by(2).map(|at| u8::from_str_radix(&hexadecimal[at..at + 2], 16).expect("hex")).collect()
}

/// CPython's repr in this crate's notation, if it has one. Surrogates are escaped in a repr, so it is text.
fn spelled(repr: &str) -> String {
    repr.replace("Ellipsis", "...")
}

/// How many values are generated.
fn count() -> usize {
    let count = std::env::var("LYCEUM_DIFFERENTIAL_VALUES").unwrap_or_else(|_| "20000".to_owned());
    count.parse().expect("a number")
}

/// CPython with a program that uses generated values.
fn generated(program: &str) -> Command {
    let seed = std::env::var("PROPTEST_RNG_SEED").unwrap_or_else(|_| "1".to_owned());
    eprintln!("values of PROPTEST_RNG_SEED={seed}");
    let source = format!("{}{GENERATOR}{program}", include_str!("../../src/python/encode.py"));
    let mut command = Command::new(Interpreter::resolve(None).expect("an interpreter").executable);
    command.args(["-c", &source, &count().to_string(), &seed]);
    command
}

#[test]
fn digests_of_large_values_are_equal_exactly_if_marshal_writes_them_equally() {
    let output = generated(DIGESTS).output().expect("the generator runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let counts = String::from_utf8(output.stdout).expect("numbers");
    let counts: Vec<usize> = counts.split_whitespace().map(|count| count.parse().expect("a number")).collect();
    assert!(counts.iter().all(|pairs| *pairs > count() / 20), "equal, different, none: {counts:?}, which tests little");
}

#[test]
fn values_mean_what_they_mean_in_cpython() {
    let mut child = generated(PAIRS).stdout(Stdio::piped()).spawn().expect("the generator runs");
    let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let (mut seen, mut equal) = (0, 0);
    for line in lines {
        let line = line.expect("a line");
        let parts: Vec<&str> = line.split(' ').collect();
        let mut values = Vec::new();
        for pair in parts[..4].chunks(2) {
            let value = decode(&bytes(pair[0])).expect("an encoding");
            let repr = String::from_utf8(bytes(pair[1])).expect("a repr");
            let has_special = ["inf", "nan"].iter().any(|word| repr.contains(word));
            let ours = value.to_string();
            if !has_special {
                assert_eq!(ours, spelled(&repr));
            }
            if value.has_literal() {
                let read = parse_literal(&ours).unwrap_or_else(|error| panic!("{ours}: {error}"));
                // Python, too, loses the sign of a zero when it reads a complex number back.
                assert!(Comparison::Strict.equal(&read, &value) || repr.contains('j'), "{ours}");
            }
            values.push(value);
        }
        let expected = parts[4] == "1";
        assert_eq!(Comparison::Python.equal(&values[0], &values[1]), expected, "{} == {}", values[0], values[1]);
        assert_eq!(Comparison::Python.equal(&values[1], &values[0]), expected, "{} == {}", values[1], values[0]);
        seen += 1;
        equal += usize::from(expected);
    }
    assert!(child.wait().expect("its end").success());
    assert_eq!(seen, count());
    assert!(equal > seen / 4 && equal < seen, "{equal} of {seen} pairs are equal, which tests little");
}

/// Texts that CPython accepts or refuses.
#[test]
fn literals_are_read_as_by_literal_eval() {
    let texts = [
        "1_000",
        "0x_ff",
        "0b101",
        "0o17",
        "00",
        "1__0",
        "1_",
        "0_0",
        "01",
        "1e5",
        "1E-5",
        ".5",
        "5.",
        "1_0.0_1e1_0",
        "1j",
        "01j",
        "1.5J",
        "-1",
        "+1",
        "--1",
        "- 1",
        "-(1)",
        "(-1)",
        "1+2j",
        "-1-2j",
        "1+2",
        "1j+1",
        "(1+2j)",
        "True",
        "true",
        "None",
        "-True",
        "'a' 'b'",
        "'a' b'b'",
        "b'a' b'c'",
        "'a\\\nb'",
        "r'\\n'",
        "R'\\''",
        "rb'\\x00'",
        "bR'a'",
        "u'a'",
        "ur'a'",
        "f'a'",
        "'''a\nb'''",
        "'a\nb'",
        "\"\"\"a\"b\"\"\"",
        "'\\x4'",
        "'\\x41'",
        "'\\u0041'",
        "'\\U00110000'",
        "'\\N{BULLET}'",
        "'\\N{NO}'",
        "'\\400'",
        "b'\\400'",
        "'\\q'",
        "b'\\u0041'",
        "b'é'",
        "()",
        "(1)",
        "(1,)",
        "1,",
        "1,2",
        ",",
        "[1,]",
        "[,]",
        "{}",
        "{1}",
        "{1,}",
        "{1:2}",
        "{1:2,}",
        "{1:2, 3}",
        "{[]}",
        "{(1,[])}",
        "{1: []}",
        "{[]: 1}",
        "set()",
        "[1 # c\n, 2]",
        "1 # c",
        "[\n1\n]",
        "...",
        "a",
        "f()",
        "1 if 1 else 2",
        "[x for x in y]",
        "lambda: 1",
        "1 2",
        "'a",
        "(",
        ")",
        "",
        " 1 ",
        "{**{}}",
        "[*[]]",
        "1<2",
        "not 1",
        "(1,2",
        "1.2.3",
        "1e",
        "0x",
        "1.e5",
        "1._0",
        "1_000j",
        "\t1",
        "1\n",
        "[1\\\n,2]",
        "{1, True, 1.0}",
        "{1: 'a', True: 'b'}",
    ];
    let script = "import ast, sys, json\nfor text in json.load(sys.stdin):\n    try:\n        print(json.dumps(repr(ast.literal_eval(text))))\n    \
                  except (SyntaxError, ValueError, TypeError, MemoryError):\n        print('null')\n";
    let python = Interpreter::resolve(None).expect("an interpreter").executable;
    let mut child = Command::new(python)
        .args(["-W", "ignore", "-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the oracle runs");
    serde_json::to_writer(child.stdin.take().expect("a pipe"), texts.as_slice()).expect("written");
    let output = child.wait_with_output().expect("its output");
    let mut faults = String::new();
    for (text, line) in texts.iter().zip(String::from_utf8(output.stdout).expect("text").lines()) {
        let theirs: Option<String> = serde_json::from_str(line).expect("JSON");
        let ours = parse_literal(text).ok().map(|value| value.to_string());
        if ours != theirs.as_deref().map(spelled) {
            let _ = writeln!(faults, "{text:?}: {ours:?}, CPython {theirs:?}");
        }
    }
    assert_eq!(faults, "");
}

#[test]
fn calls_of_four_names_are_literals_and_no_others() {
    for (text, repr) in [
        ("float('inf')", "float('inf')"),
        ("-float('inf')", "float('-inf')"),
        ("[float(\"nan\")]", "[float('nan')]"),
        ("Counter({'a': 2, 'b': 3})", "Counter({'b': 3, 'a': 2})"),
        ("Counter()", "Counter()"),
        ("deque([1, 2], maxlen=1)", "deque([2], maxlen=1)"),
        ("deque([1, [2]])", "deque([1, [2]])"),
        ("{'x': set()}", "{'x': set()}"),
    ] {
        assert_eq!(parse_literal(text).map(|value| value.to_string()).as_deref(), Ok(repr));
    }
    for text in [
        "float('x')",
        "float(inf)",
        "inf",
        "nan",
        "Counter([1])",
        "deque(1)",
        "dict(a=1)",
        "list()",
        "frozenset()",
        "int('1')",
        "__import__('os')",
        "Counter",
        "float.fromhex('1')",
        "set(1)",
        "0) or (True",
        "deque([1], [2])",
    ] {
        assert!(parse_literal(text).is_err(), "{text}");
    }
}

proptest! {
    #[test]
    fn no_bytes_upset_the_decoder(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = decode(&bytes);
    }

    #[test]
    fn nearly_valid_bytes_do_not_upset_the_decoder(text in "[NETFIDSLUGRMCQ0-9;,a-f-]{0,60}") {
        if let Ok(value) = decode(text.as_bytes()) {
            prop_assert_eq!(Comparison::Strict.equal(&value, &value), true);
        }
    }

    #[test]
    fn no_text_upsets_the_literal_parser(text in "\\PC*") {
        let _ = parse_literal(&text);
    }

    #[test]
    fn what_is_read_is_written_and_read_again(text in "[0-9a-f\\[\\](){},:'\"bru+.eEjx_ \\\\-]{0,40}") {
        if let Ok(value) = parse_literal(&text) {
            let again = parse_literal(&value.to_string()).map_err(|error| TestCaseError::fail(error.to_string()))?;
            prop_assert!(Comparison::Strict.equal(&value, &again) || text.contains('j'));
        }
    }
}
