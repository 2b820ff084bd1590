//! `lyceum run push`: a member's adapter or a run's tables to the Hugging Face hub.

use std::fs::File;
use std::io::{Seek as _, Write as _};

use anyhow::Context as _;
use clap::Args;
use serde_json::Value;
use uuid::Uuid;

use crate::{
    client::Client,
    command::output::line,
    contract::receive,
    hub_push::{HubPush, Kind, Repository, Upload},
};

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
        let kind = if self.member.is_some() {
            Kind::Model
        } else {
            Kind::Dataset
        };
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
                let version = self
                    .version
                    .map_or(String::new(), |version| format!("?version={version}"));
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
    let names: Vec<String> = members
        .iter()
        .filter_map(|member| member["name"].as_str().map(str::to_owned))
        .collect();
    let found = members
        .into_iter()
        .find(|member| member["name"] == wanted || member["id"] == wanted);
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
        let inner: Vec<String> = name
            .components()
            .skip(1)
            .map(|part| part.as_os_str().to_string_lossy().into_owned())
            .collect();
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
    let base = populations
        .map(|(_, population)| text(&population["base_model"]["name"]))
        .next();
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
