//! The end of what a process writes to standard error, which often says why it died.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::ChildStderr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anstream::adapter::strip_str;

/// Lines kept, and bytes of each.
const LINES: usize = 12;
const WIDTH: usize = 2_000;
/// How long the rest of what a dead process wrote may take. Its own children may hold the other end for longer.
const REST: Duration = Duration::from_secs(2);

/// What a process wrote last. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct LastWords {
    shared: Arc<(Mutex<Heard>, Condvar)>,
}

#[derive(Debug, Default)]
struct Heard {
    lines: VecDeque<String>,
    /// Threads that still read.
    readers: usize,
}

impl LastWords {
    /// Passes everything from `stderr` on to this process's standard error and keeps its end.
    ///
    /// # Errors
    /// The thread that reads cannot be created.
    pub fn follow(&self, stderr: ChildStderr) -> std::io::Result<()> {
        self.lock().lines.clear();
        self.lock().readers += 1;
        let words = self.clone();
        let reading = std::thread::Builder::new().name("last words".to_owned()).spawn(move || {
            words.read(stderr);
            words.lock().readers -= 1;
            words.shared.1.notify_all();
        });
        if reading.is_err() {
            self.lock().readers -= 1;
        }
        reading.map(drop)
    }

    /// The last lines, once the process has ended.
    pub fn take(&self) -> String {
        let waited = self.shared.1.wait_timeout_while(self.lock(), REST, |heard| heard.readers > 0);
        let mut heard = waited.unwrap_or_else(PoisonError::into_inner).0;
        let lines: Vec<String> = heard.lines.drain(..).collect();
        lines.join("\n")
    }

    fn read(&self, stderr: ChildStderr) {
        let mut stderr = BufReader::new(stderr);
        let mut line = Vec::new();
        // A line without an end is passed on in parts.
        while (&mut stderr).take(WIDTH as u64).read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            // The process must not stop because nobody reads our own output any more.
            let _ = std::io::stderr().write_all(&line);
            // Without the colours of a terminal.
            let text = strip_str(&String::from_utf8_lossy(&line)).to_string().trim_end().to_owned();
            line.clear();
            let mut heard = self.lock();
            if heard.lines.len() == LINES {
                heard.lines.pop_front();
            }
            heard.lines.push_back(text);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Heard> {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    fn said(script: &str) -> String {
        let words = LastWords::default();
        let mut command = Command::new("sh");
        let mut child = command.args(["-c", script]).stderr(Stdio::piped()).spawn().unwrap();
        words.follow(child.stderr.take().unwrap()).unwrap();
        child.wait().unwrap();
        words.take()
    }

    #[test]
    fn the_last_lines_are_kept_whole() {
        assert_eq!(said("seq 1 100 >&2"), (89..=100).map(|n| n.to_string()).collect::<Vec<_>>().join("\n"));
        assert_eq!(said("printf 'no end' >&2"), "no end");
        assert_eq!(said("printf '\\033[31merror\\033[0m: no' >&2"), "error: no");
        assert_eq!(said(":"), "");
    }

    #[test]
    fn a_line_without_an_end_takes_no_more_than_its_room() {
        let said = said("head -c 1000000 /dev/zero | tr '\\0' x >&2");
        assert!(said.len() <= LINES * (WIDTH + 1), "{}", said.len());
    }

    #[test]
    fn what_the_process_left_behind_is_not_waited_for() {
        assert_eq!(said("echo dying >&2; sleep 60 >/dev/null & exit 1"), "dying");
    }
}
