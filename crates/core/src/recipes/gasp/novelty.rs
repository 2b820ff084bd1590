//! How similar candidates are to accepted lemmas and lifts, and to candidates of lower indices.

use super::{
    check::Checked,
    memory::{Block, Stone},
    round::Posed,
    step::Step,
};
use crate::{
    artifact::Digest,
    contract::{CostClass, Phase, PlanError, Role},
    id::ProblemId,
    kit::{Progress, code::Problem},
    problem::Values,
    work::{Embedded, EmbeddingBatch, RolloutPayload, Sampling},
};

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
pub(super) struct Novelties {
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
    pub(super) fn novelties(&mut self, stone: Stone, checked: &[Checked], posed: &Posed) -> Progress<Novelties> {
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
                base_model: draft.population(teacher)?.1.base_model.clone(),
                compute: draft.run.config.compute,
                adapters: Vec::new(),
                sampling: Sampling::default(),
                requests: Vec::new(),
                embedding: Some(EmbeddingBatch {
                    texts,
                    against,
                    centred,
                    diversity: None,
                }),
                keep_tokens: false,
                compare: None,
            })
        })?;
        let missing = || PlanError::Result {
            key: key.clone(),
            detail: format!("it does not have the similarities of {} texts", valid.len()),
        };
        let embedded = result.embedded.as_ref().ok_or_else(missing)?;
        let mut novelties: Vec<Novelty> = Vec::with_capacity(valid.len());
        for row in 0..valid.len() {
            let before = novelties
                .iter()
                .zip(&valid)
                .map(|(novelty, problem)| (novelty, problem.id));
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
        let of = checked
            .iter()
            .map(|one| one.problem.as_ref().ok().and_then(|_| novelties.next()));
        Ok(Novelties {
            of: of.collect(),
            vectors: Some(embedded.vectors),
        })
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
