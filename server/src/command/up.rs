//! `lyceum up`.

use std::io::IsTerminal as _;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use lyceum_core::recipe::Registry;
use lyceum_postgres::PrivatePostgres;
use lyceum_postgres::process::KeptProcess;
use lyceum_store::artifact::ArtifactStore;
use sqlx::PgPool;

use crate::serve::{self, Serving};
use crate::settings::{
    CommonArgs, Database, DatabaseArgs, DatabaseUrl, Secret, Server, ServerArgs, Sources, WorkerArgs,
};
use crate::supervise::{DataFolder, Stop, demo, worker};
use crate::token::Scope;
use crate::{database, token};

/// Run everything on this machine: a private Postgres, the server and one worker
///
/// The first start makes the data folder, writes an admin token to its file admin-token and prints a link that logs in
/// with it. Ctrl-C or SIGTERM stops everything in order; a second one stops it at once. What was under way goes on at
/// the next start.
#[derive(Args, Debug)]
pub(crate) struct Up {
    #[command(flatten)]
    server: ServerArgs,
    #[command(flatten)]
    database: DatabaseArgs,
    #[command(flatten)]
    worker: WorkerArgs,

    /// Create a run from the preset `demo` if the database holds no run yet
    #[arg(long)]
    demo: bool,
}

/// What has been checked before anything is made.
struct Prepared {
    data: PathBuf,
    server: Server,
    database: Database,
    worker: Option<PathBuf>,
    listener: TcpListener,
    demo: bool,
}

/// Everything that runs, in the order of its start; it is stopped from the end.
struct Everything {
    folder: DataFolder,
    postgres: Option<PrivatePostgres>,
    serving: Serving,
    worker: Option<KeptProcess>,
    address: String,
}

impl Up {
    pub(crate) fn run(self, common: CommonArgs) -> anyhow::Result<ExitCode> {
        let sources = Sources::read(common)?;
        let server = self.server.resolve(&sources.file)?;
        let database = self.database.resolve(&sources.file)?;
        let worker = self.worker.resolve(&sources.file)?;
        sources.log.start();
        crate::supervise::data_folder::check(&sources.data)?;
        if self.demo {
            demo::check(server.presets.clone())?;
        }
        let worker = worker
            .wanted
            .then(|| worker::find(worker.program.as_deref()))
            .transpose()?;
        let listener = serve::listen(server.host, server.port)?;
        let prepared = Prepared {
            data: sources.data,
            server,
            database,
            worker,
            listener,
            demo: self.demo,
        };
        super::runtime()?.block_on(up(prepared))
    }
}

async fn up(prepared: Prepared) -> anyhow::Result<ExitCode> {
    let mut stop = Stop::new()?;
    if let Some(url) = &prepared.database.url {
        database::check(url).await?;
    }
    let folder = DataFolder::open(&prepared.data)?;
    let started = tokio::select! {
        started = start(prepared, folder) => started?,
        () = stop.asked() => return Ok(ExitCode::SUCCESS),
    };
    let Everything {
        folder,
        postgres,
        mut serving,
        worker,
        address,
    } = started;
    println!("Lyceum is ready at {address}");
    let outcome = tokio::select! {
        ended = serving.ended() => ended.context("the server ended").map(|()| ExitCode::FAILURE),
        () = stop.asked() => Ok(ExitCode::SUCCESS),
    };
    println!("Lyceum is stopping; press Ctrl-C again to stop at once");
    let stopped = async {
        if let Some(worker) = worker {
            worker.stop().await;
        }
        serving.stop().await;
        if let Some(postgres) = postgres {
            postgres.stop().await;
        }
        drop(folder);
    };
    tokio::select! {
        () = stopped => outcome,
        // Postgres and the worker see this process end, and end too.
        () = stop.asked() => std::process::exit(130),
    }
}

/// Starts everything in the data folder, which is left as it was found if that fails on a new one.
async fn start(prepared: Prepared, folder: DataFolder) -> anyhow::Result<Everything> {
    match start_in(&prepared, &folder).await {
        Ok((postgres, serving, worker, address)) => Ok(Everything {
            folder,
            postgres,
            serving,
            worker,
            address,
        }),
        Err(error) => {
            folder.abandon();
            Err(error)
        }
    }
}

async fn start_in(
    prepared: &Prepared,
    folder: &DataFolder,
) -> anyhow::Result<(Option<PrivatePostgres>, Serving, Option<KeptProcess>, String)> {
    let (postgres, url) = match &prepared.database.url {
        Some(url) => (None, url.clone()),
        None => {
            let postgres = PrivatePostgres::start(folder.path()).await?;
            let url: DatabaseUrl = postgres.url().parse()?;
            (Some(postgres), url)
        }
    };
    let store = database::open(&url, prepared.database.connections).await?;
    let artifact_place = prepared.server.artifact_place(folder.path());
    let artifacts = ArtifactStore::open(&artifact_place, store.pool().clone()).await?;

    let listener = prepared
        .listener
        .try_clone()
        .context("cannot hand the port to the server")?;
    let local = format!("http://{}", listener.local_addr().context("the port is gone")?);
    let address = prepared.server.public_url.clone().unwrap_or_else(|| local.clone());
    let token = admin_token(folder, store.pool(), &address).await?;
    let serving = serve::Server {
        store,
        artifacts,
        registry: Registry::shipped(),
        settings: prepared.server.api(),
    };
    let serving = serving.serve(listener).context("cannot start the server")?;

    let worker = match prepared.worker.clone() {
        Some(program) => {
            let environment = vec![
                ("DATABASE_URL", url.expose().to_owned()),
                ("LYCEUM_ARTIFACTS", artifact_place.to_string()),
                ("LYCEUM_SERVER", local.clone()),
                ("LYCEUM_TOKEN", token.expose().to_owned()),
                // libtorch's threads spin while they wait, which starves everything else on the same cores.
                ("GOMP_SPINCOUNT", "0".to_owned()),
                ("OMP_WAIT_POLICY", "passive".to_owned()),
            ];
            Some(worker::keep(program, environment).await?)
        }
        None => None,
    };
    if prepared.demo {
        demo::begin(local.clone(), token, folder.path()).await?;
    }
    folder.announce(&local)?;
    Ok((postgres, serving, worker, address))
}

/// The admin token of the data folder, made anew when there is none or the database no longer knows it.
///
/// The link that logs in with it is printed when it is new, and to a terminal; a log is no place for it.
async fn admin_token(folder: &DataFolder, pool: &PgPool, address: &str) -> anyhow::Result<Secret> {
    let kept = folder.admin_token()?.map(Secret::from);
    let (token, new) = match kept {
        Some(kept) if token::is_valid(pool, &kept).await? => (kept, false),
        _ => {
            let (token, _) = token::create(pool, "admin of the data folder", Scope::Admin, None).await?;
            folder.keep_admin_token(token.expose())?;
            (token, true)
        }
    };
    let file = crate::supervise::data_folder::admin_token_file(folder.path());
    if new || std::io::stdout().is_terminal() {
        println!("Log in with {address}/login#{}", token.expose());
    }
    println!("The admin token is in {}", file.display());
    Ok(token)
}
