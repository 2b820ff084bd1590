//! A model in training: its tensors, and how they are kept on disk.

use std::collections::HashMap;
use std::path::Path;

use lyceum_core::work::Dtype;
use lyceum_engine::device::{Placement, kind};
use lyceum_engine::error::{EngineError, Result};
use lyceum_engine::learn::{OptimizerState, TrainedTensor};
use lyceum_engine::model::{LayerWeights, Model};
use lyceum_engine::weights::{Checkpoint, write_safetensors};
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
        lm_head: if model.config.tie_word_embeddings { embed_tokens.shallow_clone() } else { change(&model.lm_head)? },
        embed_tokens,
        config: model.config.clone(),
        placement,
    })
}

const WEIGHTS: &str = "weights.safetensors";

/// Writes both into `folder`.
pub(super) fn save(trained: &[TrainedTensor], state: &OptimizerState, folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(|source| EngineError::io(folder, source))?;
    let tensors: Vec<_> = trained.iter().map(|tensor| (tensor.name.clone(), tensor.values.shallow_clone())).collect();
    write_safetensors(&folder.join(WEIGHTS), &tensors, Default::default())?;
    state.write_member(0, folder)
}

/// Copies the weights in a folder into `trained` and returns the optimizer's state.
pub(super) fn restore(trained: &[TrainedTensor], folder: &Path) -> Result<OptimizerState> {
    let path = folder.join(WEIGHTS);
    let file = Checkpoint::from_file(&path)?;
    for tensor in trained {
        let stored = file.read(&tensor.name)?.values;
        let mut values = tensor.values.shallow_clone();
        if stored.size() != values.size() {
            let problem = format!("has shape {:?}; the model's is {:?}", stored.size(), values.size());
            return Err(EngineError::tensor(&path, &tensor.name, problem));
        }
        values.f_copy_(&stored)?;
    }
    OptimizerState::read(&[Some(folder.to_owned())], trained)
}

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
                push(name(&format!("self_attn.{projection}.bias")), &bias.f_narrow(0, start, outputs)?);
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
