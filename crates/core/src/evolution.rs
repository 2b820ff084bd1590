//! How a population changes: who is replaced, by the child of whom, made by which operator (PopuLoRA, parts 3.3 and 3.4).
//!
//! Here is what a recipe decides, pure and deterministic from seeds, and the catalogue of operators, which pages and the API
//! read. The operators' arithmetic is the engine's.

mod catalogue;
mod config;
mod inheritance;
mod operator;
mod parameter;
mod protection;
mod replacement;
mod standing;

pub use catalogue::{CATALOGUE, INIT, operator};
pub use config::EvolutionConfig;
pub use inheritance::inherited;
pub use operator::{Family, Operator, OperatorError};
pub use parameter::Parameter;
pub use protection::Protection;
pub use replacement::{Lineage, Replacement, replacements};
pub use standing::{Standing, culled};
