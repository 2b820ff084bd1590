//! The HTTP server and its background tasks.

use actix_web::dev::ServerHandle;
use actix_web::middleware::from_fn;
use actix_web::web::{self, Data};
use actix_web::{App, HttpServer};
use futures::future::BoxFuture;
use lyceum_core::config::RunConfig;
use lyceum_core::id::ExecutionId;
use lyceum_core::recipe::Registry;
use lyceum_store::artifact::ArtifactStore;
use lyceum_store::listener::{Listener, Listening};
use lyceum_store::{Store, StoreError, event};
use sqlx::{PgConnection, PgPool};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use utoipa_actix_web::AppExt as _;
use utoipa_swagger_ui::{Config, SwaggerUi};

use crate::access::{
    FailedLogins, Requirements, answer_head, check_host, compress, guard, harden, leave_as_it_is, login_form,
    login_post, logout, nothing_here, open_share, say_json_is_private,
};
use crate::contract::query::malformed_path;
use crate::coordinator::Coordinator;
use crate::events::EventHub;
use crate::frame::assets::show_asset;
use crate::frame::view::{show_errors, take_suffix};
use crate::lab::{Lab, LabSettings, Places, Presets};
use crate::log::log_request;
use crate::openapi::document;
use crate::subjects::evaluations::prepare;
use crate::subjects::{self, alerts, service, sweeps};

/// The time for requests in progress when the server stops.
const GRACE: Duration = Duration::from_secs(10);

/// Begins the benchmarks that a run's config schedules once `done` of its steps are done.
pub fn begin_scheduled<'a>(
    tx: &'a mut PgConnection,
    from: (&'a PgPool, &'a Registry),
    run: ExecutionId,
    config: &'a RunConfig,
    done: u32,
) -> BoxFuture<'a, Result<(), StoreError>> {
    Box::pin(prepare::measure(tx, from, run, config, done))
}

/// The parts of a server.
pub struct Server {
    /// The migrated database.
    pub store: Store,
    pub artifacts: ArtifactStore,
    /// The available recipes.
    pub registry: Registry,
    /// The API's settings.
    pub settings: LabSettings,
}

/// A running server.
#[derive(Debug)]
pub struct Serving {
    handle: ServerHandle,
    task: JoinHandle<io::Result<()>>,
    coordinator: Option<Coordinator>,
    _listening: Listening,
    stop: CancellationToken,
}

impl Server {
    /// Serves on `address`; port 0 takes a free one. Returns the actual address.
    ///
    /// # Errors
    /// The address cannot be bound.
    pub fn listen(self, address: SocketAddr) -> io::Result<(SocketAddr, Serving)> {
        let listener = TcpListener::bind(address)?;
        let bound = listener.local_addr()?;
        Ok((bound, self.serve(listener)?))
    }

    /// Serves on `listener`. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// The listener cannot be used.
    pub fn serve(self, listener: TcpListener) -> io::Result<Serving> {
        service::install();
        let stop = CancellationToken::new();
        let mut notifications = Listener::new(self.store.pool());
        let events = EventHub::new(self.store.pool().clone());
        let news = event::happened_to(&mut notifications);
        tokio::spawn(events.clone().run(news, self.settings.look_for_events, stop.clone()));
        let (store, artifacts, registry) = (&self.store, &self.artifacts, &self.registry);
        let coordinator = self.settings.coordinate.map(|pace| {
            Coordinator::start(
                store.clone(),
                artifacts.clone(),
                registry.clone(),
                begin_scheduled,
                pace,
                &mut notifications,
            )
        });
        let listening = notifications.start();
        let threads = self.settings.threads;
        let pace = self.settings.coordinate;
        let document = document();
        let requirements = Data::new(Requirements::of(&document));
        let failed_logins = Data::new(FailedLogins::new(self.settings.failed_logins_per_minute));
        let document = Data::new(document);
        let lab = Data::new(self.lab(events));
        if let Some(pace) = pace {
            tokio::spawn(alerts::run(lab.get_ref().clone(), pace.sweep, stop.clone()));
            tokio::spawn(sweeps::schedule::run(lab.get_ref().clone(), pace.look, stop.clone()));
        }
        let app = move || {
            let swagger = SwaggerUi::new("/docs/{_:.*}");
            // The other layout has a bar with a logo whose inline style the Content-Security-Policy refuses.
            let swagger = swagger.config(Config::new(["/api/v1/openapi.json"]).use_base_layout());
            App::new()
                .app_data(lab.clone())
                .app_data(Data::new(lab.store.clone()))
                .app_data(requirements.clone())
                .app_data(failed_logins.clone())
                .app_data(document.clone())
                .app_data(malformed_path())
                .into_utoipa_app()
                .configure(subjects::routes)
                .into_app()
                .service(login_form)
                .service(login_post)
                .service(logout)
                .service(open_share)
                .service(show_asset)
                .configure(subjects::pages)
                .service(web::redirect("/docs", "/docs/"))
                .service(swagger)
                .default_service(web::to(nothing_here))
                .wrap(from_fn(guard))
                .wrap(from_fn(show_errors))
                .wrap(from_fn(check_host))
                .wrap(from_fn(say_json_is_private))
                .wrap(from_fn(leave_as_it_is))
                .wrap(compress())
                .wrap(from_fn(harden))
                .wrap(from_fn(log_request))
                .wrap(from_fn(take_suffix))
                .wrap(from_fn(answer_head))
        };
        let mut server = HttpServer::new(app)
            .disable_signals()
            .shutdown_timeout(GRACE.as_secs())
            // A request whose client has gone is dropped with what waits for its turn.
            .h1_allow_half_closed(false)
            // Otherwise the end of a longer answer waits for the client's delayed acknowledgement, 40 ms on Linux.
            .tcp_nodelay(true);
        if let Some(threads) = threads {
            server = server.workers(threads);
        }
        let server = server.listen(listener)?.run();
        Ok(Serving { handle: server.handle(), task: tokio::spawn(server), coordinator, _listening: listening, stop })
    }

    fn lab(self, events: EventHub) -> Lab {
        Lab {
            presets: Presets::new(self.settings.presets.clone()),
            places: Arc::new(Places::new(self.settings.large_bodies)),
            store: self.store,
            artifacts: self.artifacts,
            registry: self.registry,
            settings: self.settings,
            events,
        }
    }
}

impl Serving {
    /// Waits until the server ends unexpectedly.
    ///
    /// # Errors
    /// Why it ended.
    pub async fn ended(&mut self) -> io::Result<()> {
        (&mut self.task).await.map_err(io::Error::other)?
    }

    /// Finishes requests and plans in progress, then stops. Event streams end at once.
    pub async fn stop(self) {
        self.stop.cancel();
        self.handle.stop(true).await;
        if let Some(coordinator) = self.coordinator {
            coordinator.stop().await;
        }
    }
}
