//! `lyceum environment`.

use anyhow::{Context as _, bail, ensure};
use clap::{Args, Subcommand, ValueEnum};
use lyceum_core::verify::{MAX_REWARD_PARTS, check_reward, secret_in};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{ExitCode, ExitStatus};
use std::time::Duration;
use tokio::process::Command;

use crate::command::output::{line, remark};
use crate::supervise::Stop;

/// What the user's Python runs.
const EXPORT: &str = concat!(include_str!("environment/source.py"), include_str!("environment/export.py"));
/// What the reward that it writes begins with.
const PRELUDE: &str = include_str!("environment/reward.py");

/// Export environments of the `verifiers` library: rows, and a reward of your own that scores answers to them
///
///   lyceum environment export exported --environment my-env --python .venv/bin/python
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct Environment {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Export(Export),
}

/// Write an environment as rows.jsonl and reward.py, and print the command that imports them
///
/// This runs the environment's code with your rights, in a Python of yours that has `verifiers` below 0.4 and the environment:
/// installed, in the current folder, or in PYTHONPATH. Read code that you do not trust first.
///
/// Environments of the class SingleTurnEnv can be exported. The functions of their rubric are written as source, with what they
/// use and with their weights; those of weight 0 are left out. Functions that need more than the standard library, numpy and
/// sympy are refused by name.
#[derive(Args, Debug)]
struct Export {
    /// The folder to write, which must not exist or be empty
    dir: PathBuf,
    /// The environment, as `verifiers.load_environment` takes it
    #[arg(long, value_name = "NAME")]
    environment: String,
    /// Its arguments, a JSON object
    #[arg(long, value_name = "JSON", default_value = "{}", value_parser = object)]
    args: Map<String, Value>,
    /// Its rows for training, or those for evaluation
    #[arg(long, value_enum, default_value_t = Rows::Train)]
    rows: Rows,
    /// The interpreter
    #[arg(long, value_name = "PATH", default_value = "python3")]
    python: PathBuf,
    /// How long it may take, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
}

#[derive(Clone, Copy, Debug, ValueEnum, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
enum Rows {
    Train,
    Eval,
}

/// What the user's Python reports.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Report {
    /// Why it cannot be exported.
    Refused(Vec<String>),
    /// The last line of a traceback.
    Failed(String),
    Exported(Exported),
}

#[derive(Deserialize)]
struct Exported {
    version: String,
    rows: u64,
    /// Weights by part.
    parts: BTreeMap<String, f64>,
    /// Functions of weight 0.
    left_out: Vec<String>,
    packages: Vec<String>,
}

impl Environment {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        match self.action {
            Action::Export(export) => export.run()?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Export {
    fn run(&self) -> anyhow::Result<()> {
        let (name, dir) = (&self.environment, self.dir.display());
        let is_free = match fs::read_dir(&self.dir) {
            Ok(mut entries) => entries.next().is_none(),
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
        ensure!(is_free, "{dir} is there already: a folder that does not exist or is empty is valid");
        let parent = match self.dir.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        // Renamed when all of it is written.
        let scratch = tempfile::Builder::new().prefix(".environment-").tempdir_in(parent);
        let scratch = scratch.with_context(|| format!("cannot write in {}", parent.display()))?;
        let folder = scratch.path().join("exported");
        fs::create_dir(&folder)?;
        remark(format_args!("this runs the code of `{name}` with your rights, in {}", self.python.display()));
        let exported = match crate::command::runtime()?.block_on(self.report(&folder))? {
            Report::Exported(exported) => exported,
            Report::Failed(reason) => bail!("`{name}` cannot be loaded: {reason}"),
            Report::Refused(reasons) => {
                let [reason] = reasons.as_slice() else {
                    reasons.iter().for_each(remark);
                    bail!("`{name}` cannot be exported: {} functions of its rubric are refused", reasons.len());
                };
                bail!("`{name}` cannot be exported: {reason}");
            }
        };
        let reward = fs::read_to_string(folder.join("reward.py"))?;
        check_reward(&reward).map_err(|detail| anyhow::anyhow!("the reward of `{name}` cannot be one: {detail}"))?;
        if let Some((line, found)) = secret_in(&reward) {
            remark(format_args!(
                "line {line} of reward.py: {found} looks like a secret that the export took along by value. Everybody who has a token \
                 of the server could read it there: remove it, or import with --yes"
            ));
        }
        let parts = exported.parts.len();
        ensure!(
            parts <= MAX_REWARD_PARTS,
            "the rubric of `{name}` has {parts} functions: 1 to {MAX_REWARD_PARTS} are valid"
        );
        fs::rename(&folder, &self.dir).with_context(|| format!("cannot write {dir}"))?;
        self.tell(&exported)
    }

    /// Has the user's Python write into `folder`.
    async fn report(&self, folder: &Path) -> anyhow::Result<Report> {
        let python = self.python.display();
        let path = folder.with_file_name("report.json");
        let mut asked = tempfile::tempfile()?;
        let ask = json!({
            "environment": self.environment, "arguments": self.args, "rows": <&str>::from(self.rows),
            "folder": fs::canonicalize(folder)?, "report": fs::canonicalize(folder)?.with_file_name("report.json"),
            "prelude": PRELUDE,
        });
        asked.write_all(ask.to_string().as_bytes())?;
        asked.rewind()?;
        let mut stop = Stop::new()?;
        let mut child = Command::new(&self.python)
            .args(["-c", EXPORT])
            .stdin(asked)
            // What the environment prints is no result of this command.
            .stdout(io::stderr())
            // Killed with all that it starts.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot start {python}: name a Python with --python"))?;
        let group = child.id().map(|id| Pid::from_raw(id.cast_signed()));
        let ended: anyhow::Result<ExitStatus> = tokio::select! {
            ended = child.wait() => Ok(ended?),
            () = tokio::time::sleep(Duration::from_secs(self.timeout)) => Err(anyhow::anyhow!(
                "`{}` did not end in {} s; --timeout gives it longer", self.environment, self.timeout
            )),
            () = stop.asked() => Err(anyhow::anyhow!("interrupted")),
        };
        if let Some(group) = group {
            // There is none if all have ended.
            let _ = killpg(group, Signal::SIGKILL);
        }
        let ended = ended?;
        let Ok(report) = File::open(&path) else {
            bail!("`{}` ended {python} ({ended}) before anything was written", self.environment);
        };
        serde_json::from_reader(io::BufReader::new(report)).context("the report of the export")
    }

    fn tell(&self, exported: &Exported) -> anyhow::Result<()> {
        let parts = exported.parts.iter().map(|(name, weight)| format!("{name} × {weight}"));
        let parts = parts.collect::<Vec<_>>().join(", ");
        let (rows, version) = (exported.rows, &exported.version);
        remark(format_args!("rows: {rows}; parts: {parts}; verifiers {version}"));
        if !exported.left_out.is_empty() {
            let names = exported.left_out.join(", ");
            remark(format_args!("left out, since their weight is 0: {names}"));
        }
        let purpose = match self.rows {
            Rows::Train => "--purpose training",
            Rows::Eval => "--purpose benchmark --suite SUITE",
        };
        let packages = match exported.packages.as_slice() {
            [] => String::new(),
            packages => format!(" --map packages={}", packages.join(",")),
        };
        let place = |file: &str| word(&self.dir.join(file).to_string_lossy());
        line(format_args!(
            "lyceum dataset import {} {purpose} --name {} --reward {}{packages}",
            place("rows.jsonl"),
            word(&self.environment),
            place("reward.py"),
        ))
    }
}

fn object(text: &str) -> Result<Map<String, Value>, String> {
    serde_json::from_str(text).map_err(|error| format!("{error}: a JSON object such as {{\"rows\": 100}} is valid"))
}

/// `text` as a word of a shell.
fn word(text: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./@:+,".contains(letter);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_word_stays_one_word_of_a_shell() {
        assert_eq!(super::word("out/rows.jsonl"), "out/rows.jsonl");
        assert_eq!(super::word("it's; rm $HOME"), r"'it'\''s; rm $HOME'");
        assert_eq!(super::word(""), "''");
    }
}
