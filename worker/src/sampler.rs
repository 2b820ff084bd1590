//! What generates tokens: this process's engine, or servers that others keep. Handlers of rollouts and benchmarks go through
//! [`Samplers`] and need not know which.

#[cfg(feature = "engine")]
mod engine;
mod sampled;
mod served;

pub use sampled::{Sampled, SampledCompletion, SampledRequest};
pub use served::{Served, ServedError, ServedSettings};

use std::sync::Arc;

use lyceum_core::work::{RolloutPayload, Sampler};

#[cfg(feature = "engine")]
use crate::engine::Engine;
use crate::handler::{Context, HandlerError};

/// The samplers of a worker.
#[derive(Clone, Default)]
pub struct Samplers {
    /// The engine of this process.
    #[cfg(feature = "engine")]
    pub engine: Option<Engine>,
    /// Servers.
    pub served: Option<Served>,
}

impl Samplers {
    /// Whether it has this sampler.
    pub fn has(&self, sampler: Sampler) -> bool {
        match sampler {
            #[cfg(feature = "engine")]
            Sampler::Engine => self.engine.is_some(),
            #[cfg(not(feature = "engine"))]
            Sampler::Engine => false,
            Sampler::Served => self.served.is_some(),
        }
    }

    /// Completes the requests of `payload`.
    ///
    /// # Errors
    /// The requests are invalid, or the sampler fails.
    pub async fn sample(&self, payload: Arc<RolloutPayload>, context: &Context) -> Result<Sampled, HandlerError> {
        let sampler = payload.sampler();
        match sampler {
            #[cfg(feature = "engine")]
            Sampler::Engine => {
                if let Some(engine) = &self.engine {
                    return engine::sample(engine, payload, context).await;
                }
            }
            #[cfg(not(feature = "engine"))]
            Sampler::Engine => {}
            Sampler::Served => {
                if let Some(served) = &self.served {
                    return served.sample(&payload, context).await;
                }
            }
        }
        Err(HandlerError::Permanent(format!(
            "this worker does not have the sampler `{sampler}` (`compute.sampler`)"
        )))
    }

    /// The base models that are loaded.
    #[cfg(feature = "engine")]
    pub fn loaded_models(&self) -> Vec<String> {
        self.engine.as_ref().map(Engine::loaded_models).unwrap_or_default()
    }

    /// The base models that are loaded: none without an engine.
    #[cfg(not(feature = "engine"))]
    pub fn loaded_models(&self) -> Vec<String> {
        Vec::new()
    }

    /// The base models that servers have at the moment.
    pub fn served_models(&self) -> Vec<String> {
        self.served.as_ref().map(Served::models).unwrap_or_default()
    }
}

#[cfg(feature = "engine")]
impl From<Engine> for Samplers {
    fn from(engine: Engine) -> Self {
        Self {
            engine: Some(engine),
            served: None,
        }
    }
}
