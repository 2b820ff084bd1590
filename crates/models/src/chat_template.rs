//! The chat template of a model folder, rendered as transformers renders it: by the rules of Jinja, with the methods and the
//! printing of Python.

mod environment;
mod methods;
mod operators;
mod text;

use std::path::Path;

use hf_chat_template::{ChatTemplateField, TokenField, TokenizerConfig};
use minijinja::Environment;
use serde_json::{Map, Value};

use crate::config::read_json;
use crate::error::{ModelError, Result};

/// A conversation as text that a model was trained to continue.
#[derive(Debug)]
pub struct ChatTemplate {
    environment: Environment<'static>,
    /// `bos_token` and the like.
    special_tokens: Map<String, Value>,
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
        let config: TokenizerConfig =
            if config_path.exists() { read_json(&config_path)? } else { TokenizerConfig::default() };
        let path = folder.join("chat_template.jinja");
        if path.exists() {
            let source = std::fs::read_to_string(&path).map_err(|error| ModelError::io(&path, error))?;
            return Self::new(&source, &config).map(Some).map_err(|error| ModelError::file(path, error.to_string()));
        }
        let Some(field) = &config.chat_template else { return Ok(None) };
        let source = match field {
            ChatTemplateField::Single(source) => source,
            ChatTemplateField::Named(named) => {
                let default = named.iter().find(|one| one.name == "default");
                let Some(one) = default.or_else(|| named.first().filter(|_| named.len() == 1)) else {
                    let names: Vec<&str> = named.iter().map(|one| one.name.as_str()).collect();
                    let reason = format!("`chat_template` has no template `default`; it has {}", names.join(", "));
                    return Err(ModelError::file(config_path, reason));
                };
                &one.template
            }
        };
        Self::new(source, &config).map(Some).map_err(|error| ModelError::file(config_path, error.to_string()))
    }

    /// A template from its source, with the special tokens that a `tokenizer_config.json` names.
    pub fn new(source: &str, config: &TokenizerConfig) -> Result<Self> {
        Ok(Self {
            environment: environment::of(source).map_err(|error| refusal(&error))?,
            special_tokens: special_tokens(config),
        })
    }

    pub fn render(&self, conversation: &Conversation) -> Result<String> {
        // As in transformers, what is not given is none.
        let list = |items: &[Value]| match items {
            [] => Value::Null,
            items => Value::from(items.to_vec()),
        };
        let mut variables = self.special_tokens.clone();
        variables.insert("messages".to_owned(), Value::from(conversation.messages.clone()));
        variables.insert("tools".to_owned(), list(&conversation.tools));
        variables.insert("documents".to_owned(), Value::Null);
        variables.insert("add_generation_prompt".to_owned(), conversation.add_generation_prompt.into());
        variables.extend(conversation.extra.clone());
        let template = self.environment.get_template(environment::NAME).map_err(|error| refusal(&error))?;
        template.render(environment::value(&Value::Object(variables))).map_err(|error| refusal(&error))
    }
}

fn special_tokens(config: &TokenizerConfig) -> Map<String, Value> {
    let known = [
        ("bos_token", &config.bos_token),
        ("eos_token", &config.eos_token),
        ("pad_token", &config.pad_token),
        ("unk_token", &config.unk_token),
    ]
    .into_iter()
    .filter_map(|(name, field)| Some((name.to_owned(), field.as_ref().and_then(TokenField::as_str)?.into())));
    let others = ["sep_token", "cls_token", "mask_token"].into_iter().filter_map(|name| {
        let field = config.extra.get(name)?;
        let token = field.as_str().or_else(|| field["content"].as_str())?;
        Some((name.to_owned(), token.into()))
    });
    known.chain(others).collect()
}

fn refusal(error: &minijinja::Error) -> ModelError {
    ModelError::ChatTemplate(error.to_string())
}

#[cfg(test)]
mod tests;
