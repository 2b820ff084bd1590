//! The linear projections of a decoder layer that an adapter can change.

use std::fmt;
use std::str::FromStr;

use crate::config::ModelConfig;

/// A linear projection, named as in the checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(usize)]
pub enum Projection {
    /// `self_attn.q_proj`
    Q,
    /// `self_attn.k_proj`
    K,
    /// `self_attn.v_proj`
    V,
    /// `self_attn.o_proj`
    O,
    /// `mlp.gate_proj`
    Gate,
    /// `mlp.up_proj`
    Up,
    /// `mlp.down_proj`
    Down,
}

impl Projection {
    /// All of them, in the order in which a layer applies them.
    pub const ALL: [Self; 7] = [Self::Q, Self::K, Self::V, Self::O, Self::Gate, Self::Up, Self::Down];

    /// The module's own name, as `target_modules` lists it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Q => "q_proj",
            Self::K => "k_proj",
            Self::V => "v_proj",
            Self::O => "o_proj",
            Self::Gate => "gate_proj",
            Self::Up => "up_proj",
            Self::Down => "down_proj",
        }
    }

    /// The block of the layer that holds the module.
    pub fn block(self) -> &'static str {
        match self {
            Self::Q | Self::K | Self::V | Self::O => "self_attn",
            Self::Gate | Self::Up | Self::Down => "mlp",
        }
    }

    /// `(in_features, out_features)`.
    pub fn sizes(self, config: &ModelConfig) -> (i64, i64) {
        match self {
            Self::Q => (config.hidden_size, config.query_size()),
            Self::K | Self::V => (config.hidden_size, config.key_value_size()),
            Self::O => (config.query_size(), config.hidden_size),
            Self::Gate | Self::Up => (config.hidden_size, config.intermediate_size),
            Self::Down => (config.intermediate_size, config.hidden_size),
        }
    }
}

impl fmt::Display for Projection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Projection {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|projection| projection.name() == name)
            .ok_or_else(|| {
                let valid: Vec<_> = Self::ALL.iter().map(|projection| projection.name()).collect();
                format!(
                    "`{name}` is not a projection that can be adapted; use one of {}",
                    valid.join(", ")
                )
            })
    }
}
