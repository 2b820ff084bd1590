//! Servers that others keep, as samplers: vLLM.
//!
//! Adapters are named by their artifact's digest. A name therefore never stands for other weights, whatever a server
//! remembers, and loading one twice does no harm. Nothing that a server answers is believed before it was compared with the
//! request ([`vllm`]).

mod adapters;
mod ask;
mod base;
mod server;
mod vllm;

pub use ask::ServedSettings;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use futures::future::try_join_all;
use lyceum_core::artifact::Digest;
use lyceum_core::work::{RolloutPayload, Sampler};
use tokio::sync::Semaphore;

use super::{Sampled, SampledCompletion, SampledRequest};
use crate::ModelsFolder;
use crate::handler::{Context, HandlerError};
use adapters::Adapters;
use ask::{Ask, Patience};
use base::{Base, Bases, Zeros};
use server::{Busy, Server, Trouble};

/// Servers with the same base models.
#[derive(Clone)]
pub struct Served(Arc<Shared>);

struct Shared {
    settings: ServedSettings,
    servers: Vec<Arc<Server>>,
    adapters: Adapters,
    bases: Bases,
    /// Requests that may be on their way at once.
    in_flight: Semaphore,
}

/// Why servers cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ServedError {
    /// The text is not an address.
    #[error("`{0}` is not the address of a server (--vllm): http://HOST:PORT is valid")]
    Address(String),
    /// The system refuses a client.
    #[error("cannot make an HTTP client: {0}")]
    Client(#[from] reqwest::Error),
    /// The folder of adapters cannot be created or used.
    #[error("the folder of adapters {} cannot be used (--vllm-adapters): {source}", folder.display())]
    Folder {
        folder: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
}

/// An adapter as a server knows it.
#[derive(Clone, Copy, Debug)]
struct Named {
    digest: Digest,
}

impl Served {
    /// The servers of `settings`, for base models of which `models` has the tokenizers. Looks after them on the current
    /// tokio runtime until the last handle is dropped.
    ///
    /// # Errors
    /// An address that is none, or a folder of adapters that cannot be used.
    pub fn start(settings: ServedSettings, models: ModelsFolder) -> Result<Self, ServedError> {
        let servers = settings.servers.iter().map(|url| Server::new(url, &settings));
        let shared = Arc::new(Shared {
            servers: servers.map(|server| server.map(Arc::new)).collect::<Result<_, _>>()?,
            adapters: Adapters::open(&settings)?,
            bases: Bases::new(models),
            in_flight: Semaphore::new(settings.in_flight),
            settings,
        });
        for server in &shared.servers {
            server::keep_looking(server);
        }
        Ok(Self(shared))
    }

    /// The base models that servers have at the moment.
    pub fn models(&self) -> Vec<String> {
        self.0.servers.iter().flat_map(|server| server.bases()).collect()
    }

    /// Completes the requests of `payload`. Dropping the future ends the requests that are on their way.
    ///
    /// # Errors
    /// The requests are invalid, a server's answers do not fit them, or no server answers for long.
    pub async fn sample(&self, payload: &RolloutPayload, context: &Context) -> Result<Sampled, HandlerError> {
        let start = Instant::now();
        let shared = &*self.0;
        if payload.sampling.vocabulary_mask.is_some() {
            return Err(HandlerError::permanent(
                "a served sampler has no vocabulary masks: use `compute.sampler` = \"engine\"",
            ));
        }
        context.progress(0.0, "loading");
        let base = shared.bases.get(&payload.base_model).await?;
        let asks: Vec<Ask> =
            payload.requests.iter().map(|request| Ask::new(payload, request, &base)).collect::<Result<_, _>>()?;
        let digests: Vec<Digest> = payload.adapters.iter().map(|adapter| adapter.artifact).collect();
        for server in &shared.servers {
            server.meet().await;
        }
        if shared.settings.resolver {
            // Only a server knows by which name of its base its resolver takes adapters.
            shared.found(&base.name).await?;
        }
        let has_bare = asks.iter().any(|ask| ask.adapter.is_none());
        let zeros =
            (shared.settings.base_as_adapter && has_bare).then(|| Zeros::new(&base.name, &base.config)).transpose()?;
        // What is held is neither deleted nor unloaded, by whichever worker.
        let held =
            shared.adapters.hold(&digests, zeros.as_ref(), &payload.base_model, context, &shared.servers).await?;
        let total: usize = asks.iter().map(|ask| ask.n).sum();
        let done = AtomicUsize::new(0);
        context.progress(0.0, "generating");
        let answers = asks.iter().map(|ask| {
            let (base, done) = (&base, &done);
            let own = ask.adapter.map(|place| digests[place]);
            let adapter = own.or(zeros.as_ref().map(|zeros| zeros.digest)).map(|digest| Named { digest });
            async move {
                let completions = shared.complete(base, ask, adapter).await?;
                let done = done.fetch_add(ask.n, Ordering::Relaxed) + ask.n;
                context.progress(done as f32 / total.max(1) as f32, "generating");
                Ok::<_, HandlerError>(completions)
            }
        });
        let answers = try_join_all(answers).await?;
        drop(held);
        shared.adapters.trim(&shared.servers).await;
        let requests = asks.into_iter().zip(answers).map(|(ask, completions)| SampledRequest {
            id: ask.id,
            prompt: ask.prompt,
            completions,
        });
        Ok(Sampled {
            requests: requests.collect(),
            sampler: Sampler::Served,
            halvings: 0,
            seconds: start.elapsed().as_secs_f64(),
            chat_template_sha256: base.texts.chat_template_sha256().map(str::to_owned),
        })
    }
}

impl Shared {
    /// The completions of one request. What fails for reasons outside of the request is tried again, on another server
    /// if there is one.
    async fn complete(
        &self,
        base: &Base,
        ask: &Ask,
        adapter: Option<Named>,
    ) -> Result<Vec<SampledCompletion>, HandlerError> {
        if ask.n == 0 {
            return Ok(Vec::new());
        }
        let gone = |_| HandlerError::Transient("the worker is stopping".to_owned());
        let _permit = self.in_flight.acquire().await.map_err(gone)?;
        let mut patience = Patience::new(self.settings.patience);
        let mut reloaded = false;
        loop {
            let trouble = match self.pick(&base.name).await {
                Ok((server, _busy)) => match self.ask(server, base, ask, adapter).await {
                    Ok(completions) => return Ok(completions),
                    Err(Trouble::Unknown { detail, epoch }) if adapter.is_some() && !reloaded => {
                        // It was restarted, or somebody unloaded the adapter.
                        reloaded = true;
                        server.forget(adapter.map(|adapter| adapter.digest), epoch);
                        tracing::info!(server = %server.url, "{} says {detail}; loading the adapter again", server.url);
                        continue;
                    }
                    Err(trouble) => {
                        if matches!(trouble, Trouble::Away(_)) {
                            server.lost();
                            // Whoever restarts it restarts it empty.
                            reloaded = false;
                        }
                        trouble
                    }
                },
                Err(trouble) => trouble,
            };
            match trouble {
                Trouble::Away(detail) => patience.wait(&detail).await?,
                Trouble::Unknown { detail, .. } => return Err(HandlerError::Transient(detail)),
                Trouble::Refused(detail) | Trouble::Wrong(detail) => return Err(HandlerError::Permanent(detail)),
            }
        }
    }

    /// Waits until a server has the base model.
    async fn found(&self, base: &str) -> Result<(), HandlerError> {
        let mut patience = Patience::new(self.settings.patience);
        loop {
            match self.pick(base).await {
                Ok(_) => return Ok(()),
                Err(Trouble::Away(detail)) => patience.wait(&detail).await?,
                Err(Trouble::Unknown { detail, .. } | Trouble::Refused(detail) | Trouble::Wrong(detail)) => {
                    return Err(HandlerError::Permanent(detail));
                }
            }
        }
    }

    async fn ask(
        &self,
        server: &Server,
        base: &Base,
        ask: &Ask,
        adapter: Option<Named>,
    ) -> Result<Vec<SampledCompletion>, Trouble> {
        let longest = server.longest(&base.name);
        if let Some(longest) = longest.filter(|longest| ask.tokens() > *longest) {
            return Err(Trouble::Refused(format!(
                "request `{}`: {} prompt tokens and `max_tokens` {} add up to {}; the longest sequence of {} is {longest}",
                ask.id,
                ask.prompt.len(),
                ask.max_tokens,
                ask.tokens(),
                server.url,
            )));
        }
        let (model, epoch) = match adapter {
            None => (base.name.clone(), 0),
            Some(Named { digest }) => {
                let epoch = server.load(digest, &self.adapters).await?;
                (digest.to_string(), epoch)
            }
        };
        let answer = server.complete(&vllm::completion(&model, ask)).await.map_err(|trouble| trouble.at(epoch))?;
        let wrong = |reason: String| {
            Trouble::Wrong(format!("{} answers request `{}` with what was not asked: {reason}", server.url, ask.id))
        };
        let choices = vllm::choices(&answer, &model, ask).map_err(wrong)?;
        ask.completions(choices, base).map_err(wrong)
    }

    /// The server with the fewest requests on their way among those that have the base model, counting one more.
    async fn pick(&self, base: &str) -> Result<(&Arc<Server>, Busy<'_>), Trouble> {
        let has = |server: &&Arc<Server>| server.bases().iter().any(|name| name == base);
        let least = || {
            let server = self.servers.iter().filter(has).min_by_key(|server| server.busy())?;
            Some((server, server.take()))
        };
        if let Some(picked) = least() {
            return Ok(picked);
        }
        let mut said = Vec::new();
        let mut all_answer = true;
        for server in &self.servers {
            match server.look().await {
                Ok(()) => said.push(format!("{} has {}", server.url, server.bases().join(", "))),
                Err(detail) => {
                    all_answer = false;
                    said.push(detail);
                }
            }
        }
        least().ok_or_else(|| {
            let detail = format!("no server has the base model `{base}` under this name: {}", said.join("; "));
            if all_answer { Trouble::Refused(detail) } else { Trouble::Away(detail) }
        })
    }
}
