//! The sequences of a batch that are in flight, and those that wait: which has which slot, and what goes on after an error.

use std::collections::VecDeque;

use tch::Tensor;

use super::{Rows, Run, Running};
use crate::error::{EngineError, Result};
use crate::generate::GenerationEvent;
use crate::generate::cache::KvCache;
use crate::generate::lanes::allot;
use crate::generate::prefill::Prompts;
use crate::generate::step::StepGraph;
use crate::population::RowGroups;
use crate::unwinding::as_errors;

/// The sequences in flight with their keys and values, and those that wait.
pub(super) struct Flight {
    groups: Vec<Group>,
    rows: Option<Rows>,
    prompts: Prompts,
}

/// The samples of one member.
pub(super) struct Group {
    pub(super) adapter: Option<usize>,
    /// `(request, sample)` pairs waiting for a slot.
    pub(super) queue: VecDeque<(usize, usize)>,
    /// Slots of this group, adjacent in the batch.
    pub(super) rows: Vec<Option<Running>>,
}

impl Run<'_> {
    /// Generates all unfinished completions, at most `slots` sequences at a time. After an error what was generated is kept,
    /// so that another call can go on with it. If the cache reached its limit, which leaves it as it was, a call with fewer slots
    /// goes on with the first sequences of each member and their keys and values; otherwise all pass through the model again.
    pub(in crate::generate) fn complete(
        &mut self,
        slots: usize,
        observe: &mut dyn FnMut(GenerationEvent<'_>),
    ) -> Result<()> {
        let mut flight =
            self.kept.take().unwrap_or_else(|| Flight { groups: self.groups(), rows: None, prompts: Prompts::new() });
        let result = as_errors(|| self.go_on(&mut flight, slots, observe));
        if let Err(EngineError::CacheLimit(_)) = result {
            self.kept = Some(flight);
        } else {
            self.stop(flight.groups.into_iter().flat_map(|group| group.rows).flatten());
        }
        result
    }

    pub(super) fn stop(&mut self, in_flight: impl IntoIterator<Item = Running>) {
        let begun = in_flight.into_iter().filter(|running| !running.ids.is_empty());
        self.stopped.extend(begun.map(|running| {
            let sample = (running.request, running.sample);
            (sample, Running { block: None, ..running })
        }));
    }

    fn go_on(&mut self, flight: &mut Flight, slots: usize, observe: &mut dyn FnMut(GenerationEvent<'_>)) -> Result<()> {
        let Flight { groups, rows, prompts } = flight;
        if let Some(previous) = rows.take() {
            self.stop_excess(groups, slots);
            *rows = Some(self.deal(groups, slots, Some(previous))?);
        }
        while groups.iter().any(|group| !group.queue.is_empty() || group.active() > 0) {
            let idle = groups.iter().map(|group| group.rows.len() - group.active()).sum::<usize>();
            let total = groups.iter().map(|group| group.rows.len()).sum::<usize>();
            let current = match rows.take() {
                // Everything that can be admitted has been. Compact the cache once a quarter of the rows is idle.
                Some(current) if idle * 4 < total => current,
                previous => self.deal(groups, slots, previous)?,
            };
            let current = rows.insert(current);
            while self.admit(groups, current, prompts, observe)? {}
            if groups.iter().any(|group| group.active() > 0) {
                self.decode(groups, current, observe)?;
                while self.admit(groups, current, prompts, observe)? {}
            }
        }
        Ok(())
    }

    /// Stops the last sequences of each group that has more than its share of `slots`; they wait before the others.
    fn stop_excess(&mut self, groups: &mut [Group], slots: usize) {
        let demand: Vec<usize> = groups.iter().map(|group| group.queue.len() + group.active()).collect();
        for (group, share) in groups.iter_mut().zip(allot(&demand, &vec![0; demand.len()], slots)) {
            let mut running: Vec<Running> = group.rows.drain(..).flatten().collect();
            let excess = running.split_off(share.min(running.len()));
            group.rows = running.into_iter().map(Some).collect();
            group.wait_again(&excess);
            self.stop(excess);
        }
    }

    fn groups(&self) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        for (index, request) in self.requests.iter().enumerate() {
            let waiting = (0..request.n).filter(|&sample| self.completions[index][sample].is_none());
            let waiting = waiting.map(|sample| (index, sample));
            match groups.iter_mut().find(|group| group.adapter == request.adapter) {
                Some(group) => group.queue.extend(waiting),
                None => {
                    groups.push(Group { adapter: request.adapter, queue: waiting.collect(), rows: Vec::new() });
                }
            }
        }
        // Members in stack order, the bare base last.
        groups.sort_by_key(|group| group.adapter.unwrap_or(usize::MAX));
        groups
    }

    /// Distributes the slots over the unfinished groups and moves the sequences in flight to their new rows.
    fn deal(&self, groups: &mut Vec<Group>, slots: usize, previous: Option<Rows>) -> Result<Rows> {
        let model = self.generator.model;
        let device = model.placement.device;
        groups.retain(|group| !group.queue.is_empty() || group.active() > 0);
        let active: Vec<usize> = groups.iter().map(Group::active).collect();
        let demand: Vec<usize> = groups.iter().zip(&active).map(|(group, active)| group.queue.len() + active).collect();
        let mut members = Vec::new();
        let mut origins = Vec::new();
        for (group, share) in groups.iter_mut().zip(allot(&demand, &active, slots)) {
            members.extend(std::iter::repeat_n(group.adapter, share));
            let running: Vec<Running> = group.rows.drain(..).flatten().collect();
            for mut running in running {
                let slot = origins.len() as i64;
                origins.push(std::mem::replace(&mut running.slot, slot));
                group.rows.push(Some(running));
            }
            // Idle rows copy any slot; its contents are overwritten before they are read.
            origins.resize(members.len(), 0);
            group.rows.resize_with(share, || None);
        }
        let cache = match previous {
            Some(Rows { mut cache, .. }) => {
                cache.keep(&Tensor::f_from_slice(&origins)?.f_to_device(device)?)?;
                cache
            }
            None => KvCache::new(
                &model.config,
                model.placement,
                (members.len() as i64, self.longest_in_slot()),
                self.options,
            )?,
        };
        Ok(Rows {
            cache,
            adapters: self.adapters_of(|population, device| RowGroups::filled(&members, population, device))?,
            graph: StepGraph::default(),
        })
    }
}

impl Group {
    pub(super) fn active(&self) -> usize {
        self.rows.iter().flatten().count()
    }

    /// Has `samples` wait for a slot before all others.
    pub(super) fn wait_again<'r>(
        &mut self,
        samples: impl IntoIterator<Item = &'r Running, IntoIter: DoubleEndedIterator>,
    ) {
        for running in samples.into_iter().rev() {
            self.queue.push_front((running.request, running.sample));
        }
    }
}

/// Returns sequences to the rows of their slots. Slots number the rows of all groups consecutively.
pub(super) fn put_back(groups: &mut [Group], running: Vec<Running>) {
    let mut rows: Vec<&mut Option<Running>> = groups.iter_mut().flat_map(|group| &mut group.rows).collect();
    for running in running {
        let slot = running.slot as usize;
        *rows[slot] = Some(running);
    }
}
