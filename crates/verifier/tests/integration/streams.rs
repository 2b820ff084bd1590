//! Programs that read standard input and print. What is right is what CPython prints, with the same input from a file.

use std::io::{Seek as _, Write as _};
use std::process::Command;

use crate::support::{assert_alive, modes, pool};
use lyceum_verifier::{Interpreter, Oracle, Status, Tests, Verdict};

const INPUT: &str = "3\n1 2 3\nh\u{e9}llo\n";

/// What CPython prints, and whether it ends well.
fn by_cpython(program: &str) -> (String, bool) {
    let mut stdin = tempfile::tempfile().expect("a file");
    stdin.write_all(INPUT.as_bytes()).expect("a file");
    stdin.rewind().expect("a file");
    let output = Command::new(Interpreter::resolve(None).expect("an interpreter").executable)
        .args(["-X", "int_max_str_digits=0", "-X", "utf8", "-c", program])
        .stdin(stdin)
        .output()
        .expect("CPython");
    let printed = String::from_utf8(output.stdout).expect("text");
    (printed, output.status.success())
}

fn tests(program: &str, expected: &str) -> Tests {
    Tests {
        program: program.to_owned(),
        entry_point: None,
        oracle: Oracle::Pairs(vec![(INPUT.to_owned(), expected.to_owned())]),
    }
}

fn judged(program: &str, expected: &str) -> Verdict {
    pool().grade("streams", tests(program, expected))
}

/// The program prints the same here, in every mode, and nothing else is right.
fn as_cpython(program: &str) {
    let (expected, ends_well) = by_cpython(program);
    assert!(ends_well && !expected.trim().is_empty(), "{program}: {expected}");
    for mode in modes() {
        let verdict = mode.pool.grade("streams", tests(program, &expected));
        assert_eq!(verdict.correct, Some(true), "{}: {program}: {}", mode.name, verdict.reason);
        let verdict = mode.pool.grade("streams", tests(program, &format!("{expected}1")));
        assert_eq!(verdict.correct, Some(false), "{}: {program}", mode.name);
        assert_alive(mode);
    }
}

#[test]
fn input_is_read_in_every_way_that_cpython_offers() {
    for program in [
        "print(sum(map(int, open('/dev/stdin').read().split()[1:4])))",
        "with open('/dev/stdin', 'rb') as f: print(f.readlines())",
        "print(open('/dev/fd/0').readlines())",
        "print(open('/proc/self/fd/0', encoding='utf-8').read())",
        "import pathlib; print(pathlib.Path('/dev/stdin').read_text(encoding='utf-8'))",
        "import os; print(os.read(os.open('/dev/stdin', os.O_RDONLY), 5))",
        "import os; print(os.read(0, 10 ** 6))",
        "import os, sys; print(os.read(sys.stdin.fileno(), 3), os.read(0, 100), os.read(0, 1))",
        "import os; print(os.fstat(0).st_size, len(os.read(0, os.fstat(0).st_size)))",
        "import os, io; input = io.BytesIO(os.read(0, os.fstat(0).st_size)).readline; print(int(input()), input())",
        "print(open(0).read())",
        "import io; print(io.open(0, 'rb').read(), io.open(1, 'w', closefd=False).fileno())",
        "import io; print(io.FileIO(0).readall())",
        "import os; print(os.fdopen(0).readlines())",
        "import io, sys; sys.stdin = io.TextIOWrapper(sys.stdin.buffer, encoding='utf-8'); print(input(), input())",
        "import codecs, sys; print(codecs.getreader('utf-8')(sys.stdin.detach()).read())",
        "import fileinput\nfor line in fileinput.input(): print(line.strip()[::-1])",
        "import sys; print(sys.stdin.mode, sys.stdin.name, sys.stdin.encoding, sys.stdin.isatty(), sys.__stdin__ is sys.stdin)",
        "import sys; sys.stdin.seek(0); print(sys.stdin.buffer.raw.read(4))",
        "import sys\nfor line in sys.stdin: print(repr(line))",
        "print(input('prompt'))\nfor line in iter(input, 'h\u{e9}llo'): print(line)",
        "import sys\nprint([int(x) for x in sys.stdin.readline().split()], next(sys.stdin), *map(str.strip, sys.stdin))",
    ] {
        as_cpython(program);
    }
}

#[test]
fn what_is_printed_in_any_way_is_seen() {
    for program in [
        "import os; os.write(1, b'7\\n')",
        "import os, sys; sys.stdout.write('a'); sys.stdout.flush(); os.write(sys.stdout.fileno(), b'b')",
        "import sys; sys.stdout.buffer.write(b'bytes\\n'); print('text')",
        "out = open(1, 'w')\nout.write('h\u{e9}llo')",
        "write = open(1, 'w').write\nwrite('held by a method alone')",
        "import sys; sys.stdout = open(1, 'w'); print('x')",
        "open('/dev/stdout', 'w').write('x')",
        "import io, sys; sys.stdout = io.StringIO(); print('lost'); sys.stdout = sys.__stdout__; print('kept')",
        "import io, sys, atexit\nsys.stdout = io.StringIO()\natexit.register(lambda: sys.__stdout__.write(sys.stdout.getvalue()))\nprint(5)",
        "import atexit, io, os\nout = io.BytesIO()\natexit.register(lambda: os.write(1, out.getvalue()))\nout.write(b'late')",
        "import os; f = os.fdopen(os.dup(1), 'w'); f.write('again')",
        "import os; os.dup2(1, 2); os.write(2, b'by another number')",
        "class A:\n    def __init__(self): self.file = open(1, 'w')\n    def __del__(self): self.file.write('bye')\na = A()\nprint('hi')",
        "import sys; print('unseen', file=sys.stderr); sys.stderr.buffer.write(b'unseen'); print('seen', file=sys.stdout)",
        "import sys; print(sys.stdout.mode, sys.stdout.name, sys.stdout.encoding, sys.stdout.line_buffering)",
        "import os; os.closerange(3, 100); print('nothing else is open')",
        "print('x' * 3000000)",
        "for i in range(100000): print(i)",
    ] {
        as_cpython(program);
    }
}

#[test]
fn a_program_may_end_itself_after_it_has_printed() {
    for program in [
        "print(1)\nquit()\nprint(2)",
        "print(1)\nexit()",
        "print(1)\nexit(0)",
        "import sys\nprint(1)\nsys.exit()",
        "import sys\ndef main():\n    print(1)\n    sys.exit(0)\nmain()",
        "raise SystemExit(print(1))",
        "import os\nprint(1, flush=True)\nos._exit(0)",
        "import os\nos.write(1, b'1')\nos._exit(0)",
    ] {
        as_cpython(program);
    }
    let unflushed = judged("import os\nprint(1)\nos._exit(0)", "1");
    assert_eq!(unflushed.correct, Some(true), "{}", unflushed.reason);
}

#[test]
fn a_program_that_ends_badly_is_wrong_whatever_it_has_printed() {
    for (program, reason) in [
        ("print(1, flush=True)\nexit(1)", "SystemExit"),
        ("import sys\nprint(1, flush=True)\nsys.exit('no')", "SystemExit"),
        ("import os\nos.write(1, b'1')\nos._exit(3)", "code 3"),
        ("print(1, flush=True)\nraise ValueError('x')", "ValueError: x"),
        (
            "import queue, threading\nq = queue.Queue()\nthreading.Thread(target=q.get).start()\nprint(1)\nq.get()",
            "another thread",
        ),
        ("import ctypes\nprint(1, flush=True)\nctypes.string_at(0)", "signal"),
        ("import os\nos.write(1, b'1')\nos.write(3, b'V\\0\\0\\0\\1N')", "a value"),
        ("import os\nos.write(1, b'1')\nos.write(3, b'V\\0\\0\\0\\1N' * 2)", "more than its answers"),
    ] {
        let verdict = judged(program, "1");
        assert_eq!((verdict.correct, verdict.status), (Some(false), Status::Error), "{program}: {}", verdict.reason);
        assert!(verdict.reason.contains(reason), "{program}: {}", verdict.reason);
    }
    let endless = judged("while True: print('x' * 1000)", "x");
    assert_eq!((endless.correct, endless.status), (Some(false), Status::Unserialisable));
}

#[test]
fn threads_that_wait_for_each_other_print_what_cpython_prints() {
    for program in [
        "q = queue.Queue()\ndef work():\n    while (x := q.get()) is not None: print(x * 2)\nt = threading.Thread(target=work)\n\
         t.start()\nfor i in (1, 2, None): q.put(i)\nt.join()",
        "q = queue.Queue()\nthreading.Thread(target=lambda: [q.put(i) for i in range(3)]).start()\nprint([q.get() for _ in range(3)])",
        "go, seen = threading.Event(), []\nt = threading.Thread(target=lambda: go.wait() and seen.append(1))\nt.start()\ngo.set()\n\
         t.join()\nprint(seen, t.is_alive())",
        "lock = threading.Lock()\nlock.acquire()\ndef work():\n    with lock: print('second')\nt = threading.Thread(target=work)\n\
         t.start()\nprint('first')\nlock.release()\nt.join()",
        "t = threading.Timer(5, print, ['late'])\nt.start()\nt.cancel()\nt.join()\nprint('ok')",
        "b = threading.Barrier(3)\ndef work():\n    b.wait()\nts = [threading.Thread(target=work) for _ in range(2)]\n\
         [t.start() for t in ts]\nb.wait()\n[t.join() for t in ts]\nprint(b.broken)",
        "s = threading.Semaphore(0)\nthreading.Thread(target=lambda: (print(1), s.release())).start()\ns.acquire()\nprint(2)",
        "lock, counts = threading.RLock(), [0]\ndef work():\n    for _ in range(100):\n        with lock, lock: counts[0] += 1\n\
         ts = [threading.Thread(target=work) for _ in range(5)]\n[t.start() for t in ts]\n[t.join() for t in ts]\nprint(counts)",
        "def work(): print(threading.current_thread().name, threading.current_thread() is threading.main_thread())\n\
         t = threading.Thread(target=work, name='w')\nt.start()\nt.join()\nprint(threading.current_thread().name)",
        "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(2) as pool:\n    \
         print(list(pool.map(str.upper, 'abc')), pool.submit(pow, 2, 5).result())",
        "def work(): raise ValueError\nt = threading.Thread(target=work)\nt.start()\nt.join()\nprint('on')",
    ] {
        as_cpython(&format!("import threading, queue\n{program}"));
    }
    let turns = "import threading\na, b = threading.Semaphore(0), threading.Semaphore(0)\ndef work():\n    for _ in range(3):\n        \
                 a.acquire(); print('x'); b.release()\nt = threading.Thread(target=work)\nt.start()\nfor _ in range(3):\n    \
                 a.release(); b.acquire(); print('y')\nt.join()";
    let verdict = judged(turns, "x\ny\nx\ny\nx\ny");
    assert_eq!((verdict.correct, verdict.status), (Some(false), Status::Error), "{}", verdict.reason);
    assert!(verdict.reason.contains("threads run one after the other here"), "{}", verdict.reason);
}

#[test]
fn lines_end_and_files_are_named_as_in_cpython() {
    let read = "print(repr(input()), repr(__import__('sys').stdin.read()))";
    let oracle = Oracle::Pairs(vec![("a\r\nb\r\n".to_owned(), "'a\\r' 'b\\r\\n'".to_owned())]);
    let verdict = pool().grade("streams", Tests { oracle, ..tests(read, "") });
    assert_eq!(verdict.correct, Some(true), "{}", verdict.reason);
    let verdict = judged("print(__file__.endswith('.py'))", "True");
    assert_eq!(verdict.correct, Some(true), "{}", verdict.reason);
}

#[test]
fn a_thread_for_deep_recursion_runs() {
    for main in [
        "def deep(n): return n and 1 + deep(n - 1)",
        // Every level takes a part of the machine's stack as well.
        "import functools\n@functools.lru_cache(None)\ndef deep(n): return n and 1 + deep(n - 1)",
    ] {
        for start in [
            "thread = threading.Thread(target=main); thread.start(); thread.join()",
            "t = threading.Thread(target=main, daemon=True); t.start(); t.join(); assert not t.is_alive()",
            "class T(threading.Thread):\n    def run(self): main()\nT().start()",
        ] {
            as_cpython(&format!(
                "import sys, threading\nsys.setrecursionlimit(10 ** 6)\nthreading.stack_size(1 << 27)\n{main}\ndef main():\n    \
                 print(int(input()) + deep(50000))\n    sys.exit()\n{start}"
            ));
        }
    }
    let again = "import threading\nt = threading.Thread(target=int)\nt.start()\ntry: t.start()\nexcept \
                 RuntimeError as error: print(error)\ntry: threading.Thread().join()\nexcept RuntimeError as error: print(error)";
    as_cpython(again);
    as_cpython(
        "import resource\nresource.setrlimit(resource.RLIMIT_STACK, resource.getrlimit(resource.RLIMIT_STACK))\nprint(1)",
    );
}

#[test]
fn integers_of_any_length_are_printed_and_read() {
    for program in [
        "print(10 ** 5000 - 1)",
        "print(int('7' * 9000) + 1)",
        "import math; print(math.factorial(3000))",
        "print(sum(map(int, str(2 ** 20000))))",
    ] {
        as_cpython(program);
    }
    let verdict = judged("print(int('9' * 10 ** 8))", "9");
    assert!(matches!(verdict.status, Status::Timeout | Status::Memory), "{:?}: {}", verdict.status, verdict.reason);
}

#[test]
fn standard_input_cannot_be_changed_and_streams_are_a_programs_own() {
    let write = "import os\ntry: os.write(0, b'x')\nexcept OSError: print('denied')";
    for mode in modes() {
        for _ in 0..2 {
            let verdict = mode.pool.grade("streams", tests(write, "denied"));
            assert_eq!(verdict.correct, Some(true), "{}: {}", mode.name, verdict.reason);
        }
        assert_alive(mode);
    }
}
