//! The prompts in flight, if each is held once for all its samples.

use std::cell::Cell;
use std::rc::{Rc, Weak};

use tch::Tensor;

use super::cache::{KeyValues, Layers, Rounding};
use crate::config::ModelConfig;
use crate::device::{Placement, upload};
use crate::error::Result;

/// A prompt that is held for as long as this is: by its samples in flight, and while others wait for a slot.
#[derive(Debug)]
pub(super) struct Block {
    request: usize,
    /// Tokens of the prompt.
    pub(super) length: i64,
    row: Cell<i64>,
}

impl Block {
    /// Its row among the keys and values; another one after [`PromptBlocks::compact`].
    pub(super) fn row(&self) -> i64 {
        self.row.get()
    }
}

/// A prompt that a prefill pass computed.
#[derive(Debug)]
pub(super) struct Passed {
    pub(super) request: usize,
    /// Its tokens.
    pub(super) length: i64,
    /// Its row of the pass.
    pub(super) row: i64,
}

/// Keys and values of prompts, one in a row.
#[derive(Debug)]
pub(super) struct PromptBlocks {
    pub(super) key_values: KeyValues,
    /// What each row holds; a block that is gone leaves its row to another one.
    blocks: Vec<Weak<Block>>,
    rounding: Rounding,
}

impl PromptBlocks {
    pub(super) fn new(config: &ModelConfig, placement: Placement, rounding: Rounding) -> Result<Self> {
        Ok(Self { key_values: KeyValues::new(config, placement, 0)?, blocks: Vec::new(), rounding })
    }

    /// The block of a request's prompt, if it is held.
    pub(super) fn of(&self, request: usize) -> Option<Rc<Block>> {
        self.held().find(|block| block.request == request)
    }

    /// Tokens of the longest prompt.
    pub(super) fn longest(&self) -> i64 {
        self.held().map(|block| block.length).max().unwrap_or(0)
    }

    /// Rows and capacity that it takes to hold `more` prompts of at most `longest` tokens besides those held.
    pub(super) fn needed(&self, more: usize, longest: i64) -> (i64, i64) {
        let rows = (self.held().count() + more) as i64;
        (rows.max(self.key_values.rows()), self.rounding.capacity(longest).max(self.key_values.capacity()))
    }

    /// Makes room for `rows` rows of this capacity.
    pub(super) fn grow(&mut self, rows: i64, capacity: i64) -> Result<()> {
        self.key_values.grow(rows, capacity)?;
        self.blocks.resize(rows as usize, Weak::new());
        Ok(())
    }

    /// Holds prompts of a prefill pass, for which there must be room.
    pub(super) fn hold(&mut self, pass: &Layers, prompts: &[Passed]) -> Result<Vec<Rc<Block>>> {
        if prompts.is_empty() {
            return Ok(Vec::new());
        }
        let free = self.blocks.iter_mut().enumerate().filter(|(_, block)| block.strong_count() == 0);
        let mut blocks = Vec::with_capacity(prompts.len());
        for ((row, place), prompt) in free.zip(prompts) {
            let block = Rc::new(Block { request: prompt.request, length: prompt.length, row: Cell::new(row as i64) });
            *place = Rc::downgrade(&block);
            blocks.push(block);
        }
        let device = self.key_values.placement().device;
        let sources: Vec<i64> = prompts.iter().map(|prompt| prompt.row).collect();
        let rows: Vec<i64> = blocks.iter().map(|block| block.row()).collect();
        self.key_values.fill(pass, &upload(&sources, device)?, &upload(&rows, device)?)?;
        Ok(blocks)
    }

    /// Frees the rows that hold nothing.
    pub(super) fn compact(&mut self) -> Result<()> {
        let held: Vec<Rc<Block>> = self.held().collect();
        let rows: Vec<i64> = held.iter().map(|block| block.row()).collect();
        let capacity = self.rounding.capacity(self.longest());
        let rows = Tensor::f_from_slice(&rows)?.f_to_device(self.key_values.placement().device)?;
        self.key_values.keep(&rows, capacity)?;
        for (block, row) in held.iter().zip(0..) {
            block.row.set(row);
        }
        self.blocks = held.iter().map(Rc::downgrade).collect();
        Ok(())
    }

    fn held(&self) -> impl Iterator<Item = Rc<Block>> {
        self.blocks.iter().filter_map(Weak::upgrade)
    }
}

#[cfg(test)]
mod tests {
    use tch::{Device, Kind};

    use super::super::cache::tests::config;
    use super::*;

    /// A pass of prompts of `length` tokens, whose keys and values are all the number of the prompt.
    fn pass(prompts: &[i64], length: i64) -> Layers {
        let of = Tensor::from_slice(prompts).to_kind(Kind::Float).view([-1, 1, 1, 1]);
        let of = of.expand([prompts.len() as i64, 1, length, 8], false).contiguous();
        vec![(of.copy(), of)]
    }

    fn passed((request, length, row): (usize, i64, i64)) -> Passed {
        Passed { request, length, row }
    }

    fn held(blocks: &PromptBlocks, block: &Block) -> f64 {
        let keys = blocks.key_values.first(block.length).unwrap()[0].keys.get(block.row());
        assert_eq!(keys.min(), keys.max());
        keys.double_value(&[0, 0, 0])
    }

    #[test]
    fn rows_are_used_again_and_freed() {
        let mut blocks = PromptBlocks::new(&config(1, 1), Placement::REFERENCE, Rounding::CPU).unwrap();
        let make_room = |blocks: &mut PromptBlocks, more, longest| {
            let (rows, capacity) = blocks.needed(more, longest);
            blocks.grow(rows, capacity).unwrap();
        };
        make_room(&mut blocks, 3, 70);
        let first = blocks.hold(&pass(&[10, 11, 12], 70), &[(0, 70, 0), (1, 20, 1), (2, 30, 2)].map(passed)).unwrap();
        assert_eq!((blocks.key_values.rows(), blocks.key_values.capacity()), (3, 128));
        assert_eq!(blocks.longest(), 70);
        let [_, one, two] = <[Rc<Block>; 3]>::try_from(first).unwrap();
        assert!(blocks.of(0).is_none() && blocks.longest() == 30);
        assert_eq!(blocks.needed(1, 100), (3, 128), "a row is free");

        make_room(&mut blocks, 2, 10);
        // Longer than the capacity, as a pass is that has other sequences' own tokens.
        let more = blocks.hold(&pass(&[13, 14], 150), &[(3, 10, 1), (4, 9, 0)].map(passed)).unwrap();
        assert_eq!(blocks.key_values.rows(), 4);
        let all = |blocks: &PromptBlocks| [&one, &two, &more[0], &more[1]].map(|block| held(blocks, block));
        assert_eq!(all(&blocks), [11.0, 12.0, 14.0, 13.0]);

        drop(one);
        blocks.compact().unwrap();
        assert_eq!((blocks.key_values.rows(), blocks.key_values.capacity()), (3, 64));
        assert_eq!([&two, &more[0], &more[1]].map(|block| held(&blocks, block)), [12.0, 14.0, 13.0]);
        assert!(Rc::ptr_eq(&blocks.of(3).unwrap(), &more[0]) && blocks.of(1).is_none());
        drop((two, more));
        blocks.compact().unwrap();
        assert_eq!((blocks.key_values.rows(), blocks.key_values.capacity()), (0, 0));
        make_room(&mut blocks, 1, 5);
        let last = blocks.hold(&pass(&[15], 5), &[(5, 5, 0)].map(passed)).unwrap();
        assert_eq!(held(&blocks, &last[0]), 15.0);
        assert_eq!(blocks.key_values.placement().device, Device::Cpu);
    }
}
