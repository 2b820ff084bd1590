//! `lyceum-worker run`: runs one item of the queue by hand.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, bail, ensure};
use clap::Args;
use lyceum_core::work::{Payload, WorkKind};
use lyceum_store::Remote;
use lyceum_store::artifact::{ArtifactPlace, ArtifactStore};
use lyceum_worker::adapter::Shelf;
use lyceum_worker::by_hand::Item;
use lyceum_worker::handler::Artifacts;
use lyceum_worker::handlers::Rows;
use lyceum_worker::lines::read_lines;
use lyceum_worker::progress::progress_bar;

use super::handlers::HandlerArgs;

/// Run any item of the queue by hand, without a database
///
/// ITEM is a response of `GET /api/v1/work/{id}`, or only its field `payload`. Adapters, tokens
/// and other artifacts that the payload refers to are read from --artifacts or through --server:
///
///   curl -sH "Authorization: Bearer $LYCEUM_TOKEN" $LYCEUM_SERVER/api/v1/work/ID > item.json
///   lyceum-worker run item.json --server $LYCEUM_SERVER --out again
///
/// The result is the same as the queue's, except for times. It is printed as JSON, and nothing is
/// sent to the server. With --out it is written to again/result.json, and new artifacts to
/// again/artifacts, where other items can read them:
///
///   lyceum-worker run update.json --artifacts /var/lib/lyceum/artifacts --artifacts again/artifacts
///
/// The rows of a benchmark are read from --dataset or through --server.
///
/// --example prints a payload to start from; those of update and benchmark name artifacts and rows
/// that you give:
///
///   lyceum-worker run --example rollout > item.json && lyceum-worker run item.json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Run {
    /// File with the item, `-` for standard input; --example prints one.
    #[arg(value_name = "ITEM.json", required_unless_present = "example")]
    item: Option<PathBuf>,
    /// Print an example of a payload: rollout, verify, update, evolve or benchmark.
    #[arg(long, value_name = "KIND", conflicts_with = "item")]
    example: Option<WorkKind>,
    /// Folder for the result and new artifacts; created if missing [default: print the result, drop the artifacts].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Location of artifacts, as for a server: a folder or s3://BUCKET/PREFIX. Repeatable; the first that has an artifact
    /// is used.
    #[arg(long, env = "LYCEUM_ARTIFACTS", value_name = "PLACE")]
    artifacts: Vec<ArtifactPlace>,
    /// A server, to read artifacts that --artifacts does not have, and rows.
    #[arg(long, env = "LYCEUM_SERVER", value_name = "URL", requires = "token")]
    server: Option<String>,
    /// A server token with scope read.
    #[arg(long, env = "LYCEUM_TOKEN", value_name = "TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// The rows of a benchmark's dataset from row 0 on, one JSON object per line.
    #[arg(long, value_name = "ROWS.jsonl")]
    dataset: Option<PathBuf>,
    #[command(flatten)]
    handlers: HandlerArgs,
}

impl Run {
    /// Runs the item.
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let Some(path) = &self.item else {
            if let Some(kind) = self.example {
                print!("{}", example(kind));
            }
            return Ok(());
        };
        let item = read(path)?;
        let threads = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let server = self.server.as_ref().zip(self.token.as_ref());
        let server = server.map(|(server, token)| Remote::new(server, token));
        let rows = self.rows(&item.payload, server.as_ref())?;
        let artifacts = threads.block_on(self.artifacts(&item.payload, server))?;
        let entered = threads.enter();
        let handlers = self.handlers.start(&[item.kind], &rows)?;
        drop(entered);
        let name = format!("the {} item {}", item.kind, item.key);
        let bar = progress_bar(100, "%");
        let outcome = threads.block_on(item.run(&handlers, artifacts, |share, note| {
            bar.set_position((share * 100.0) as u64);
            bar.set_message(note.to_owned());
        }));
        bar.finish_and_clear();
        let outcome = outcome.with_context(|| format!("cannot run {name}{}", self.sources()))?;
        let result = serde_json::to_string_pretty(&outcome)? + "\n";
        match &self.out {
            None => print!("{result}"),
            Some(folder) => {
                let path = folder.join("result.json");
                std::fs::write(&path, result).with_context(|| path.display().to_string())?;
            }
        }
        Ok(())
    }

    /// The rows for a benchmark; other items need none.
    fn rows(&self, payload: &Payload, server: Option<&Remote>) -> anyhow::Result<Rows> {
        Ok(match (&self.dataset, server) {
            (Some(file), _) => Rows::Given(read_lines(file)?),
            (None, Some(server)) => Rows::Remote(server.clone()),
            (None, None) if matches!(payload, Payload::Benchmark(_)) => {
                bail!("a benchmark needs the rows of its dataset: use --dataset FILE, or --server URL with --token")
            }
            (None, None) => Rows::Given(Vec::new()),
        })
    }

    async fn artifacts(&self, payload: &Payload, server: Option<Remote>) -> anyhow::Result<Artifacts> {
        if let Some((kind, digest)) = payload.artifacts().first() {
            ensure!(
                !self.artifacts.is_empty() || server.is_some(),
                "the item reads artifacts (first {} {digest}): use --artifacts PLACE, or --server URL with --token",
                kind.name()
            );
        }
        let mut read = Vec::new();
        for place in &self.artifacts {
            if let ArtifactPlace::Folder(folder) = place {
                ensure!(folder.is_dir(), "--artifacts {}: there is no such folder", folder.display());
            }
            read.push(ArtifactStore::unlisted(place).await?);
        }
        read.extend(server.map(ArtifactStore::remote));
        let write = match &self.out {
            Some(folder) => ArtifactStore::unlisted(&ArtifactPlace::Folder(folder.join("artifacts"))).await?,
            None => ArtifactStore::in_memory(),
        };
        Ok(Artifacts { read, write, adapters: Arc::new(Shelf::new(0)) })
    }

    /// The locations of artifacts, for error messages.
    fn sources(&self) -> String {
        let places = self.artifacts.iter().map(ToString::to_string);
        let sources: Vec<String> = places.chain(self.server.clone()).collect();
        match &sources[..] {
            [] => String::new(),
            sources => format!(" with artifacts from {}", sources.join(", ")),
        }
    }
}

/// A payload of the kind.
fn example(kind: WorkKind) -> &'static str {
    match kind {
        WorkKind::Rollout => include_str!("run/rollout.json"),
        WorkKind::Verify => include_str!("run/verify.json"),
        WorkKind::Update => include_str!("run/update.json"),
        WorkKind::Evolve => include_str!("run/evolve.json"),
        WorkKind::Benchmark => include_str!("run/benchmark.json"),
    }
}

fn read(path: &Path) -> anyhow::Result<Item> {
    let text = if path.as_os_str() == "-" {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(path)
    };
    let text = text.with_context(|| format!("cannot read {}", path.display()))?;
    Item::from_json(&text).with_context(|| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::{Item, WorkKind, example};

    #[test]
    fn every_kind_has_an_example_that_is_an_item_of_it() {
        for kind in [WorkKind::Rollout, WorkKind::Verify, WorkKind::Update, WorkKind::Evolve, WorkKind::Benchmark] {
            assert_eq!(Item::from_json(example(kind)).unwrap().kind, kind);
        }
    }
}
