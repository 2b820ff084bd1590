//! What a run remembers between steps.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    artifact::Digest,
    id::ProblemId,
    kit::{Living, rows::Fitted},
};

/// Along what the difficulty of a problem is changed.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    JsonSchema,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Axis {
    /// Inputs and outputs: the form of the data, and the examples.
    Io,
    /// The program itself.
    F,
}

crate::named!(Axis, "an axis of difficulty");

/// The two kinds of stepping stones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stone {
    Lemma,
    Lift,
}

/// What a run remembers between steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Memory {
    pub(super) members: Vec<Living>,
    /// The accepted lemmas of the iteration.
    pub(super) lemmas: Vec<Lemma>,
    /// The accepted lifts of the iteration.
    pub(super) lifts: Vec<ProblemId>,
    /// The global buffers.
    pub(super) buffers: Buffers,
    /// The rows of real data that are known to fit into the context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) fitted: Option<Fitted>,
}

/// An accepted lemma, and the axis that its lifts inherit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Lemma {
    pub(super) problem: ProblemId,
    pub(super) axis: Axis,
}

/// The global buffers: all accepted lemmas and lifts so far, as rows of embeddings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Buffers {
    /// The first embeddings of the run, whose mean centres similarities.
    pub(super) reference: Option<Digest>,
    pub(super) lemmas: Vec<Block>,
    pub(super) lifts: Vec<Block>,
}

/// The accepted problems of a round.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Block {
    /// The embeddings of the round's candidates.
    pub(super) vectors: Digest,
    /// Rows there, each with its problem.
    pub(super) rows: Vec<(u32, ProblemId)>,
}

impl Buffers {
    pub(super) fn of(&self, stone: Stone) -> &[Block] {
        match stone {
            Stone::Lemma => &self.lemmas,
            Stone::Lift => &self.lifts,
        }
    }

    pub(super) fn of_mut(&mut self, stone: Stone) -> &mut Vec<Block> {
        match stone {
            Stone::Lemma => &mut self.lemmas,
            Stone::Lift => &mut self.lifts,
        }
    }

    /// The number of problems in both.
    pub(super) fn len(&self) -> usize {
        self.blocks().map(|block| block.rows.len()).sum()
    }

    /// The blocks of lemmas, then those of lifts.
    pub(super) fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.lemmas.iter().chain(&self.lifts)
    }

    /// The embeddings that must be kept.
    pub(super) fn vectors(&self) -> impl Iterator<Item = Digest> {
        self.reference
            .into_iter()
            .chain(self.blocks().map(|block| block.vectors))
    }
}
