//! Tests against a real Postgres: first start, crash, and every folder that must be refused.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use lyceum_postgres::{Binaries, Error, PrivatePostgres};
use sqlx::{Connection as _, PgConnection};
use tempfile::TempDir;

/// A data folder that the unprivileged account can pass through, like the one `lyceum up` makes.
fn data_folder() -> TempDir {
    let folder = TempDir::new().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o711)).unwrap();
    folder
}

fn cluster(folder: &TempDir) -> PathBuf {
    folder.path().join("postgres/cluster")
}

async fn connect(url: &str) -> PgConnection {
    PgConnection::connect(url).await.unwrap()
}

async fn write(url: &str, value: i32) {
    let mut connection = connect(url).await;
    sqlx::query("CREATE TABLE IF NOT EXISTS kept (value integer)").execute(&mut connection).await.unwrap();
    sqlx::query("INSERT INTO kept VALUES ($1)").bind(value).execute(&mut connection).await.unwrap();
}

async fn read(url: &str) -> Vec<i32> {
    sqlx::query_scalar("SELECT value FROM kept ORDER BY value").fetch_all(&mut connect(url).await).await.unwrap()
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn what_is_written_is_there_after_a_restart() {
    let folder = data_folder();
    let postgres = PrivatePostgres::start(folder.path()).await.unwrap();
    write(postgres.url(), 1).await;
    postgres.stop().await;

    let postgres = PrivatePostgres::start(folder.path()).await.unwrap();
    assert_eq!(read(postgres.url()).await, [1]);
    let mut connection = connect(postgres.url()).await;
    let listening: String = sqlx::query_scalar("SHOW listen_addresses").fetch_one(&mut connection).await.unwrap();
    assert_eq!(listening, "", "no network");
    assert_eq!(mode(&folder.path().join("postgres/socket")), 0o700);
}

#[tokio::test]
async fn another_process_finds_it_while_it_runs() {
    let folder = data_folder();
    assert_eq!(PrivatePostgres::running(folder.path()), None);
    let postgres = PrivatePostgres::start(folder.path()).await.unwrap();
    assert_eq!(PrivatePostgres::running(folder.path()).as_deref(), Some(postgres.url()));
    postgres.stop().await;
    assert_eq!(PrivatePostgres::running(folder.path()), None);
}

#[tokio::test]
async fn the_queues_extensions_are_installed() {
    let folder = data_folder();
    let postgres = PrivatePostgres::start(folder.path()).await.unwrap();
    let mut connection = connect(postgres.url()).await;
    sqlx::raw_sql("CREATE EXTENSION hstore; CREATE EXTENSION pgcrypto").execute(&mut connection).await.unwrap();
}

#[tokio::test]
async fn a_killed_postmaster_comes_back_at_the_same_address() {
    let folder = data_folder();
    let postgres = PrivatePostgres::start(folder.path()).await.unwrap();
    write(postgres.url(), 1).await;
    let mut held = connect(postgres.url()).await;
    for round in 2..4 {
        let killed = postgres.pid().unwrap();
        kill_9(killed);
        loop {
            if let Some(pid) = postgres.pid().filter(|pid| *pid != killed)
                && let Ok(connection) = PgConnection::connect(postgres.url()).await
            {
                assert_ne!(pid, killed);
                held = connection;
                break;
            }
            tokio::task::yield_now().await;
        }
        write(postgres.url(), round).await;
    }
    held.ping().await.unwrap();
    assert_eq!(read(postgres.url()).await, [1, 2, 3]);
}

#[tokio::test]
async fn a_postgres_that_outlived_lyceum_is_replaced() {
    let folder = data_folder();
    let postgres = PrivatePostgres::start(folder.path()).await.unwrap();
    write(postgres.url(), 1).await;
    postgres.stop().await;
    let orphan = start_by_hand(&folder);

    let postgres = PrivatePostgres::start(folder.path()).await.unwrap();
    assert_ne!(postgres.pid(), Some(orphan.0.id()));
    assert_eq!(read(postgres.url()).await, [1]);
}

#[tokio::test]
async fn a_process_id_that_is_now_somebody_elses_is_left_alone() {
    let folder = data_folder();
    PrivatePostgres::start(folder.path()).await.unwrap().stop().await;
    let mut bystander = Command::new("sleep").arg("600").spawn().unwrap();
    fs::write(cluster(&folder).join("postmaster.pid"), format!("{}\n", bystander.id())).unwrap();

    let started = PrivatePostgres::start(folder.path()).await;
    let survived = bystander.try_wait().unwrap().is_none();
    bystander.kill().unwrap();
    bystander.wait().unwrap();
    assert!(survived);
    started.unwrap();
}

#[tokio::test]
async fn a_cluster_cut_short_is_made_anew() {
    let folder = data_folder();
    let partial = folder.path().join("postgres/cluster.partial");
    fs::create_dir_all(&partial).unwrap();
    fs::write(partial.join("PG_VERSION"), "15\n").unwrap();
    let postgres = PrivatePostgres::start(folder.path()).await.unwrap();
    write(postgres.url(), 1).await;
    assert!(!partial.exists());
}

#[tokio::test]
async fn a_mode_that_postgres_refuses_is_restored() {
    let folder = data_folder();
    PrivatePostgres::start(folder.path()).await.unwrap().stop().await;
    fs::set_permissions(cluster(&folder), Permissions::from_mode(0o755)).unwrap();
    PrivatePostgres::start(folder.path()).await.unwrap();
    assert_eq!(mode(&cluster(&folder)), 0o700);
}

#[tokio::test]
async fn a_folder_too_deep_for_a_socket_has_it_elsewhere() {
    let folder = data_folder();
    let deep = folder.path().join("a-long-name/".repeat(10));
    fs::create_dir_all(&deep).unwrap();
    let postgres = PrivatePostgres::start(&deep).await.unwrap();
    write(postgres.url(), 1).await;
}

#[tokio::test]
async fn two_lyceums_do_not_share_a_cluster() {
    let folder = data_folder();
    let _first = PrivatePostgres::start(folder.path()).await.unwrap();
    let second = PrivatePostgres::start(folder.path()).await;
    assert!(matches!(second, Err(Error::InUse { .. })), "{second:?}");
}

#[tokio::test]
async fn a_cluster_of_another_version_is_refused_and_untouched() {
    let folder = data_folder();
    fs::create_dir_all(cluster(&folder)).unwrap();
    fs::write(cluster(&folder).join("PG_VERSION"), "9.6\n").unwrap();
    let error = PrivatePostgres::start(folder.path()).await.unwrap_err();
    assert!(matches!(error, Error::OtherMajor { .. }), "{error}");
    assert!(error.to_string().contains("install `postgresql-9.6`"), "{error}");
    assert_eq!(fs::read_dir(cluster(&folder)).unwrap().count(), 1);
}

#[tokio::test]
async fn a_folder_of_something_else_is_refused_and_untouched() {
    let folder = data_folder();
    fs::create_dir_all(cluster(&folder)).unwrap();
    fs::write(cluster(&folder).join("thesis.tex"), "").unwrap();
    let error = PrivatePostgres::start(folder.path()).await.unwrap_err();
    assert!(matches!(error, Error::NotACluster { .. }), "{error}");
    assert_eq!(fs::read_dir(cluster(&folder)).unwrap().count(), 1);
}

#[tokio::test]
async fn root_is_told_which_folder_shuts_postgres_out() {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("skipped: not root, Postgres runs as this user");
        return;
    }
    let closed = TempDir::new().unwrap();
    fs::set_permissions(closed.path(), Permissions::from_mode(0o700)).unwrap();
    let inside = closed.path().join("data");
    fs::create_dir(&inside).unwrap();
    let error = PrivatePostgres::start(&inside).await.unwrap_err();
    let named = matches!(&error, Error::Unreachable { blocked, .. } if blocked == closed.path());
    assert!(named, "{error}");
    assert_eq!(fs::read_dir(&inside).unwrap().count(), 0, "nothing half-made");
}

#[tokio::test]
async fn root_leaves_the_folder_of_a_user_to_the_user() {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("skipped: only root can give a folder away");
        return;
    }
    let folder = data_folder();
    let home = folder.path().join("postgres");
    fs::create_dir(&home).unwrap();
    std::os::unix::fs::chown(&home, Some(65534), None).unwrap();
    let error = PrivatePostgres::start(folder.path()).await.unwrap_err();
    assert!(matches!(error, Error::OtherOwner { .. }), "{error}");
}

fn kill_9(pid: u32) {
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid.cast_signed()), nix::sys::signal::Signal::SIGKILL).unwrap();
}

/// A child that does not outlive the test.
struct Orphan(std::process::Child);

impl Drop for Orphan {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts Postgres on the cluster of `folder`, outside of Lyceum.
fn start_by_hand(folder: &TempDir) -> Orphan {
    use std::os::unix::fs::MetadataExt as _;
    use std::os::unix::process::CommandExt as _;
    let owner = cluster(folder).metadata().unwrap();
    let socket = folder.path().join("postgres/socket");
    let mut command = Command::new(Binaries::newest().unwrap().folder().join("postgres"));
    command.arg("-D").arg(cluster(folder)).args(["-c", "listen_addresses="]).current_dir("/");
    command.arg("-c").arg(format!("unix_socket_directories={}", socket.display()));
    if nix::unistd::geteuid().is_root() {
        command.uid(owner.uid()).gid(owner.gid());
    }
    let orphan = Orphan(command.stderr(std::process::Stdio::null()).spawn().unwrap());
    let pid_file = cluster(folder).join("postmaster.pid");
    while !fs::read_to_string(&pid_file).is_ok_and(|text| text.contains("ready")) {
        std::thread::yield_now();
    }
    orphan
}
