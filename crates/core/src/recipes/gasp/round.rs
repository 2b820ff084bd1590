//! Rounds of candidates, until enough are accepted or the rounds are spent.

use std::sync::Arc;

use super::{
    ask::Ask,
    candidate::{Candidate, Fate},
    memory::{Block, Stone},
    metrics::Tally,
    step::Step,
};
use crate::{artifact::Digest, kit::Progress, work::MemberUpdated};

/// The candidates of a stage.
#[derive(Clone, Debug, Default)]
pub(super) struct Posed {
    pub(super) rounds: u32,
    /// All candidates, by number.
    pub(super) candidates: Vec<Candidate>,
    /// The accepted ones: positions, ascending.
    accepted: Vec<usize>,
    /// The same as rows of embeddings.
    pub(super) blocks: Vec<Block>,
    /// The first embeddings of the stage.
    first: Option<Digest>,
}

/// The candidates of one round.
#[derive(Clone, Debug)]
pub(super) struct Round {
    pub(super) candidates: Vec<Candidate>,
    /// Their embeddings; `None` if none is valid.
    pub(super) vectors: Option<Digest>,
}

impl Posed {
    /// The accepted candidates, by number.
    pub(super) fn accepted(&self) -> impl Iterator<Item = &Candidate> {
        self.accepted.iter().map(|place| &self.candidates[*place])
    }

    /// Adds a round, of which candidates are accepted in the order of their numbers, up to `target` of the stage.
    fn add(&mut self, round: &Round, target: u32) {
        self.rounds += 1;
        self.first = self.first.or(round.vectors);
        let mut rows = Vec::new();
        for candidate in &round.candidates {
            if candidate.fate == Fate::InBand && (self.accepted.len() as u32) < target {
                self.accepted.push(self.candidates.len());
                rows.extend(candidate.row.map(|row| (row, candidate.problem)));
            }
            self.candidates.push(candidate.clone());
        }
        if let Some(vectors) = round.vectors.filter(|_| !rows.is_empty()) {
            self.blocks.push(Block { vectors, rows });
        }
    }
}

impl<'a> Step<'a> {
    /// Rounds of candidates until `target` are accepted, or all rounds are spent. Without anything to ask about there is
    /// no round.
    pub(super) fn rounds(
        &mut self,
        stone: Stone,
        ask: impl Fn(&mut Self, u32) -> Progress<Arc<Vec<Ask>>>,
    ) -> Progress<Posed> {
        let rounds = self.parameters.rounds;
        let mut posed = Posed::default();
        while posed.rounds < rounds.max && (posed.accepted.len() as u32) < rounds.target {
            let asks = ask(self, posed.rounds)?;
            if asks.is_empty() {
                break;
            }
            let round = self.round(stone, &asks, &posed)?;
            posed.add(&round, rounds.target);
        }
        Ok(posed)
    }

    /// Propose → check → embed → estimate → judge.
    fn round(&mut self, stone: Stone, asks: &[Ask], posed: &Posed) -> Progress<Arc<Round>> {
        let round = posed.rounds;
        let checked = self.propose_and_check(round, asks)?;
        let novelties = self.novelties(stone, &checked, posed)?;
        self.write_problems(stone, round, asks, &checked, &novelties.of)?;
        let solved = self.estimate(round, &checked, &novelties.of)?;
        let view = self.draft.view;
        view.once(&format!("round/{round}"), || {
            let candidates = self.judge(stone, asks, &checked, &novelties.of, &solved);
            Ok(Round {
                candidates,
                vectors: novelties.vectors,
            })
        })
    }

    /// The embeddings whose mean centres similarities: the first of the run.
    pub(super) fn reference(&self, posed: &Posed) -> Option<Digest> {
        self.memory.buffers.reference.or(posed.first)
    }

    /// Adds what a stage accepted to its global buffer, which later stages are compared with.
    pub(super) fn buffered(&mut self, stone: Stone, posed: Posed, updated: Vec<&'a MemberUpdated>) -> Tally<'a> {
        self.memory.buffers.reference = self.reference(&posed);
        self.memory.buffers.of_mut(stone).extend(posed.blocks.iter().cloned());
        Tally {
            posed: Some((stone, posed)),
            updated,
            ..Tally::default()
        }
    }
}
