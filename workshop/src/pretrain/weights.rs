//! A model's tensors as one list, and copies of a model in another precision that gradients flow through.

use lyceum_engine::device::Placement;
use lyceum_engine::error::Result;
use lyceum_engine::model::{LayerWeights, Model};
use tch::Tensor;

/// All trained tensors with their names: those of the checkpoint, except that projections with the same input are one
/// matrix.
pub(super) fn named(model: &Model) -> Vec<(String, &Tensor)> {
    let mut tensors = vec![("model.embed_tokens.weight".to_owned(), &model.embed_tokens)];
    for (index, layer) in model.layers.iter().enumerate() {
        let mut push = |name: &str, tensor| tensors.push((format!("model.layers.{index}.{name}"), tensor));
        push("input_layernorm.weight", &layer.input_layernorm);
        push("self_attn.qkv_proj.weight", &layer.qkv_proj);
        if let Some(bias) = &layer.qkv_bias {
            push("self_attn.qkv_proj.bias", bias);
        }
        push("self_attn.o_proj.weight", &layer.o_proj);
        push("post_attention_layernorm.weight", &layer.post_attention_layernorm);
        push("mlp.gate_up_proj.weight", &layer.gate_up_proj);
        push("mlp.down_proj.weight", &layer.down_proj);
    }
    tensors.push(("model.norm.weight".to_owned(), &model.norm));
    if !model.config.tie_word_embeddings {
        tensors.push(("lm_head.weight".to_owned(), &model.lm_head));
    }
    tensors
}

/// The model with `change` applied to every tensor; tied tensors stay tied.
pub(super) fn mapped(model: &Model, placement: Placement, change: &dyn Fn(&Tensor) -> Result<Tensor>) -> Result<Model> {
    let optional = |tensor: &Option<Tensor>| tensor.as_ref().map(change).transpose();
    let layers = model.layers.iter().map(|layer| {
        Ok(LayerWeights {
            input_layernorm: change(&layer.input_layernorm)?,
            qkv_proj: change(&layer.qkv_proj)?,
            qkv_bias: optional(&layer.qkv_bias)?,
            qk_norm: optional(&layer.qk_norm)?,
            o_proj: change(&layer.o_proj)?,
            post_attention_layernorm: change(&layer.post_attention_layernorm)?,
            gate_up_proj: change(&layer.gate_up_proj)?,
            down_proj: change(&layer.down_proj)?,
        })
    });
    let embed_tokens = change(&model.embed_tokens)?;
    Ok(Model {
        layers: layers.collect::<Result<_>>()?,
        norm: change(&model.norm)?,
        lm_head: if model.config.tie_word_embeddings {
            embed_tokens.shallow_clone()
        } else {
            change(&model.lm_head)?
        },
        embed_tokens,
        config: model.config.clone(),
        placement,
    })
}
