//! Opens a cluster on disk, creating it if necessary.

use std::fs::{self, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::account::Account;
use crate::binaries::Binaries;
use crate::{Error, Result};

/// The database user, superuser of its private cluster.
pub(crate) const USER: &str = "lyceum";
/// The database that holds everything.
pub(crate) const DATABASE: &str = "lyceum";

/// The durability of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// Survives a power failure.
    Durable,
    /// Tests: nothing is flushed.
    Volatile,
}

/// A complete cluster that is not known to be in use.
#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) home: PathBuf,
    pub(crate) binaries: Binaries,
    pub(crate) account: Account,
    durability: Durability,
}

impl Cluster {
    /// Opens the cluster in `home`, creating it first if there is none.
    ///
    /// A cluster is created under a temporary name and renamed when complete, so an interrupted creation starts over.
    pub(crate) fn open(home: &Path, account: Account, durability: Durability) -> Result<Self> {
        account.check_can_enter(home)?;
        let data = data_folder(home);
        let binaries = match fs::read_to_string(data.join("PG_VERSION")) {
            Ok(major) => Binaries::matching(major.trim(), &data)?,
            Err(_) => Binaries::newest()?,
        };
        let cluster = Self { home: home.to_owned(), binaries, account, durability };
        if !data.join("PG_VERSION").is_file() {
            if fs::read_dir(&data).is_ok_and(|mut entries| entries.next().is_some()) {
                return Err(Error::NotACluster { path: data });
            }
            cluster.create()?;
        }
        fs::set_permissions(&data, Permissions::from_mode(0o700)).map_err(Error::io("set the mode of", &data))?;
        Ok(cluster)
    }

    /// Postgres' own data folder.
    pub(crate) fn data(&self) -> PathBuf {
        data_folder(&self.home)
    }

    fn create(&self) -> Result<()> {
        let partial = self.home.join("cluster.partial");
        if partial.exists() {
            fs::remove_dir_all(&partial).map_err(Error::io("remove the half-made", &partial))?;
        }
        self.account.own_folder(&partial)?;
        tracing::info!(
            postgres.version = self.binaries.version(),
            "making a Postgres cluster in {}",
            self.home.display()
        );
        self.initdb(&partial)?;
        self.create_database(&partial)?;
        let data = self.data();
        let _ = fs::remove_dir(&data);
        fs::rename(&partial, &data).map_err(Error::io("put the new cluster at", &data))?;
        let home = fs::File::open(&self.home).map_err(Error::io("open", &self.home))?;
        home.sync_all().map_err(Error::io("flush", &self.home))
    }

    fn initdb(&self, folder: &Path) -> Result<()> {
        let mut command = self.account.command(&self.binaries.program("initdb"));
        command.arg("-D").arg(folder).args(["-U", USER, "-E", "UTF8", "--locale=C.UTF-8"]);
        command.args(["--auth-local=trust", "--auth-host=reject", "--no-instructions"]);
        if self.durability == Durability::Volatile {
            command.arg("--no-sync");
        }
        let output = command.output().map_err(Error::io("run", self.binaries.program("initdb")))?;
        if !output.status.success() {
            return Err(failed("initdb", output.status, &output.stderr));
        }
        let settings = folder.join("postgresql.conf");
        let written = fs::OpenOptions::new().append(true).open(&settings).and_then(|mut file| {
            writeln!(
                file,
                "\n# Lyceum's defaults; yours may follow.\nmax_connections = 200\nlog_min_duration_statement = 1s"
            )
        });
        written.map_err(Error::io("write", settings))
    }

    /// Uses single-user mode, so that a cluster is created together with its database.
    fn create_database(&self, folder: &Path) -> Result<()> {
        let program = self.binaries.program("postgres");
        let mut command = self.account.command(&program);
        command.args(["--single", "-D"]).arg(folder).arg("postgres");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(Error::io("run", &program))?;
        let mut input = child.stdin.take().ok_or(Error::Abandoned)?;
        let sent = writeln!(input, "CREATE DATABASE {DATABASE};");
        drop(input);
        let output = child.wait_with_output().map_err(Error::io("wait for", &program))?;
        let complained = String::from_utf8_lossy(&output.stderr).contains("ERROR:");
        if sent.is_err() || complained || !output.status.success() {
            return Err(failed("postgres --single", output.status, &output.stderr));
        }
        Ok(())
    }

    /// Settings on the command line, which take precedence over `postgresql.conf`: no edit of it can open the cluster
    /// to others.
    pub(crate) fn server_arguments(&self, socket: &Path) -> Vec<String> {
        let mut settings = vec![
            "listen_addresses=".to_owned(),
            "port=5432".to_owned(),
            format!("unix_socket_directories={}", quoted(socket)),
            "unix_socket_permissions=0700".to_owned(),
        ];
        match self.durability {
            Durability::Durable => settings.extend(
                ["logging_collector=on", "log_directory=log", "log_filename=postgresql-%a.log"]
                    .into_iter()
                    .chain(["log_truncate_on_rotation=on", "log_rotation_age=1d"])
                    .map(str::to_owned),
            ),
            Durability::Volatile => {
                settings.extend(["fsync=off", "synchronous_commit=off", "full_page_writes=off"].map(str::to_owned));
                // As many tests run at once as there are cores, with several processes each.
                settings.push("max_connections=1000".to_owned());
            }
        }
        settings.into_iter().flat_map(|setting| ["-c".to_owned(), setting]).collect()
    }
}

pub(crate) fn data_folder(home: &Path) -> PathBuf {
    home.join("cluster")
}

/// Lists of folders are comma separated, so a folder with a comma in its name needs quotes.
fn quoted(folder: &Path) -> String {
    format!("\"{}\"", folder.to_string_lossy().replace('"', "\"\""))
}

pub(crate) fn failed(program: &'static str, status: std::process::ExitStatus, said: &[u8]) -> Error {
    Error::Failed { program, status: status.to_string(), output: last_lines(&String::from_utf8_lossy(said)) }
}

/// The end of an output, on one line.
pub(crate) fn last_lines(said: &str) -> String {
    let lines: Vec<_> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    if lines.is_empty() { "it said nothing".to_owned() } else { lines[lines.len().saturating_sub(4)..].join("; ") }
}
