//! The user's own reward: what it gives, how it fails, and that no answer forges a score.

use std::collections::BTreeMap;

use lyceum_verifier::{JsonText, Reward, RewardPackage, Status, Verdict, read_line};
use serde_json::json;

use crate::support::pool;

fn judged(source: &str, completion: &str) -> Verdict {
    let task = json!({
        "id": "a", "kind": "reward", "source": source, "prompt": "1+1?", "completion": completion, "row": {"answer": "2"},
        "timeout": 1,
    });
    pool().judge(read_line(task.to_string().as_bytes()).expect("it is a task"))
}

fn scored(source: &str, completion: &str) -> BTreeMap<String, f64> {
    let verdict = judged(source, completion);
    assert_eq!(verdict.status, Status::Ok, "{source}: {}", verdict.reason);
    verdict.parts.unwrap_or_default()
}

fn parts<const N: usize>(parts: [(&str, f64); N]) -> BTreeMap<String, f64> {
    parts.map(|(name, value)| (name.to_owned(), value)).into()
}

#[test]
fn a_reward_gives_a_number_or_parts_by_name() {
    let exact = "def score(prompt, completion, row): return completion == row['answer']";
    assert_eq!(scored(exact, "2"), parts([("score", 1.0)]));
    assert_eq!(judged(exact, "2").correct, Some(true));
    assert_eq!(judged(exact, "3").correct, Some(false));
    for source in [
        "async def score(prompt, completion, row): return await given(completion == row['answer'])\nasync def given(x): return x",
        "score = lambda prompt, completion, row: completion == row['answer']",
        "import functools\ndef all(least, p, c, row): return least * (c == row['answer'])\nscore = functools.partial(all, 1.0)",
        "class Judge:\n    def __call__(self, p, c, row): return c == row['answer']\nscore = Judge()",
        "import signal\ndef late(*_): raise TimeoutError\ndef score(p, c, row):\n    signal.signal(signal.SIGALRM, late)\n    \
         signal.alarm(1)\n    try:\n        while True: pass\n    except TimeoutError: return c == row['answer']",
        "\u{feff}def score(prompt, completion, row): return completion == row['answer']",
    ] {
        assert_eq!(scored(source, "2"), parts([("score", 1.0)]), "{source}");
        assert_eq!(scored(source, "3"), parts([("score", 0.0)]), "{source}");
    }
    let several = "
def setup():
    global longest
    longest = 10
def score(prompt, completion, row):
    return {'correct': completion == row['answer'], 'length': -len(completion) / longest, 'asked': len(prompt)}
";
    let found = scored(several, "2");
    assert_eq!(found, parts([("asked", 4.0), ("correct", 1.0), ("length", -0.1)]));
    assert_eq!(judged(several, "22").correct, Some(false), "the part `correct` decides, not the sum");
}

#[test]
fn the_same_item_has_the_same_score() {
    let source = "
import random, time
def score(prompt, completion, row): return random.random() + len({'a', 'b', completion}) + time.time() % 1
";
    let first = scored(source, "c");
    assert_eq!(scored("def score(p, c, r): return 0.5", "c"), parts([("score", 0.5)]));
    assert_eq!(scored(source, "c"), first, "whatever was judged in between");
}

#[test]
fn a_reward_without_a_score_says_why_and_gives_none() {
    let score = |body: &str| format!("def score(prompt, completion, row):\n    {body}");
    let many = score("return {'a%d' % at: 1.0 for at in range(10 ** 5)}");
    for (source, status, said) in [
        (score("return 1 / 0"), Status::Error, "ZeroDivisionError"),
        (score("return float('nan')"), Status::Unserialisable, "`score` is NaN"),
        (score("return {'a': 1e400}"), Status::Unserialisable, "`a` is inf"),
        (score("return None"), Status::Error, "gave a NoneType"),
        (score("return '1'"), Status::Error, "gave a str"),
        (score("return {}"), Status::Unserialisable, "0 parts"),
        ("score = 5".to_owned(), Status::Error, "not callable"),
        (
            "class Never:\n    def __await__(self): yield\nasync def score(p, c, r): await Never()".to_owned(),
            Status::Error,
            "never ends here",
        ),
        (many, Status::Unserialisable, ""),
        (score("return {'<b>': 1}"), Status::Unserialisable, "a part's name"),
        (score("return {1: 1}"), Status::Unserialisable, "a part's name"),
        (score("return {'a\\u202e': 1}"), Status::Unserialisable, "a part's name"),
        (score("while True: pass"), Status::Timeout, "1 s of CPU time"),
        (score("return [0] * 10 ** 12"), Status::Memory, "memory"),
        (score("raise SystemExit"), Status::Error, "SystemExit"),
        (score("import os; os._exit(0)"), Status::Error, "ended its process"),
        ("def score(p, c".to_owned(), Status::Malformed, "line 1"),
        ("def f(): pass".to_owned(), Status::Malformed, "no function `score`"),
        ("import torch\ndef score(p, c, r): return 1".to_owned(), Status::Error, "No module named 'torch'"),
        (
            "def setup(): raise ValueError('no table')\ndef score(p, c, r): return 1".to_owned(),
            Status::Error,
            "no table",
        ),
    ] {
        let verdict = judged(&source, "2");
        assert_eq!(verdict.status, status, "{source}: {}", verdict.reason);
        assert!(verdict.reason.contains(said), "{source}: {}", verdict.reason);
        assert_eq!((verdict.correct, verdict.parts), (Some(false), Some(BTreeMap::new())), "{source}");
    }
}

#[test]
fn a_hostile_value_acts_in_the_rewards_own_process_alone() {
    let source = "
class Hostile:
    def __float__(self):
        import os
        for fd in range(64):
            try: os.write(fd, b'V' + (2).to_bytes(4, 'big') + b'{}')
            except OSError: pass
        return 1.0
def score(prompt, completion, row): return Hostile()
";
    let verdict = judged(source, "2");
    assert_eq!((verdict.correct, verdict.parts), (Some(false), Some(BTreeMap::new())), "{}", verdict.reason);
    let reached = "
import os
def score(prompt, completion, row):
    done = 0
    for attempt in (lambda: open('/etc/passwd').read(), os.fork, lambda: open('/tmp/x', 'w'), lambda: os.kill(1, 9),
                    lambda: __import__('socket').socket(), lambda: os.listdir('/proc')):
        try:
            attempt()
            done += 1
        except Exception:
            pass
    return done
";
    assert_eq!(scored(reached, "2"), parts([("score", 0.0)]));
}

/// Runs the completion, and gives 1 if it prints the answer.
const RUNS: &str = "
def score(prompt, completion, row):
    printed = execute(completion, '20 22')
    assert printed.timed_out == (printed.status == 'timeout')
    return {'correct': printed.strip() == '42', 'ended': printed.status == 'ok', 'late': printed.timed_out}
";

#[test]
fn a_reward_may_execute_code_in_another_process() {
    let found = |completion: &str| {
        let parts = scored(RUNS, completion);
        ["correct", "ended", "late"].map(|name| parts[name] as u32)
    };
    assert_eq!(found("print(sum(map(int, input().split())))"), [1, 1, 0]);
    assert_eq!(found("print(42); raise ValueError"), [1, 0, 0], "what was printed before stays");
    assert_eq!(found("import sys; print(42); sys.exit(3)"), [1, 0, 0]);
    assert_eq!(found("while True: pass"), [0, 0, 1]);
    assert_eq!(found("def f(:"), [0, 0, 0]);
    let endless = "def score(p, c, r):\n    while True: execute('print(1)')";
    let verdict = judged(endless, "");
    assert_eq!(verdict.parts, Some(BTreeMap::new()), "{}", verdict.reason);
    assert!(verdict.reason.contains("more than 64 programs"), "{}", verdict.reason);
}

#[test]
fn executed_code_forges_no_score() {
    for forgery in [
        // A result as the reward's process would send it.
        "import os, struct\nfor fd in range(64):\n    try: os.write(fd, b'V' + struct.pack('>I', 2) + b'{}')\n    except OSError: pass",
        // A result line.
        "print('{\"correct\": 1.0}'); print('V\\x00\\x00\\x00\\x02{}')",
        // The stack above it, and what it holds.
        "import sys\nframe = sys._getframe()\nwhile frame:\n    for name, value in list(frame.f_locals.items()) + list(frame.f_globals.items()):\n        if name == 'row' or name == 'score': print('42')\n    frame = frame.f_back",
        "import gc\nfor one in gc.get_objects():\n    if isinstance(one, dict) and ('answer' in one or 'score' in one): print('42')",
        "open('/proc/self/mem', 'r+b')",
        "import os\nos.kill(os.getppid(), 9)",
        "import os\nos.kill(-1, 9)",
        "open('/tmp/full', 'w').write('a' * 10 ** 9)",
        "print('a' * 10 ** 9)",
        "import socket\nsocket.create_connection(('1.1.1.1', 80))",
        "import os\nos.fork()",
    ] {
        let verdict = judged(RUNS, forgery);
        assert_ne!(verdict.correct, Some(true), "{forgery}: {verdict:?}");
        let honest = judged(RUNS, "print(42)");
        assert_eq!(honest.correct, Some(true), "after {forgery}: {}", honest.reason);
    }
}

#[test]
fn a_package_that_is_not_offered_is_the_machines_fault() {
    let reward = Reward {
        file: lyceum_core::artifact::Digest::of(b""),
        source: Some("def score(p, c, r): return 1".to_owned()),
        timeout: 1,
        packages: vec![RewardPackage::Numpy],
        prompt: String::new(),
        completion: String::new(),
        row: JsonText::new("{}".to_owned()).expect("it is JSON"),
    };
    let verdict = pool().grade("a", reward.clone());
    assert!(verdict.reason.contains("--packages numpy"), "{}", verdict.reason);
    let unstored = pool().grade("a", Reward { source: None, ..reward });
    assert!(unstored.reason.contains("is not stored"), "{}", unstored.reason);
}
