//! The epiplexity of texts.

use lyceum_core::diversity::Epiplexity;
use lyceum_core::seed::{derive, stream};
use lyceum_core::work::Observer;
use lyceum_engine::observe::{Observed, observe};
use rand::seq::index::sample;

use crate::engine::{Job, Loaded, fault};
use crate::handler::HandlerError;

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
    let losses = observe(
        &loaded.model,
        observed,
        observer,
        derive(seed, "observer", 1),
        &mut progress,
    );
    Ok(losses.map_err(fault)?.epiplexity())
}
