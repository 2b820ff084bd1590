//! Nothing persists after a program, and a pool's memory does not grow.

use std::collections::BTreeSet;
use std::fs;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Waker};
use std::time::Duration;

use crate::support::run;
use lyceum_verifier::{Check, Limits, Solution, Task, Verifier, VerifierConfig};

/// One test counts this process's children, so no other test may start any meanwhile.
static ALONE: Mutex<()> = Mutex::new(());

/// Resident memory in bytes of all processes below this one.
fn descendants() -> Vec<(u32, u64)> {
    let field = |text: &str, name: &str| -> Option<u64> {
        text.lines()
            .find_map(|line| line.strip_prefix(name))
            .and_then(|rest| rest.split_whitespace().next()?.parse().ok())
    };
    let mut below: BTreeSet<u64> = BTreeSet::from([u64::from(std::process::id())]);
    let mut found = Vec::new();
    let mut pids: Vec<u32> = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    pids.sort_unstable();
    for pid in pids {
        let Ok(status) = fs::read_to_string(format!("/proc/{pid}/status")) else { continue };
        if field(&status, "PPid:").is_some_and(|parent| below.contains(&parent)) {
            below.insert(u64::from(pid));
            // `status` lags behind by counts that the cores have not reported yet, which can be megabytes on a machine
            // with many cores.
            let exact = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
            let resident = field(&exact, "Rss:").or_else(|| field(&status, "VmRSS:"));
            found.push((pid, resident.unwrap_or(0) << 10));
        }
    }
    found
}

/// 100,000 with `LYCEUM_ISOLATION_PROGRAMS=100000`.
#[test]
fn many_programs_leave_no_process_and_no_memory() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let count: usize =
        std::env::var("LYCEUM_ISOLATION_PROGRAMS").ok().and_then(|text| text.parse().ok()).unwrap_or(4000);
    let pool = Verifier::start(&VerifierConfig { jobs: 2, ..VerifierConfig::default() }).expect("a sandbox");
    let task = |at: usize| {
        let answer = format!("import sys\nsys.modules['m{at}'] = [0] * 10000\ndef f(x):\n    return [x] * 100\n");
        let pairs = vec![(at.to_string(), "0".to_owned())];
        Task { id: at.to_string(), check: Check::Solve(Solution::Function { pairs, answer }) }
    };
    let total = |of: &[(u32, u64)]| of.iter().map(|(_, memory)| memory).sum::<u64>();
    assert_eq!(pool.judge_all((0..count / 10).map(task)).count(), count / 10);
    let before = descendants();
    assert_eq!(pool.judge_all((0..count).map(task)).count(), count);
    let after = descendants();
    let pids = |of: &[(u32, u64)]| of.iter().map(|(pid, _)| *pid).collect::<Vec<_>>();
    assert_eq!(pids(&before), pids(&after), "the same zygotes, and nothing else");
    assert_eq!(before.len(), 2);
    assert!(before.iter().all(|(_, memory)| *memory < 30 << 20), "a zygote has under 30 MB: {before:?}");
    assert!(total(&after) < total(&before) + (1 << 20), "{before:?} became {after:?}");
}

#[test]
fn what_a_program_changes_no_other_program_sees() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let pool = Verifier::start(&VerifierConfig { jobs: 1, ..VerifierConfig::default() }).expect("a sandbox");
    let marks = [
        "import builtins\nbuiltins.mark = 1",
        "import sys\nsys.modules['mark'] = sys",
        "import math\nmath.mark = 1",
        "import collections\ncollections.Counter.mark = 1",
        "import sys\nsys.setrecursionlimit(50)",
        "import os\nos.environ['mark'] = '1'",
        "import random\nrandom.seed(1)",
        "import sys\nsys.path.insert(0, 'mark')",
        "import decimal\ndecimal.getcontext().prec = 1",
        "import gc\ngc.disable()",
    ];
    let look = "import builtins, collections, decimal, gc, math, os, random, sys\ndef f(x):\n    seen = [hasattr(builtins, 'mark'), \
                'mark' in sys.modules, hasattr(math, 'mark'), hasattr(collections.Counter, 'mark'), sys.getrecursionlimit() == \
                50, 'mark' in os.environ, 'mark' in sys.path, decimal.getcontext().prec == 1, not gc.isenabled()]\n    return None if \
                not any(seen) else seen";
    for mark in marks {
        let changed = run(&pool, &format!("{mark}\ndef f(x):\n    return None"));
        assert_eq!(changed.correct, Some(true), "{}", changed.reason);
        let seen = run(&pool, look);
        assert_eq!(seen.correct, Some(true), "{mark}: {}", seen.reason);
    }
}

#[test]
fn a_verdict_that_nobody_waits_for_frees_its_thread() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let limits = Limits { cpu: Duration::from_hours(1), ..Limits::default() };
    let pool = Verifier::start(&VerifierConfig { jobs: 1, limits, ..VerifierConfig::default() }).expect("a sandbox");
    let idle = descendants().len();
    let task = |body: &str| Task {
        id: body.to_owned(),
        check: Check::Solve(Solution::Function {
            pairs: vec![("0".to_owned(), "0".to_owned()); 3],
            answer: format!("def f(x):\n    {body}\n"),
        }),
    };
    let mut endless = Box::pin(pool.judge_async(task("while True: pass")));
    let mut context = Context::from_waker(Waker::noop());
    assert!(endless.as_mut().poll(&mut context).is_pending());
    while descendants().len() == idle {
        std::thread::yield_now();
    }
    drop(endless);
    // If the thread were not free, this would take three hours.
    assert_eq!(pool.judge(task("return x")).correct, Some(true));
    assert_eq!(descendants().len(), idle);
}
