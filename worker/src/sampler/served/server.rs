//! One server: what it has, and how it is asked.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use lyceum_core::artifact::Digest;
use reqwest::{Method, StatusCode, Url};
use serde_json::Value;

use super::adapters::Adapters;
use super::ask::ServedSettings;
use super::{ServedError, vllm};

/// How often a server is asked what it has.
const LOOK: Duration = Duration::from_secs(5);
/// The longest time to connect, and to say what it has.
const QUICK: Duration = Duration::from_secs(10);

/// A server and what is known of it.
pub(super) struct Server {
    pub(super) url: String,
    client: reqwest::Client,
    key: Option<String>,
    /// Whether it finds adapters by itself.
    resolver: bool,
    /// What it has; `None` while it does not answer.
    models: RwLock<Option<vllm::Models>>,
    has_complained: AtomicBool,
    /// The adapters that it was seen to have, each with the number of its loading.
    loaded: Mutex<HashMap<Digest, u64>>,
    loadings: AtomicU64,
    loading: tokio::sync::Mutex<()>,
    busy: AtomicUsize,
    met: tokio::sync::OnceCell<()>,
}

/// Why a server did not do what was asked.
#[derive(Debug)]
pub(super) enum Trouble {
    /// It does not answer, or not now.
    Away(String),
    /// It does not know the model or adapter, which was there in loading `epoch`.
    Unknown { detail: String, epoch: u64 },
    /// It refuses the request.
    Refused(String),
    /// Its answer is not to the request.
    Wrong(String),
}

impl Trouble {
    /// The same, of an adapter in loading `epoch`.
    pub(super) fn at(self, epoch: u64) -> Self {
        match self {
            Self::Unknown { detail, .. } => Self::Unknown { detail, epoch },
            other => other,
        }
    }
}

/// A request that is on its way, or about to be.
pub(super) struct Busy<'s>(&'s AtomicUsize);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Server {
    pub(super) fn new(url: &str, settings: &ServedSettings) -> Result<Self, ServedError> {
        let parsed = Url::parse(url).ok();
        let is_address = |url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host();
        if !parsed.as_ref().is_some_and(is_address) {
            return Err(ServedError::Address(url.to_owned()));
        }
        // Whoever installed one before, both are the same.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Ok(Self {
            url: url.trim_end_matches('/').to_owned(),
            client: reqwest::Client::builder()
                .connect_timeout(QUICK)
                .timeout(settings.timeout)
                .tcp_keepalive(Duration::from_secs(30))
                // Proxies in the environment are for the world outside.
                .no_proxy()
                .build()?,
            key: settings.key.clone(),
            resolver: settings.resolver,
            models: RwLock::default(),
            has_complained: AtomicBool::new(false),
            loaded: Mutex::default(),
            loadings: AtomicU64::new(1),
            loading: tokio::sync::Mutex::default(),
            busy: AtomicUsize::new(0),
            met: tokio::sync::OnceCell::new(),
        })
    }

    /// The base models that it has; none while it does not answer.
    pub(super) fn bases(&self) -> Vec<String> {
        let models = self.models.read().unwrap_or_else(PoisonError::into_inner);
        let bases = models.iter().flat_map(|models| &models.bases);
        bases.map(|base| base.name.clone()).collect()
    }

    /// The longest sequence of a base model, if it says so.
    pub(super) fn longest(&self, base: &str) -> Option<usize> {
        self.card(base)?.longest
    }

    /// What it calls a base model itself.
    pub(super) fn root(&self, base: &str) -> Option<String> {
        self.card(base)?.root
    }

    fn card(&self, base: &str) -> Option<vllm::BaseCard> {
        let models = self.models.read().unwrap_or_else(PoisonError::into_inner);
        let card = models.as_ref()?.bases.iter().find(|card| card.name == base);
        card.cloned()
    }

    /// Requests on their way.
    pub(super) fn busy(&self) -> usize {
        self.busy.load(Ordering::Relaxed)
    }

    /// Counts one more, until the result is dropped.
    pub(super) fn take(&self) -> Busy<'_> {
        self.busy.fetch_add(1, Ordering::Relaxed);
        Busy(&self.busy)
    }

    /// Asks what it has unless it was asked before, with whatever result.
    pub(super) async fn meet(&self) {
        let met = || async { drop(self.look().await) };
        self.met.get_or_init(met).await;
    }

    /// Remembers that it does not answer.
    pub(super) fn lost(&self) {
        *self.models.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Asks what it has.
    ///
    /// # Errors
    /// It does not answer.
    pub(super) async fn look(&self) -> Result<(), String> {
        let found = self.list().await;
        let known = found.as_ref().ok().cloned();
        *self.models.write().unwrap_or_else(PoisonError::into_inner) = known;
        found.map(drop)
    }

    async fn list(&self) -> Result<vllm::Models, String> {
        let answer = self.send(Method::GET, vllm::MODELS, None, Some(QUICK)).await;
        let answer = answer.map_err(|trouble| match trouble {
            Trouble::Away(detail)
            | Trouble::Refused(detail)
            | Trouble::Wrong(detail)
            | Trouble::Unknown { detail, .. } => detail,
        })?;
        vllm::models(&answer).map_err(|error| format!("{} lists no models: {error}", self.url))
    }

    /// Completes a prompt.
    pub(super) async fn complete(&self, body: &Value) -> Result<Vec<u8>, Trouble> {
        self.send(Method::POST, vllm::COMPLETIONS, Some(body), None).await
    }

    /// Sees to it that it has an adapter of the folder, and returns the number of its loading.
    pub(super) async fn load(&self, digest: Digest, adapters: &Adapters) -> Result<u64, Trouble> {
        if self.resolver {
            return Ok(0);
        }
        if let Some(epoch) = self.loading_of(digest) {
            return Ok(epoch);
        }
        let _one_at_a_time = self.loading.lock().await;
        if let Some(epoch) = self.loading_of(digest) {
            return Ok(epoch);
        }
        let folder = adapters.folder(digest).display().to_string();
        let body = vllm::load(&digest.to_string(), &folder);
        match self.send(Method::POST, vllm::LOAD, Some(&body), None).await {
            Ok(_) => {}
            Err(Trouble::Refused(detail)) if vllm::is_loaded_already(&detail) => self.check(digest, &folder).await?,
            Err(Trouble::Unknown { detail, .. }) => {
                return Err(Trouble::Refused(format!(
                    "{detail}, while loading the adapter {folder}: vLLM needs VLLM_ALLOW_RUNTIME_LORA_UPDATING=1, \
                     --enable-lora, and the same folder at the same path (--vllm-adapters)"
                )));
            }
            Err(Trouble::Away(detail)) if vllm::is_unfit(&detail) => return Err(Trouble::Refused(detail)),
            Err(trouble) => return Err(trouble),
        }
        let epoch = self.loadings.fetch_add(1, Ordering::Relaxed);
        self.loaded().insert(digest, epoch);
        Ok(epoch)
    }

    /// Refuses an adapter that the server has from elsewhere: what it is then is not known.
    async fn check(&self, digest: Digest, folder: &str) -> Result<(), Trouble> {
        let models = self.list().await.map_err(Trouble::Away)?;
        let name = digest.to_string();
        let known = models.adapters.into_iter().find(|adapter| adapter.name == name);
        match known.and_then(|adapter| adapter.folder) {
            Some(found) if found != folder => Err(Trouble::Wrong(format!(
                "{} has adapter {name} from {found}, and this worker's is {folder}: let all workers name the same folder \
                 (--vllm-adapters), and restart the server",
                self.url
            ))),
            _ => Ok(()),
        }
    }

    /// Forgets that it has an adapter, unless it was loaded again since loading `epoch`.
    pub(super) fn forget(&self, digest: Option<Digest>, epoch: u64) {
        if let Some(digest) = digest {
            let mut loaded = self.loaded();
            if loaded.get(&digest) == Some(&epoch) {
                loaded.remove(&digest);
            }
        }
    }

    /// Lets it forget an adapter that nobody holds. One that it does not have is no trouble.
    pub(super) async fn unload(&self, digest: Digest) -> Result<(), Trouble> {
        self.loaded().remove(&digest);
        if self.resolver {
            return Ok(());
        }
        let body = vllm::unload(&digest.to_string());
        match self.send(Method::POST, vllm::UNLOAD, Some(&body), Some(QUICK)).await {
            Ok(_) | Err(Trouble::Unknown { .. }) => Ok(()),
            Err(trouble) => Err(trouble),
        }
    }

    fn loading_of(&self, digest: Digest) -> Option<u64> {
        self.loaded().get(&digest).copied()
    }

    fn loaded(&self) -> std::sync::MutexGuard<'_, HashMap<Digest, u64>> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        timeout: Option<Duration>,
    ) -> Result<Vec<u8>, Trouble> {
        let away = |error: reqwest::Error| Trouble::Away(format!("{} does not answer: {}", self.url, causes(&error)));
        let mut request = self.client.request(method, format!("{}{path}", self.url));
        if let Some(key) = &self.key {
            request = request.bearer_auth(key);
        }
        if let Some(timeout) = timeout {
            request = request.timeout(timeout);
        }
        if let Some(body) = body {
            request = request.header("Content-Type", "application/json").body(body.to_string());
        }
        let answer = request.send().await.map_err(away)?;
        let status = answer.status();
        let body = answer.bytes().await.map_err(away)?;
        if status.is_success() {
            return Ok(body.into());
        }
        let detail = format!("{} answers {path} with {}: {}", self.url, status.as_u16(), vllm::reason(&body));
        Err(match status {
            StatusCode::NOT_FOUND => Trouble::Unknown { detail, epoch: 0 },
            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => Trouble::Away(detail),
            status if status.is_server_error() => Trouble::Away(detail),
            _ => Trouble::Refused(detail),
        })
    }
}

/// An error with its causes, since reqwest's own words do not say what happened.
fn causes(error: &dyn std::error::Error) -> String {
    let mut said = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        said = format!("{said}: {error}");
        source = error.source();
    }
    said
}

/// Asks a server every few seconds what it has, until it is dropped.
pub(super) fn keep_looking(server: &Arc<Server>) {
    let server = Arc::downgrade(server);
    tokio::spawn(async move {
        while let Some(server) = server.upgrade() {
            match server.look().await {
                Ok(()) => {
                    if server.has_complained.swap(false, Ordering::Relaxed) {
                        tracing::info!("{} answers again", server.url);
                    }
                }
                Err(detail) => {
                    if !server.has_complained.swap(true, Ordering::Relaxed) {
                        tracing::warn!("{detail}; its items wait");
                    }
                }
            }
            drop(server);
            tokio::time::sleep(LOOK).await;
        }
    });
}
