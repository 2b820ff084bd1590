//! `lyceum reward`.

use anyhow::Context as _;
use clap::{Args, Subcommand};
use lyceum_core::{artifact::Digest, verify::check_reward};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use crate::{
    client::Client,
    command::{
        ServerArgs,
        output::{document, line},
    },
    settings::CommonArgs,
};

/// Store rewards of your own: Python files with `score(prompt, completion, row)`
///
///   lyceum reward add reward.py
///   lyceum reward show DIGEST
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
    },
    /// Print the text of a stored reward
    Show {
        /// Its digest
        digest: Digest,
    },
}

impl Reward {
    pub(crate) fn run(self, common: CommonArgs) -> anyhow::Result<ExitCode> {
        let client = self.server.client(common)?;
        match self.action {
            Action::Add { file } => line(add(&client, &file)?)?,
            Action::Show { digest } => {
                let reward = client.get(&format!("/api/v1/rewards/{digest}"))?;
                document(reward["source"].as_str().unwrap_or_default())?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Stores the reward in `file`, and returns its digest.
pub(in crate::command) fn add(client: &Client, file: &Path) -> anyhow::Result<String> {
    let place = file.display();
    let bytes = fs::read(file).with_context(|| format!("cannot read {place}"))?;
    let source = String::from_utf8(bytes).with_context(|| format!("{place} is not UTF-8: a Python file is valid"))?;
    check_reward(&source).map_err(|detail| anyhow::anyhow!("{place} cannot be a reward: {detail}"))?;
    let stored = client.post("/api/v1/rewards", Some(&json!({ "source": source })))?;
    match &stored["digest"] {
        Value::String(digest) => Ok(digest.clone()),
        _ => anyhow::bail!("the server did not say how it stored {place}"),
    }
}
