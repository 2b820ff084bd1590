//! `lyceum adapter`.

use anyhow::Context as _;
use clap::{Args, Subcommand};
use lyceum_models::hub::hub_adapter;
use lyceum_models::peft;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use std::io::Seek as _;
use std::path::Path;
use std::process::ExitCode;

use crate::client::Client;
use crate::command::ServerArgs;
use crate::command::dataset::row_file::bar;
use crate::command::output::{json_line, line};
use crate::settings::CommonArgs;

/// Import PEFT adapters, with which members of new runs can begin
///
///   lyceum adapter import runs/expert --name expert
///   lyceum adapter import OWNER/NAME
///   lyceum run create --preset demo --set populations.main.members.0.from.adapter=expert
///   lyceum run create --preset demo --set populations.main.members.1.from.version=RUN/MEMBER@STEP
///
/// A population has the base and the `lora` of the adapter that its members begin with.
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct Adapter {
    #[command(subcommand)]
    action: Action,

    #[command(flatten)]
    server: ServerArgs,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Import an adapter, and print its id
    ///
    /// It is checked first: LoRA of linear projections, without DoRA, biases or modules that are saved whole, with weights as
    /// safetensors that fit the base.
    Import {
        /// A folder with adapter_config.json and adapter_model.safetensors, or `OWNER/NAME[@REVISION]` on the Hugging Face hub
        /// (HF_ENDPOINT, HF_TOKEN), which is kept in the hub's cache on this machine
        adapter: String,
        /// Its name [default: that of the folder or repository]
        #[arg(long)]
        name: Option<String>,
        /// Its base, as populations name it [default: what adapter_config.json names]
        #[arg(long, value_name = "MODEL")]
        base: Option<String>,
    },
    /// List adapters, newest first, each as JSON
    List,
}

impl Adapter {
    pub(crate) fn run(self, common: CommonArgs) -> anyhow::Result<ExitCode> {
        let client = self.server.client(common)?;
        match self.action {
            Action::Import { adapter, name, base } => line(import(&client, &adapter, name, base)?)?,
            Action::List => {
                for adapter in client.items("/api/v1/adapters?", u32::MAX)? {
                    json_line(&adapter)?;
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Imports an adapter, and returns its id.
fn import(client: &Client, adapter: &str, name: Option<String>, base: Option<String>) -> anyhow::Result<String> {
    let here = Path::new(adapter);
    let (folder, source) = match here.exists() {
        true => (here.to_owned(), adapter.to_owned()),
        false => (hub_adapter(adapter)?, format!("hf://{adapter}")),
    };
    let mut archive = tempfile::tempfile().context("cannot create a file for the archive")?;
    peft::pack(&folder, &mut archive)?;
    archive.rewind()?;
    let own = here.canonicalize().unwrap_or_else(|_| here.to_owned());
    let own = own.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name.or(own).context("name the adapter: --name NAME")?;
    let mut query = vec![("name", name), ("source", source)];
    query.extend(base.map(|base| ("base_model", base)));
    let encoded = query.iter().map(|(name, value)| format!("{name}={}", utf8_percent_encode(value, NON_ALPHANUMERIC)));
    let path = format!("/api/v1/adapters?{}", encoded.collect::<Vec<_>>().join("&"));
    let bar = bar(Some(archive.metadata()?.len()));
    let made = client.post_file(&path, "application/x-tar", &mut bar.wrap_read(archive));
    bar.finish_and_clear();
    let made = made?;
    let id = made["id"].as_str().context("the server's response has no id")?;
    Ok(id.to_owned())
}
