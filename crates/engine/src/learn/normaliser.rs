//! The weight of each token of a minibatch.

use std::ops::Range;

use lyceum_core::work::{Loss, LossAggregation};

use super::sequence::TrainingSequence;

/// How a member's tokens are averaged over a minibatch.
#[derive(Debug, Clone, Copy)]
pub(super) enum Normaliser {
    /// Over this many tokens.
    Tokens(usize),
    /// Over the means of this many sequences.
    Sequences(usize),
    /// Over this number, which is a constant times the number of sequences.
    Constant(f64),
}

impl Normaliser {
    /// One for each member, given the sequences of a minibatch by member.
    pub(super) fn of_members(
        loss: &Loss,
        sequences: &[Vec<TrainingSequence>],
        minibatch: &[(usize, Range<usize>)],
    ) -> Vec<Self> {
        let (aggregation, length) = match loss {
            Loss::PolicyGradient(loss) => (loss.aggregation, loss.constant_length.unwrap_or(1)),
            Loss::CrossEntropy => (LossAggregation::TokenMean, 1),
        };
        let mut normalisers = vec![Self::Tokens(0); sequences.len()];
        for (member, range) in minibatch {
            let sequences = &sequences[*member][range.clone()];
            normalisers[*member] = match aggregation {
                LossAggregation::TokenMean => {
                    Self::Tokens(sequences.iter().map(|sequence| sequence.completion.len()).sum())
                }
                LossAggregation::SequenceMean => Self::Sequences(sequences.len()),
                LossAggregation::Constant => Self::Constant(sequences.len() as f64 * f64::from(length)),
            };
        }
        normalisers
    }

    /// The weight of each token of a completion of `length` tokens.
    pub(super) fn weight(self, length: usize) -> f64 {
        1.0 / match self {
            Self::Tokens(tokens) => tokens as f64,
            Self::Sequences(sequences) => (sequences * length) as f64,
            Self::Constant(number) => number,
        }
    }
}
