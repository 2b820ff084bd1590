//! Models with random weights, for benchmarks and as the start of pretraining.

use lyceum_engine::config::Architecture;
use lyceum_engine::error::Result;
use lyceum_engine::model::LayerWeights;
use lyceum_engine::{Model, ModelConfig, Placement};
use tch::Tensor;

/// Weights drawn from a normal distribution with deviation 0.02, biases zero, norms one. Uses libtorch's own generator,
/// so two calls differ unless it is seeded.
pub fn random_model(config: ModelConfig, placement: Placement) -> Result<Model> {
    let options = (placement.kind(), placement.device);
    let normal = |shape: [i64; 2]| -> Result<Tensor> { Ok(Tensor::f_randn(shape, options)?.f_mul_scalar(0.02)?) };
    let ones = |width: i64| -> Result<Tensor> { Ok(Tensor::f_ones([width], options)?) };
    let (hidden, query, key_value) = (config.hidden_size, config.query_size(), config.key_value_size());
    let joint = query + 2 * key_value;
    let heads = config.num_attention_heads + config.num_key_value_heads;
    let layer = || -> Result<LayerWeights> {
        Ok(LayerWeights {
            input_layernorm: ones(hidden)?,
            qkv_proj: normal([joint, hidden])?,
            qkv_bias: if config.attention_bias { Some(Tensor::f_zeros([joint], options)?) } else { None },
            qk_norm: match config.architecture {
                Architecture::Qwen2 | Architecture::Llama => None,
                Architecture::Qwen3 => Some(Tensor::f_ones([heads, config.head_dim], options)?),
            },
            o_proj: normal([hidden, query])?,
            post_attention_layernorm: ones(hidden)?,
            gate_up_proj: normal([2 * config.intermediate_size, hidden])?,
            down_proj: normal([hidden, config.intermediate_size])?,
        })
    };
    let embed_tokens = normal([config.vocab_size, hidden])?;
    Ok(Model {
        layers: (0..config.num_hidden_layers).map(|_| layer()).collect::<Result<_>>()?,
        norm: ones(hidden)?,
        lm_head: if config.tie_word_embeddings {
            embed_tokens.shallow_clone()
        } else {
            normal([config.vocab_size, hidden])?
        },
        embed_tokens,
        config,
        placement,
    })
}
