//! Which prompts a run uses.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;

use super::{Grammar, PromptError, PromptSet, shipped::shipped, task_name};
use crate::{fault::Fault, verify::ProblemType};

/// Which prompts a run uses. Once resolved, it holds every template and its hash, so that a run can be repeated after the
/// shipped sets changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PromptConfig {
    /// The shipped set to start from: `azr`, for models that follow instructions or continue a dialogue, or `seedling`, the
    /// compact format of the model that ships with Lyceum.
    pub set: String,
    /// How prompts reach the model; left out, as the set says.
    pub style: Option<Style>,
    /// How completions are read; left out, as the set says.
    pub grammar: Option<Grammar>,
    /// Templates (Jinja) by task, in place of the set's: `propose_code_i`, `propose_code_o`, `propose_code_f`, `solve_code_i`,
    /// `solve_code_o`, `solve_code_f`, and `frame` or `chat`, which the style `base` or `chat` puts round each of them.
    pub templates: BTreeMap<String, String>,
    /// SHA-256 of each template, in hex; written when the config is resolved, whatever stands here.
    pub hashes: BTreeMap<String, String>,
}

impl Default for PromptConfig {
    fn default() -> Self {
        Self {
            set: "azr".to_owned(),
            style: None,
            grammar: None,
            templates: BTreeMap::new(),
            hashes: BTreeMap::new(),
        }
    }
}

/// How prompts reach the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Style {
    /// As text that the model continues, inside the template `frame` where there is one: for base models.
    Base,
    /// As a user's message, through the model's chat template: for models that follow instructions.
    Chat,
}

impl Style {
    /// The template that goes round prompts of this style.
    pub(super) fn frame(self) -> &'static str {
        match self {
            Self::Base => "frame",
            Self::Chat => "chat",
        }
    }
}

impl PromptConfig {
    /// Writes out what the set says and checks that each of `problems` has prompts that can be rendered.
    ///
    /// # Errors
    /// Every fault, at a JSON pointer below `pointer`.
    pub fn resolve(mut self, pointer: &str, problems: &[ProblemType]) -> Result<Self, Vec<Fault>> {
        let Some(set) = shipped(&self.set) else {
            let known = super::shipped_sets().collect::<Vec<_>>().join(", ");
            let detail = format!("there is no prompt set `{}`; shipped are {known}", self.set);
            return Err(vec![Fault::new(format!("{pointer}/set"), detail)]);
        };
        self.style.get_or_insert(set.style);
        self.grammar.get_or_insert(set.grammar);
        let mut faults = Vec::new();
        for name in self.templates.keys().filter(|name| !is_template(name)) {
            let detail = format!(
                "`{name}` is no template: {}, frame and chat are",
                super::TASKS.map(|(act, problem)| task_name(act, problem)).join(", ")
            );
            faults.push(Fault::new(
                format!("{pointer}/templates/{}", crate::config::pointer_token(name)),
                detail,
            ));
        }
        for (name, text) in set.templates {
            self.templates
                .entry((*name).to_owned())
                .or_insert_with(|| (*text).to_owned());
        }
        self.hashes = self
            .templates
            .iter()
            .map(|(name, text)| (name.clone(), format!("{:x}", Sha256::digest(text))))
            .collect();
        match PromptSet::compile(&self) {
            Err(PromptError::Template { name, detail }) => {
                faults.push(Fault::new(format!("{pointer}/templates/{name}"), detail));
            }
            Err(other) => faults.push(Fault::new(pointer, other.to_string())),
            Ok(set) => faults.extend(set.faults(pointer, problems)),
        }
        if faults.is_empty() { Ok(self) } else { Err(faults) }
    }
}

fn is_template(name: &str) -> bool {
    [Style::Base, Style::Chat].iter().any(|style| style.frame() == name)
        || super::TASKS
            .iter()
            .any(|&(act, problem)| task_name(act, problem) == name)
}
