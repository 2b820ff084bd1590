//! Rounds of candidates, until enough are accepted or the rounds are spent.

use std::sync::Arc;

use super::candidate::{Ask, Candidate, Checked, Fate};
use super::metrics::Tally;
use super::step::{Block, Step, Stone};
use crate::artifact::Digest;
use crate::contract::phase::{ESTIMATE, GRADE_ESTIMATE};
use crate::contract::{CostClass, Phase, PlanError, Role};
use crate::id::ProblemId;
use crate::kit::code::{Assignment, AttemptBatch, Problem, SolveProtocol};
use crate::kit::{Progress, join};
use crate::problem::Values;
use crate::reward::Solved;
use crate::work::{Embedded, EmbeddingBatch, MemberUpdated, RolloutPayload, Sampling};

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
struct Round {
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
            Ok(Round { candidates, vectors: novelties.vectors })
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
        Tally { posed: Some((stone, posed)), updated, ..Tally::default() }
    }
}

// Estimates the pass rates of candidates: the student attempts them as induction.

impl Step<'_> {
    /// How often each candidate of a round was solved that is valid and new, in order.
    pub(super) fn estimate(
        &mut self,
        round: u32,
        checked: &[Checked],
        novelties: &[Option<Novelty>],
    ) -> Progress<Vec<Solved>> {
        let posed = checked.iter().zip(novelties).filter_map(|(checked, novelty)| {
            let problem = checked.problem.as_ref().ok()?;
            let is_new = novelty.as_ref().is_some_and(|novelty| !novelty.is_duplicate);
            is_new.then_some((checked.sample.request, problem))
        });
        let posed: Vec<(u32, &Problem)> = posed.collect();
        let chunks = (0..).zip(posed.chunks(self.parameters.items.solve as usize));
        let solver = self.player(Role::Student)?;
        let prompts = Arc::clone(&self.prompts);
        let protocol = SolveProtocol { prompts: &prompts, sampling: &self.parameters.sampling.solve };
        let attempts = join(chunks, |(chunk, posed)| {
            let assignments = posed.iter().map(|(number, problem)| Assignment { number: *number, problem, solver });
            let batch = AttemptBatch {
                phases: [ESTIMATE, GRADE_ESTIMATE],
                round,
                chunk,
                samples: self.parameters.trials,
                role: Role::Student,
                keep_tokens: false,
                assignments: assignments.collect(),
            };
            let solved = self.draft.solve(protocol, &batch)?;
            self.draft.grade(protocol.prompts, &batch, solved)
        })?;
        let solved = attempts.iter().flat_map(|chunk| chunk.iter()).map(|attempts| Solved {
            solved: attempts.iter().filter(|attempt| attempt.correct).count() as u32,
            attempts: attempts.len() as u32,
        });
        Ok(solved.collect())
    }
}

// How similar candidates are to accepted lemmas and lifts, and to candidates of lower indices.

pub(super) const EMBED: Phase = Phase::new("embed", CostClass::Diversity);

/// How similar a valid candidate is to others.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Novelty {
    /// Its row among the embeddings of its round.
    pub(super) row: u32,
    /// The highest cosine similarity, and to which problem; `None` if there is no other yet.
    pub(super) nearest: Option<(f32, ProblemId)>,
    /// Whether it is rejected for that.
    pub(super) is_duplicate: bool,
    /// Its mean dissimilarity to the global buffer of its kind (Eq. 7, inner sum); `None` if that is empty.
    pub(super) dissimilarity: Option<f64>,
}

/// The novelty of each candidate of a round, `None` for invalid ones.
#[derive(Clone, Debug, Default)]
struct Novelties {
    pub(super) of: Vec<Option<Novelty>>,
    /// Their embeddings; `None` if none is valid.
    pub(super) vectors: Option<Digest>,
}

impl Novelty {
    /// Why it is rejected.
    pub(super) fn reason(&self, threshold: f64) -> String {
        match self.nearest {
            Some((similarity, nearest)) => {
                format!("its cosine similarity to problem {nearest} is {similarity:.4}, above {threshold}")
            }
            None => String::new(),
        }
    }
}

impl Step<'_> {
    /// Embeds the valid candidates of a round. They are compared with both global buffers, with what earlier rounds of
    /// the stage accepted, and with candidates of lower numbers.
    fn novelties(&mut self, stone: Stone, checked: &[Checked], posed: &Posed) -> Progress<Novelties> {
        let valid: Vec<&Problem> = checked.iter().filter_map(|one| one.problem.as_ref().ok()).collect();
        if valid.is_empty() {
            let of = vec![None; checked.len()];
            return Ok(Novelties { of, vectors: None });
        }
        let buffers = &self.memory.buffers;
        let blocks: Vec<&Block> = buffers.blocks().chain(&posed.blocks).collect();
        // No row of it counts: it is there for its mean.
        let reference = self.reference(posed).map(|vectors| (vectors, Vec::new()));
        let skipped = usize::from(reference.is_some());
        let counted = blocks.iter().map(|block| {
            let rows = block.rows.iter().map(|(row, _)| *row);
            (block.vectors, rows.collect())
        });
        let against: Vec<(Digest, Vec<u32>)> = reference.into_iter().chain(counted).collect();
        let others: Vec<ProblemId> = blocks.iter().flat_map(|block| &block.rows).map(|(_, id)| *id).collect();
        let first = match stone {
            Stone::Lemma => skipped,
            Stone::Lift => skipped + buffers.lemmas.len(),
        };
        let own = first..first + buffers.of(stone).len();
        let key = self.draft.key(EMBED, 0).round(posed.rounds);
        let teacher = self.player(Role::Teacher)?;
        let centred = self.parameters.novelty.centred;
        let texts = valid.iter().map(|problem| text(problem)).collect();
        let sizes: Vec<usize> = against.iter().map(|(_, rows)| rows.len()).collect();
        let result = self.draft.rollout(&key, |draft| {
            Ok(RolloutPayload {
                embedding: Some(EmbeddingBatch { texts, against, centred, diversity: None }),
                ..RolloutPayload::new(
                    draft.population(teacher)?.1.base_model.clone(),
                    draft.run.config.compute,
                    Sampling::default(),
                )
            })
        })?;
        let missing = || PlanError::Result {
            key: key.clone(),
            detail: format!("it does not have the similarities of {} texts", valid.len()),
        };
        let embedded = result.embedded.as_ref().ok_or_else(missing)?;
        let mut novelties: Vec<Novelty> = Vec::with_capacity(valid.len());
        for row in 0..valid.len() {
            let before = novelties.iter().zip(&valid).map(|(novelty, problem)| (novelty, problem.id));
            let nearest = nearest(embedded, row, &others, before).ok_or_else(missing)?;
            let is_above = nearest.is_some_and(|(value, _)| f64::from(value) > self.parameters.novelty.threshold);
            novelties.push(Novelty {
                row: row as u32,
                nearest,
                is_duplicate: is_above && self.parameters.novelty.rejects,
                dissimilarity: embedded.means.get(row).and_then(|means| {
                    let tables = means.iter().zip(&sizes).take(own.end).skip(own.start);
                    dissimilarity(tables)
                }),
            });
        }
        let mut novelties = novelties.into_iter();
        let of = checked.iter().map(|one| one.problem.as_ref().ok().and_then(|_| novelties.next()));
        Ok(Novelties { of: of.collect(), vectors: Some(embedded.vectors) })
    }
}

/// What is embedded of a problem: the question and the program.
fn text(problem: &Problem) -> String {
    match &problem.values {
        Values::Function { message, .. } => format!("{message}\n{}", problem.program),
        _ => problem.program.clone(),
    }
}

/// The most similar of the `others` and of the candidates before the one at `row`, of which duplicates do not count.
/// `None` if the result is of another shape.
fn nearest<'n>(
    embedded: &Embedded,
    row: usize,
    others: &[ProblemId],
    before: impl Iterator<Item = (&'n Novelty, ProblemId)>,
) -> Option<Option<(f32, ProblemId)>> {
    let mut nearest = match (embedded.nearest.get(row)?, embedded.nearest_places.get(row)?) {
        (Some(similarity), Some(place)) => Some((*similarity, *others.get(*place as usize)?)),
        _ => None,
    };
    let among = embedded.among.get(row)?;
    for (place, (earlier, id)) in before.enumerate() {
        let similarity = *among.get(place)?;
        if !earlier.is_duplicate && nearest.is_none_or(|(highest, _)| similarity > highest) {
            nearest = Some((similarity, id));
        }
    }
    Some(nearest)
}

/// One minus the mean similarity to all rows of `tables`: their mean similarities with their sizes.
fn dissimilarity<'t>(tables: impl Iterator<Item = (&'t Option<f32>, &'t usize)>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0.0);
    for (mean, size) in tables {
        let size = *size as f64;
        sum += f64::from((*mean)?) * size;
        count += size;
    }
    (count > 0.0).then(|| 1.0 - sum / count)
}
