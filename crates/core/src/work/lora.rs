//! The shape of adapters, and the projections of a decoder layer that they change.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use strum::{IntoStaticStr, VariantArray};

/// The shape shared by all adapters of a population (Hu et al. 2021, arXiv 2106.09685; rank-stabilised scaling:
/// Kalajdzievski 2023, arXiv 2312.03732). Field names are those of PEFT's `adapter_config.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoraShape {
    /// Rank.
    #[schemars(range(min = 1, max = 512))]
    pub r: u32,
    /// Scale: the update is `lora_alpha / r · B·A`.
    #[schemars(range(min = 0.0))]
    pub lora_alpha: f64,
    /// Projections that get an adapter: any of `q_proj`, `k_proj`, `v_proj`, `o_proj`, `gate_proj`, `up_proj`,
    /// `down_proj`.
    #[schemars(length(min = 1))]
    pub target_modules: Vec<Projection>,
    /// Scale by `lora_alpha / √r` instead of `lora_alpha / r`.
    #[serde(default)]
    pub use_rslora: bool,
}

/// Why a shape is not one of an adapter.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LoraShapeError {
    /// The rank is 0.
    #[error("the rank is 0; it must be positive")]
    Rank,
    /// The scale is NaN or infinite.
    #[error("`lora_alpha` is {0}; it must be a finite number")]
    Alpha(f64),
    /// There are no projections.
    #[error("`target_modules` is empty; name at least one projection")]
    NoProjection,
}

impl LoraShape {
    /// A checked shape.
    ///
    /// # Errors
    /// A rank of 0, a scale that is not finite, or no projections.
    pub fn new(
        r: u32,
        lora_alpha: f64,
        use_rslora: bool,
        target_modules: Vec<Projection>,
    ) -> Result<Self, LoraShapeError> {
        let shape = Self { r, lora_alpha, target_modules, use_rslora };
        shape.checked()
    }

    /// The shape with its projections in the order of a layer and each once, so that equal adapters have equal shapes.
    ///
    /// # Errors
    /// A rank of 0, a scale that is not finite, or no projections.
    pub fn checked(&self) -> Result<Self, LoraShapeError> {
        if self.r == 0 {
            return Err(LoraShapeError::Rank);
        }
        if !self.lora_alpha.is_finite() {
            return Err(LoraShapeError::Alpha(self.lora_alpha));
        }
        if self.target_modules.is_empty() {
            return Err(LoraShapeError::NoProjection);
        }
        let mut shape = self.clone();
        shape.target_modules.sort_unstable();
        shape.target_modules.dedup();
        Ok(shape)
    }

    /// The factor before B·A: α/r, or α/√r.
    pub fn scaling(&self) -> f64 {
        let r = f64::from(self.r);
        self.lora_alpha / if self.use_rslora { r.sqrt() } else { r }
    }
}

impl fmt::Display for LoraShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let modules: Vec<_> = self.target_modules.iter().map(|projection| projection.name()).collect();
        let rslora = if self.use_rslora { ", rslora" } else { "" };
        write!(f, "r {}, lora_alpha {}{rslora}, {}", self.r, self.lora_alpha, modules.join("+"))
    }
}

/// A linear projection, named as in the checkpoint. The values are in the order in which a layer applies them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[derive(Serialize, Deserialize, JsonSchema, IntoStaticStr, VariantArray)]
#[repr(usize)]
pub enum Projection {
    /// `self_attn.q_proj`
    #[serde(rename = "q_proj")]
    #[strum(serialize = "q_proj")]
    Q,
    /// `self_attn.k_proj`
    #[serde(rename = "k_proj")]
    #[strum(serialize = "k_proj")]
    K,
    /// `self_attn.v_proj`
    #[serde(rename = "v_proj")]
    #[strum(serialize = "v_proj")]
    V,
    /// `self_attn.o_proj`
    #[serde(rename = "o_proj")]
    #[strum(serialize = "o_proj")]
    O,
    /// `mlp.gate_proj`
    #[serde(rename = "gate_proj")]
    #[strum(serialize = "gate_proj")]
    Gate,
    /// `mlp.up_proj`
    #[serde(rename = "up_proj")]
    #[strum(serialize = "up_proj")]
    Up,
    /// `mlp.down_proj`
    #[serde(rename = "down_proj")]
    #[strum(serialize = "down_proj")]
    Down,
}

crate::named!(Projection, "a projection that can be adapted");

impl Projection {
    /// The block of the layer that holds the module.
    pub fn block(self) -> &'static str {
        match self {
            Self::Q | Self::K | Self::V | Self::O => "self_attn",
            Self::Gate | Self::Up | Self::Down => "mlp",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(modules: &[Projection]) -> LoraShape {
        LoraShape { r: 4, lora_alpha: 8.0, target_modules: modules.to_vec(), use_rslora: false }
    }

    #[test]
    fn a_checked_shape_has_each_projection_once_in_order() {
        let given = shape(&[Projection::Down, Projection::Q, Projection::Down]);
        let checked = given.checked().unwrap();
        assert_eq!(checked, shape(&[Projection::Q, Projection::Down]));
        assert_eq!(checked.to_string(), "r 4, lora_alpha 8, q_proj+down_proj");
        assert_eq!(
            serde_json::to_value(&given).unwrap()["target_modules"],
            serde_json::json!(["down_proj", "q_proj", "down_proj"]),
            "the order given is the order written"
        );
    }

    #[test]
    fn impossible_shapes_are_refused_by_field() {
        assert_eq!(shape(&[]).checked(), Err(LoraShapeError::NoProjection));
        let shape = shape(&[Projection::Q]);
        assert_eq!(LoraShape { r: 0, ..shape.clone() }.checked(), Err(LoraShapeError::Rank));
        let infinite = LoraShape { lora_alpha: f64::INFINITY, ..shape };
        assert_eq!(infinite.checked(), Err(LoraShapeError::Alpha(f64::INFINITY)));
    }

    #[test]
    fn rank_stabilised_lora_scales_by_the_root_of_the_rank() {
        let plain = shape(&[Projection::Q]);
        assert_eq!(plain.scaling(), 2.0);
        let rslora = LoraShape { use_rslora: true, ..plain };
        assert_eq!(rslora.scaling(), 4.0);
    }
}
