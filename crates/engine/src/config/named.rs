//! Shapes of published models, and of a small one, for benchmarks with random weights.

use super::{Architecture, ModelConfig};

impl ModelConfig {
    /// Names that [`ModelConfig::named`] knows.
    pub const NAMES: [&'static str; 4] = ["small", "qwen2.5-0.5b", "qwen2.5-1.5b", "qwen2.5-7b"];

    /// The shape of a published model, or `small`: a Qwen2 of 6.6 M parameters.
    pub fn named(name: &str) -> Option<Self> {
        let qwen2 = |hidden_size, intermediate_size, layers, heads, kv_heads, vocab_size, tied| Self {
            architecture: Architecture::Qwen2,
            vocab_size,
            hidden_size,
            intermediate_size,
            num_hidden_layers: layers,
            num_attention_heads: heads,
            num_key_value_heads: kv_heads,
            head_dim: hidden_size / heads,
            max_position_embeddings: 32_768,
            rms_norm_eps: 1e-6,
            rope_theta: 1e6,
            tie_word_embeddings: tied,
            attention_bias: true,
            eos_token_ids: Vec::new(),
            pad_token_id: None,
        };
        Some(match name {
            "small" => qwen2(256, 1024, 6, 4, 2, 2560, true),
            "qwen2.5-0.5b" => qwen2(896, 4864, 24, 14, 2, 151_936, true),
            "qwen2.5-1.5b" => qwen2(1536, 8960, 28, 12, 2, 151_936, true),
            "qwen2.5-7b" => qwen2(3584, 18_944, 28, 28, 4, 152_064, false),
            _ => return None,
        })
    }

    /// Parameters of the base, without adapters.
    pub fn parameters(&self) -> i64 {
        let (hidden, query, key_value) = (self.hidden_size, self.query_size(), self.key_value_size());
        let attention = hidden * (query + 2 * key_value) + query * hidden;
        let biases = if self.attention_bias { query + 2 * key_value } else { 0 };
        let head_norms = if self.architecture == Architecture::Qwen3 {
            2 * self.head_dim
        } else {
            0
        };
        let layer = attention + biases + head_norms + 3 * hidden * self.intermediate_size + 2 * hidden;
        let embeddings = self.vocab_size * hidden * if self.tie_word_embeddings { 1 } else { 2 };
        embeddings + self.num_hidden_layers as i64 * layer + hidden
    }
}
