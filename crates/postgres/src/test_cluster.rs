//! A Postgres for tests.
//!
//! The first test process starts it and the others join. Ten seconds after the last one has ended, it stops and its
//! folder is deleted. So nextest's process per test does not pay for a cluster each time.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use nix::sys::statvfs::statvfs;
use nix::unistd::geteuid;
use tokio::sync::OnceCell;
use uuid::Uuid;

use crate::account::Account;
use crate::cluster::{Cluster, Durability, failed, last_lines};
use crate::postmaster::{PidFile, stop_orphan};
use crate::process::own_session;
use crate::{Error, Result, socket};

const POLL: Duration = Duration::from_millis(5);
/// What a cluster may take: databases of some ten megabytes, and a gigabyte of write-ahead log.
const ROOM: u64 = 4 << 30;

/// Runs Postgres and stops it when nobody holds the lock any more. Arguments: lock, marker, then Postgres and its
/// arguments.
const KEEPER: &str = r#"
exec 9<"$1"; home=$2; shift 2
"$@" 9<&- & postgres=$!
while kill -0 $postgres 2>/dev/null && sleep 10; do
  if flock --nonblock --exclusive 9; then kill -INT $postgres; wait $postgres; rm -rf "$home/cluster" "$home/socket"; exit; fi
done
"#;

/// The Postgres shared by all test processes of this user.
#[derive(Debug)]
pub struct TestCluster {
    socket: PathBuf,
    psql: PathBuf,
    _in_use: File,
}

impl TestCluster {
    /// The cluster, which is started if it is not running.
    ///
    /// # Errors
    /// Those of [`crate::PrivatePostgres::start`].
    pub async fn shared() -> Result<&'static Self> {
        static SHARED: OnceCell<TestCluster> = OnceCell::const_new();
        SHARED.get_or_try_init(|| blocking(Self::join)).await
    }

    /// A new empty database for a test; dropping the value deletes it.
    ///
    /// # Errors
    /// [`Error::Failed`] with the output of `psql`.
    pub async fn database(&'static self) -> Result<TestDatabase> {
        self.create("").await
    }

    /// A new database for a test that begins as `prepare` left another one; dropping the value deletes it.
    ///
    /// The other one is prepared once for each build of a test program, whose tests then pay only for a copy.
    ///
    /// # Errors
    /// That of `prepare`, or [`Error::Failed`] with the output of `psql`.
    pub async fn database_prepared<E: From<Error>>(
        &'static self,
        prepare: impl AsyncFnOnce(&str) -> std::result::Result<(), E>,
    ) -> std::result::Result<TestDatabase, E> {
        let template = template_of_this_program()?;
        if let Ok(copy) = self.copy_of(&template).await {
            return Ok(copy);
        }
        let lock = home().join(format!("{template}.lock"));
        let preparing = blocking(move || {
            let file = open_lock(&lock)?;
            file.lock().map_err(Error::io("lock", &lock))?;
            Ok(file)
        });
        let _preparing = preparing.await?;
        if let Ok(copy) = self.copy_of(&template).await {
            return Ok(copy);
        }
        let partial = self.database().await?;
        prepare(&partial.url).await?;
        let (name, to) = (partial.name.clone(), template.clone());
        blocking(move || self.sql(&format!("ALTER DATABASE {name} RENAME TO {to}"))).await?;
        Ok(self.copy_of(&template).await?)
    }

    async fn copy_of(&'static self, template: &str) -> Result<TestDatabase> {
        self.create(&format!("TEMPLATE {template}")).await
    }

    async fn create(&'static self, options: &str) -> Result<TestDatabase> {
        let name = format!("test_{}", Uuid::new_v4().simple());
        let create = format!("CREATE DATABASE {name} {options}");
        blocking(move || self.sql(&create)).await?;
        Ok(TestDatabase { url: socket::url(&self.socket, &name), name, cluster: self })
    }

    fn join() -> Result<Self> {
        let home = home();
        let account = Account::for_home(&home)?;
        account.passage(&home)?;
        let in_use = open_lock(&home.join("in-use"))?;
        in_use.lock_shared().map_err(Error::io("lock", &home))?;
        let starting = open_lock(&home.join("starting"))?;
        starting.lock().map_err(Error::io("lock", &home))?;

        let cluster = Cluster::open(&home, account, Durability::Volatile)?;
        let socket = home.join("socket");
        if !is_ready(&cluster.data()) {
            stop_orphan(&cluster.data())?;
            cluster.account.own_folder(&socket)?;
            start(&cluster, &socket)?;
        }
        Ok(Self { socket, psql: cluster.binaries.program("psql"), _in_use: in_use })
    }

    fn sql(&self, statement: &str) -> Result<()> {
        let mut command = Command::new(&self.psql);
        command.args(["--no-psqlrc", "--quiet", "--command", statement]).arg(socket::url(&self.socket, "postgres"));
        let output = command.output().map_err(Error::io("run", &self.psql))?;
        if output.status.success() { Ok(()) } else { Err(failed("psql", output.status, &output.stderr)) }
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(|_| Error::Abandoned)?
}

/// The name of the prepared database: another one for each build, since what is prepared may have changed with it.
fn template_of_this_program() -> Result<String> {
    let program = std::env::current_exe().map_err(Error::io("find", "this program"))?;
    let built = fs::metadata(&program).and_then(|found| found.modified());
    let mut hasher = DefaultHasher::new();
    (&program, built.map_err(Error::io("read", &program))?).hash(&mut hasher);
    Ok(format!("template_{:016x}", hasher.finish()))
}

/// In memory if there is room: a disk's file system takes most of the time of creating and dropping databases.
fn home() -> PathBuf {
    let name = format!("lyceum-test-postgres-{}", geteuid());
    let in_memory = Path::new("/dev/shm");
    let has_room = statvfs(in_memory).is_ok_and(|found| found.blocks_available() * found.fragment_size() >= ROOM);
    let home = if has_room { in_memory.join(&name) } else { std::env::temp_dir().join(&name) };
    if socket::fits(&home.join("socket")) { home } else { Path::new("/tmp").join(name) }
}

fn open_lock(path: &Path) -> Result<File> {
    let file = fs::OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path);
    file.map_err(Error::io("open", path))
}

/// Starts Postgres under a shell that outlives this process.
fn start(cluster: &Cluster, socket: &Path) -> Result<()> {
    let log = cluster.home.join("start.log");
    let said = File::create(&log).map_err(Error::io("write", &log))?;
    let heard = said.try_clone().map_err(Error::io("write", &log))?;
    let mut keeper = cluster.account.command(Path::new("sh"));
    keeper.args(["-c", KEEPER, "lyceum-test-postgres"]).arg(cluster.home.join("in-use")).arg(&cluster.home);
    keeper.arg(cluster.binaries.program("postgres")).arg("-D").arg(cluster.data());
    keeper.args(cluster.server_arguments(socket)).stdout(said).stderr(heard);
    own_session(&mut keeper);
    let mut keeper = keeper.spawn().map_err(Error::io("run", "sh"))?;
    while !is_ready(&cluster.data()) {
        if let Some(status) = keeper.try_wait().map_err(Error::io("wait for", "sh"))? {
            let said = fs::read_to_string(&log).unwrap_or_default();
            return Err(Error::Failed { program: "postgres", status: status.to_string(), output: last_lines(&said) });
        }
        sleep(POLL);
    }
    Ok(())
}

fn is_ready(data: &Path) -> bool {
    PidFile::read(data).is_some_and(|file| file.ready && file.is_alive(data))
}

#[derive(Debug)]
pub struct TestDatabase {
    url: String,
    name: String,
    cluster: &'static TestCluster,
}

impl TestDatabase {
    /// Its address.
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        let drop = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name);
        // On a busy machine its connections may take longer to end than the five seconds that Postgres waits for them.
        let _ = (0..3).any(|_| self.cluster.sql(&drop).is_ok());
    }
}
