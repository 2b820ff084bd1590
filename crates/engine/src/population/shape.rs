//! Properties shared by all members of a population.

use std::fmt;

use super::projection::Projection;
use crate::error::{EngineError, Result};

/// Rank, scaling and adapted projections of a LoRA adapter (Hu et al. 2021; rank-stabilised scaling: Kalajdzievski
/// 2023).
#[derive(Debug, Clone, PartialEq)]
pub struct LoraShape {
    /// Rank of the update BA.
    pub r: i64,
    /// Numerator of the scaling.
    pub lora_alpha: f64,
    /// Whether to scale by α/√r instead of α/r.
    pub use_rslora: bool,
    /// The adapted projections, sorted.
    pub target_modules: Vec<Projection>,
}

impl LoraShape {
    /// A shape with at least one projection and a positive rank; sorts the projections.
    pub fn new(r: i64, lora_alpha: f64, use_rslora: bool, mut target_modules: Vec<Projection>) -> Result<Self> {
        if r <= 0 {
            return Err(EngineError::population(format!("the rank is {r}; it must be positive")));
        }
        if !lora_alpha.is_finite() {
            return Err(EngineError::population(format!(
                "`lora_alpha` is {lora_alpha}; it must be a finite number"
            )));
        }
        if target_modules.is_empty() {
            return Err(EngineError::population(
                "`target_modules` is empty; name at least one projection",
            ));
        }
        target_modules.sort_unstable();
        target_modules.dedup();
        Ok(Self {
            r,
            lora_alpha,
            use_rslora,
            target_modules,
        })
    }

    /// The factor before BA: α/r, or α/√r.
    pub fn scaling(&self) -> f64 {
        let r = self.r as f64;
        self.lora_alpha / if self.use_rslora { r.sqrt() } else { r }
    }
}

impl fmt::Display for LoraShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let modules: Vec<_> = self.target_modules.iter().map(|projection| projection.name()).collect();
        let rslora = if self.use_rslora { ", rslora" } else { "" };
        write!(
            f,
            "r {}, lora_alpha {}{rslora}, {}",
            self.r,
            self.lora_alpha,
            modules.join("+")
        )
    }
}

impl TryFrom<&lyceum_core::work::LoraShape> for LoraShape {
    type Error = EngineError;

    /// The shape given in a run config or a payload.
    fn try_from(shape: &lyceum_core::work::LoraShape) -> Result<Self> {
        let parsed = shape
            .target_modules
            .iter()
            .map(|name| name.parse())
            .collect::<std::result::Result<_, String>>();
        let target_modules = parsed.map_err(|reason| EngineError::population(format!("`target_modules`: {reason}")))?;
        Self::new(i64::from(shape.r), shape.lora_alpha, shape.use_rslora, target_modules)
    }
}
