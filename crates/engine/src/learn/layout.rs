//! A micro-batch as tensors.

use tch::{Device, Tensor};

use super::batch::{Lane, MicroBatch};
use super::padding::Padding;
use super::rows::{MemberRows, TrainingSequence};
use crate::device::upload;
use crate::error::Result;

/// The rows of a micro-batch: their contents, how they form sequences, and which of them predict a learned token.
#[derive(Debug)]
pub(super) struct Layout {
    /// `[T]`
    pub(super) ids: Tensor,
    pub(super) members: MemberRows,
    pub(super) packing: Packing,
    pub(super) output: OutputRows,
    /// The output row that predicts each learned token, `[C]`. One row may predict several, if samples share a prompt.
    pub(super) predicting: Tensor,
    /// The learned tokens, `[C]`.
    pub(super) targets: Tensor,
    /// Member, sequence and position in the completion of each learned token.
    pub(super) tokens: Vec<Token>,
}

/// The rows that predict a learned token: the last layer is computed only for these.
#[derive(Debug)]
pub(super) struct OutputRows {
    /// Ascending, `[U]`.
    pub(super) rows: Tensor,
    pub(super) members: MemberRows,
}

/// Origin of a learned token.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token {
    pub(super) member: usize,
    pub(super) sequence: usize,
    pub(super) place: usize,
}

/// How rows are laid out as padded sequences for attention, and back.
#[derive(Debug)]
pub(super) struct Packing {
    /// Sequences of about one length, shorter ones first. All of them in one bucket on a CPU.
    pub(super) buckets: Vec<Bucket>,
    /// `None` if the rows already are the padded sequences.
    pub(super) indices: Option<PackingIndices>,
}

/// Sequences that are padded to one length.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bucket {
    pub(super) sequences: i64,
    /// Length of the longest in tokens.
    pub(super) length: i64,
}

impl Packing {
    /// Number of sequences.
    pub(super) fn sequences(&self) -> i64 {
        self.buckets.iter().map(|bucket| bucket.sequences).sum()
    }

    /// Length of the longest sequence in tokens.
    pub(super) fn length(&self) -> i64 {
        self.buckets.iter().map(|bucket| bucket.length).max().unwrap_or(0)
    }
}

#[derive(Debug)]
pub(super) struct PackingIndices {
    /// The row at each position of the padded sequences, `[Σ sequences · length]`, one bucket after the other. Padding repeats the sequence's own
    /// first row: padding comes last and no token sees it, but NaN would spread even so, and this way only within its
    /// own member.
    pub(super) gather: Tensor,
    /// The position of each row among the padded sequences, `[T]`, in the first of its sequences (the result is the
    /// same in all).
    pub(super) scatter: Tensor,
}

impl Layout {
    pub(super) fn new(
        batch: &MicroBatch,
        sequences: &[Vec<TrainingSequence>],
        population: usize,
        device: Device,
        padding: Padding,
    ) -> Result<Self> {
        let mut rows = Rows::default();
        let mut lanes = Vec::with_capacity(batch.lanes.len());
        let (mut output, mut output_lanes) = (Vec::new(), Vec::with_capacity(batch.lanes.len()));
        for lane in &batch.lanes {
            let (tokens, before) = (rows.predicting.len(), output.len());
            rows.push_lane(lane, &sequences[lane.member]);
            output.extend(&rows.predicting[tokens..]);
            output[before..].sort_unstable();
            output.dedup();
            output_lanes.push((lane.member, output.len() - before));
            let padding = batch.padded.map_or(0, |padded| padded - lane.rows);
            rows.ids.resize(rows.ids.len() + padding, 0);
            lanes.push((lane.member, lane.rows + padding));
        }
        let lengths: Vec<usize> = rows.sequences.iter().map(Vec::len).collect();
        let divided = padding.divide(&lengths);
        let (mut gather, mut scatter) = (Vec::new(), vec![None; rows.ids.len()]);
        let mut buckets = Vec::with_capacity(divided.len());
        for bucket in &divided {
            let length = bucket.iter().map(|&index| lengths[index]).max().unwrap_or(0);
            for sequence in bucket.iter().map(|&index| &rows.sequences[index]) {
                for place in 0..length {
                    let row = sequence.get(place).copied();
                    if let Some(row) = row {
                        scatter[row].get_or_insert(gather.len() as i64);
                    }
                    gather.push(row.unwrap_or(sequence[0]) as i64);
                }
            }
            buckets.push(Bucket { sequences: bucket.len() as i64, length: length as i64 });
        }
        let index = |values: &[i64]| upload(values, device);
        let as_they_stand =
            buckets.len() == 1 && gather.len() == rows.ids.len() && gather.iter().copied().eq(0..rows.ids.len() as i64);
        let indices = if as_they_stand {
            None
        } else {
            let scatter: Vec<i64> = scatter.into_iter().map(|place| place.unwrap_or(0)).collect();
            Some(PackingIndices { gather: index(&gather)?, scatter: index(&scatter)? })
        };
        // Every predicting row is among the output rows.
        let place = |row: &i64| output.partition_point(|other| other < row) as i64;
        let predicting: Vec<i64> = rows.predicting.iter().map(place).collect();
        Ok(Self {
            ids: index(&rows.ids)?,
            members: MemberRows::new(&lanes, population, device)?,
            packing: Packing { buckets, indices },
            output: OutputRows { rows: index(&output)?, members: MemberRows::new(&output_lanes, population, device)? },
            predicting: index(&predicting)?,
            targets: index(&rows.targets)?,
            tokens: rows.tokens,
        })
    }
}

#[derive(Default)]
struct Rows {
    ids: Vec<i64>,
    /// The rows of each sequence, in order.
    sequences: Vec<Vec<usize>>,
    predicting: Vec<i64>,
    targets: Vec<i64>,
    tokens: Vec<Token>,
}

impl Rows {
    fn push_lane(&mut self, lane: &Lane, sequences: &[TrainingSequence]) {
        for block in &lane.blocks {
            let prompt = &sequences[block.sequences.start].prompt;
            let start = self.ids.len();
            self.ids.extend(prompt);
            for index in block.sequences.clone() {
                let completion = &sequences[index].completion;
                let mut rows: Vec<usize> = (start..start + prompt.len()).collect();
                rows.extend(self.ids.len()..self.ids.len() + completion.len() - 1);
                self.ids.extend(&completion[..completion.len() - 1]);
                for (place, &id) in completion.iter().enumerate() {
                    self.predicting.push(rows[prompt.len() - 1 + place] as i64);
                    self.targets.push(id);
                    self.tokens.push(Token { member: lane.member, sequence: index, place });
                }
                self.sequences.push(rows);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::batch::{Pace, deal};
    use super::*;

    fn packed(padding: Padding) -> Layout {
        let sequence = |prompt: i64, completion: usize| TrainingSequence {
            id: String::new(),
            prompt: vec![prompt; 5],
            completion: vec![1; completion],
            logprobs: Vec::new(),
            advantage: 0.0,
        };
        // The first two share their prompt.
        let sequences = [vec![sequence(2, 3), sequence(2, 90), sequence(3, 4)], vec![sequence(4, 80)]];
        let work = [(0, 0..3), (1, 0..1)];
        let [batch] = deal(&work, &sequences, 1000, true, Pace::Together, usize::MAX).try_into().unwrap();
        Layout::new(&batch, &sequences, 2, Device::Cpu, padding).unwrap()
    }

    #[test]
    fn every_row_comes_back_from_its_place_however_sequences_are_padded() {
        for (padding, places) in [
            (Padding::ToLongest, 4 * 94),
            (Padding::ByLength { worth: 20 }, 2 * 8 + 2 * 94),
            (Padding::ByLength { worth: 0 }, 7 + 94 + 8 + 84),
        ] {
            let layout = packed(padding);
            let PackingIndices { gather, scatter } = layout.packing.indices.as_ref().unwrap();
            let numbers = |tensor: &Tensor| Vec::<i64>::try_from(tensor).unwrap();
            let (gather, scatter) = (numbers(gather), numbers(scatter));
            assert_eq!(gather.len(), places, "{padding:?}");
            let back: Vec<i64> = scatter.iter().map(|&place| gather[place as usize]).collect();
            assert_eq!(back, (0..layout.ids.size()[0]).collect::<Vec<_>>());
            let by_bucket = layout.packing.buckets.iter().map(|bucket| bucket.sequences * bucket.length);
            assert_eq!(by_bucket.sum::<i64>() as usize, places);
            assert_eq!((layout.packing.sequences(), layout.packing.length()), (4, 94));
        }
    }
}
