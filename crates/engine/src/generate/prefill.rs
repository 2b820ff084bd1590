//! Prefill: each prompt passes through the model once for all its samples. A sequence that was stopped when memory ran out
//! passes through it again with the tokens it has.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use tch::Tensor;

use super::cache::PromptCache;
use super::run::{Run, Running};
use crate::device::upload;
use crate::error::Result;
use crate::model::OutputRows;
use crate::population::{Population, RowGroups};

/// What is prefilled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Source {
    /// The prompt of a request, for all its samples.
    Prompt(usize),
    /// A request's prompt and the tokens that one of its samples has.
    Sequence(usize, usize),
}

/// Prompts with samples still waiting for a slot: the pass that holds each and its row.
pub(super) type Prompts = HashMap<Source, (Rc<Prefilled>, i64)>;

/// Prompts prefilled together.
pub(super) struct Prefilled {
    pub(super) cache: PromptCache,
    /// Logits after each prompt, `[prompts, vocab_size]`.
    pub(super) logits: Tensor,
}

impl Run<'_> {
    /// Runs what is not prefilled yet through the model, in passes of bounded size.
    pub(super) fn prefill(&self, admitted: &[Running], prompts: &mut Prompts) -> Result<()> {
        let mut new: Vec<&Running> = Vec::new();
        let mut seen = HashSet::new();
        for running in admitted {
            if !prompts.contains_key(&running.source()) && seen.insert(running.source()) {
                new.push(running);
            }
        }
        let mut rest = new.as_slice();
        while !rest.is_empty() {
            let mut longest = 0;
            let fits = |&(count, running): &(usize, &&Running)| {
                longest = longest.max(self.requests[running.request].prompt.len() + running.ids.len());
                count == 0 || (count + 1) * longest <= self.options.prefill_tokens
            };
            let count = rest.iter().enumerate().take_while(fits).count();
            let (pass, others) = rest.split_at(count);
            let prefilled = Rc::new(self.prefill_pass(pass)?);
            prompts.extend(
                pass.iter()
                    .zip(0..)
                    .map(|(running, row)| (running.source(), (Rc::clone(&prefilled), row))),
            );
            rest = others;
        }
        Ok(())
    }

    fn prefill_pass(&self, pass: &[&Running]) -> Result<Prefilled> {
        let model = self.generator.model;
        let device = model.placement.device;
        let request = |running: &Running| &self.requests[running.request];
        let prompts: Vec<Vec<i64>> = pass
            .iter()
            .map(|running| [request(running).prompt.as_slice(), &running.ids].concat())
            .collect();
        let length = prompts.iter().map(Vec::len).max().unwrap_or(0);
        let mut padded = vec![0; prompts.len() * length];
        for (row, prompt) in padded.chunks_mut(length).zip(&prompts) {
            row[..prompt.len()].copy_from_slice(prompt);
        }
        let (count, length) = (prompts.len() as i64, length as i64);
        let ids = upload(&padded, device)?.f_view([count, length])?;
        let members: Vec<_> = pass.iter().map(|running| request(running).adapter).collect();
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
            rows: &upload(&last, device)?,
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
