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
}

impl Normaliser {
    /// One for each member, given the sequences of a minibatch by member.
    pub(super) fn of_members(
        loss: &Loss,
        sequences: &[Vec<TrainingSequence>],
        minibatch: &[(usize, Range<usize>)],
    ) -> Vec<Self> {
        let aggregation = match loss {
            Loss::PolicyGradient(loss) => loss.aggregation,
            Loss::CrossEntropy => LossAggregation::TokenMean,
        };
        let mut normalisers = vec![Self::Tokens(0); sequences.len()];
        for (member, range) in minibatch {
            let sequences = &sequences[*member][range.clone()];
            normalisers[*member] = match aggregation {
                LossAggregation::TokenMean => {
                    Self::Tokens(sequences.iter().map(|sequence| sequence.completion.len()).sum())
                }
                LossAggregation::SequenceMean => Self::Sequences(sequences.len()),
            };
        }
        normalisers
    }

    /// The weight of each token of a completion of `length` tokens.
    pub(super) fn weight(self, length: usize) -> f64 {
        1.0 / match self {
            Self::Tokens(tokens) => tokens as f64,
            Self::Sequences(sequences) => (sequences * length) as f64,
        }
    }
}
