//! `lyceum reward`.

use anyhow::Context as _;
use clap::{Args, Subcommand};
use lyceum_core::artifact::Digest;
use lyceum_core::recipe::DatasetCheckResult;
use lyceum_core::verify::{RewardPackage, check_reward};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::client::Client;
use crate::command::ServerArgs;
use crate::command::evaluation::wait;
use crate::command::output::{document, line};
use crate::settings::CommonArgs;

/// Store rewards of your own: Python files with `score(prompt, completion, row)`
///
///   lyceum reward add reward.py
///   lyceum reward try reward.py --dataset mine
///   lyceum reward show DIGEST
///   lyceum reward remove DIGEST
///
/// `lyceum dataset import ROWS --reward FILE` stores one and imports rows that it scores.
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct Reward {
    #[command(subcommand)]
    action: Action,

    #[command(flatten)]
    server: ServerArgs,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Store a reward and print its digest
    Add {
        /// The file
        file: PathBuf,
        /// Store it even if a text in it looks like a secret
        #[arg(long)]
        yes: bool,
    },
    Try(Try),
    /// Print the text of a stored reward
    Show {
        /// Its digest
        digest: Digest,
    },
    /// Remove the text of a stored reward
    ///
    /// Its digest stays: runs and rows that name it say that it was removed. Refused while a run or evaluation that has not
    /// finished uses it; storing the file again brings it back.
    Remove {
        /// Its digest
        digest: Digest,
    },
}

impl Reward {
    pub(crate) fn run(self, common: CommonArgs) -> anyhow::Result<ExitCode> {
        let client = self.server.client(common)?;
        match self.action {
            Action::Add { file, yes } => line(add(&client, &file, yes)?)?,
            Action::Try(it) => it.run(&client)?,
            Action::Show { digest } => {
                let reward = client.get(&format!("/api/v1/rewards/{digest}"))?;
                document(reward["source"].as_str().unwrap_or_default())?;
            }
            Action::Remove { digest } => client.delete(&format!("/api/v1/rewards/{digest}"))?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Score the first rows of a dataset with a reward, on a worker
///
/// Each row gets an empty answer, its own if it has one, and --completion. Prints a line for each: the row, the answer, how the
/// reward ended, and the parts of the score or why there is none. The reward is stored, and the rows may name any oracle;
/// nothing is noted about the dataset.
#[derive(Args, Debug)]
struct Try {
    /// The reward
    file: PathBuf,
    /// The dataset, by name or id
    #[arg(long)]
    dataset: String,
    /// How many rows, from the first
    #[arg(long, default_value_t = 10)]
    rows: u32,
    /// An answer to score, or `@FILE` for the text of a file
    #[arg(long, value_name = "TEXT|@FILE")]
    completion: Option<String>,
    /// Seconds of CPU time for an answer
    #[arg(long, default_value_t = 5)]
    timeout: u32,
    /// Packages that it needs, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "PACKAGE")]
    packages: Vec<RewardPackage>,
    /// Store it even if a text in it looks like a secret
    #[arg(long)]
    yes: bool,
}

impl Try {
    fn run(self, client: &Client) -> anyhow::Result<()> {
        let completion = match self.completion.as_deref().map(|text| (text, text.strip_prefix('@'))) {
            Some((_, Some(file))) => Some(fs::read_to_string(file).with_context(|| format!("cannot read {file}"))?),
            Some((text, None)) => Some(text.to_owned()),
            None => None,
        };
        let file = add(client, &self.file, self.yes)?;
        let oracle = json!({"type": "python", "file": file, "timeout": self.timeout, "packages": self.packages});
        let spec = json!({
            "type": "dataset_check", "dataset": self.dataset, "rows": self.rows, "oracle": oracle, "completion": completion,
        });
        let made = client.post("/api/v1/evaluations", Some(&json!({ "spec": spec })))?;
        let id = made["id"].as_str().context("the server's response has no id")?;
        let result: DatasetCheckResult = serde_json::from_value(wait(client, id)?)?;
        for score in result.scores {
            let told = if score.parts.is_empty() { score.reason } else { serde_json::to_string(&score.parts)? };
            line(format!("{:5}  {:10}  {:10}  {told}", score.row, score.answer, score.status.name()))?;
        }
        Ok(())
    }
}

/// Stores the reward in `file`, and returns its digest.
pub(in crate::command) fn add(client: &Client, file: &Path, allow_secrets: bool) -> anyhow::Result<String> {
    let place = file.display();
    let bytes = fs::read(file).with_context(|| format!("cannot read {place}"))?;
    let source = String::from_utf8(bytes).with_context(|| format!("{place} is not UTF-8: a Python file is valid"))?;
    check_reward(&source).map_err(|detail| anyhow::anyhow!("{place} cannot be a reward: {detail}"))?;
    let stored = client.post("/api/v1/rewards", Some(&json!({"source": source, "allow_secrets": allow_secrets})))?;
    match &stored["digest"] {
        Value::String(digest) => Ok(digest.clone()),
        _ => anyhow::bail!("the server did not say how it stored {place}"),
    }
}
