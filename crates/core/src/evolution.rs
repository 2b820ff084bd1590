//! How a population changes: which members are replaced, by whose children, made by which operator (PopuLoRA, parts 3.3
//! and 3.4).
//!
//! This module has the recipe's decisions, pure and deterministic from seeds, and the catalogue of operators for pages
//! and the API. The operators' arithmetic is in the engine.

pub mod audit;
mod catalogue;
mod config;
mod inheritance;
mod operator;
mod replacement;
mod standing;

pub use self::catalogue::{CATALOGUE, INIT, operator};
pub use self::config::{Culling, EvolutionConfig};
pub use self::inheritance::{LearningRateConfig, Protection, RateRule, inherited};
pub use self::operator::{Family, Operator, OperatorError, Parameter};
pub use self::replacement::{Lineage, Replacement, replacements};
pub use self::standing::{Standing, culled};
