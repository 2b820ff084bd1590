//! How much texts differ: by their embeddings, and by their epiplexity.

use std::collections::BTreeSet;

use lyceum_core::diversity::{Epiplexity, Wordlists, numbers};
use lyceum_core::seed::{derive, stream};
use lyceum_core::work::{Diversity, DiversityRequest, Observer};
use lyceum_engine::embeddings::Embeddings;
use lyceum_engine::observe::{Observed, observe};
use lyceum_store::artifact::Vectors;
use rand::seq::index::sample;

use crate::engine::{Job, Loaded, fault};
use crate::handler::HandlerError;

/// Texts with their token ids and vectors.
pub(super) struct Embedded<'a> {
    pub(super) texts: &'a [String],
    pub(super) ids: &'a [Vec<i64>],
    pub(super) vectors: &'a Vectors,
}

impl Embedded<'_> {
    /// The diversity of the texts after `earlier` ones, of which the first `oldest` fix the mean of centred scores, and
    /// each text's largest similarity to an earlier one.
    pub(super) fn diversity(
        &self,
        request: &DiversityRequest,
        earlier: &[&Vec<f32>],
        oldest: usize,
    ) -> Result<(Diversity, Vec<Option<f32>>), HandlerError> {
        let rows = self.vectors.rows();
        let width = self.vectors.width();
        let table = |rows: &[&Vec<f32>]| Embeddings::new(rows.iter().copied(), width).map_err(fault);
        let all: Vec<&Vec<f32>> = earlier.iter().copied().chain(rows).collect();
        let own = table(&all[earlier.len()..])?;
        let before = table(earlier)?;
        let sampled = pick(&all, request);
        let cumulative = table(&sampled)?;
        let first = if oldest > 0 { &earlier[..oldest] } else { &all[..] };
        let mean = table(first)?.mean().map_err(fault)?;
        let nearest = own.nearest(&before).map_err(fault)?;
        let (own_centred, before_centred) = (own.centred(&mean).map_err(fault)?, before.centred(&mean).map_err(fault)?);
        let nearest_centred = own_centred.nearest(&before_centred).map_err(fault)?;
        let novelty = |nearest: &Option<Vec<f32>>| {
            let nearest = nearest.as_ref().filter(|nearest| !nearest.is_empty())?;
            let is_new = |similarity: &&f32| 1.0 - f64::from(**similarity) > request.novelty_distance;
            Some(nearest.iter().filter(is_new).count() as f64 / nearest.len() as f64)
        };
        let lists = Wordlists::new(self.texts);
        let found: Vec<BTreeSet<&str>> = self.texts.iter().map(|text| numbers(text)).collect();
        let mean_of = |sum: usize| sum as f64 / self.texts.len().max(1) as f64;
        let diversity = Diversity {
            self_bleu: lists.self_bleu(),
            vendi: own.vendi().map_err(fault)?,
            vendi_centred: own_centred.vendi().map_err(fault)?,
            cumulative_vendi: cumulative.vendi().map_err(fault)?,
            cumulative_vendi_centred: cumulative.centred(&mean).and_then(|table| table.vendi()).map_err(fault)?,
            novelty: novelty(&nearest),
            novelty_centred: novelty(&nearest_centred),
            unique_tokens: self.ids.iter().flatten().collect::<BTreeSet<_>>().len() as u64,
            unique_numbers: found.iter().flatten().collect::<BTreeSet<_>>().len() as u64,
            numbers: mean_of(found.iter().map(BTreeSet::len).sum()),
            words: mean_of((0..lists.len()).map(|text| lists.words(text)).sum()),
            tokens: mean_of(self.ids.iter().map(Vec::len).sum()),
            epiplexity: None,
        };
        let nearest = match nearest {
            Some(nearest) => nearest.into_iter().map(Some).collect(),
            None => vec![None; rows.len()],
        };
        Ok((diversity, nearest))
    }
}

/// At most as many rows as the cumulative score takes, in their order.
fn pick<'a>(rows: &[&'a Vec<f32>], request: &DiversityRequest) -> Vec<&'a Vec<f32>> {
    let most = request.cumulative as usize;
    if rows.len() <= most {
        return rows.to_vec();
    }
    let mut random = stream(request.seed, "cumulative", 0);
    let mut chosen = sample(&mut random, rows.len(), most).into_vec();
    chosen.sort_unstable();
    chosen.into_iter().map(|row| rows[row]).collect()
}

/// The epiplexity of texts, given as token ids, in an order drawn from `seed`; `None` for fewer than two.
pub(super) fn epiplexity(
    loaded: &Loaded,
    job: &Job,
    ids: &[Vec<i64>],
    (observer, seed): (&Observer, u64),
) -> Result<Option<Epiplexity>, HandlerError> {
    if ids.len() < 2 {
        return Ok(None);
    }
    let count = ids.len().min(observer.texts as usize);
    let drawn = sample(&mut stream(seed, "observer", 0), ids.len(), count);
    let texts: Vec<Vec<i64>> = drawn.into_iter().map(|text| ids[text].clone()).collect();
    let (validation, texts) = texts.split_at(observer.held_out(count));
    let observed = Observed { texts, validation };
    let mut progress = |share: f32| job.progress(share, "observing");
    let losses = observe(&loaded.model, observed, observer, derive(seed, "observer", 1), &mut progress);
    Ok(losses.map_err(fault)?.epiplexity())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn embedded(texts: &[&str], rows: &[[f32; 3]], earlier: &[[f32; 3]]) -> (Diversity, Vec<Option<f32>>) {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        let ids: Vec<Vec<i64>> = texts.iter().map(|text| text.bytes().map(i64::from).collect()).collect();
        let vectors = Vectors::new(rows.iter().map(|row| row.to_vec()).collect(), 3);
        let earlier: Vec<Vec<f32>> = earlier.iter().map(|row| row.to_vec()).collect();
        let of = Embedded { texts: &texts, ids: &ids, vectors: &vectors };
        let request = DiversityRequest { novelty_distance: 0.3, cumulative: 2000, seed: 1, observer: None };
        let earlier: Vec<&Vec<f32>> = earlier.iter().collect();
        of.diversity(&request, &earlier, earlier.len()).unwrap()
    }

    #[test]
    fn equal_texts_count_once_and_orthogonal_ones_each() {
        let texts = ["what is 1+1 ?", "what is 1+1 ?", "what is 1+1 ?"];
        let (same, nearest) = embedded(&texts, &[[1.0, 0.0, 0.0]; 3], &[]);
        assert!((same.vendi - 1.0).abs() < 1e-9 && (same.vendi_centred - 1.0).abs() < 1e-9);
        assert!((same.cumulative_vendi - 1.0).abs() < 1e-9);
        assert_eq!((same.self_bleu, same.novelty), (Some(1.0), None));
        assert_eq!(nearest, [None, None, None]);
        assert_eq!((same.unique_numbers, same.numbers, same.words), (1, 1.0, 4.0));
        assert_eq!((same.unique_tokens, same.tokens), (10, 13.0));
        let axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        let (different, _) = embedded(&["a", "b", "c"], &axes, &[]);
        assert!((different.vendi - 3.0).abs() < 1e-9);
        assert_eq!(different.self_bleu, Some(0.0));
    }

    #[test]
    fn what_is_near_an_earlier_text_is_not_new() {
        let rows = [[1.0, 0.0, 0.0], [0.6, 0.8, 0.0]];
        let (found, nearest) = embedded(&["a", "b"], &rows, &[[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]);
        assert_eq!(nearest, [Some(0.0), Some(0.8)]);
        assert_eq!(found.novelty, Some(0.5));
        assert!(found.cumulative_vendi > found.vendi);
        let none = embedded(&[], &[], &[]).0;
        assert_eq!((none.vendi, none.self_bleu, none.words), (0.0, None, 0.0));
    }

    #[test]
    fn the_cumulative_score_takes_a_sample_of_many() {
        let rows: Vec<Vec<f32>> = (0..50).map(|row| vec![row as f32]).collect();
        let rows: Vec<&Vec<f32>> = rows.iter().collect();
        let request = |cumulative, seed| DiversityRequest { novelty_distance: 0.3, cumulative, seed, observer: None };
        let picked = pick(&rows, &request(20, 1));
        assert_eq!((picked.len(), picked.is_sorted_by_key(|row| row[0] as u32)), (20, true));
        assert_eq!(pick(&rows, &request(20, 1)), picked);
        assert_ne!(pick(&rows, &request(20, 2)), picked);
        assert_eq!(pick(&rows, &request(50, 1)).len(), 50);
    }
}
