//! `lyceum run export` and `lyceum run push`: a run as files for other tools, and on the Hugging Face hub.

use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};
use serde_json::Value;
use std::fs::File;
use std::io::{Seek as _, Write as _};
use std::path::Path;
use uuid::Uuid;

use crate::client::Client;
use crate::command::output::{line, remark};
use crate::contract::receive;
use crate::hub_push::{HubPush, Kind, Repository, Upload};

/// What the files are for.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum ExportFormat {
    /// All tables, as a folder for Hugging Face's `datasets`
    Parquet,
    /// The same as JSON lines
    Jsonl,
    /// Metrics and scores as event files: `tensorboard --logdir FOLDER`
    Tensorboard,
    /// Metrics and scores as an offline run: `wandb sync FOLDER/wandb/offline-run-*`
    Wandb,
}

impl ExportFormat {
    fn name(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Jsonl => "jsonl",
            Self::Tensorboard => "tensorboard",
            Self::Wandb => "wandb",
        }
    }

    /// How to open the folder.
    fn hint(self, folder: &Path) -> String {
        let folder = folder.display();
        match self {
            Self::Parquet | Self::Jsonl => format!("datasets.load_dataset(\"{folder}\", \"problems\") loads a table"),
            Self::Tensorboard => format!("tensorboard --logdir {folder} shows it"),
            Self::Wandb => {
                format!("wandb sync {folder}/wandb/offline-run-* uploads it; wandb leet {folder}/wandb shows it here")
            }
        }
    }
}

/// Writes a new folder below `out` and prints its path.
pub(super) fn export(client: &Client, id: Uuid, format: ExportFormat, out: &Path) -> anyhow::Result<()> {
    let mut file = receive::spool().context("there is no place for a temporary file; set TMPDIR")?;
    client.download(&format!("/runs/{id}/export.{}.zip", format.name()), &mut file)?;
    file.rewind()?;
    let mut archive = zip::ZipArchive::new(file).context("the server sent a damaged archive")?;
    let first = archive.by_index(0)?.enclosed_name().context("the archive has an unsafe path")?;
    let folder = out.join(first.components().next().context("the archive has no folder")?);
    if folder.exists() {
        bail!("{} exists; delete it, or choose another folder with --out", folder.display());
    }
    archive.extract(out).with_context(|| format!("cannot write {}", folder.display()))?;
    line(folder.display())?;
    remark(format.hint(&folder));
    Ok(())
}

/// Push a run's tables, or a member's adapter, to a repository of the Hugging Face hub, and print its address
///
/// The token is HF_TOKEN and the hub that of HF_ENDPOINT, by default huggingface.co. The repository is made if
/// there is none; all files are one commit.
///
///   lyceum run push RUN --repo me/my-run
///   lyceum run push RUN --member student-0 --repo me/my-adapter --private
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(super) struct Push {
    /// The run
    id: Uuid,
    /// The repository
    #[arg(long, value_name = "OWNER/NAME")]
    repo: String,
    /// A member, by name or id, whose adapter is pushed instead of the run's tables
    #[arg(long)]
    member: Option<String>,
    /// The adapter's version; by default the newest
    #[arg(long, requires = "member")]
    version: Option<u32>,
    /// Only you can see a repository that is made
    #[arg(long)]
    private: bool,
    /// The commit's message
    #[arg(long)]
    message: Option<String>,
}

impl Push {
    pub(super) fn run(self, client: &Client) -> anyhow::Result<()> {
        let kind = if self.member.is_some() { Kind::Model } else { Kind::Dataset };
        let repository = Repository::parse(kind, &self.repo)?;
        let hub = HubPush::from_env()?;
        let run = client.get(&format!("/api/v1/runs/{}", self.id))?;
        let run_name = run["name"].as_str().unwrap_or_default().to_owned();
        let (what, mut files) = match &self.member {
            None => {
                let path = format!("/runs/{}/export.parquet.zip", self.id);
                (format!("the tables of {run_name}"), unpacked(client, &path)?)
            }
            Some(member) => {
                let member = find(client, self.id, member)?;
                let name = member["name"].as_str().unwrap_or_default();
                let version = self.version.map_or(String::new(), |version| format!("?version={version}"));
                let id = member["id"].as_str().unwrap_or_default();
                let path = format!("/runs/{}/members/{id}/adapter.zip{version}", self.id);
                let mut files = unpacked(client, &path)?;
                files.push(card(&run, name)?);
                (format!("the adapter {name} of {run_name}"), files)
            }
        };
        let message = self.message.unwrap_or_else(|| format!("Upload {what}"));
        line(hub.push(&repository, self.private, &message, &mut files)?)
    }
}

/// The member of this name or id.
fn find(client: &Client, run: Uuid, wanted: &str) -> anyhow::Result<Value> {
    let members = client.items(&format!("/api/v1/runs/{run}/members?"), 10_000)?;
    let names: Vec<String> = members.iter().filter_map(|member| member["name"].as_str().map(str::to_owned)).collect();
    let found = members.into_iter().find(|member| member["name"] == wanted || member["id"] == wanted);
    found.with_context(|| format!("the run has no member `{wanted}`; there are {}", names.join(", ")))
}

/// The files of the archive at `path`, without the folder that they are in.
fn unpacked(client: &Client, path: &str) -> anyhow::Result<Vec<Upload>> {
    let mut file = receive::spool().context("there is no place for a temporary file; set TMPDIR")?;
    client.download(path, &mut file)?;
    file.rewind()?;
    let mut archive = zip::ZipArchive::new(file).context("the server sent a damaged archive")?;
    let mut files = Vec::new();
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index)?;
        if !entry.is_file() {
            continue;
        }
        let name = entry.enclosed_name().context("the archive has an unsafe path")?;
        let inner: Vec<String> =
            name.components().skip(1).map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
        let mut content: File = receive::spool().context("there is no place for a temporary file; set TMPDIR")?;
        std::io::copy(&mut entry, &mut content)?;
        files.push(Upload::new(inner.join("/"), content)?);
    }
    Ok(files)
}

/// The card of an adapter's repository.
fn card(run: &Value, member: &str) -> anyhow::Result<Upload> {
    let text = |value: &Value| value.as_str().unwrap_or_default().replace(['\n', '\r'], " ");
    let populations = run["config"]["populations"].as_object().into_iter().flatten();
    let base = populations.map(|(_, population)| text(&population["base_model"]["name"])).next();
    let base = serde_json::to_string(&base.unwrap_or_default())?;
    let card = format!(
        "---\nlibrary_name: peft\nbase_model: {base}\ntags:\n- lyceum\n---\n\n# {member}\n\nA LoRA adapter of the run {} \
         (recipe {}, seed {}, step {} of {}), trained with Lyceum.\n",
        text(&run["name"]),
        text(&run["recipe"]),
        run["seed"],
        run["step"],
        run["steps"],
    );
    let mut file: File = receive::spool().context("there is no place for a temporary file; set TMPDIR")?;
    file.write_all(card.as_bytes())?;
    Upload::new("README.md".to_owned(), file)
}
