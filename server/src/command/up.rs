//! `lyceum up`.

use anyhow::Context as _;
use clap::Args;
use lyceum_postgres::PrivatePostgres;
use lyceum_postgres::process::KeptProcess;
use lyceum_store::artifact::ArtifactStore;
use lyceum_store::worker_role::{self, WORKER_ROLE};
use sqlx::PgPool;
use std::io::{IsTerminal as _, stderr, stdout};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::settings::{
    CommonArgs, Database, DatabaseArgs, DatabaseUrl, FORCE_COLOURS, Secret, Server, ServerArgs, Sources, WorkerArgs,
};
use crate::supervise::data_folder::admin_token_file;
use crate::supervise::{DataFolder, Recorder, Stop, demo, server, worker};
use crate::token::{self, Scope};
use crate::{database, log, serve};

/// Connections for what this process itself does with the database.
const OWN_CONNECTIONS: u32 = 2;

/// Run everything on this machine: a private Postgres, the server and one worker
///
/// Whatever of these dies is started again, with growing pauses, and the page / says why it died.
///
/// The first start creates the data folder, writes an admin token to its file admin-token and prints a link that logs
/// in with it. Ctrl-C or SIGTERM shuts everything down cleanly; a second one stops it at once. The next start resumes
/// unfinished work.
///
/// A terminal shows warnings and one line per step; --log info shows everything. A file or pipe gets everything as it
/// is.
#[derive(Args, Debug)]
pub(crate) struct Up {
    #[command(flatten)]
    server: ServerArgs,
    #[command(flatten)]
    database: DatabaseArgs,
    #[command(flatten)]
    worker: WorkerArgs,

    /// Create a run from the preset `demo` if the database has no runs
    #[arg(long)]
    demo: bool,
}

/// The results of the checks before anything is created.
struct Prepared {
    data: PathBuf,
    server: Server,
    database: Database,
    worker: Option<PathBuf>,
    listener: TcpListener,
    demo: bool,
    /// Environment variables that make the processes log like this one.
    log: Vec<(&'static str, String)>,
    /// Whether to print the banner and the short log of a terminal.
    brief: bool,
}

/// Everything that runs, in the order of its start; it is stopped in reverse.
struct Running {
    postgres: Option<PrivatePostgres>,
    server: KeptProcess,
    worker: Option<KeptProcess>,
    _recorder: Recorder,
    greeting: Greeting,
}

impl Up {
    pub(crate) fn run(self, common: CommonArgs) -> anyhow::Result<ExitCode> {
        let sources = Sources::read(common)?;
        let server = self.server.resolve(&sources.file)?;
        let database = self.database.resolve(&sources.file)?;
        let worker = self.worker.resolve(&sources.file)?;
        let brief = sources.log.is_unset() && stdout().is_terminal() && stderr().is_terminal();
        if brief {
            log::start_brief();
        } else {
            sources.log.start();
        }
        let mut log = sources.log.environment();
        if stderr().is_terminal() {
            log.push((FORCE_COLOURS, "1".to_owned()));
        }
        crate::supervise::data_folder::check(&sources.data)?;
        if self.demo {
            demo::check(server.presets.clone())?;
        }
        let worker = worker.wanted.then(|| worker::find(worker.program.as_deref())).transpose()?;
        let listener = serve::listen(server.host, server.port)?;
        let prepared = Prepared { data: sources.data, server, database, worker, listener, demo: self.demo, log, brief };
        crate::command::runtime()?.block_on(up(prepared))
    }
}

async fn up(prepared: Prepared) -> anyhow::Result<ExitCode> {
    let mut stop = Stop::new()?;
    if let Some(url) = &prepared.database.url {
        database::check(url).await?;
    }
    let folder = DataFolder::open(&prepared.data)?;
    let brief = prepared.brief;
    let (folder, running) = tokio::select! {
        started = start(prepared, folder) => started?,
        () = stop.asked() => return Ok(ExitCode::SUCCESS),
    };
    if brief {
        running.greeting.print_banner();
    } else {
        running.greeting.print_lines(stdout().is_terminal());
    }
    stop.asked().await;
    println!("Lyceum is stopping; press Ctrl-C again to stop at once");
    folder.withdraw();
    tokio::select! {
        () = running.stop() => Ok(ExitCode::SUCCESS),
        // Its processes end with this one.
        () = stop.asked() => std::process::exit(130),
    }
}

impl Running {
    async fn stop(self) {
        if let Some(worker) = self.worker {
            worker.stop().await;
        }
        self.server.stop().await;
        if let Some(postgres) = self.postgres {
            postgres.stop().await;
        }
    }
}

/// Starts everything in the data folder. If that fails, a new folder is removed again.
async fn start(prepared: Prepared, folder: DataFolder) -> anyhow::Result<(DataFolder, Running)> {
    match start_in(&prepared, &folder).await {
        Ok(running) => Ok((folder, running)),
        Err(error) => {
            folder.abandon();
            Err(error)
        }
    }
}

async fn start_in(prepared: &Prepared, folder: &DataFolder) -> anyhow::Result<Running> {
    let (mut postgres, url) = match &prepared.database.url {
        Some(url) => (None, url.clone()),
        None => {
            let postgres = PrivatePostgres::start(folder.path()).await?;
            let url: DatabaseUrl = postgres.url().parse()?;
            (Some(postgres), url)
        }
    };
    let store = database::open(&url, OWN_CONNECTIONS).await?;
    let mut recorder = Recorder::new(store.pool().clone());
    if !folder.was_stopped() {
        recorder.not_stopped().await;
    }
    recorder.watch(postgres.as_mut().and_then(PrivatePostgres::endings));
    let worker_url = match &postgres {
        Some(postgres) => {
            worker_role::create(store.pool(), WORKER_ROLE).await?;
            worker_role::admit(store.pool(), WORKER_ROLE).await?;
            postgres.url_as(WORKER_ROLE)
        }
        None => url.expose().to_owned(),
    };
    let artifacts = prepared.server.artifact_place(folder.path());
    // Checked here, where a fault ends the start with its message.
    ArtifactStore::open(&artifacts, store.pool().clone()).await?;
    let token = admin_token(folder, store.pool()).await?;

    let listener = prepared.listener.try_clone().context("cannot pass the port to the server")?;
    let local = format!("http://{}", listener.local_addr().context("the port has been closed")?);
    let address = prepared.server.public_url.as_ref().map_or_else(|| local.clone(), ToString::to_string);
    let mut environment = prepared.server.environment(folder.path());
    environment.extend(prepared.log.clone());
    environment.push(("DATABASE_URL", url.expose().to_owned()));
    environment.push(("LYCEUM_DATABASE_CONNECTIONS", prepared.database.connections.to_string()));
    let mut server = server::keep(listener, prepared.brief, environment).await?;
    recorder.watch(server.endings());

    let mut worker = match prepared.worker.clone() {
        Some(program) => {
            let mut environment = prepared.log.clone();
            if prepared.brief {
                environment.push(("LYCEUM_LOG", "warn".to_owned()));
            }
            environment.extend([("DATABASE_URL", worker_url), ("LYCEUM_ARTIFACTS", artifacts.to_string())]);
            Some(worker::keep(program, environment).await?)
        }
        None => None,
    };
    recorder.watch(worker.as_mut().and_then(KeptProcess::endings));
    if prepared.demo {
        demo::begin(local.clone(), token.clone(), folder.path()).await?;
    }
    folder.announce(&local)?;
    let greeting = Greeting { address, data: folder.path().to_owned(), token };
    Ok(Running { postgres, server, worker, _recorder: recorder, greeting })
}

/// The admin token of the data folder. It is created if there is none or the database does not know it.
async fn admin_token(folder: &DataFolder, pool: &PgPool) -> anyhow::Result<Secret> {
    let kept = folder.admin_token()?.map(Secret::from);
    match kept {
        Some(kept) if token::is_valid(pool, &kept).await? => Ok(kept),
        _ => {
            let (token, _) = token::create(pool, "admin of the data folder", Scope::Admin, None).await?;
            folder.keep_admin_token(token.expose())?;
            Ok(token)
        }
    }
}

/// The login link and the data folder.
pub(crate) struct Greeting {
    /// The server's public address.
    pub(crate) address: String,
    /// The data folder.
    pub(crate) data: PathBuf,
    /// The admin token of the data folder.
    pub(crate) token: Secret,
}

impl Greeting {
    /// The banner for a terminal.
    pub(crate) fn print_banner(&self) {
        println!();
        println!("  Lyceum is ready at {}", self.address);
        println!();
        println!("  Log in   {}", self.login_link());
        println!("  Data     {}", self.data.display());
        println!("  Stop     Ctrl-C; runs resume at the next start");
        println!("  Log      one line per step, and warnings; everything with --log info");
        println!();
    }

    /// The lines for a log, with the link only if a person is reading: a journal would keep the token.
    pub(crate) fn print_lines(&self, is_read: bool) {
        match is_read {
            true => println!("Log in with {}", self.login_link()),
            false => println!("Log in at {}/login", self.address),
        }
        println!("The admin token is in {}", admin_token_file(&self.data).display());
        println!("Lyceum is ready at {}", self.address);
    }

    fn login_link(&self) -> String {
        format!("{}/login#{}", self.address, self.token.expose())
    }
}
