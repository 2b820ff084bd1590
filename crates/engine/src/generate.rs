//! Generation for all members at once: continuous batching over a slot cache.

mod cache;
mod cut;
mod lanes;
mod mask;
mod options;
mod prefill;
mod prompts;
mod run;
mod sampler;
mod samples;
mod shared;
mod step;
mod upload;

pub use mask::dropped;
pub use options::{Completion, GenerationOptions, GenerationRequest, GenerationResult};

use crate::error::{EngineError, Result};
use crate::model::Model;
use crate::population::{LayerAdapters, Population};
use crate::tokenizer::Tokenizer;
use crate::unwinding::as_errors;
use run::Run;

/// A model with its population, ready to generate.
#[derive(Clone, Copy)]
pub struct Generator<'a> {
    /// The base model.
    pub model: &'a Model,
    /// The members; requests refer to them by index.
    pub population: Option<&'a Population>,
    /// Needed for texts and stop strings.
    pub tokenizer: Option<&'a Tokenizer>,
}

/// Events during generation.
#[derive(Debug)]
pub enum GenerationEvent<'a> {
    /// A decoding step is done.
    Progress {
        /// Completions finished so far.
        finished: usize,
        /// Completions requested.
        completions: usize,
        /// Tokens generated so far.
        tokens: u64,
    },
    /// All completions of a request are finished.
    Finished(&'a GenerationResult),
    /// Memory ran out; unfinished sequences go on with fewer slots, from the tokens they have.
    Halved {
        /// The new number of slots.
        slots: usize,
    },
}

/// The results of a batch.
#[derive(Debug)]
pub struct Generated {
    /// One result for each request, in the requests' order.
    pub results: Vec<GenerationResult>,
    /// The number of slots after each time memory ran out; empty if it never did.
    pub halved: Vec<usize>,
}

impl Generator<'_> {
    /// Completes all requests. Up to rounding, a request's result depends only on the request, the member and the mask,
    /// not on the rest of the batch.
    pub fn generate(
        &self,
        requests: &[GenerationRequest],
        options: &GenerationOptions,
        observe: &mut dyn FnMut(GenerationEvent<'_>),
    ) -> Result<Generated> {
        let _no_grad = tch::no_grad_guard();
        let generated = as_errors(|| self.generate_checked(requests, options, observe));
        generated.map_err(|error| {
            error.if_out_of_memory(self.model.placement.device, || {
                let members = self.population.map_or(0, Population::members);
                format!(
                    "the adapters of {members} members, arranged for generation, and tables of positions do not fit beside the \
                     base; fewer members at a time would"
                )
            })
        })
    }

    fn generate_checked(
        &self,
        requests: &[GenerationRequest],
        options: &GenerationOptions,
        observe: &mut dyn FnMut(GenerationEvent<'_>),
    ) -> Result<Generated> {
        for request in requests {
            request.check(self.model, self.population.map_or(0, Population::members))?;
        }
        mask::shared(requests)?;
        if requests.iter().all(|request| request.n == 0) {
            return Ok(Generated {
                results: requests.iter().map(GenerationRequest::unsampled).collect(),
                halved: Vec::new(),
            });
        }
        let adapters = match self.population {
            Some(population) => self.model.arrange_adapters(population)?,
            None => Vec::new(),
        };
        let lanes = lanes::divide(requests, options, self.model);
        if lanes.len() > 1 {
            return self.generate_in_lanes(&adapters, requests, options, &lanes, observe);
        }
        self.generate_together(&adapters, requests, options, observe)
    }

    /// Completes validated requests in one batch.
    fn generate_together(
        &self,
        adapters: &[LayerAdapters],
        requests: &[GenerationRequest],
        options: &GenerationOptions,
        observe: &mut dyn FnMut(GenerationEvent<'_>),
    ) -> Result<Generated> {
        let samples: usize = requests.iter().map(|request| request.n).sum();
        let mut slots = options.max_slots.clamp(1, samples.max(1));
        let mut run = Run::new(self, adapters, requests, options)?;
        let mut halved = Vec::new();
        while let Err(error) = run.complete(slots, observe) {
            if !error.is_out_of_memory() {
                return Err(error);
            }
            if slots == 1 {
                return Err(EngineError::OutOfMemory {
                    device: format!("{:?}", self.model.placement.device),
                    detail: format!(
                        "even one sequence at a time does not fit; a shorter prompt or limit of tokens would ({error})"
                    ),
                });
            }
            slots /= 2;
            halved.push(slots);
            observe(GenerationEvent::Halved { slots });
        }
        Ok(Generated { results: run.into_results(), halved })
    }
}
