//! A machine to run `lyceum` on: a folder to itself, programs that it may find, and what it says.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use lyceum_postgres::{TestCluster, TestDatabase};
use nix::errno::Errno;
use nix::pty::openpty;
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

pub(crate) struct Machine {
    folder: TempDir,
    environment: RefCell<BTreeMap<String, String>>,
}

impl Machine {
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().unwrap();
        // As root, Postgres runs as another user, who has to pass through.
        fs::set_permissions(folder.path(), Permissions::from_mode(0o711)).unwrap();
        Self { folder, environment: RefCell::default() }
    }

    /// The data folder, which is not made.
    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Sets a variable of the environment for what is started from here on.
    pub(crate) fn set(&self, name: &str, value: &str) {
        self.environment.borrow_mut().insert(name.to_owned(), value.to_owned());
    }

    /// A shell script.
    pub(crate) fn program(&self, name: &str, script: &str) -> String {
        let path = self.folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// A worker of some release that says what it logs, when it starts and when it is told to stop.
    pub(crate) fn worker(&self, version: &str) -> String {
        let script = "if [ \"$1\" = --version ]; then echo lyceum-worker VERSION; exit; fi\n\
                      trap 'echo worker $$ drained; exit 0' TERM\n\
                      echo log ${LYCEUM_LOG-unset}\n\
                      echo token ${LYCEUM_TOKEN-unset}\n\
                      echo database ${DATABASE_URL%%@*}\n\
                      echo worker $$ started\n\
                      while :; do sleep 0.05; done";
        self.program("lyceum-worker", &script.replace("VERSION", version))
    }

    /// A Postgres of some release, which can do no more than say so.
    pub(crate) fn postgres(&self, version: &str) -> String {
        self.program("bin/initdb", "exit 1");
        self.program("bin/postgres", &format!("echo 'postgres (PostgreSQL) {version}'"));
        self.folder.path().join("bin").to_str().unwrap().to_owned()
    }

    fn lyceum(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lyceum"));
        command.env_clear().env("PATH", "/usr/bin:/bin").envs(&*self.environment.borrow());
        command.arg("up").arg("--data").arg(self.data()).args(arguments).stdin(Stdio::null());
        command
    }

    /// `lyceum up`, ready, at a free port.
    pub(crate) fn up(&self, arguments: &[&str]) -> Up {
        let mut command = self.lyceum(arguments);
        let mut child = command.args(["--port", "0"]).stdout(Stdio::piped()).spawn().unwrap();
        let output = OwnedFd::from(child.stdout.take().unwrap());
        Up::ready(child, output, self.data())
    }

    /// The same in a terminal of its own.
    pub(crate) fn up_in_terminal(&self, arguments: &[&str]) -> Up {
        let terminal = openpty(None, None).unwrap();
        let mut command = self.lyceum(arguments);
        command.args(["--port", "0"]).stdout(terminal.slave.try_clone().unwrap()).stderr(terminal.slave);
        let child = command.spawn().unwrap();
        // The command holds the terminal's other end, without whose close its output has no end.
        drop(command);
        Up::ready(child, terminal.master, self.data())
    }

    /// `lyceum up`, refused with one line that holds all of `parts`; returns the line.
    pub(crate) fn refused(&self, arguments: &[&str], parts: &[&str]) -> String {
        let output = self.lyceum(arguments).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        let faults: Vec<_> = said.lines().filter(|line| !line.contains(" INFO ")).collect();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert_eq!(faults.len(), 1, "{said}");
        assert!(faults[0].starts_with("error: "), "{said}");
        for part in parts {
            assert!(said.contains(part), "no `{part}` in: {said}");
        }
        said
    }

    /// `lyceum up` with flags that are wrong; returns what it says.
    pub(crate) fn wrong(&self, arguments: &[&str]) -> String {
        let output = self.lyceum(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(!self.data().exists());
        String::from_utf8(output.stderr).unwrap()
    }
}

/// A running `lyceum up`, told to stop at the end.
pub(crate) struct Up {
    child: Child,
    output: BufReader<File>,
    /// The lines that it has said.
    pub(crate) said: Vec<String>,
    /// How many of them `worker_started` has gone through.
    heard: usize,
    data: PathBuf,
}

impl Up {
    /// Waits until it says that it is ready.
    fn ready(child: Child, output: OwnedFd, data: PathBuf) -> Self {
        let mut up = Self { child, output: BufReader::new(output.into()), said: Vec::new(), heard: 0, data };
        while !up.read_line().starts_with("Lyceum is ready at ") {}
        up
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn address(&self) -> String {
        let ready = self.said.iter().find_map(|line| line.strip_prefix("Lyceum is ready at "));
        ready.unwrap().to_owned()
    }

    /// The answer to a request, as it came.
    pub(crate) fn get(&mut self, path: &str) -> String {
        self.ask(path, "").unwrap()
    }

    /// The same; empty if the server dies over it.
    pub(crate) fn get_or_reset(&mut self, path: &str) -> String {
        self.ask(path, "").unwrap_or_default()
    }

    /// The same with more headers, each with its end; an error if the server dies over it.
    fn ask(&self, path: &str, headers: &str) -> std::io::Result<String> {
        let address = self.address();
        let host = address.strip_prefix("http://").unwrap();
        let mut stream = TcpStream::connect(host)?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }

    /// The crashes that `/` shows; none while it cannot answer.
    pub(crate) fn crashes(&self) -> Vec<Value> {
        let token = fs::read_to_string(self.data.join("admin-token")).unwrap();
        let headers = format!("Authorization: Bearer {}\r\nAccept: application/json\r\n", token.trim());
        let answer = self.ask("/", &headers).unwrap_or_default();
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        let page: Value = serde_json::from_str(body).unwrap_or_default();
        page["crashes"].as_array().cloned().unwrap_or_default()
    }

    /// Asks until `/` shows a crash of `program`.
    pub(crate) fn crash_of(&self, program: &str) -> Value {
        loop {
            if let Some(crash) = self.crashes().into_iter().find(|crash| crash["program"] == program) {
                return crash;
            }
        }
    }

    /// The process id of its server.
    pub(crate) fn server(&self) -> u32 {
        let is_ours = |pid: &u32| {
            let read = |file| fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
            let parent = format!("PPid:\t{}", self.pid());
            read("status").lines().any(|line| line == parent) && read("cmdline").split('\0').nth(1) == Some("server")
        };
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let mut pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.find(is_ours).unwrap()
    }

    /// Waits for the next start of the worker and returns its process id.
    pub(crate) fn worker_started(&mut self) -> u32 {
        loop {
            while let Some(line) = self.said.get(self.heard) {
                self.heard += 1;
                if let Some(pid) = line.strip_prefix("worker ").and_then(|rest| rest.strip_suffix(" started")) {
                    return pid.parse().unwrap();
                }
            }
            self.read_line();
        }
    }

    /// Stops it, and returns what it says until its end.
    pub(crate) fn stop(&mut self, signal: Signal) -> String {
        kill(self.pid(), signal);
        let said = self.rest();
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}: {said}");
        said
    }

    /// Everything it prints until the last writer is gone.
    pub(crate) fn rest(&mut self) -> String {
        let mut said = String::new();
        while self.read(&mut said) != 0 {}
        said
    }

    fn read_line(&mut self) -> &str {
        let mut line = String::new();
        assert_ne!(self.read(&mut line), 0, "it ended after saying {:?}", self.said);
        self.said.push(line.trim().to_owned());
        &self.said[self.said.len() - 1]
    }

    /// Appends the next line to `said`, and returns its bytes; 0 at the end.
    fn read(&mut self, said: &mut String) -> usize {
        match self.output.read_line(said) {
            // A terminal whose other end is closed.
            Err(error) if error.raw_os_error() == Some(Errno::EIO as i32) => 0,
            read => read.unwrap(),
        }
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            kill(self.pid(), Signal::SIGTERM);
            let _ = self.child.wait();
        }
    }
}

/// Sends a signal.
pub(crate) fn kill(pid: u32, signal: Signal) {
    nix::sys::signal::kill(Pid::from_raw(pid.cast_signed()), signal).unwrap();
}

/// A database of a server that is not private.
pub(crate) fn database() -> TestDatabase {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async { TestCluster::shared().await.unwrap().database().await.unwrap() })
}
