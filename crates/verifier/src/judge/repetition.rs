//! Texts grouped by how much they repeat one another.

use lyceum_core::diversity::bleu_clusters;
use lyceum_core::verify::{Status, Verdict, Wordings};

/// The most texts of a task. Their distances take 4 bytes a pair, 128 MiB for this many.
const MAX_TEXTS: usize = 8192;

pub(super) fn repetition(wordings: &Wordings) -> Verdict {
    let Wordings { texts, distance } = wordings;
    if texts.len() > MAX_TEXTS {
        let reason = format!("{} texts; at most {MAX_TEXTS} are compared", texts.len());
        return Verdict { clusters: Some(vec![None; texts.len()]), ..Verdict::bare(None, Status::Malformed, reason) };
    }
    let clusters = bleu_clusters(texts, distance.get());
    Verdict { clusters: Some(clusters.into_iter().map(Some).collect()), ..Verdict::bare(None, Status::Ok, "") }
}
