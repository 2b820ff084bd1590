//! Distribution of sequences over micro-batches.

use std::ops::Range;

use super::rows::TrainingSequence;

/// Members are padded to equal numbers of rows if that adds at most one row in this many.
const PADDING: usize = 16;

/// Sequences of one member that share their prompt and its computation.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Block {
    /// Indices among the member's sequences.
    pub(super) sequences: Range<usize>,
}

/// One member's rows of a micro-batch.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Lane {
    pub(super) member: usize,
    pub(super) blocks: Vec<Block>,
    /// Tokens that pass through the layers.
    pub(super) rows: usize,
}

/// Sequences that pass through the layers together.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MicroBatch {
    /// In order of their members.
    pub(super) lanes: Vec<Lane>,
    /// Number of rows that every lane is padded to, if it is.
    pub(super) padded: Option<usize>,
}

/// Order of the members in the micro-batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pace {
    /// A micro-batch holds equal shares of each.
    Together,
    /// Each member's sequences come after those of the previous member.
    InTurn,
}

impl MicroBatch {
    /// Tokens that pass through the layers.
    pub(super) fn rows(&self) -> usize {
        self.lanes.iter().map(|lane| lane.rows).sum()
    }

    /// Tokens that are learned.
    pub(super) fn learned(&self, sequences: &[Vec<TrainingSequence>]) -> usize {
        let of_lane = |lane: &Lane| -> usize {
            let indices = lane.blocks.iter().flat_map(|block| block.sequences.clone());
            indices.map(|index| sequences[lane.member][index].completion.len()).sum()
        };
        self.lanes.iter().map(of_lane).sum()
    }

    /// Number of sequences.
    pub(super) fn sequences(&self) -> usize {
        self.lanes.iter().flat_map(|lane| &lane.blocks).map(|block| block.sequences.len()).sum()
    }
}

/// Distributes sequences over micro-batches of at most `budget` rows, and of sequences that together have at most `places`
/// tokens, shared prompts counted for each; a longer sequence gets a micro-batch of its own.
/// `work` names the members and their sequences; each member's stay in order. The result depends on the arguments only.
pub(super) fn deal(
    work: &[(usize, Range<usize>)],
    sequences: &[Vec<TrainingSequence>],
    budget: usize,
    share_prompts: bool,
    pace: Pace,
    places: usize,
) -> Vec<MicroBatch> {
    struct Queue {
        member: usize,
        next: usize,
        end: usize,
        dealt: usize,
        total: usize,
    }
    let mut queues: Vec<Queue> = work
        .iter()
        .map(|(member, range)| Queue {
            member: *member,
            next: range.start,
            end: range.end,
            dealt: 0,
            total: sequences[*member][range.clone()].iter().map(TrainingSequence::inputs).sum(),
        })
        .collect();
    let mut batches = Vec::new();
    let mut open = Open::default();
    loop {
        let mut waiting = queues.iter_mut().filter(|queue| queue.next < queue.end);
        let next = match pace {
            Pace::InTurn => waiting.next(),
            // The queue with the least progress: compares `dealt / total` without a division.
            Pace::Together => waiting.min_by(|a, b| (a.dealt * b.total).cmp(&(b.dealt * a.total))),
        };
        let Some(queue) = next else { break };
        let of_member = &sequences[queue.member];
        let sequence = &of_member[queue.next];
        let mut joins = share_prompts && open.shares_prompt(queue.member, queue.next, of_member);
        let rows = |joins: bool| sequence.inputs() - if joins { sequence.prompt.len() } else { 0 };
        let too_many = open.rows + rows(joins) > budget || open.places + sequence.inputs() > places;
        if open.rows > 0 && too_many {
            batches.push(std::mem::take(&mut open).close(budget));
            joins = false;
        }
        open.push(queue.member, queue.next, rows(joins), joins);
        open.places += sequence.inputs();
        queue.dealt += sequence.inputs();
        queue.next += 1;
    }
    if open.rows > 0 {
        batches.push(open.close(budget));
    }
    batches
}

/// A micro-batch being filled.
#[derive(Default)]
struct Open {
    lanes: Vec<Lane>,
    rows: usize,
    /// Tokens of all sequences, each with its prompt.
    places: usize,
}

impl Open {
    fn shares_prompt(&self, member: usize, index: usize, sequences: &[TrainingSequence]) -> bool {
        let lane = self.lanes.iter().find(|lane| lane.member == member);
        lane.and_then(|lane| lane.blocks.last())
            .is_some_and(|block| sequences[block.sequences.start].prompt == sequences[index].prompt)
    }

    fn push(&mut self, member: usize, index: usize, rows: usize, joins: bool) {
        let at = self.lanes.iter().position(|lane| lane.member == member).unwrap_or_else(|| {
            self.lanes.push(Lane { member, blocks: Vec::new(), rows: 0 });
            self.lanes.len() - 1
        });
        let lane = &mut self.lanes[at];
        match lane.blocks.last_mut() {
            Some(block) if joins => block.sequences.end = index + 1,
            _ => lane.blocks.push(Block { sequences: index..index + 1 }),
        }
        lane.rows += rows;
        self.rows += rows;
    }

    fn close(mut self, budget: usize) -> MicroBatch {
        self.lanes.sort_by_key(|lane| lane.member);
        let longest = self.lanes.iter().map(|lane| lane.rows).max().unwrap_or(0);
        let padded = longest * self.lanes.len();
        let worth_it = (padded - self.rows) * PADDING <= self.rows && padded <= budget.max(self.rows);
        MicroBatch { lanes: self.lanes, padded: worth_it.then_some(longest) }
    }
}

/// The `index`th of `of` equal, consecutive parts of `count` items.
pub(super) fn part(count: usize, index: usize, of: usize) -> Range<usize> {
    count * index / of..count * (index + 1) / of
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{MicroBatch, Pace, deal};
    use crate::learn::TrainingSequence;

    fn sequence(prompt: i64, prompt_length: usize, completion: usize) -> TrainingSequence {
        TrainingSequence {
            id: String::new(),
            prompt: vec![prompt; prompt_length],
            completion: vec![1; completion],
            logprobs: Vec::new(),
            advantage: 0.0,
        }
    }

    fn all(sequences: &[Vec<TrainingSequence>], budget: usize, pace: Pace) -> Vec<MicroBatch> {
        let work: Vec<_> = sequences.iter().enumerate().map(|(member, list)| (member, 0..list.len())).collect();
        deal(&work, sequences, budget, true, pace, usize::MAX)
    }

    #[test]
    fn short_answers_to_a_long_prompt_are_cut_before_attention_has_many_copies_of_it() {
        let members = [vec![sequence(1, 100, 2); 8]];
        let counts = |places| -> Vec<usize> {
            let batches = deal(&[(0, 0..8)], &members, 200, true, Pace::Together, places);
            batches.iter().map(MicroBatch::sequences).collect()
        };
        assert_eq!(counts(usize::MAX), [8]);
        assert_eq!(counts(404), [4, 4]);
        assert_eq!(counts(403), [3, 3, 2]);
        assert_eq!(counts(1), [1; 8]);
    }

    #[test]
    fn samples_of_one_prompt_share_it() {
        let batches = all(&[vec![sequence(1, 10, 5), sequence(1, 10, 5), sequence(2, 10, 5)]], 100, Pace::Together);
        assert_eq!(batches.len(), 1);
        assert_eq!(batches[0].lanes[0].rows, 14 + 4 + 14);
        assert_eq!(batches[0].lanes[0].blocks.len(), 2);
    }

    #[test]
    fn equal_members_get_equal_shares() {
        let members: Vec<_> = (0..4).map(|_| (0..6).map(|i| sequence(i, 3, 4)).collect()).collect();
        for batch in all(&members, 48, Pace::Together) {
            assert_eq!(batch.padded, Some(12));
            assert_eq!(batch.lanes.len(), 4);
        }
        for batch in all(&members, 36, Pace::InTurn) {
            assert_eq!(batch.lanes.len(), 1);
        }
    }

    proptest! {
        #[test]
        fn every_sequence_is_dealt_once_in_order_and_within_the_budget(
            lengths in prop::collection::vec(prop::collection::vec((0i64..3, 1usize..9, 1usize..9), 0..12), 1..5),
            budget in 1usize..60,
            in_turn: bool,
        ) {
            let sequences: Vec<Vec<_>> = lengths
                .iter()
                .map(|list| list.iter().map(|&(p, l, c)| sequence(p, l, c)).collect())
                .collect();
            let mut seen = vec![Vec::new(); sequences.len()];
            for batch in all(&sequences, budget, if in_turn { Pace::InTurn } else { Pace::Together }) {
                let count: usize = batch.lanes.iter().flat_map(|lane| &lane.blocks).map(|b| b.sequences.len()).sum();
                let rows: usize = batch.lanes.iter().map(|lane| lane.rows).sum();
                prop_assert!(rows <= budget || count == 1);
                if let Some(padded) = batch.padded {
                    prop_assert!(padded * batch.lanes.len() <= budget.max(rows));
                }
                for lane in &batch.lanes {
                    for block in &lane.blocks {
                        seen[lane.member].extend(block.sequences.clone());
                    }
                }
            }
            for (seen, list) in seen.iter().zip(&sequences) {
                prop_assert_eq!(seen, &(0..list.len()).collect::<Vec<_>>());
            }
        }
    }
}
