//! What turns texts into a base model's token ids and back.

use std::path::Path;

use lyceum_core::artifact::Digest;
use lyceum_core::work::{Message, Prompt};
use sha2::{Digest as _, Sha256};

use crate::chat_template::{ChatTemplate, Conversation};
use crate::config::ModelConfig;
use crate::error::{ModelError, Result};
use crate::tokenizer::Tokenizer;

/// Tokenizer and chat template of a base model.
pub struct Texts {
    name: String,
    tokenizer: Option<Tokenizer>,
    chat_template: Option<ChatTemplate>,
    chat_template_sha256: Option<String>,
}

impl Texts {
    /// Those in the folder of the base model `name`, whose configuration is `config`.
    ///
    /// # Errors
    /// Files that are malformed or belong to another model.
    pub fn load(name: &str, folder: &Path, config: &ModelConfig) -> Result<Self> {
        let has_tokenizer = folder.join("tokenizer.json").exists();
        let tokenizer = has_tokenizer.then(|| Tokenizer::load(folder, config));
        Ok(Self {
            name: name.to_owned(),
            tokenizer: tokenizer.transpose()?,
            chat_template: ChatTemplate::load(folder)?,
            chat_template_sha256: chat_template_sha256(folder),
        })
    }

    /// The tokenizer, if the folder has one.
    pub fn tokenizer(&self) -> Option<&Tokenizer> {
        self.tokenizer.as_ref()
    }

    /// SHA-256 of the chat template, in hex, if the model has one.
    pub fn chat_template_sha256(&self) -> Option<&str> {
        self.chat_template_sha256.as_deref()
    }

    /// The token ids of a prompt.
    ///
    /// # Errors
    /// The model lacks what the prompt needs, or the template rejects the conversation.
    pub fn ids(&self, prompt: &Prompt) -> Result<Vec<i64>> {
        match prompt {
            Prompt::Ids(ids) => Ok(ids.iter().map(|id| i64::from(*id)).collect()),
            Prompt::Text(text) => self.encode(text),
            Prompt::Messages(messages) => self.encode(&self.render(messages)?),
        }
    }

    /// The token ids of a text.
    ///
    /// # Errors
    /// The model has no tokenizer.
    pub fn encode(&self, text: &str) -> Result<Vec<i64>> {
        let tokenizer = self.tokenizer.as_ref().ok_or_else(|| {
            ModelError::Base(format!("base model `{}` has no tokenizer.json, which a text prompt needs", self.name))
        })?;
        tokenizer.encode(text)
    }

    /// Formats a conversation with the model's chat template. If the last message is the assistant's, the model continues it: the
    /// template formats the others, and the text of the last follows where an answer begins.
    ///
    /// # Errors
    /// The model has no template, or the template rejects the conversation.
    pub fn render(&self, messages: &[Message]) -> Result<String> {
        let template = self.chat_template.as_ref().ok_or_else(|| {
            ModelError::Base(format!(
                "base model `{}` has no chat template, which a conversation needs: use prompts for models that continue a text, \
                 such as the set `azr` or the style `completion`",
                self.name
            ))
        })?;
        let (messages, begun) = match messages.split_last() {
            Some((last, others)) if last.role == "assistant" => (others, last.content.as_str()),
            _ => (messages, ""),
        };
        let messages = messages.iter().map(serde_json::to_value).collect::<std::result::Result<_, _>>();
        let conversation = Conversation {
            messages: messages.map_err(|error| ModelError::ChatTemplate(error.to_string()))?,
            add_generation_prompt: true,
            ..Conversation::default()
        };
        Ok(template.render(&conversation)? + begun)
    }
}

/// SHA-256 of a model's chat template, in hex: of `chat_template.jinja`, or of the text in `tokenizer_config.json`.
fn chat_template_sha256(folder: &Path) -> Option<String> {
    let text = std::fs::read_to_string(folder.join("chat_template.jinja")).ok().or_else(|| {
        let config = std::fs::read_to_string(folder.join("tokenizer_config.json")).ok()?;
        let config: serde_json::Value = serde_json::from_str(&config).ok()?;
        Some(config.get("chat_template")?.as_str()?.to_owned())
    })?;
    Some(Digest(Sha256::digest(text).into()).to_string())
}
