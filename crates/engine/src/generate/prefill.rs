//! Prefill: each prompt passes through the model once for all its samples.

use std::collections::HashMap;
use std::rc::Rc;

use tch::Tensor;

use super::cache::PromptCache;
use super::run::{Run, Running};
use crate::error::Result;
use crate::model::OutputRows;
use crate::population::{Population, RowGroups};

/// Prefilled prompts with samples still waiting for a slot: the pass that holds each and its row, by request.
pub(super) type Prompts = HashMap<usize, (Rc<Prefilled>, i64)>;

/// Prompts prefilled together.
pub(super) struct Prefilled {
    pub(super) cache: PromptCache,
    /// Logits after each prompt, `[prompts, vocab_size]`.
    pub(super) logits: Tensor,
}

impl Run<'_> {
    /// Runs prompts that are not prefilled yet through the model, in passes of bounded size.
    pub(super) fn prefill(&self, admitted: &[Running], prompts: &mut Prompts) -> Result<()> {
        let mut new: Vec<usize> = Vec::new();
        for running in admitted {
            // The samples of a request are adjacent.
            if !prompts.contains_key(&running.request) && new.last() != Some(&running.request) {
                new.push(running.request);
            }
        }
        let mut rest = new.as_slice();
        while !rest.is_empty() {
            let mut longest = 0;
            let fits = |&(count, &request): &(usize, &usize)| {
                longest = longest.max(self.requests[request].prompt.len());
                count == 0 || (count + 1) * longest <= self.options.prefill_tokens
            };
            let count = rest.iter().enumerate().take_while(fits).count();
            let (pass, others) = rest.split_at(count);
            let prefilled = Rc::new(self.prefill_pass(pass)?);
            prompts.extend(
                pass.iter()
                    .zip(0..)
                    .map(|(&request, row)| (request, (Rc::clone(&prefilled), row))),
            );
            rest = others;
        }
        Ok(())
    }

    fn prefill_pass(&self, requests: &[usize]) -> Result<Prefilled> {
        let model = self.generator.model;
        let device = model.placement.device;
        let prompts: Vec<&Vec<i64>> = requests.iter().map(|&request| &self.requests[request].prompt).collect();
        let length = prompts.iter().map(|prompt| prompt.len()).max().unwrap_or(0);
        let mut padded = vec![0; prompts.len() * length];
        for (row, prompt) in padded.chunks_mut(length).zip(&prompts) {
            row[..prompt.len()].copy_from_slice(prompt);
        }
        let (count, length) = (prompts.len() as i64, length as i64);
        let ids = Tensor::f_from_slice(&padded)?
            .f_view([count, length])?
            .f_to_device(device)?;
        let members: Vec<_> = requests.iter().map(|&request| self.requests[request].adapter).collect();
        let adapters = self.adapters_of(&members, length)?;
        let adapters = adapters.as_ref().map(|(layers, groups)| (layers.as_slice(), groups));
        let height = self.generator.population.map_or(0, Population::members);
        let groups = match adapters {
            Some(_) => RowGroups::new(&members, 1, height, device)?,
            None => None,
        };
        let last: Vec<i64> = prompts
            .iter()
            .zip(0..)
            .map(|(prompt, row)| row * length + prompt.len() as i64 - 1)
            .collect();
        let output = OutputRows {
            rows: &Tensor::f_from_slice(&last)?.f_to_device(device)?,
            groups: groups.as_ref(),
        };
        let cache = PromptCache::default();
        let hidden = model.forward_rows(&ids, &self.rope.first(length)?, adapters, &cache, output)?;
        Ok(Prefilled {
            cache,
            logits: model.logits(&model.final_norm(&hidden)?)?,
        })
    }
}
