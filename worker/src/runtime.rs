//! A worker: registers, runs the items it can, and signs off.

mod item;
mod lane;
mod settings;
mod unfit;
mod usage;

pub use settings::RuntimeSettings;
pub use unfit::Unfit;

use lyceum_core::work::{Device, Sampler, WorkKind};
use lyceum_store::artifact::ArtifactStore;
use lyceum_store::listener::{Listener, Listening};
use lyceum_store::queue::{self, Lane};
use lyceum_store::work::Slot;
use lyceum_store::workers::{Doing, NewWorker, register, report, seen};
use lyceum_store::{Store, StoreError};
use std::sync::Arc;
use tokio::sync::{Semaphore, watch};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::usage::Meter;
use crate::handler::{Artifacts, Handlers};
use unfit::Lacking;

/// The kinds in which tokens are generated.
const SAMPLED: [WorkKind; 2] = [WorkKind::Rollout, WorkKind::Benchmark];

/// State shared by the parts of a running worker.
struct Shared {
    /// Not shared with handlers or anything they use.
    store: Store,
    artifacts: Artifacts,
    settings: RuntimeSettings,
    handlers: Handlers,
    /// The runtime for handlers. A handler that wrongly blocks its thread delays neither renewals nor their
    /// connections.
    handler_threads: tokio::runtime::Handle,
    /// Take no new items.
    draining: CancellationToken,
    /// Hand back claimed items.
    abandoning: CancellationToken,
    items: TaskTracker,
    /// Bases that it does not have.
    lacking: Lacking,
    /// Why it can do no further work, if so.
    unfit: watch::Sender<Option<Unfit>>,
}

/// Why a worker could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A database error.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The system could not create threads.
    #[error("cannot start the worker's threads: {0}")]
    Threads(#[from] std::io::Error),
}

/// A running worker.
pub struct Runtime {
    shared: Arc<Shared>,
    lanes: Vec<std::thread::JoinHandle<()>>,
    _listening: Listening,
    handler_threads: Option<tokio::runtime::Runtime>,
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.shared.draining.cancel();
        self.shared.abandoning.cancel();
        if let Some(threads) = self.handler_threads.take() {
            threads.shutdown_background();
        }
    }
}

impl Runtime {
    /// Registers the worker and starts taking work, with its own connections to the database of `store`.
    ///
    /// Connections opened by handlers, for themselves or for `artifacts`, end with the runtime: a caller that uses the
    /// database afterwards must give them a separate store ([`Store::apart`]).
    ///
    /// # Errors
    /// If it cannot be registered, or its threads cannot be started.
    pub async fn start(
        store: &Store,
        artifacts: ArtifactStore,
        handlers: Handlers,
        settings: RuntimeSettings,
    ) -> Result<Self, StartError> {
        let handler_threads =
            tokio::runtime::Builder::new_multi_thread().thread_name("handler").enable_all().build()?;
        let store = store.apart();
        let kinds: Vec<WorkKind> = handlers.kinds().collect();
        let samplers: Vec<Sampler> = Sampler::ALL
            .into_iter()
            .filter(|sampler| SAMPLED.iter().any(|kind| handlers.serves(*kind, *sampler)))
            .collect();
        register(
            store.pool(),
            &NewWorker {
                id: settings.id,
                name: &settings.name,
                host: &settings::host(),
                device: &settings.device,
                kernels: settings.kernels,
                kinds: &kinds,
                samplers: &samplers,
                trainers: &handlers.trainers(),
                base_models: settings.base_models.as_deref().unwrap_or_default(),
                memory_bytes: settings.memory_bytes,
                versions: settings.versions.clone(),
            },
        )
        .await?;
        let shared = Arc::new(Shared {
            store,
            artifacts: Artifacts::keeping(artifacts, settings.adapters_bytes),
            settings,
            handlers,
            handler_threads: handler_threads.handle().clone(),
            draining: CancellationToken::new(),
            abandoning: CancellationToken::new(),
            items: TaskTracker::new(),
            lacking: Lacking::default(),
            unfit: watch::Sender::new(None),
        });
        tokio::spawn(show_presence(Arc::clone(&shared)));
        let mut listener = Listener::new(shared.store.pool());
        let mut lanes = Vec::new();
        for lane in Lane::ALL {
            if shared.slot(lane).kinds.is_empty() {
                continue;
            }
            let slots = Arc::new(Semaphore::new(shared.settings.slots(lane)));
            let announcements = queue::announcements(&mut listener, lane);
            let shared = Arc::clone(&shared);
            let runtime = tokio::runtime::Handle::current();
            // apalis's worker future does not meet the `Send` bounds of `tokio::spawn`, so it runs on its own thread.
            let thread = std::thread::Builder::new().name(format!("lane {}", lane.queue()));
            lanes.push(thread.spawn(move || runtime.block_on(lane::run(shared, lane, slots, announcements)))?);
        }
        Ok(Self { shared, lanes, _listening: listener.start(), handler_threads: Some(handler_threads) })
    }

    /// Takes no new items, lets claimed ones finish within the configured time, hands back the rest, and signs off.
    pub async fn drain(mut self) {
        self.shared.draining.cancel();
        self.shared.items.close();
        tokio::select! {
            () = self.shared.items.wait() => {}
            () = tokio::time::sleep(self.shared.settings.drain_time) => {
                tracing::info!("handing back {} items that did not finish in time", self.shared.items.len());
            }
            () = self.shared.abandoning.cancelled() => {}
        }
        self.shared.abandoning.cancel();
        self.shared.items.wait().await;
        let lanes = std::mem::take(&mut self.lanes);
        let joined = tokio::task::spawn_blocking(move || lanes.into_iter().for_each(|lane| drop(lane.join()))).await;
        if let Err(error) = joined {
            tracing::warn!(%error, "a lane ended with an error");
        }
        if let Err(error) = seen(self.shared.store.pool(), self.shared.settings.id, Doing::Stopped, &[]).await {
            tracing::warn!(%error, "cannot sign off");
        }
    }

    /// Waits until the worker can do no further work, and says why. It takes no more items then: drain it, and end the process
    /// with an error, so that whatever supervises it starts another one.
    pub fn unfit(&self) -> impl Future<Output = Unfit> + use<> {
        let mut unfit = self.shared.unfit.subscribe();
        async move {
            let why = unfit.wait_for(Option::is_some).await.ok().and_then(|why| why.clone());
            match why {
                Some(why) => why,
                None => std::future::pending().await,
            }
        }
    }

    /// Handle that speeds up a drain: hands back claimed items immediately.
    pub fn abandon_token(&self) -> CancellationToken {
        self.shared.abandoning.clone()
    }
}

impl Shared {
    /// Takes no more items, since it would fail each of them.
    fn be_unfit(&self, why: Unfit) {
        tracing::error!("{why}");
        self.draining.cancel();
        self.unfit.send_replace(Some(why));
    }

    /// The items that a slot of `lane` can take.
    fn slot(&self, lane: Lane) -> Slot {
        let sampler = lane.sampler();
        let fits = |kind: &WorkKind| Lane::of(*kind, sampler) == lane && self.handlers.serves(*kind, sampler);
        let (base_models, loaded_models) = match lane {
            // Of a server that does not answer nothing is expected, so its items wait and lose no try.
            Lane::Served => (Some(self.handlers.served_models()), Vec::new()),
            Lane::Verifier | Lane::Engine => (self.settings.base_models.clone(), self.handlers.loaded_models()),
        };
        Slot {
            worker: self.settings.id,
            kinds: self.handlers.kinds().filter(fits).collect(),
            sampler,
            trainers: self.handlers.trainers(),
            base_models,
            loaded_models,
            lacking: self.lacking.now(),
            device: if self.settings.has_gpu() { Device::Cuda } else { Device::Cpu },
            kernels: self.settings.kernels,
            memory_bytes: self.settings.memory_bytes,
            lease: self.settings.lease,
        }
    }
}

/// Sends a heartbeat with the worker's state every few seconds.
async fn show_presence(shared: Arc<Shared>) {
    let mut tick = tokio::time::interval(shared.settings.heartbeat);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut complained = false;
    let mut meter = Some(Meter::new(shared.settings.has_gpu()));
    loop {
        tick.tick().await;
        if shared.abandoning.is_cancelled() {
            return;
        }
        let doing = match (shared.draining.is_cancelled(), shared.items.is_empty()) {
            (true, _) => Doing::Draining,
            (false, true) => Doing::Idle,
            (false, false) => Doing::Busy,
        };
        let models = [shared.handlers.loaded_models(), shared.handlers.served_models()].concat();
        let mut shown = seen(shared.store.pool(), shared.settings.id, doing, &models).await;
        // Reading takes a while on a machine with many processes.
        if let Some(mut own) = meter.take()
            && let Ok((own, usage)) = tokio::task::spawn_blocking(move || {
                let usage = own.read();
                (own, usage)
            })
            .await
        {
            meter = Some(own);
            if let (Ok(()), Some(usage)) = (&shown, usage) {
                shown = report(shared.store.pool(), shared.settings.id, &usage).await;
            }
        }
        // Log once when the database goes away and once when it is back, not on every tick.
        match shown {
            Err(error) if !complained => {
                tracing::warn!(%error, "the database does not respond; continuing with the claimed items");
                complained = true;
            }
            Ok(()) if complained => {
                tracing::info!("the database responds again");
                complained = false;
            }
            _ => {}
        }
    }
}
