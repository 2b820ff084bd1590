//! Prefill: each prompt passes through the model once for all its samples. A sequence that was stopped when memory ran out
//! passes through it again with the tokens it has.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use tch::Tensor;

use super::cache::{KeyValues, KvCache, Layers, PromptCache};
use super::prompts::{Block, Passed, PromptBlocks};
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

/// Prompts with samples still waiting for a slot.
pub(super) type Prompts = HashMap<Source, Prompt>;

/// A prompt that was prefilled.
#[derive(Clone)]
pub(super) struct Prompt {
    pub(super) pass: Rc<Prefilled>,
    /// Its row of the pass.
    pub(super) row: i64,
    /// What holds its keys and values if they are shared.
    pub(super) block: Option<Rc<Block>>,
}

/// Prompts prefilled together.
pub(super) struct Prefilled {
    /// Their keys and values, unless those are shared.
    pub(super) layers: Option<Layers>,
    /// Logits after each prompt, `[prompts, vocab_size]`.
    pub(super) logits: Tensor,
}

/// Those of `admitted` that are not prefilled yet, one of each source.
fn missing<'r>(admitted: &'r [Running], prompts: &Prompts) -> Vec<&'r Running> {
    let mut seen = HashSet::new();
    let new = |running: &&Running| !prompts.contains_key(&running.source()) && seen.insert(running.source());
    admitted.iter().filter(new).collect()
}

impl Run<'_> {
    /// Runs as much of what is not prefilled yet through the model as one pass takes.
    pub(super) fn prefill(&self, admitted: &[Running], prompts: &mut Prompts, cache: &mut KvCache) -> Result<()> {
        let new = missing(admitted, prompts);
        let mut longest = 0;
        let fits = |&(count, running): &(usize, &&Running)| {
            longest = longest.max(self.requests[running.request].prompt.len() + running.ids.len());
            count == 0 || (count + 1) * longest <= self.options.prefill_tokens
        };
        let count = new.iter().enumerate().take_while(fits).count();
        let pass = &new[..count];
        let (layers, logits) = self.prefill_pass(pass)?;
        let (layers, blocks) = match &mut cache.prompts {
            Some(held) => (None, self.share(pass, &layers, held, &mut cache.slots)?),
            None => (Some(layers), vec![None; pass.len()]),
        };
        let prefilled = Rc::new(Prefilled { layers, logits });
        for ((running, row), block) in pass.iter().zip(0..).zip(blocks) {
            let pass = Rc::clone(&prefilled);
            prompts.insert(running.source(), Prompt { pass, row, block });
        }
        Ok(())
    }

    /// If prompts are shared, makes room for those of `admitted` that are not held yet, and for the first tokens of all.
    pub(super) fn reserve_shared(&self, admitted: &[Running], prompts: &Prompts, cache: &mut KvCache) -> Result<()> {
        let Some(held) = &cache.prompts else { return Ok(()) };
        let new = missing(admitted, prompts);
        let requests: HashSet<usize> = new.iter().map(|running| running.request).collect();
        let missing = requests.into_iter().filter(|&request| held.of(request).is_none());
        let lengths: Vec<usize> = missing.map(|request| self.requests[request].prompt.len()).collect();
        let longest = lengths.iter().copied().max().unwrap_or(0);
        cache.reserve_prompts(lengths.len(), longest as i64)?;
        let own = new.iter().map(|running| running.ids.len() + 1).max().unwrap_or(0);
        cache.reserve(own as i64)
    }

    /// Holds the prompts of a pass that are not held yet, and fills slots with the tokens that their sequences already have.
    fn share(
        &self,
        pass: &[&Running],
        layers: &Layers,
        held: &mut PromptBlocks,
        slots: &mut KeyValues,
    ) -> Result<Vec<Option<Rc<Block>>>> {
        let tokens = |running: &Running| self.requests[running.request].prompt.len() as i64;
        let mut seen = HashSet::new();
        let mut new = Vec::new();
        for (running, row) in pass.iter().zip(0..) {
            if held.of(running.request).is_none() && seen.insert(running.request) {
                new.push(Passed { request: running.request, length: tokens(running), row });
            }
            let own = running.ids.len() as i64;
            if own > 0 {
                slots.fill_part(layers, (row, tokens(running), own), running.slot)?;
            }
        }
        let _new = held.hold(layers, &new)?;
        Ok(pass.iter().map(|running| held.of(running.request)).collect())
    }

    /// Keys and values, and the logits after each prompt, `[prompts, vocab_size]`.
    fn prefill_pass(&self, pass: &[&Running]) -> Result<(Layers, Tensor)> {
        let model = self.generator.model;
        let device = model.placement.device;
        let request = |running: &Running| &self.requests[running.request];
        let prompts: Vec<Vec<i64>> =
            pass.iter().map(|running| [request(running).prompt.as_slice(), &running.ids].concat()).collect();
        let length = prompts.iter().map(Vec::len).max().unwrap_or(0);
        let mut padded = vec![0; prompts.len() * length];
        for (row, prompt) in padded.chunks_mut(length).zip(&prompts) {
            row[..prompt.len()].copy_from_slice(prompt);
        }
        let (count, length) = (prompts.len() as i64, length as i64);
        let ids = upload(&padded, device)?.f_view([count, length])?;
        let members: Vec<_> = pass.iter().map(|running| request(running).adapter).collect();
        let adapters = self.adapters_of(|population, device| RowGroups::new(&members, length, population, device))?;
        let adapters = adapters.as_ref().map(|(layers, groups)| (layers.as_slice(), groups));
        let height = self.generator.population.map_or(0, Population::members);
        let groups = match adapters {
            Some(_) => RowGroups::new(&members, 1, height, device)?,
            None => None,
        };
        let last: Vec<i64> =
            prompts.iter().zip(0..).map(|(prompt, row)| row * length + prompt.len() as i64 - 1).collect();
        let output = OutputRows { rows: &upload(&last, device)?, groups: groups.as_ref() };
        let cache = PromptCache::default();
        let hidden = model.forward_rows(&ids, &self.rope.first(length)?, adapters, &cache, output)?;
        Ok((cache.into_layers(), model.logits(&model.final_norm(&hidden)?)?))
    }
}
