//! What `lyceum server` and `lyceum up` serve.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::time::Duration;

use actix_web::dev::ServerHandle;
use actix_web::{App, HttpResponse, HttpServer, get, web};
use lyceum_core::recipe::Registry;
use lyceum_store::Store;
use lyceum_store::artifact::ArtifactStore;
use sqlx::PgPool;
use tokio::task::JoinHandle;

use crate::coordinator::{Coordinator, Pace};

/// How long requests under way may take once the server is told to stop.
const GRACE: Duration = Duration::from_secs(10);

/// Why the server cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Somebody else listens there.
    #[error("port {} of {} is in use; stop what uses it, or choose another with --port (0 takes a free one)", .0.port(), .0.ip())]
    InUse(SocketAddr),
    /// The port is one of those that only root may have.
    #[error("port {} needs root's rights; choose one above 1023 with --port", .0.port())]
    NotAllowed(SocketAddr),
    /// The machine has no such address.
    #[error(
        "{0} is not an address of this machine; correct --host (127.0.0.1: this machine alone, 0.0.0.0: everybody)"
    )]
    NoSuchAddress(IpAddr),
    /// Anything else.
    #[error("cannot listen at {address}: {source}")]
    Other {
        /// Where.
        address: SocketAddr,
        /// The system's reason.
        source: std::io::Error,
    },
}

/// Takes the port, before anything else is done.
///
/// # Errors
/// All of [`ListenError`].
pub fn listen(host: IpAddr, port: u16) -> Result<TcpListener, ListenError> {
    use std::io::ErrorKind;
    let address = SocketAddr::new(host, port);
    TcpListener::bind(address).map_err(|source| match source.kind() {
        ErrorKind::AddrInUse => ListenError::InUse(address),
        ErrorKind::PermissionDenied => ListenError::NotAllowed(address),
        ErrorKind::AddrNotAvailable => ListenError::NoSuchAddress(host),
        _ => ListenError::Other { address, source },
    })
}

/// A server that is running, with its coordinator.
#[derive(Debug)]
pub struct Serving {
    handle: ServerHandle,
    task: JoinHandle<io::Result<()>>,
    coordinator: Coordinator,
}

impl Serving {
    /// Serves at `listener` what is in the database, and plans what is due with the recipes of `registry`.
    ///
    /// # Errors
    /// A listener that the system does not give up.
    pub fn start(
        listener: TcpListener,
        store: Store,
        artifacts: ArtifactStore,
        registry: Registry,
    ) -> io::Result<Self> {
        let database = store.pool().clone();
        let app = move || {
            App::new()
                .app_data(web::Data::new(database.clone()))
                .service(healthz)
                .service(readyz)
        };
        let server = HttpServer::new(app)
            .disable_signals()
            .shutdown_timeout(GRACE.as_secs())
            .listen(listener)?
            .run();
        let handle = server.handle();
        let coordinator = Coordinator::start(store, artifacts, registry, Pace::default());
        Ok(Self {
            handle,
            task: tokio::spawn(server),
            coordinator,
        })
    }

    /// Waits until the server ends by itself, which it should not.
    ///
    /// # Errors
    /// Why it ended.
    pub async fn ended(&mut self) -> io::Result<()> {
        (&mut self.task).await.map_err(io::Error::other)?
    }

    /// Finishes the requests and plans under way and ends.
    pub async fn stop(self) {
        self.handle.stop(true).await;
        self.coordinator.stop().await;
    }
}

/// Whether the process runs.
#[get("/healthz")]
async fn healthz() -> &'static str {
    "ok\n"
}

/// Whether it can serve: the database answers.
#[get("/readyz")]
async fn readyz(database: web::Data<PgPool>) -> HttpResponse {
    match sqlx::query("SELECT 1").execute(&**database).await {
        Ok(_) => HttpResponse::Ok().body("ready\n"),
        Err(error) => {
            tracing::warn!("not ready: {error}");
            HttpResponse::ServiceUnavailable().body("the database does not answer\n")
        }
    }
}
