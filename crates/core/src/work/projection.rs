//! The linear projections of a decoder layer that an adapter can change.

use serde::{Deserialize, Serialize};

/// A linear projection, named as in the checkpoint. The values are in the order in which a layer applies them.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
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
