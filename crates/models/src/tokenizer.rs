//! `tokenizer.json`, checked against its model.

use std::path::Path;

use crate::config::ModelConfig;
use crate::error::{ModelError, Result};
use crate::weights::{is_pointer, refusal};

/// Converts text to ids and back according to the folder's `tokenizer.json`.
pub struct Tokenizer {
    inner: tokenizers::Tokenizer,
}

impl Tokenizer {
    /// Reads `tokenizer.json` of a model folder. Fails if it can produce an id outside the model's embedding.
    pub fn load(folder: &Path, config: &ModelConfig) -> Result<Self> {
        let path = folder.join("tokenizer.json");
        let bytes = std::fs::read(&path).map_err(|source| ModelError::io(&path, source))?;
        if is_pointer(&bytes) {
            return Err(refusal(&path));
        }
        let inner = tokenizers::Tokenizer::from_bytes(bytes)
            .map_err(|error| ModelError::file(&path, format!("not a tokenizer: {error}")))?;
        let largest = inner.get_vocab(true).into_iter().max_by_key(|(_, id)| *id);
        if let Some((token, id)) = largest.filter(|(_, id)| i64::from(*id) >= config.vocab_size) {
            let reason = format!(
                "token `{token}` has id {id}, but the model's `vocab_size` is {}; the tokenizer belongs to another model",
                config.vocab_size
            );
            return Err(ModelError::file(path, reason));
        }
        Ok(Self { inner })
    }

    /// Ids of a text. Special tokens in it are recognised; none are added.
    pub fn encode(&self, text: &str) -> Result<Vec<i64>> {
        let encoding = self.inner.encode_fast(text, false).map_err(|error| {
            ModelError::text(text.chars().take(40).collect::<String>(), format!("cannot be tokenized: {error}"))
        })?;
        Ok(encoding.get_ids().iter().map(|&id| i64::from(id)).collect())
    }

    /// Text of ids, without special tokens.
    pub fn decode(&self, ids: &[i64]) -> Result<String> {
        let ids: Vec<u32> = ids.iter().filter_map(|&id| u32::try_from(id).ok()).collect();
        self.inner
            .decode(&ids, true)
            .map_err(|error| ModelError::text(format!("{ids:?}"), format!("cannot be decoded: {error}")))
    }

    /// Text of ids without special tokens, cut before the first of these texts.
    pub fn decode_until(&self, ids: &[i64], stop: &[String]) -> Result<String> {
        let mut text = self.decode(ids)?;
        if let Some(end) = stop.iter().filter_map(|stop| text.find(stop.as_str())).min() {
            text.truncate(end);
        }
        Ok(text)
    }

    /// The ids that spell a text: one if it is a token, special ones included. `None` if the text is empty or the
    /// vocabulary lacks a part of it.
    pub fn spelling(&self, text: &str) -> Result<Option<Vec<i64>>> {
        if let Some(id) = self.id_of(text) {
            return Ok(Some(vec![id]));
        }
        let ids = self.encode(text)?;
        let letters = |text: &str| text.split_whitespace().collect::<String>();
        let is_whole = !ids.is_empty() && letters(&self.decode(&ids)?) == letters(text);
        Ok(is_whole.then_some(ids))
    }

    /// The id of a token, if the vocabulary has it.
    pub fn id_of(&self, token: &str) -> Option<i64> {
        self.inner.token_to_id(token).map(i64::from)
    }
}
