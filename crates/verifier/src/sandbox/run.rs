//! Communication with one child.

use std::io;
use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::streams::{Ending, Printed, Report, standard_input};
use super::zygote::{Zygote, socket_pair, wait};
use super::{Allowance, Limits, SandboxError};

/// Maximum length of a frame that holds no value: the text of an error is cut in the child.
const MAX_MESSAGE: usize = 1 << 14;

/// Maximum length of all frames of a child together.
const MAX_RECEIVED: usize = 64 << 20;

/// The violation of a program that does not stop printing.
pub(crate) const PRINTED_TOO_MUCH: &str = "it printed too much";

/// How long the host waits for the zygote's report after the limit has passed, before it gives up on the zygote.
const GRACE: Duration = Duration::from_secs(30);

/// How often the host asks whether anybody still waits for a child.
const WATCH: Duration = Duration::from_millis(200);

/// Calls answered faster than this are not reported to the zygote.
const EXTENSION: Duration = Duration::from_millis(50);

/// One frame from a child. Its contents are only a claim.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) kind: u8,
    pub(crate) data: Vec<u8>,
}

/// A running child.
pub(crate) struct Run<'z> {
    zygote: &'z Zygote,
    stream: UnixStream,
    limits: Limits,
    /// Whether the task's budget pays for it.
    is_budgeted: bool,
    outgoing: Vec<u8>,
    sent: usize,
    is_complete: bool,
    incoming: Vec<u8>,
    max_frame: usize,
    received: usize,
    at_end: bool,
    /// What the program prints, if it has standard streams.
    printed: Option<Printed>,
    /// The reason the host stopped the child.
    violation: Option<&'static str>,
    report: Option<Report>,
    since: Instant,
    begun: Instant,
}

impl<'z> Run<'z> {
    /// Forks a child that may use the full limits for each of `calls`, within the budget of its task, and send values of
    /// at most `max_value` bytes.
    pub(crate) fn begin(
        zygote: &'z Zygote,
        limits: Limits,
        calls: usize,
        max_value: usize,
    ) -> Result<Self, SandboxError> {
        Self::begin_with(zygote, limits, calls, max_value, true, &[])
    }

    /// The same for a child whose time is not the task's: it is trusted to end, and waits for one that is not.
    pub(crate) fn begin_trusted(
        zygote: &'z Zygote,
        limits: Limits,
        calls: usize,
        max_value: usize,
    ) -> Result<Self, SandboxError> {
        Self::begin_with(zygote, limits, calls, max_value, false, &[])
    }

    /// The same for a program that reads this standard input and prints at most `max_printed` bytes.
    pub(crate) fn begin_with_streams(
        zygote: &'z Zygote,
        limits: Limits,
        stdin: &str,
        max_printed: usize,
    ) -> Result<Self, SandboxError> {
        let stdin = standard_input(stdin)?;
        let (printed, stdout) = Printed::new(max_printed)?;
        let mut run = Self::begin_with(zygote, limits, 1, 0, true, &[stdin.as_fd(), stdout.as_fd()])?;
        run.printed = Some(printed);
        Ok(run)
    }

    fn begin_with(
        zygote: &'z Zygote,
        limits: Limits,
        calls: usize,
        max_value: usize,
        is_budgeted: bool,
        streams: &[BorrowedFd<'_>],
    ) -> Result<Self, SandboxError> {
        zygote.check_wanted()?;
        let allowance = if is_budgeted { zygote.budget().left() } else { Allowance::UNLIMITED };
        let (ours, theirs) = socket_pair(libc::SOCK_STREAM)?;
        let descriptors = [&[theirs.as_fd()][..], streams].concat();
        zygote.order(&descriptors, limits, allowance, calls)?;
        drop(theirs);
        let stream = UnixStream::from(ours);
        stream.set_nonblocking(true)?;
        Ok(Self {
            zygote,
            stream,
            limits,
            is_budgeted,
            outgoing: Vec::new(),
            sent: 0,
            is_complete: false,
            incoming: Vec::new(),
            max_frame: max_value.max(MAX_MESSAGE),
            received: 0,
            at_end: false,
            printed: None,
            violation: None,
            report: None,
            since: Instant::now(),
            begun: Instant::now(),
        })
    }

    /// Queues a request; it is sent while waiting for answers.
    pub(crate) fn send(&mut self, request: &impl Serialize) -> Result<(), SandboxError> {
        let from = self.outgoing.len();
        self.outgoing.extend([0; 4]);
        serde_json::to_writer(&mut self.outgoing, request).map_err(io::Error::from)?;
        let length = u32::try_from(self.outgoing.len() - from - 4).map_err(io::Error::other)?;
        self.outgoing[from..from + 4].copy_from_slice(&length.to_be_bytes());
        Ok(())
    }

    /// Marks the end of the requests: the child ends after answering them.
    pub(crate) fn complete(&mut self) {
        self.is_complete = true;
    }

    /// The next answer; `None` once the child has closed its end or broken the protocol.
    pub(crate) fn answer(&mut self) -> Result<Option<Answer>, SandboxError> {
        loop {
            if let Some(answer) = self.take_frame() {
                self.extend()?;
                return Ok(Some(answer));
            }
            if self.at_end || self.violation.is_some() {
                return Ok(None);
            }
            self.exchange()?;
        }
    }

    /// Resets the limits for the next call.
    fn extend(&mut self) -> Result<(), SandboxError> {
        if self.since.elapsed() > EXTENSION { self.allow_waiting(self.limits.wall) } else { Ok(()) }
    }

    /// Resets the limits for the next call, in which the child may wait so long.
    pub(crate) fn allow_waiting(&mut self, wall: Duration) -> Result<(), SandboxError> {
        if self.report.is_some() {
            return Ok(());
        }
        (self.since, self.limits.wall) = (Instant::now(), wall);
        let message = [&b"extend"[..], &(wall.as_nanos() as u64).to_le_bytes()].concat();
        // If the zygote has ended the child and its report is already under way, there is nothing to extend.
        match self.zygote.send(&message) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
            _ => Ok(()),
        }
    }

    fn take_frame(&mut self) -> Option<Answer> {
        let (head, rest) = self.incoming.split_first_chunk::<5>()?;
        let [kind, length @ ..] = *head;
        let length = u32::from_be_bytes(length) as usize;
        if length > self.max_frame {
            self.violation = Some("it sent a value that is too large");
            return None;
        }
        if self.received + length > MAX_RECEIVED {
            self.violation = Some("it sent more than 64 MiB");
            return None;
        }
        let data = rest.get(..length)?.to_vec();
        self.incoming.drain(..5 + length);
        self.received += length;
        Some(Answer { kind, data })
    }

    /// Performs one read or write.
    fn exchange(&mut self) -> Result<(), SandboxError> {
        let pending = self.sent < self.outgoing.len();
        if !pending && self.is_complete {
            // If the child has ended, its end is closed already.
            let _ = self.stream.shutdown(Shutdown::Write);
        }
        let events = libc::POLLIN | if pending { libc::POLLOUT } else { 0 };
        let stream = if self.at_end { -1 } else { self.stream.as_raw_fd() };
        let printed = self.printed.as_ref().map_or(-1, Printed::waited_for);
        let deadline = self.since + self.limits.longest() + GRACE;
        let control = if self.report.is_none() { self.zygote.control() } else { -1 };
        // Dropping an abandoned run ends its child.
        self.zygote.check_wanted()?;
        let pause = deadline.min(Instant::now() + WATCH);
        let waited_for = [(stream, events), (control, libc::POLLIN), (printed, libc::POLLIN)];
        let ready = wait(&waited_for, pause)?;
        if ready == [false; 3] && Instant::now() >= deadline {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the zygote does not answer").into());
        }
        if ready[1] {
            self.reported()?;
        }
        if ready[0] || self.report.is_some() {
            self.read()?;
        }
        if pending && ready[0] {
            self.write();
        }
        if let Some(printed) = &mut self.printed {
            printed.read(self.report.is_some())?;
            if printed.is_too_long() {
                self.violation = Some(PRINTED_TOO_MUCH);
            }
        }
        Ok(())
    }

    fn read(&mut self) -> Result<(), SandboxError> {
        let mut buffer = [0; 1 << 16];
        match self.stream.read(&mut buffer) {
            Ok(0) => self.at_end = true,
            Ok(length) => self.incoming.extend_from_slice(&buffer[..length]),
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock if self.report.is_some() => self.at_end = true,
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => {}
                io::ErrorKind::ConnectionReset => self.at_end = true,
                _ => return Err(error.into()),
            },
        }
        Ok(())
    }

    fn write(&mut self) {
        match self.stream.write(&self.outgoing[self.sent..]) {
            Ok(length) => self.sent += length,
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            // The child has ended; what it wrote before can still be read.
            Err(_) => self.sent = self.outgoing.len(),
        }
    }

    /// Ends the conversation: no more data may come, and the child must have ended by itself without failure.
    ///
    /// A violation is returned as text; it voids every answer given.
    pub(crate) fn finish(mut self) -> Result<(Report, Option<&'static str>), SandboxError> {
        self.end()
    }

    /// The same, with what the program printed.
    pub(crate) fn finish_printed(mut self) -> Result<(Report, Option<&'static str>, Vec<u8>), SandboxError> {
        let (report, violation) = self.end()?;
        let printed = self.printed.take().map(|printed| printed.bytes);
        Ok((report, violation, printed.unwrap_or_default()))
    }

    /// Like [`Run::finish`], without consuming the run.
    pub(crate) fn end(&mut self) -> Result<(Report, Option<&'static str>), SandboxError> {
        self.is_complete = true;
        while !self.is_at_end() && self.violation.is_none() {
            if !self.incoming.is_empty() {
                self.violation = Some("it sent more than its answers");
                break;
            }
            self.exchange()?;
        }
        if self.violation.is_none() && !self.incoming.is_empty() {
            self.violation = Some("it sent more than its answers, or half of one");
        }
        let report = self.stop()?;
        let violation = self.violation.take().or(match report.ending {
            Ending::Exited(0) => None,
            Ending::Exited(_) => Some("its process ended with a failure"),
            _ => None,
        });
        Ok((report, violation))
    }

    fn is_at_end(&self) -> bool {
        self.at_end && self.printed.as_ref().is_none_or(|printed| printed.is_at_end)
    }

    /// Makes sure that the child has ended.
    fn stop(&mut self) -> Result<Report, SandboxError> {
        if let Some(report) = self.report {
            return Ok(report);
        }
        if self.violation.is_some() {
            self.zygote.send(b"kill")?;
        }
        let deadline = self.since + self.limits.longest() + GRACE;
        if !super::zygote::wait_readable(&[self.zygote.control()], deadline)?[0] {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the zygote does not answer").into());
        }
        self.reported()
    }

    /// Reads the zygote's report, and counts what the child used.
    fn reported(&mut self) -> Result<Report, SandboxError> {
        let report = self.zygote.report()?;
        if self.is_budgeted {
            self.zygote.budget().spend(report.cpu, self.begun.elapsed(), report.ending);
        }
        self.report = Some(report);
        Ok(report)
    }
}

impl Drop for Run<'_> {
    /// An abandoned run must not leave its child or report to the next one.
    fn drop(&mut self) {
        if self.report.is_none() {
            self.violation = Some("abandoned");
            // A zygote that cannot be reached is replaced by its owner.
            let _ = self.stop();
        }
    }
}

type IsAbandoned = Arc<dyn Fn() -> bool + Send + Sync>;

/// Asked while a child runs, so that one that nobody waits for is ended. Shared by the zygotes of a slot.
#[derive(Clone, Default)]
pub(crate) struct Watch(Arc<Mutex<Option<IsAbandoned>>>);

impl Watch {
    /// Sets the question for the next task; `None` if it is never abandoned.
    pub(crate) fn set(&self, is_abandoned: Option<IsAbandoned>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = is_abandoned;
    }

    pub(super) fn is_abandoned(&self) -> bool {
        let question = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        question.as_ref().is_some_and(|is_abandoned| is_abandoned())
    }
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Watch")
    }
}
