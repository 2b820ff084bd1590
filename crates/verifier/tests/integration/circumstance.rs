//! Programs that try to tell a proposal from a graded answer, or to do something else each time.

use std::collections::BTreeSet;

use crate::support::pool;
use lyceum_verifier::{ProblemKind, Proposal, Solution, Status};

/// The output of a proposal, and whether the same program gives it again when it is graded `times`.
fn proposed_and_graded(program: &str, input: &str, times: usize) -> Option<(String, Vec<bool>)> {
    let proposal = Proposal::Io { problem: ProblemKind::CodeI, program: program.to_owned(), input: input.to_owned() };
    let verdict = pool().check("proposal", proposal);
    eprintln!("{:?}: {}", verdict.status, verdict.reason);
    let output = verdict.output?;
    let graded = (0..times).map(|at| {
        let solution =
            Solution::Input { program: program.to_owned(), output: output.clone(), answer: input.to_owned() };
        pool().grade(format!("answer {at}"), solution).correct == Some(true)
    });
    let graded = graded.collect();
    Some((output, graded))
}

#[test]
fn nothing_in_the_frames_tells_a_proposal_from_a_graded_answer() {
    // All that can be read in the frames above, as text without addresses; and the limits of the process. The two zygotes
    // differ only by their seed and the address of their filter.
    let program = "import resource, sys\ndef told(v, depth):\n    if v is None or isinstance(v, (int, float, str, bytes)):\n        \
                   return repr(v)\n    items = v if isinstance(v, (list, tuple)) else sorted(v.items(), key=str) if \
                   isinstance(v, dict) and depth < 3 else []\n    return [type(v).__name__, [told(item, depth + 1) for item in \
                   items]]\ndef f(x):\n    frame, seen = sys._getframe(1), [[resource.getrlimit(n) for n in range(16)]]\n    \
                   while frame:\n        \
                   for names in (frame.f_locals, frame.f_globals):\n            seen.append(sorted((k, told(v, 0)) for k, v in \
                   list(names.items()) if k not in ('SEED', 'FILTER') and k[:2] != '__'))\n        frame = frame.f_back\n    \
                   return str(seen)";
    for input in ["1", "'a', ", "x=[1]", "[i for i in range(3)]", "0x10"] {
        let (output, graded) = proposed_and_graded(program, input, 3).expect("a valid proposal");
        let plain = output.replace('\\', "");
        assert!(plain.contains("('message', ['dict', []])"), "{output}");
        assert_eq!(graded, [true; 3], "{input}: {output}");
    }
}

#[test]
fn kernel_randomness_and_process_ids_are_the_same_in_every_child() {
    for coin in [
        "__import__('o' + 's').urandom(1)[0] % 2",
        "__import__('ran' + 'dom').random() < 0.5",
        "__import__('ran' + 'dom').Random().random() < 0.5",
        "__import__('ran' + 'dom').SystemRandom().random() < 0.5",
        "__import__('uuid').uuid4().int % 2",
        "__import__('secrets').randbits(1)",
        "__import__('o' + 's').getpid() % 2",
        "__import__('o' + 's').getppid() % 2",
    ] {
        // What is found out when it is proposed cannot be graded; what is not does the same each time.
        if let Some((output, graded)) = proposed_and_graded(&format!("def f(x):\n    return {coin}"), "1", 12) {
            assert_eq!(graded, [true; 12], "{coin}: {output}");
        }
    }
    let ids = "def f(x):\n    m = __import__('o' + 's')\n    return (m.getpid(), m.getppid(), __import__('threading').get_native_id())";
    let alarm = "import signal\ndef f(x):\n    hits = []\n    signal.signal(signal.SIGALRM, lambda *_: hits.append(1))\n    \
                 signal.alarm(1)\n    n = 0\n    while not hits: n += 1\n    return n";
    assert!(proposed_and_graded(alarm, "1", 3).is_some_and(|(_, graded)| graded == [true; 3]), "an alarm by lines");
    assert_eq!(proposed_and_graded(ids, "1", 1), Some(("(0, 0, 0)".to_owned(), vec![true])));
    let kernel = "def f(x):\n    import ctypes\n    data = ctypes.create_string_buffer(8)\n    libc = \
                  ctypes.CDLL(None, use_errno=True)\n    return (libc.getrandom(data, 8, 0), ctypes.get_errno(), data.raw)";
    let expected = r"(-1, 1, b'\x00\x00\x00\x00\x00\x00\x00\x00')".to_owned();
    assert_eq!(proposed_and_graded(kernel, "1", 1), Some((expected, vec![true])));
}

#[test]
fn clocks_are_the_same_in_every_child() {
    for bit in [
        "__import__('ti' + 'me').time_ns() // 1000 % 2",
        "int(__import__('ti' + 'me').time() * 1000) % 2",
        "__import__('ti' + 'me').monotonic_ns() // 1000 % 2",
        "int(__import__('ti' + 'me').perf_counter() * 1e6) % 2",
        "__import__('ti' + 'me').process_time_ns() // 1000 % 2",
        "__import__('ti' + 'me').clock_gettime_ns(2) // 1000 % 2",
        "__import__('ti' + 'me').localtime().tm_sec % 2",
        "__import__('ti' + 'me').ctime()",
        "__import__('ti' + 'me').strftime('%S')",
        "int(__import__('o' + 's').times().elapsed * 1000) % 2",
        "__import__('date' + 'time').datetime.now().microsecond % 2",
        "__import__('date' + 'time').datetime.utcnow().microsecond % 2",
        "__import__('date' + 'time').datetime.today().microsecond % 2",
        "str(__import__('date' + 'time').date.today())",
    ] {
        let program = format!("def f(x):\n    return {bit}");
        let (output, graded) = proposed_and_graded(&program, "1", 6).expect(bit);
        assert_eq!(graded, [true; 6], "{bit}: {output}");
    }
}

#[test]
fn clocks_go_on_and_tell_a_date() {
    let program = "def f(x):\n    t, d = __import__('ti' + 'me'), __import__('date' + 'time')\n    before = t.time()\n    \
                   t.sleep(3600)\n    while t.monotonic() < 3600.1: pass\n    return t.time() - before > 3600, \
                   d.datetime.now(d.timezone.utc).year, t.gmtime(0).tm_year, t.strftime('%Y', t.gmtime(0)), \
                   t.asctime(t.gmtime(0))[-4:]";
    let expected = "(True, 2023, 1970, '1970', '1970')".to_owned();
    assert_eq!(proposed_and_graded(program, "1", 1), Some((expected, vec![true])));
}

#[test]
fn no_call_of_the_kernel_tells_a_child_its_own_cpu_time() {
    let program = "def f(x):\n    import ctypes\n    libc, found, room = ctypes.CDLL(None, use_errno=True), [], \
                   ctypes.create_string_buffer(256)\n    for clock in (2, 3, -2, -6):\n        \
                   found.append((libc.clock_gettime(clock, room), ctypes.get_errno()))\n    \
                   found.append((libc.getrusage(0, room), ctypes.get_errno()))\n    \
                   libc.times(room)\n    return found, room.raw.strip(b'\\0')";
    let expected = format!("([{}], b'')", ["(-1, 1)"; 5].join(", "));
    assert_eq!(proposed_and_graded(program, "1", 1), Some((expected, vec![true])));
}

#[test]
fn an_answer_that_draws_is_the_same_each_time() {
    let graded = (0..12).map(|at| {
        let solution = Solution::Input {
            program: "def f(x):\n    return x < 0.5".to_owned(),
            output: "True".to_owned(),
            answer: "__import__('ran' + 'dom').random()".to_owned(),
        };
        pool().grade(format!("answer {at}"), solution).correct
    });
    assert_eq!(graded.collect::<BTreeSet<_>>().len(), 1);
}

#[test]
fn random_values_differ_between_the_runs_of_a_proposal() {
    for value in ["urandom(8)", "getrandom(8)"] {
        let proposal = Proposal::Io {
            problem: ProblemKind::CodeO,
            program: format!("def f(x):\n    return __import__('o' + 's').{value}"),
            input: "1".to_owned(),
        };
        let verdict = pool().check(value, proposal);
        assert_eq!(verdict.valid, Some(false), "{value}");
        assert!([Status::Nondeterministic, Status::Error].contains(&verdict.status), "{value}: {}", verdict.reason);
    }
}
