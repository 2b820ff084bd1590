//! How much texts differ: the measures of diversity that need no model.

mod bleu;
mod clusters;
mod epiplexity;
mod numbers;
mod wording;

pub use bleu::Wordlists;
pub use clusters::bleu_clusters;
pub use epiplexity::{Epiplexity, ObserverLosses};
pub use numbers::numbers;
pub use wording::{Wording, wordings};

/// The phase of work that measures diversity.
pub const PHASE: &str = "diversity";
