//! Plays with one build: `lyceum up` in a temporary folder, with a private Postgres and one worker.

use anyhow::{Context as _, Result, bail, ensure};
use lyceum_postgres::PrivatePostgres;
use lyceum_postgres::process::{own_session, stop_with_parent};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;
use std::env;
use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;
use tokio::signal;
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use crate::plays::GOLDEN;
use crate::projection::project;
use crate::recording::Recording;

/// Interval between two polls of the runs.
const LOOK: Duration = Duration::from_millis(500);
/// Time limit for `lyceum up` to stop.
const STOP: Duration = Duration::from_secs(60);
/// Lines of its log to show when it fails.
const LINES: usize = 50;

/// Plays the golden runs with the programs in `binaries`, with `overrides` on top of the runs' own. Progress lines
/// start with `name`.
///
/// # Errors
/// If the build does not start, a run does not complete within `limit`, or its rows cannot be read.
pub(crate) async fn record(name: &str, binaries: &Path, overrides: &[String], limit: Duration) -> Result<Recording> {
    let mut build = Build::start(binaries)?;
    let played = tokio::select! {
        played = build.play(name, overrides, Instant::now() + limit) => played,
        _ = signal::ctrl_c() => Err(anyhow::anyhow!("interrupted")),
    };
    played.map_err(|error| error.context(build.last_lines()))
}

struct Build {
    program: PathBuf,
    up: Child,
    folder: TempDir,
}

impl Build {
    fn start(binaries: &Path) -> Result<Self> {
        let program = std::path::absolute(binaries)?.join("lyceum");
        ensure!(program.is_file(), "there is no {}; build it, or name the folder that has it", program.display());
        let folder = tempfile::Builder::new().prefix("lyceum-golden-").tempdir()?;
        // Under root, Postgres runs as another user, who must be able to enter this folder.
        fs::set_permissions(folder.path(), Permissions::from_mode(0o711))?;
        let log = File::create(folder.path().join("log"))?;
        let mut command = command(&program, folder.path());
        command.args(["up", "--port", "0"]).stdout(log.try_clone()?).stderr(log);
        own_session(&mut command);
        stop_with_parent(&mut command, Signal::SIGTERM);
        let up = command.spawn().with_context(|| format!("cannot start {}", program.display()))?;
        Ok(Self { program, up, folder })
    }

    async fn play(&mut self, name: &str, overrides: &[String], give_up: Instant) -> Result<Recording> {
        let data = data(self.folder.path());
        while !data.join("address").exists() {
            self.look(give_up).await?;
        }
        let mut runs = Vec::new();
        for golden in &GOLDEN {
            let own = golden.overrides.iter().copied();
            let run = self.create(golden.preset, own.chain(overrides.iter().map(String::as_str)))?;
            runs.push((run, golden.preset));
        }
        let url = PrivatePostgres::running(&data).context("its Postgres does not run")?;
        let pool = PgPoolOptions::new().max_connections(1).connect(&url).await?;
        let mut told = String::new();
        loop {
            let (progress, is_over) = progress(&pool, &runs).await?;
            if progress != told {
                eprintln!("{name}: {progress}");
                told = progress;
            }
            if is_over {
                break;
            }
            self.look(give_up).await?;
        }
        let mut recording = Recording::default();
        for (run, preset) in runs {
            project(&pool, run, preset, &mut recording).await?;
        }
        pool.close().await;
        Ok(recording)
    }

    fn create<'a>(&self, preset: &str, overrides: impl Iterator<Item = &'a str>) -> Result<Uuid> {
        let mut command = command(&self.program, self.folder.path());
        command.args(["run", "create", "--preset", preset]);
        for value in overrides {
            command.args(["--set", value]);
        }
        let output = command.output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "cannot create a run from `{preset}`: {}", said.trim());
        Ok(String::from_utf8(output.stdout)?.trim().parse()?)
    }

    /// Waits for one interval; fails if the build has ended or the time is up.
    async fn look(&mut self, give_up: Instant) -> Result<()> {
        if let Some(status) = self.up.try_wait()? {
            bail!("`lyceum up` ended with {status}");
        }
        ensure!(Instant::now() < give_up, "the runs took longer than --limit allows");
        sleep(LOOK).await;
        Ok(())
    }

    fn last_lines(&self) -> String {
        let log = fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        let last = lines[lines.len().saturating_sub(LINES)..].join("\n");
        format!("{last}\n{} did not play the golden runs", self.program.display())
    }
}

impl Drop for Build {
    fn drop(&mut self) {
        let pid = Pid::from_raw(self.up.id().cast_signed());
        // It may have ended already.
        let _ = kill(pid, Signal::SIGTERM);
        let give_up = std::time::Instant::now() + STOP;
        while matches!(self.up.try_wait(), Ok(None)) {
            if std::time::Instant::now() > give_up {
                let _ = self.up.kill();
                let _ = self.up.wait();
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

fn data(folder: &Path) -> PathBuf {
    folder.join("lyceum")
}

/// The program on the data folder, without settings for another one from the environment.
fn command(program: &Path, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.arg("--data").arg(data(folder)).stdin(Stdio::null());
    let is_setting = |name: &OsStr| name == "DATABASE_URL" || name.to_string_lossy().starts_with("LYCEUM_");
    for (setting, _) in env::vars_os().filter(|(name, _)| is_setting(name)) {
        command.env_remove(setting);
    }
    command
}

/// The progress of the runs, and whether all have completed.
async fn progress(pool: &PgPool, runs: &[(Uuid, &str)]) -> Result<(String, bool)> {
    let mut told = Vec::new();
    let mut is_over = true;
    for (run, preset) in runs {
        let (state, step, steps, error): (String, i32, i32, Option<String>) =
            sqlx::query_as("SELECT state, step, steps, error FROM executions WHERE id = $1")
                .bind(run)
                .fetch_one(pool)
                .await?;
        match state.as_str() {
            "completed" => {}
            "running" => is_over = false,
            _ => bail!("the run from `{preset}` is {state}: {}", error.unwrap_or_default()),
        }
        told.push(format!("{preset} {step}/{steps}"));
    }
    Ok((told.join(", "), is_over))
}
