//! How much texts differ: the measures of diversity that need no model.

mod bleu;
mod clusters;
mod numbers;

pub use bleu::Wordlists;
pub use clusters::bleu_clusters;
pub use numbers::numbers;
