//! `lyceum server`.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use lyceum_core::recipe::Registry;
use lyceum_store::artifact::{ArtifactPlace, ArtifactStore};

use crate::settings::{self, CommonArgs, Database, DatabaseArgs, DatabaseUrl, ServerArgs, Sources};
use crate::supervise::Stop;
use crate::{database, log, serve};

/// Run only the server, on your own Postgres
///
/// Any number of servers can share a database and an artifact store. Create the first token with `lyceum token create`.
/// A socket that systemd passes is used instead of --host and --port.
/// Ctrl-C or SIGTERM shuts it down cleanly.
#[derive(Args, Debug)]
pub(crate) struct Server {
    #[command(flatten)]
    server: ServerArgs,
    #[command(flatten)]
    database: DatabaseArgs,

    /// Log as `lyceum up` does in a terminal, which starts its server this way
    #[arg(long, hide = true)]
    brief: bool,
}

impl Server {
    pub(crate) fn run(self, common: CommonArgs) -> anyhow::Result<ExitCode> {
        let sources = Sources::read(common)?;
        let server = self.server.resolve(&sources.file)?;
        let database = self.database.resolve(&sources.file)?;
        if self.brief {
            log::start_brief();
        } else {
            sources.log.start();
        }
        let url = database.url.clone().context(
            "no database named; give its address in DATABASE_URL or with --database-url, or use `lyceum up`, which brings one",
        )?;
        let listener = serve::listen_or_inherit(server.host, server.port)?;
        super::runtime()?.block_on(run(url, database, server, sources.data, listener))
    }
}

async fn run(
    url: DatabaseUrl,
    database: Database,
    server: settings::Server,
    data: PathBuf,
    listener: TcpListener,
) -> anyhow::Result<ExitCode> {
    let mut stop = Stop::new().context("cannot listen for signals")?;
    let store = database::open(&url, database.connections).await?;
    let place = server.artifact_place(&data);
    let artifacts = ArtifactStore::open(&place, store.pool().clone()).await?;
    let mut settings = server.lab();
    settings.space.folders.push(data);
    if let ArtifactPlace::Folder(folder) = place {
        settings.space.folders.push(folder);
    }
    let address = listener.local_addr().context("the port has been closed")?;
    let serving = serve::Server { store, artifacts, registry: Registry::shipped(), settings };
    let mut serving = serving.serve(listener).context("cannot start the server")?;
    println!(
        "Lyceum is ready at {}",
        server.public_url.map_or_else(|| format!("http://{address}"), |url| url.to_string())
    );
    let outcome = tokio::select! {
        ended = serving.ended() => ended.context("the server ended").map(|()| ExitCode::FAILURE),
        () = stop.asked() => Ok(ExitCode::SUCCESS),
    };
    tokio::select! {
        () = serving.stop() => outcome,
        () = stop.asked() => std::process::exit(130),
    }
}
