//! The pool: earlier problems shown to proposers, and used for practice by solvers.

use rand::Rng;
use rand::seq::index;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use crate::id::{ExecutionId, ProblemId, WorkId};
use crate::verify::ProblemKind;
use crate::work::WorkKey;

/// Valid problems by kind, oldest first. Only their origin is remembered; identifiers follow from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Pool(BTreeMap<ProblemKind, Vec<Block>>);

impl Default for Pool {
    /// An empty pool. Its JSON names the three types of Absolute Zero, as every state of a run of code problems does.
    fn default() -> Self {
        Self(ProblemKind::TRIPLES.map(|kind| (kind, Vec::new())).into())
    }
}

/// Problems of one type from one item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Block {
    /// The run that made them: a forked run keeps the problems of its parent.
    run: ExecutionId,
    step: u32,
    phase: String,
    chunk: u32,
    /// Samples per request.
    samples: u32,
    /// Each problem as request × samples + sample.
    slots: Vec<u32>,
}

impl Block {
    fn problem(&self, slot: u32) -> ProblemId {
        let key = WorkKey::new(self.step, self.phase.as_str()).chunk(self.chunk);
        let (request, sample) = (slot / self.samples, slot % self.samples);
        ProblemId::of(WorkId::of(self.run, &key), &request.to_string(), sample)
    }
}

impl Pool {
    /// An empty pool of problems of any other kind than those three.
    pub(crate) fn empty() -> Self {
        Self(BTreeMap::new())
    }

    /// Adds the problem proposed by `sample` of `request` of the item at `key`, whose requests have `samples` samples
    /// each.
    pub fn add(&mut self, kind: ProblemKind, run: ExecutionId, key: &WorkKey, request: u32, sample: u32, samples: u32) {
        let blocks = self.0.entry(kind).or_default();
        let slot = request * samples + sample;
        match blocks.last_mut() {
            Some(last)
                if (last.run, last.step, last.chunk, last.samples) == (run, key.step, key.chunk, samples)
                    && last.phase == key.phase =>
            {
                last.slots.push(slot);
            }
            _ => blocks.push(Block {
                run,
                step: key.step,
                phase: key.phase.clone(),
                chunk: key.chunk,
                samples,
                slots: vec![slot],
            }),
        }
    }

    /// Drops the oldest problems of each type beyond `size`.
    pub fn trim(&mut self, size: u32) {
        for blocks in self.0.values_mut() {
            let held: usize = blocks.iter().map(|block| block.slots.len()).sum();
            let mut beyond = held.saturating_sub(size as usize);
            blocks.retain_mut(|block| {
                let drop = beyond.min(block.slots.len());
                block.slots.drain(..drop);
                beyond -= drop;
                !block.slots.is_empty()
            });
        }
    }

    /// Number of problems of `kinds`.
    pub fn len(&self, kinds: &[ProblemKind]) -> usize {
        self.of(kinds).map(|block| block.slots.len()).sum()
    }

    /// Whether there are none of `kinds`.
    pub fn is_empty(&self, kinds: &[ProblemKind]) -> bool {
        self.len(kinds) == 0
    }

    /// Up to `count` problems of `kinds`, drawn uniformly without replacement, in the order drawn.
    pub fn draw(&self, kinds: &[ProblemKind], count: usize, random: &mut impl Rng) -> Vec<ProblemId> {
        let total = self.len(kinds);
        index::sample(random, total, count.min(total)).into_iter().filter_map(|place| self.at(kinds, place)).collect()
    }

    /// Problems of `kind` from step `from` or later, oldest first.
    pub fn since(&self, kind: ProblemKind, from: u32) -> Vec<ProblemId> {
        let recent = self.of(std::slice::from_ref(&kind)).filter(|block| block.step >= from);
        recent.flat_map(|block| block.slots.iter().map(|&slot| block.problem(slot))).collect()
    }

    /// The problem of `kinds` at `place`, oldest first; `None` beyond the last one.
    pub(crate) fn at(&self, kinds: &[ProblemKind], mut place: usize) -> Option<ProblemId> {
        for block in self.of(kinds) {
            if let Some(&slot) = block.slots.get(place) {
                return Some(block.problem(slot));
            }
            place -= block.slots.len();
        }
        None
    }

    fn of(&self, kinds: &[ProblemKind]) -> impl Iterator<Item = &Block> {
        kinds.iter().filter_map(|kind| self.0.get(kind)).flatten()
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::seed::stream;
    use crate::verify::ProblemKind::{CodeF, CodeI, CodeO};

    const RUN: ExecutionId = ExecutionId(Uuid::from_u128(1));

    fn pool(count: u32) -> Pool {
        let mut pool = Pool::default();
        for request in 0..count {
            let key = WorkKey::new(request / 4, "propose").chunk(request % 2);
            pool.add(CodeO, RUN, &key, request, 0, 1);
        }
        pool
    }

    fn id(request: u32) -> ProblemId {
        let key = WorkKey::new(request / 4, "propose").chunk(request % 2);
        ProblemId::of(WorkId::of(RUN, &key), &request.to_string(), 0)
    }

    #[test]
    fn a_draw_is_without_replacement_and_no_larger_than_the_pool() {
        let pool = pool(9);
        let mut all = pool.draw(&[CodeO], 20, &mut stream(1, "draw", 0));
        assert_eq!(all.len(), 9);
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 9);
        assert_eq!(pool.draw(&[CodeI, CodeF], 3, &mut stream(1, "draw", 0)), []);
        let twice = [0, 0].map(|item| pool.draw(&[CodeI, CodeO], 4, &mut stream(1, "draw", item)));
        assert_eq!(twice[0], twice[1]);
    }

    #[test]
    fn every_problem_is_drawn_about_as_often() {
        let pool = pool(8);
        let mut counts = std::collections::BTreeMap::<ProblemId, u32>::new();
        for item in 0..800 {
            for drawn in pool.draw(&[CodeO], 2, &mut stream(2, "draw", item)) {
                *counts.entry(drawn).or_default() += 1;
            }
        }
        assert!(counts.values().all(|&count| (150..250).contains(&count)), "{counts:?}");
    }

    #[test]
    fn the_oldest_leave_and_the_newest_are_known() {
        let mut pool = pool(10);
        pool.trim(6);
        assert_eq!(pool.len(&[CodeO]), 6);
        assert_eq!(pool.since(CodeO, 2), [id(8), id(9)]);
        let mut kept = pool.since(CodeO, 0);
        kept.sort_unstable();
        // A step's blocks are ordered by chunk: in step 1, requests 4, 5, 6, 7 came in that order.
        let mut wanted: Vec<_> = (4..10).map(id).collect();
        wanted.sort_unstable();
        assert_eq!(kept, wanted);
    }

    #[test]
    fn an_empty_pool_names_the_types_of_absolute_zero() {
        let json = serde_json::json!({"code_f": [], "code_i": [], "code_o": []});
        assert_eq!(serde_json::to_value(Pool::default()).unwrap(), json);
    }

    #[test]
    fn samples_of_a_request_are_told_apart() {
        let mut pool = Pool::default();
        let key = WorkKey::new(3, "propose");
        pool.add(CodeI, RUN, &key, 5, 2, 4);
        assert_eq!(pool.since(CodeI, 0), [ProblemId::of(WorkId::of(RUN, &key), "5", 2)]);
    }
}
