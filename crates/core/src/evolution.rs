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

pub use self::{
    catalogue::{CATALOGUE, INIT, operator},
    config::{Culling, EvolutionConfig},
    inheritance::{LearningRateConfig, Protection, RateRule, inherited},
    operator::{Family, Operator, OperatorError, Parameter},
    replacement::{Lineage, Replacement, replacements},
    standing::{Standing, culled},
};
