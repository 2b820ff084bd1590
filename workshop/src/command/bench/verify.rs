//! `lyceum-workshop bench verify`: the verifier, compared with other ways of running untrusted Python.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use clap::Args;
use lyceum_verifier::{Check, ProblemKind, Proposal, Solution, Task, Verdict, Verifier, VerifierConfig, read_line};
use lyceum_worker::pool::PoolArgs;

/// Programs of the size and kind that models propose.
const PROGRAMS: [&str; 6] = [
    "def f(x):\n    return x * 2 + 1",
    "def f(n):\n    a, b = 0, 1\n    for _ in range(n % 50):\n        a, b = b, a + b\n    return a",
    "def f(n):\n    words = ['alpha', 'beta', 'gamma'] * (n % 5 + 1)\n    counts = {}\n    for word in words:\n        \
     counts[word] = counts.get(word, 0) + len(word)\n    return sorted(counts.items())",
    "from collections import Counter\ndef f(n):\n    return Counter(str(n ** 7))",
    "import re\ndef f(n):\n    return re.sub('[13579]', lambda m: str(9 - int(m.group())), str(n) * 3)",
    "class Stack:\n    def __init__(self):\n        self.items = []\n    def push(self, item):\n        self.items.append(item)\n\
     def f(n):\n    stack = Stack()\n    for i in range(n % 20):\n        stack.push(i * i)\n    return stack.items[::-1]",
];

/// Executions per second, results per second and latency of the verifier on one core and on all, compared with one
/// interpreter per program, EvalPlus's checker and a Pebble pool as Absolute-Zero-Reasoner uses it.
///
/// The last two need an interpreter with `evalplus` and `pebble` (`--peers-python`); without it they are skipped.
#[derive(Debug, Args)]
pub(super) struct BenchVerify {
    /// Executions to measure on one core.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(10..))]
    executions: u32,
    /// Interpreter with the packages of the peers.
    #[arg(long, value_name = "PATH")]
    peers_python: Option<PathBuf>,
    /// A recorded step to judge again: tasks in the format of `lyceum-worker verify --in`. Without it, a synthetic step
    /// is used.
    #[arg(long, value_name = "TASKS.jsonl")]
    recorded: Option<PathBuf>,
    #[command(flatten)]
    pool: PoolArgs,
}

/// Runs the same programs with the peers; prints one line for each.
const PEERS: &str = include_str!("verify_peers.py");

impl BenchVerify {
    pub(super) fn run(&self) -> anyhow::Result<()> {
        let config = self.pool.config();
        let count = self.executions as usize;
        let start = Instant::now();
        let one = Verifier::start(&VerifierConfig { jobs: 1, ..config.clone() })?;
        println!("python {}; layers: {}", one.interpreter().version, one.layers());
        println!("{:<44} {:>10.0} ms", "pool of one, self-test included, up in", start.elapsed().as_secs_f64() * 1e3);
        println!("{:<44} {:>10.0} ms", "of that, a zygote with its imports", one.zygote_start().as_secs_f64() * 1e3);
        // Warm-up: start both zygotes before timing.
        judged(&one, (0..4).map(proposal))?;
        println!("{:<44} {:>10.1} MiB", "the largest zygote", largest_child()? as f64 / f64::from(1 << 20));
        self.measure(&one, "one core, one input a program", count, 1, |at| abduction(at, 1))?;
        self.measure(&one, "one core, ten inputs a program", count / 4, 10, |at| abduction(at, 10))?;
        drop(one);
        let all = Verifier::start(&config)?;
        judged(&all, (0..8).map(proposal))?;
        let name = format!("{} cores, one input a program", all.jobs());
        self.measure(&all, &name, count * all.jobs(), 1, |at| abduction(at, 1))?;
        match &self.recorded {
            Some(path) => replay(&all, path)?,
            None => self.measure(&all, &format!("{} cores, a self-play step", all.jobs()), count, 1, step)?,
        }
        drop(all);
        self.peers()
    }

    fn measure(
        &self,
        pool: &Verifier,
        name: &str,
        count: usize,
        results: usize,
        task: impl Fn(usize) -> Task,
    ) -> anyhow::Result<()> {
        let start = Instant::now();
        let verdicts = judged(pool, (0..count).map(task))?;
        let elapsed = start.elapsed();
        let mut times: Vec<f64> = verdicts.iter().map(|verdict| verdict.millis).collect();
        times.sort_by(f64::total_cmp);
        let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
        println!(
            "{name:<44} {:>10.0} verdicts/s {:>10.0} results/s   p50 {:.2} ms   p99 {:.2} ms",
            rate(count, elapsed),
            rate(count * results, elapsed),
            at(0.5),
            at(0.99)
        );
        Ok(())
    }

    fn peers(&self) -> anyhow::Result<()> {
        let python = self.peers_python.clone().unwrap_or_else(|| PathBuf::from("python3"));
        let programs = serde_json::to_string(&PROGRAMS)?;
        let status = Command::new(&python)
            .args(["-c", PEERS, &programs, &self.executions.to_string()])
            .status()
            .with_context(|| format!("cannot run {}", python.display()))?;
        anyhow::ensure!(status.success(), "the peers failed: {status}");
        Ok(())
    }
}

/// Judges every task of a recorded step once.
fn replay(pool: &Verifier, path: &Path) -> anyhow::Result<()> {
    let text = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut tasks = Vec::new();
    for (at, line) in text.split(|byte| *byte == b'\n').enumerate() {
        if !line.trim_ascii().is_empty() {
            let task = read_line(line).map_err(|error| anyhow::anyhow!(error.reason));
            tasks.push(task.with_context(|| format!("{}, line {}", path.display(), at + 1))?);
        }
    }
    let count = tasks.len();
    let start = Instant::now();
    let verdicts: Vec<_> = pool.judge_all(tasks).collect();
    let elapsed = start.elapsed();
    let said = |verdict: &&Verdict| verdict.valid == Some(true) || verdict.correct == Some(true);
    println!(
        "{:<44} {:>10.0} verdicts/s   {count} tasks in {:.2} s, {} valid or correct",
        format!("{} cores, the step of {}", pool.jobs(), path.display()),
        rate(count, elapsed),
        elapsed.as_secs_f64(),
        verdicts.iter().filter(said).count()
    );
    Ok(())
}

/// Resident memory of the largest child process, in bytes.
fn largest_child() -> anyhow::Result<u64> {
    let own = std::process::id().to_string();
    let field = |status: &str, name: &str| -> Option<String> {
        let rest = status.lines().find_map(|line| line.strip_prefix(name))?;
        rest.split_whitespace().next().map(str::to_owned)
    };
    let mut largest = 0;
    for entry in fs::read_dir("/proc")?.flatten() {
        // A process may end between listing and reading.
        let Ok(status) = fs::read_to_string(entry.path().join("status")) else { continue };
        if field(&status, "PPid:").as_deref() == Some(own.as_str()) {
            let kib: u64 = field(&status, "VmRSS:").and_then(|kib| kib.parse().ok()).unwrap_or(0);
            largest = largest.max(kib << 10);
        }
    }
    Ok(largest)
}

fn rate(count: usize, elapsed: Duration) -> f64 {
    count as f64 / elapsed.as_secs_f64()
}

/// Judges tasks; fails if any of them failed, because its time would be meaningless.
fn judged(pool: &Verifier, tasks: impl Iterator<Item = Task>) -> anyhow::Result<Vec<Verdict>> {
    let verdicts: Vec<_> = pool.judge_all(tasks).collect();
    match verdicts.iter().find(|verdict| verdict.valid == Some(false)) {
        Some(verdict) => anyhow::bail!("a proposal of the benchmark failed: {}", verdict.reason),
        None => Ok(verdicts),
    }
}

fn proposal(at: usize) -> Task {
    let program = PROGRAMS[at % PROGRAMS.len()].to_owned();
    let proposal = Proposal::Io { problem: ProblemKind::CodeO, program, input: at.to_string() };
    Task { id: at.to_string(), check: proposal.into() }
}

/// A task that takes one process and nothing from a cache, with several inputs.
fn abduction(at: usize, inputs: usize) -> Task {
    let pairs = (0..inputs).map(|input| ((at + input).to_string(), "None".to_owned())).collect();
    let answer = PROGRAMS[at % PROGRAMS.len()].to_owned();
    Task { id: at.to_string(), check: Check::Solve(Solution::Function { pairs, answer }) }
}

/// The mix of a self-play step: a proposal, then eight answers to it, alternating deduction and abduction.
fn step(at: usize) -> Task {
    let group = at / 9;
    let program = PROGRAMS[group % PROGRAMS.len()].to_owned();
    let solution = match at % 9 {
        0 => return proposal(group),
        turn if turn % 2 == 0 => Solution::Output { program, input: group.to_string(), answer: turn.to_string() },
        turn => Solution::Input { program, output: "1".to_owned(), answer: turn.to_string() },
    };
    Task { id: at.to_string(), check: solution.into() }
}
