//! The pool.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use lyceum_core::verify::{Check, Proposal, Status, Task, Verdict};
use tokio::sync::{mpsc, oneshot};

use crate::execution::Failed;
use crate::gold::GoldCache;
use crate::judge::{Bench, Judgement, Unjudged, refused};
use crate::sandbox::{
    Budget, Interpreter, Layers, Limits, Namespaces, Package, SandboxError, Watch, ZygotePlan, self_test,
};
use crate::slot::Slot;
use crate::value::Comparison;

/// Settings of a pool.
#[derive(Clone, Debug)]
pub struct VerifierConfig {
    /// Number of tasks judged at once; each takes one core and up to twice the memory of [`Limits`].
    pub jobs: usize,
    /// The interpreter; see [`Interpreter::resolve`].
    pub python: Option<PathBuf>,
    /// Resource limits of programs.
    pub limits: Limits,
    /// Whether to use namespaces.
    pub namespaces: Namespaces,
    /// How values are compared.
    pub comparison: Comparison,
    /// Packages that programs may import, besides the standard library.
    pub packages: Vec<Package>,
    /// Whether to serve even if attacks of the self-test had an effect.
    pub insecure: bool,
}

impl Default for VerifierConfig {
    fn default() -> Self {
        Self {
            jobs: std::thread::available_parallelism().map_or(1, usize::from),
            python: None,
            limits: Limits::default(),
            namespaces: Namespaces::Auto,
            comparison: Comparison::Python,
            packages: Vec::new(),
            insecure: false,
        }
    }
}

struct Job {
    task: Task,
    /// CPU time per call, if not the pool's.
    cpu: Option<Duration>,
    reply: oneshot::Sender<Judgement>,
}

/// A pool of threads, each with its own confined interpreters. Dropping it ends them all.
///
/// At most twice as many tasks as threads wait in the queue; [`Verifier::judge_all`] and [`Verifier::judge_async`]
/// block callers that submit more.
pub struct Verifier {
    queue: Option<mpsc::Sender<Job>>,
    threads: Vec<JoinHandle<()>>,
    layers: Layers,
    interpreter: Interpreter,
    jobs: usize,
    zygote_start: Duration,
}

impl Verifier {
    /// Starts the pool and runs the self-test.
    ///
    /// # Errors
    /// If the interpreter is unsuitable, the confinement cannot be set up, or an attack had an effect and `insecure` is
    /// not set.
    pub fn start(config: &VerifierConfig) -> Result<Self, SandboxError> {
        let interpreter = Interpreter::resolve(config.python.as_deref())?;
        let jobs = config.jobs.max(1);
        let (queue, tasks) = mpsc::channel(2 * jobs);
        let tasks = Arc::new(Mutex::new(tasks));
        let gold = Arc::new(GoldCache::default());
        let mut threads = Vec::with_capacity(jobs);
        let mut starting = Vec::with_capacity(jobs);
        for number in 0..jobs {
            let (started, start) = oneshot::channel();
            let worker = Worker {
                slot: Slot::new(ZygotePlan {
                    interpreter: interpreter.clone(),
                    namespaces: config.namespaces,
                    limits: config.limits,
                    packages: config.packages.clone(),
                    watch: Watch::default(),
                    budget: Budget::default(),
                }),
                tasks: Arc::clone(&tasks),
                gold: Arc::clone(&gold),
                comparison: config.comparison,
            };
            let tested = (number == 0).then_some(config.insecure);
            let thread = std::thread::Builder::new()
                .name(format!("verifier-{number}"))
                .stack_size(16 << 20)
                .spawn(move || worker.run(tested, started))?;
            threads.push(thread);
            starting.push(start);
        }
        let (mut layers, mut zygote_start) = (Layers::default(), Duration::ZERO);
        for start in starting {
            let lost = || SandboxError::Start("its thread ended".to_owned());
            (layers, zygote_start) = start.blocking_recv().map_err(|_| lost())??;
        }
        Ok(Self { queue: Some(queue), threads, layers, interpreter, jobs, zygote_start })
    }

    /// Time until a confined interpreter, with its imports, was ready for its first program.
    #[must_use]
    pub fn zygote_start(&self) -> Duration {
        self.zygote_start
    }

    /// The active layers of confinement.
    #[must_use]
    pub fn layers(&self) -> &Layers {
        &self.layers
    }

    /// The interpreter that runs the programs.
    #[must_use]
    pub fn interpreter(&self) -> &Interpreter {
        &self.interpreter
    }

    /// The number of tasks judged at once.
    #[must_use]
    pub fn jobs(&self) -> usize {
        self.jobs
    }

    /// Judges one task, blocking. Async tasks must use [`Verifier::judge_async`] instead.
    #[must_use]
    pub fn judge(&self, task: Task) -> Verdict {
        self.submit(task).wait()
    }

    #[must_use]
    pub fn check(&self, id: impl Into<String>, proposal: Proposal) -> Verdict {
        self.judge(Task { id: id.into(), check: Check::Propose(proposal) })
    }

    /// Grades one answer: a solution, a program under test, or a mathematical answer.
    #[must_use]
    pub fn grade(&self, id: impl Into<String>, answer: impl Into<Check>) -> Verdict {
        self.judge(Task { id: id.into(), check: answer.into() })
    }

    /// Judges one task without blocking; first waits for room in the queue. For callers that can retry. Dropping the
    /// future ends the task's programs and frees its thread.
    ///
    /// # Errors
    /// If the sandbox failed, so that nothing is known about the task.
    pub async fn judge_async(&self, task: Task) -> Result<Verdict, Unjudged> {
        self.judge_within(task, None).await
    }

    /// The same with `cpu` as the CPU time of a call, if it is given, instead of the pool's.
    ///
    /// # Errors
    /// As [`Verifier::judge_async`].
    pub async fn judge_within(&self, task: Task, cpu: Option<Duration>) -> Result<Verdict, Unjudged> {
        let lost = lost(&task);
        let (reply, verdict) = oneshot::channel();
        match &self.queue {
            Some(queue) if queue.send(Job { task, cpu, reply }).await.is_ok() => verdict.await.unwrap_or(Err(lost)),
            _ => Err(lost),
        }
    }

    /// Judges many tasks at once and returns the verdicts in order. Takes the next task only when there is room, so a
    /// long list is never in memory as a whole.
    pub fn judge_all<I>(&self, tasks: I) -> impl Iterator<Item = Verdict>
    where
        I: IntoIterator<Item = Task>,
    {
        self.judge_lines(tasks.into_iter().map(Ok))
    }

    /// Like [`Verifier::judge_all`], for a list in which some lines already have a verdict (because they could not be
    /// read); these keep their position.
    pub fn judge_lines<I>(&self, lines: I) -> impl Iterator<Item = Verdict>
    where
        I: IntoIterator<Item = Result<Task, Verdict>>,
    {
        let mut lines = lines.into_iter();
        let mut ahead: VecDeque<Result<Pending, Verdict>> = VecDeque::new();
        let window = 8 * self.jobs;
        std::iter::from_fn(move || {
            while ahead.len() < window {
                let Some(line) = lines.next() else { break };
                ahead.push_back(line.map(|task| self.submit(task)));
            }
            ahead.pop_front().map(|line| line.map_or_else(|verdict| verdict, Pending::wait))
        })
    }

    /// Waits for room in the queue.
    fn submit(&self, task: Task) -> Pending {
        let lost = lost(&task);
        let (reply, verdict) = oneshot::channel();
        if let Some(queue) = &self.queue {
            // A pool whose threads have ended drops the job and its reply channel, which reports it.
            let _ = queue.blocking_send(Job { task, cpu: None, reply });
        }
        Pending { verdict, lost }
    }
}

impl Drop for Verifier {
    fn drop(&mut self) {
        self.queue = None;
        for thread in self.threads.drain(..) {
            // A panic has already been reported.
            let _ = thread.join();
        }
    }
}

/// A pending verdict.
struct Pending {
    verdict: oneshot::Receiver<Judgement>,
    lost: Unjudged,
}

impl Pending {
    fn wait(self) -> Verdict {
        let judged = self.verdict.blocking_recv().unwrap_or(Err(self.lost));
        judged.unwrap_or_else(|Unjudged(verdict)| *verdict)
    }
}

/// The error for a task whose judging thread has ended.
fn lost(task: &Task) -> Unjudged {
    let failed = Failed::new(Status::Error, "the pool ended before this was judged");
    Unjudged(Box::new(Verdict { id: Some(task.id.clone()), ..refused(&task.check, failed) }))
}

struct Worker {
    slot: Slot,
    tasks: Arc<Mutex<mpsc::Receiver<Job>>>,
    gold: Arc<GoldCache>,
    comparison: Comparison,
}

impl Worker {
    fn run(mut self, tested: Option<bool>, started: oneshot::Sender<Result<(Layers, Duration), SandboxError>>) {
        let ready = self.prepare(tested);
        let is_ready = ready.is_ok();
        if started.send(ready).is_err() || !is_ready {
            return;
        }
        loop {
            let job = self.tasks.lock().unwrap_or_else(PoisonError::into_inner).blocking_recv();
            let Some(Job { task, cpu, reply }) = job else { return };
            if reply.is_closed() {
                continue;
            }
            let reply = Arc::new(reply);
            let waiting = Arc::clone(&reply);
            self.slot.watch().set(Some(Arc::new(move || waiting.is_closed())));
            self.slot.set_cpu(cpu);
            let mut bench = Bench { slot: &mut self.slot, gold: &self.gold, comparison: self.comparison };
            let verdict = catch_unwind(AssertUnwindSafe(|| bench.judge(&task))).unwrap_or_else(|_| {
                self.slot.reset();
                // A task that causes a panic would do so again.
                let failed = Failed::new(Status::Error, "the verifier itself failed on this task");
                Ok(Verdict { id: Some(task.id.clone()), ..refused(&task.check, failed) })
            });
            self.slot.watch().set(None);
            if let Some(reply) = Arc::into_inner(reply) {
                // The caller may have gone away.
                let _ = reply.send(verdict);
            }
        }
    }

    /// Starts the first zygote and returns its layers and startup time. With `tested`, also runs the self-test; the
    /// value says whether escapes are accepted.
    fn prepare(&mut self, tested: Option<bool>) -> Result<(Layers, Duration), SandboxError> {
        let limits = self.slot.limits();
        let begin = Instant::now();
        let layers = self.slot.layers()?;
        let zygote_start = begin.elapsed();
        if let Some(insecure) = tested {
            let escapes = self_test(self.slot.first()?, limits)?;
            if !escapes.is_empty() && !insecure {
                return Err(SandboxError::NotContained { escapes, layers });
            }
        }
        Ok((layers, zygote_start))
    }
}
