//! The state of one batch: what is in flight, how the next tokens are drawn, finished completions.

mod flight;

use std::collections::HashMap;
use std::rc::Rc;

use lyceum_core::work::FinishReason;
use tch::{Device, Tensor};

use super::cache::KvCache;
use super::cut::Candidates;
use super::options::{Completion, GenerationRequest, GenerationResult, Stop};
use super::prefill::{Prefilled, Prompt, Prompts, Source};
use super::prompts::Block;
use super::sampler::{Draw, DrawParts, Drawn, draw};
use super::step::StepGraph;
use super::upload::{Upload, Uploaded};
use super::{GenerationEvent, GenerationOptions, Generator, mask};
use crate::error::Result;
use crate::model::RopeTables;
use crate::population::{LayerAdapters, RowGroups};
use crate::unwinding::as_errors;
use flight::{Flight, Group, put_back};

pub(super) struct Run<'a> {
    pub(super) generator: &'a Generator<'a>,
    pub(super) requests: &'a [GenerationRequest],
    pub(super) options: &'a GenerationOptions,
    stops: Vec<Stop>,
    pub(super) mask: Option<Tensor>,
    pub(super) rope: RopeTables,
    /// All members' adapters, arranged for the layers' products; empty without a population.
    adapters: &'a [LayerAdapters],
    /// Finished completions, by request and sample.
    completions: Vec<Vec<Option<Completion>>>,
    /// Sequences that were in flight when memory ran out, by request and sample: they go on where they stopped.
    stopped: HashMap<(usize, usize), Running>,
    /// What was in flight when the cache reached its limit.
    kept: Option<Flight>,
    pub(super) candidates: Candidates,
    results: Vec<Option<GenerationResult>>,
    tokens: u64,
    /// Positions of the longest sequence there can be.
    longest: i64,
}

pub(super) struct Running {
    /// The row of the batch, and of the cache.
    pub(super) slot: i64,
    pub(super) request: usize,
    sample: usize,
    /// Holds the prompt while the sequence is in flight, if prompts are shared.
    pub(super) block: Option<Rc<Block>>,
    /// Generated so far; empty until the first token is drawn.
    pub(super) ids: Vec<i64>,
    logprobs: Vec<f32>,
    sampling_logprobs: Vec<f32>,
    entropies: f64,
}

/// Data about the rows of a decoding batch that the layers need; constant until the rows are redistributed.
pub(super) struct Rows {
    pub(super) cache: KvCache,
    pub(super) adapters: Option<(Vec<LayerAdapters>, RowGroups)>,
    pub(super) graph: StepGraph,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        generator: &'a Generator<'a>,
        adapters: &'a [LayerAdapters],
        requests: &'a [GenerationRequest],
        options: &'a GenerationOptions,
    ) -> Result<Self> {
        let model = generator.model;
        let stops =
            requests.iter().map(|request| Stop::new(request, model, generator.tokenizer)).collect::<Result<_>>()?;
        let longest = requests.iter().map(GenerationRequest::most_tokens).max().unwrap_or(1) as i64;
        Ok(Self {
            generator,
            requests,
            options,
            stops,
            mask: mask::tensor(requests, model, generator.tokenizer)?,
            rope: model.rope_tables(longest)?,
            adapters,
            completions: requests.iter().map(|request| vec![None; request.n]).collect(),
            stopped: HashMap::new(),
            kept: None,
            candidates: Candidates::default(),
            results: requests.iter().map(|request| (request.n == 0).then(|| request.unsampled())).collect(),
            tokens: 0,
            longest,
        })
    }

    pub(super) fn into_results(self) -> Vec<GenerationResult> {
        self.results.into_iter().flatten().collect()
    }

    /// Admits waiting samples to idle slots and draws their next token. Returns whether there were any.
    fn admit(
        &mut self,
        groups: &mut [Group],
        rows: &mut Rows,
        prompts: &mut Prompts,
        observe: &mut dyn FnMut(GenerationEvent<'_>),
    ) -> Result<bool> {
        let mut admitted: Vec<Running> = Vec::new();
        let mut slot = 0;
        for group in groups.iter_mut() {
            for row in &group.rows {
                if row.is_none()
                    && let Some((request, sample)) = group.queue.pop_front()
                {
                    admitted.push(match self.stopped.remove(&(request, sample)) {
                        Some(stopped) => Running { slot, ..stopped },
                        None => Running::new(slot, request, sample),
                    });
                }
                slot += 1;
            }
        }
        let any = !admitted.is_empty();
        // A group's samples are admitted in order, so of its waiting requests only the first can have been prefilled.
        let waiting: Vec<usize> = groups.iter().filter_map(|group| Some(group.queue.front()?.0)).collect();
        let mut continued = Vec::with_capacity(admitted.len());
        let (left, drawn) = (&mut admitted, &mut continued);
        let started = as_errors(|| self.start(left, drawn, &waiting, (rows, prompts), observe));
        put_back(groups, continued);
        for group in groups.iter_mut() {
            let adapter = group.adapter;
            let of_group = |running: &&Running| self.requests[running.request].adapter == adapter;
            group.wait_again(admitted.iter().filter(of_group));
        }
        self.stop(admitted);
        started?;
        Ok(any)
    }

    /// Prefills `admitted` and draws their next token; those that it did not end are `continued`. What is still `admitted`
    /// after an error has not got one. Of the prompts, only those of requests with `waiting` samples are kept.
    fn start(
        &mut self,
        admitted: &mut Vec<Running>,
        continued: &mut Vec<Running>,
        waiting: &[usize],
        (rows, prompts): (&mut Rows, &mut Prompts),
        observe: &mut dyn FnMut(GenerationEvent<'_>),
    ) -> Result<()> {
        self.reserve_shared(admitted, prompts, &mut rows.cache)?;
        while let Some(first) = admitted.first() {
            // One prefill pass at a time, so that only the slots hold the keys and values of the others: copy its keys and
            // values, draw from its logits.
            if !prompts.contains_key(&first.source()) {
                self.prefill(admitted, prompts, &mut rows.cache)?;
            }
            let Some(Prompt { pass: prefilled, .. }) = prompts.get(&first.source()).cloned() else { break };
            let here = |running: &Running| {
                prompts.get(&running.source()).filter(|prompt| Rc::ptr_eq(&prompt.pass, &prefilled))
            };
            let (mut now, later): (Vec<_>, Vec<_>) = admitted.drain(..).partition(|running| here(running).is_some());
            *admitted = later;
            let sources: Vec<i64> = now.iter().filter_map(|running| Some(here(running)?.row)).collect();
            for running in &mut now {
                running.block = prompts.get(&running.source()).and_then(|prompt| prompt.block.clone());
            }
            let drawn = match as_errors(|| self.draw_prefilled(&prefilled, &sources, &now, rows)) {
                Ok(drawn) => drawn,
                Err(error) => {
                    admitted.splice(..0, now);
                    return Err(error);
                }
            };
            prompts.retain(|source, prompt| {
                let waits = matches!(source, Source::Prompt(request) if waiting.contains(request));
                waits || !Rc::ptr_eq(&prompt.pass, &prefilled)
            });
            for (running, drawn) in now.into_iter().zip(drawn) {
                continued.extend(self.accept(running, drawn, observe)?);
            }
        }
        Ok(())
    }

    /// Copies the keys and values of rows `sources` of a prefill pass to the slots of `running`, unless they are shared, and
    /// draws a token for each.
    fn draw_prefilled(
        &self,
        prefilled: &Prefilled,
        sources: &[i64],
        running: &[Running],
        rows: &mut Rows,
    ) -> Result<Vec<Drawn>> {
        let model = self.generator.model;
        let slots: Vec<i64> = running.iter().map(|running| running.slot).collect();
        let draws = self.draws(running);
        let mut upload = Upload::default();
        let (sources, slots) = (upload.indices(sources), upload.indices(&slots));
        let parts = DrawParts::add(&draws, model.config.vocab_size, &mut upload);
        let uploaded = upload.send(model.placement.device)?;
        let sources = uploaded.indices(sources)?;
        if let Some(layers) = &prefilled.layers {
            rows.cache.fill(layers, &sources, &uploaded.indices(slots)?)?;
        }
        let logits = prefilled.logits.f_index_select(0, &sources)?;
        self.draw(&logits, &draws, (&parts, &uploaded))
    }

    /// Draws a token from each row of `logits` `[draws, vocab_size]`.
    pub(super) fn draw(
        &self,
        logits: &Tensor,
        draws: &[Draw<'_>],
        uploaded: (&DrawParts, &Uploaded),
    ) -> Result<Vec<Drawn>> {
        draw(logits, self.mask.as_ref(), draws, uploaded, &self.candidates)
    }

    /// Generates one token for every sequence in flight.
    fn decode(
        &mut self,
        groups: &mut [Group],
        rows: &mut Rows,
        observe: &mut dyn FnMut(GenerationEvent<'_>),
    ) -> Result<()> {
        let slots = groups.iter().map(|group| group.rows.len()).sum::<usize>();
        let running: Vec<Running> =
            groups.iter_mut().flat_map(|group| &mut group.rows).filter_map(Option::take).collect();
        let drawn = match as_errors(|| self.next_tokens(&running, slots, rows)) {
            Ok(drawn) => drawn,
            Err(error) => {
                put_back(groups, running);
                return Err(error);
            }
        };
        let mut continued = Vec::with_capacity(running.len());
        for (running, drawn) in running.into_iter().zip(drawn) {
            continued.extend(self.accept(running, drawn, observe)?);
        }
        put_back(groups, continued);
        observe(GenerationEvent::Progress {
            finished: self.completions.iter().flatten().flatten().count(),
            completions: self.completions.iter().map(Vec::len).sum(),
            tokens: self.tokens,
        });
        Ok(())
    }

    /// The adapters of a batch that `groups` groups, given the number of members and the device; `None` if no sequence has one.
    pub(super) fn adapters_of(
        &self,
        groups: impl FnOnce(usize, Device) -> Result<Option<RowGroups>>,
    ) -> Result<Option<(Vec<LayerAdapters>, RowGroups)>> {
        let Generator { model, population, .. } = *self.generator;
        let Some(population) = population else { return Ok(None) };
        let Some(groups) = groups(population.members(), model.placement.device)? else { return Ok(None) };
        let layers = self.adapters.iter().map(|layer| layer.select(&groups));
        Ok(Some((layers.collect::<Result<_>>()?, groups)))
    }

    /// The most positions that a slot will hold.
    fn longest_in_slot(&self) -> i64 {
        if !self.options.share_prompts {
            return self.longest;
        }
        let limits = self.requests.iter().map(|request| i64::from(request.sampling.max_tokens));
        limits.max().unwrap_or(1)
    }

    /// Position of a sequence's newest token.
    pub(super) fn position(&self, running: &Running) -> i64 {
        (self.requests[running.request].prompt.len() + running.ids.len()) as i64 - 1
    }

    /// How the next token of each sequence is drawn.
    pub(super) fn draws(&self, running: &[Running]) -> Vec<Draw<'a>> {
        let requests = self.requests;
        let of = |running: &Running| Draw {
            request: &requests[running.request].id,
            sampling: &requests[running.request].sampling,
            seed: requests[running.request].seed,
            sample: running.sample as u64,
            position: running.ids.len() as u64,
        };
        running.iter().map(of).collect()
    }

    /// Appends a token; returns the sequence unless the token ended it.
    fn accept(
        &mut self,
        mut running: Running,
        drawn: Drawn,
        observe: &mut dyn FnMut(GenerationEvent<'_>),
    ) -> Result<Option<Running>> {
        running.ids.push(drawn.id);
        running.logprobs.push(drawn.logprob);
        running.sampling_logprobs.push(drawn.sampling_logprob);
        running.entropies += f64::from(drawn.entropy);
        self.tokens += 1;
        let tokenizer = self.generator.tokenizer;
        let Some(reason) = self.stops[running.request].reason(&running.ids, tokenizer)? else {
            return Ok(Some(running));
        };
        self.finish(running, reason, observe)?;
        Ok(None)
    }

    fn finish(
        &mut self,
        running: Running,
        finish_reason: FinishReason,
        observe: &mut dyn FnMut(GenerationEvent<'_>),
    ) -> Result<()> {
        let Running { request, sample, ids, logprobs, sampling_logprobs, entropies, .. } = running;
        let entropy = (entropies / ids.len() as f64) as f32;
        let text = self.generator.tokenizer.map(|tokenizer| self.stops[request].text(&ids, tokenizer)).transpose()?;
        self.completions[request][sample] =
            Some(Completion { ids, text, finish_reason, logprobs, sampling_logprobs, entropy });
        if self.completions[request].iter().all(Option::is_some) {
            let completions = self.completions[request].iter().flatten().cloned().collect();
            let result = GenerationResult { id: self.requests[request].id.clone(), completions };
            observe(GenerationEvent::Finished(&result));
            self.results[request] = Some(result);
        }
        Ok(())
    }
}

impl Running {
    fn new(slot: i64, request: usize, sample: usize) -> Self {
        Self {
            slot,
            request,
            sample,
            block: None,
            ids: Vec::new(),
            logprobs: Vec::new(),
            sampling_logprobs: Vec::new(),
            entropies: 0.0,
        }
    }

    /// What it is prefilled from: its prompt, as others are, or with its own tokens behind it.
    pub(super) fn source(&self) -> Source {
        if self.ids.is_empty() { Source::Prompt(self.request) } else { Source::Sequence(self.request, self.sample) }
    }
}
