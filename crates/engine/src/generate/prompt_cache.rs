//! Keys and values of a prefill pass.

use std::cell::RefCell;

use tch::Tensor;

use crate::error::Result;
use crate::model::{Attend, CausalAttention};

/// Keys and values of a prefill pass, `[prompts, kv_heads, length, head_dim]` per layer.
#[derive(Debug, Default)]
pub(super) struct PromptCache {
    layers: RefCell<Vec<(Tensor, Tensor)>>,
}

impl PromptCache {
    /// Keys and values of each layer.
    pub(super) fn into_layers(self) -> Vec<(Tensor, Tensor)> {
        self.layers.into_inner()
    }
}

impl Attend for PromptCache {
    fn attend(&self, layer: usize, query: &Tensor, key: &Tensor, value: &Tensor) -> Result<Tensor> {
        // Copied, because views would keep the whole joint projection alive.
        let kept = |x: &Tensor| -> Result<Tensor> { Ok(x.f_transpose(1, 2)?.f_contiguous()?) };
        self.layers.borrow_mut().push((kept(key)?, kept(value)?));
        CausalAttention.attend(layer, query, key, value)
    }
}
