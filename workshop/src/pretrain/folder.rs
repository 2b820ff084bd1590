//! A trained model as a Hugging Face folder.

use std::collections::HashMap;
use std::path::Path;

use lyceum_core::work::Dtype;
use lyceum_engine::device::kind;
use lyceum_engine::error::Result;
use lyceum_engine::model::Model;
use lyceum_engine::weights::write_safetensors;
use tch::Tensor;

/// Writes `model.safetensors`: every tensor under its name in Qwen2 folders, in the given precision. The same weights
/// give the same bytes.
pub fn write_model_folder(model: &Model, dtype: Dtype, folder: &Path) -> Result<()> {
    let config = &model.config;
    let mut tensors: Vec<(String, Tensor)> = Vec::new();
    let mut push = |name: String, tensor: &Tensor| tensors.push((name, tensor.shallow_clone()));
    push("model.embed_tokens.weight".to_owned(), &model.embed_tokens);
    push("model.norm.weight".to_owned(), &model.norm);
    if !config.tie_word_embeddings {
        push("lm_head.weight".to_owned(), &model.lm_head);
    }
    let (query, key_value) = (config.query_size(), config.key_value_size());
    for (index, layer) in model.layers.iter().enumerate() {
        let name = |rest: &str| format!("model.layers.{index}.{rest}");
        push(name("input_layernorm.weight"), &layer.input_layernorm);
        push(name("post_attention_layernorm.weight"), &layer.post_attention_layernorm);
        push(name("self_attn.o_proj.weight"), &layer.o_proj);
        push(name("mlp.down_proj.weight"), &layer.down_proj);
        let mut start = 0;
        for (projection, outputs) in [("q_proj", query), ("k_proj", key_value), ("v_proj", key_value)] {
            let cut = layer.qkv_proj.f_narrow(0, start, outputs)?;
            push(name(&format!("self_attn.{projection}.weight")), &cut);
            if let Some(bias) = &layer.qkv_bias {
                push(
                    name(&format!("self_attn.{projection}.bias")),
                    &bias.f_narrow(0, start, outputs)?,
                );
            }
            start += outputs;
        }
        for (half, projection) in ["gate_proj", "up_proj"].into_iter().enumerate() {
            let width = config.intermediate_size;
            let cut = layer.gate_up_proj.f_narrow(0, half as i64 * width, width)?;
            push(name(&format!("mlp.{projection}.weight")), &cut);
        }
    }
    let kind = kind(dtype);
    let stored = tensors
        .into_iter()
        .map(|(name, tensor)| Ok((name, tensor.f_detach()?.f_to_kind(kind)?)))
        .collect::<Result<Vec<_>>>()?;
    let metadata = HashMap::from([("format".to_owned(), "pt".to_owned())]);
    write_safetensors(&folder.join("model.safetensors"), &stored, metadata)
}
