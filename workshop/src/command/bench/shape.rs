//! Shapes of published models, and of a small one, for benchmarks with random weights.

use anyhow::Context as _;
use lyceum_engine::ModelConfig;
use lyceum_engine::config::Architecture;

/// The config of `small`, a Qwen2 of 6.6 M parameters, or of a published model.
pub(super) fn named(name: &str) -> anyhow::Result<ModelConfig> {
    let shapes = [
        ("small", qwen2(256, 1024, 6, 4, 2, 2560, true)),
        ("qwen2.5-0.5b", qwen2(896, 4864, 24, 14, 2, 151_936, true)),
        ("qwen2.5-1.5b", qwen2(1536, 8960, 28, 12, 2, 151_936, true)),
        ("qwen2.5-7b", qwen2(3584, 18_944, 28, 28, 4, 152_064, false)),
    ];
    let names = shapes.each_ref().map(|(name, _)| *name).join(", ");
    let found = shapes.into_iter().find(|(shape, _)| *shape == name);
    let (_, config) = found.with_context(|| format!("no shape `{name}`; use one of {names}"))?;
    Ok(config)
}

fn qwen2(
    hidden_size: i64,
    intermediate_size: i64,
    num_hidden_layers: usize,
    num_attention_heads: i64,
    num_key_value_heads: i64,
    vocab_size: i64,
    tie_word_embeddings: bool,
) -> ModelConfig {
    ModelConfig {
        architecture: Architecture::Qwen2,
        vocab_size,
        hidden_size,
        intermediate_size,
        num_hidden_layers,
        num_attention_heads,
        num_key_value_heads,
        head_dim: hidden_size / num_attention_heads,
        max_position_embeddings: 32_768,
        rms_norm_eps: 1e-6,
        rope_theta: 1e6,
        rope_scaling: None,
        tie_word_embeddings,
        attention_bias: true,
        eos_token_ids: Vec::new(),
        pad_token_id: None,
    }
}
