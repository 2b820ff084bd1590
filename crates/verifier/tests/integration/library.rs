//! Programs can import the standard library, but for what is listed with its reason.

use crate::support::{modes, pool};
use lyceum_verifier::{Check, Interpreter, Oracle, Tests};
use std::collections::BTreeMap;
use std::process::Command;

/// The modules that this machine's Python has.
const ALL: &str = "
import importlib.util, sys
def there(name):
    try:
        return importlib.util.find_spec(name) is not None
    except Exception:
        return False
left_out = {'antigravity', 'this', 'idlelib', 'turtledemo', 'lib2to3'}
print('\\n'.join(sorted(name for name in sys.stdlib_module_names if name not in left_out and not name.startswith('_') and there(name))))
";

/// What a program cannot import, and the words that say why.
fn not_offered() -> BTreeMap<&'static str, &'static str> {
    let display = ["tkinter", "turtle"].map(|name| (name, "no display"));
    [("readline", "no terminal"), ("nis", "no network"), ("ossaudiodev", "no sound")]
        .into_iter()
        .chain(display)
        .collect()
}

fn check(program: &str, output: &str) -> Check {
    let pairs = vec![(String::new(), output.to_owned())];
    Check::Tests(Tests { program: program.to_owned(), entry_point: None, oracle: Oracle::Pairs(pairs) })
}

#[test]
fn programs_import_every_module_of_the_standard_library_that_is_there() {
    let python = Interpreter::resolve(None).expect("a Python");
    let listed = Command::new(python.executable).args(["-c", ALL]).output().expect("its modules");
    let listed = String::from_utf8(listed.stdout).expect("names");
    let names: Vec<&str> = listed.lines().collect();
    assert!(names.len() > 180, "{names:?}");
    let missing = not_offered();
    for few in names.chunks(20) {
        let program = format!(
            "for name in {few:?}:\n    try: __import__(name)\n    except BaseException as error: print(name, '|', error)"
        );
        let wanted: Vec<&str> = few.iter().copied().filter(|name| missing.contains_key(name)).collect();
        let lines: Vec<String> = wanted
            .iter()
            .map(|name| format!("{name} | `{name}` is not offered in the sandbox: there is {}", missing[name]))
            .collect();
        let verdict = pool().grade("library", check(&program, &lines.join("\n")));
        assert_eq!(verdict.correct, Some(true), "{few:?}: {}", verdict.reason);
    }
}

#[test]
fn modules_with_machine_code_and_event_loops_work_in_every_mode() {
    for (program, output) in [
        (
            "import bz2, lzma; print(bz2.decompress(bz2.compress(b'a')), lzma.decompress(lzma.compress(b'b')))",
            "b'a' b'b'",
        ),
        ("import mmap; m = mmap.mmap(-1, 10); m[:2] = b'ab'; print(m[:3])", "b'ab\\x00'"),
        ("import sqlite3; print(sqlite3.connect(':memory:').execute('SELECT 1 + 1').fetchone())", "(2,)"),
        ("import contextvars; v = contextvars.ContextVar('v', default=3); print(v.get())", "3"),
        ("from unittest.mock import MagicMock; print(MagicMock(return_value=3)())", "3"),
        ("import cProfile, ssl, multiprocessing.pool; print(ssl.PROTOCOL_TLS_CLIENT.name)", "PROTOCOL_TLS_CLIENT"),
        (
            "import asyncio\nasync def one(n):\n    await asyncio.sleep(n)\n    return n\nasync def main():\n    \
             return await asyncio.gather(one(.2), one(.1), asyncio.to_thread(int, 3))\nprint(asyncio.run(main()))",
            "[0.2, 0.1, 3]",
        ),
        (
            "import asyncio\nq = asyncio.Queue()\nasync def main():\n    task = asyncio.create_task(q.get())\n    await q.put(1)\n    \
             return await asyncio.wait_for(task, 5)\nprint(asyncio.run(main()))",
            "1",
        ),
        (
            "from zoneinfo import ZoneInfo\nfrom datetime import datetime\n\
             print(datetime(2024, 7, 1, tzinfo=ZoneInfo('UTC')).isoformat())",
            "2024-07-01T00:00:00+00:00",
        ),
    ] {
        for mode in modes() {
            let verdict = mode.pool.grade("library", check(program, output));
            assert_eq!(verdict.correct, Some(true), "{}: {program}: {}", mode.name, verdict.reason);
        }
    }
    let forever =
        "import asyncio\nasync def main(): await asyncio.get_running_loop().create_future()\nasyncio.run(main())";
    let verdict = pool().grade("library", check(forever, ""));
    assert!(verdict.reason.contains("there are none to wait for here"), "{}", verdict.reason);
}
