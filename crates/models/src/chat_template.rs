//! The chat template of a model folder, rendered as transformers renders it.

use std::path::Path;

use hf_chat_template::{RenderInput, TokenizerConfig};
use serde_json::{Map, Value};

use crate::config::read_json;
use crate::error::{ModelError, Result};

/// A conversation as text that a model was trained to continue.
#[derive(Debug)]
pub struct ChatTemplate {
    inner: hf_chat_template::ChatTemplate,
}

/// The variables a template is rendered with.
#[derive(Debug, Clone, Default)]
pub struct Conversation {
    /// The messages: objects with `role` and `content`, plus any other fields the template reads.
    pub messages: Vec<Value>,
    /// Descriptions of tools, as JSON schemas.
    pub tools: Vec<Value>,
    /// Whether to append the opening of the assistant's turn.
    pub add_generation_prompt: bool,
    /// Further variables, such as Qwen3's `enable_thinking`.
    pub extra: Map<String, Value>,
}

impl ChatTemplate {
    /// The template of a model folder: `chat_template.jinja`, else `chat_template` of `tokenizer_config.json`; `None`
    /// if there is neither.
    pub fn load(folder: &Path) -> Result<Option<Self>> {
        let config_path = folder.join("tokenizer_config.json");
        let config: TokenizerConfig = if config_path.exists() {
            read_json(&config_path)?
        } else {
            TokenizerConfig::default()
        };
        let path = folder.join("chat_template.jinja");
        if path.exists() {
            let source = std::fs::read_to_string(&path).map_err(|error| ModelError::io(&path, error))?;
            return Self::new(&source, &config)
                .map(Some)
                .map_err(|error| ModelError::file(path, error.to_string()));
        }
        if config.chat_template.is_none() {
            return Ok(None);
        }
        let inner = hf_chat_template::ChatTemplate::from_tokenizer_config(&config)
            .map_err(|error| ModelError::file(config_path, error.to_string()))?;
        Ok(Some(Self { inner }))
    }

    /// A template from its source, with the special tokens that a `tokenizer_config.json` names.
    pub fn new(source: &str, config: &TokenizerConfig) -> Result<Self> {
        hf_chat_template::ChatTemplate::from_template_and_config(source, config)
            .map(|inner| Self { inner })
            .map_err(|error| ModelError::ChatTemplate(error.to_string()))
    }

    /// Renders a conversation.
    pub fn render(&self, conversation: &Conversation) -> Result<String> {
        let refuse = |error: &dyn std::fmt::Display| ModelError::ChatTemplate(error.to_string());
        let messages = serde_json::from_value(Value::Array(conversation.messages.clone())).map_err(|e| refuse(&e))?;
        let input = RenderInput {
            messages,
            tools: conversation.tools.clone(),
            add_generation_prompt: conversation.add_generation_prompt,
            extra: conversation.extra.clone(),
            ..RenderInput::default()
        };
        self.inner.render(&input).map_err(|error| refuse(&error))
    }
}
