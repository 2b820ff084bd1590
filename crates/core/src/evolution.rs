//! How a population changes: which members are replaced, by whose children, made by which operator (PopuLoRA, parts 3.3
//! and 3.4).
//!
//! This module has the recipe's decisions, pure and deterministic from seeds, and the catalogue of operators for pages
//! and the API. The operators' arithmetic is in the engine.

pub mod audit;
mod catalogue;
mod config;
mod inheritance;
mod learning_rate;
mod operator;
mod parameter;
mod protection;
mod replacement;
mod standing;

pub use catalogue::{CATALOGUE, INIT, operator};
pub use config::{Culling, EvolutionConfig};
pub use inheritance::inherited;
pub use learning_rate::{LearningRateConfig, RateRule};
pub use operator::{Family, Operator, OperatorError};
pub use parameter::Parameter;
pub use protection::Protection;
pub use replacement::{Lineage, Replacement, replacements};
pub use standing::{Standing, culled};
