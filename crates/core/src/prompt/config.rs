//! The prompts of a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};

use super::{
    Grammar, PromptSet, Template,
    faults::TemplateFault,
    shipped::{sets_with, shipped, shipped_sets},
};
use crate::{
    config::pointer_token,
    fault::{Fault, nearest},
};

/// The prompts of a run. Once resolved, it contains every template and its hash, so that a run can be repeated after
/// the shipped sets have changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PromptConfig {
    /// The shipped set to start from: `azr`, `gasp`, `seedling` or `seedling-gasp` for problems of code, `rzero`, `sage` or
    /// `seedling-math` for mathematics. `azr`, `gasp`, `rzero` and `sage` are for models that follow instructions or
    /// continue a dialogue; the others are the compact formats of small models.
    pub set: String,
    /// How prompts are sent to the model; defaults to the set's choice.
    pub style: Option<Style>,
    /// How completions are read; defaults to the set's choice.
    pub grammar: Option<Grammar>,
    /// Templates (Jinja) by name that replace the set's. For example, `propose_code_o` is the text or the user's
    /// message, and `propose_code_o-system` a system message; `frame` and `chat` wrap each prompt of the style `base`
    /// or `chat`. An unknown name is refused with the list of valid ones.
    pub templates: BTreeMap<String, String>,
    /// SHA-256 of each template, in hex. Filled in when the config is resolved; any value given here is replaced.
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

/// How prompts are sent to the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Style {
    /// As text that the model continues, inside the template `frame` if there is one: for base models.
    Base,
    /// As messages, through the model's chat template: for models that follow instructions.
    Chat,
}

impl Style {
    /// The template that wraps prompts of this style.
    pub(super) fn frame(self) -> &'static str {
        match self {
            Self::Base => "frame",
            Self::Chat => "chat",
        }
    }
}

impl PromptConfig {
    /// Fills in the set's choices and templates for a recipe that renders the templates of `catalogue`, and checks
    /// those this run needs.
    ///
    /// # Errors
    /// Every fault, at a JSON pointer below `pointer`: an unknown set or name, a syntax error, an unknown variable, or
    /// a required template that is missing, fails on sample values or renders to nothing.
    pub fn resolve_for(
        mut self,
        pointer: &str,
        catalogue: &[Template],
        is_needed: impl Fn(&Template) -> bool,
    ) -> Result<Self, Vec<Fault>> {
        let needed: Vec<&Template> = catalogue.iter().filter(|template| is_needed(template)).collect();
        let Some(set) = shipped(&self.set) else {
            let valid = match sets_with(&needed) {
                none if none.is_empty() => shipped_sets().collect(),
                fitting => fitting,
            };
            let detail = format!("there is no prompt set `{}`: valid are {}", self.set, valid.join(", "));
            return Err(vec![Fault::new(format!("{pointer}/set"), detail)]);
        };
        let style = *self.style.get_or_insert(set.style);
        let grammar = *self.grammar.get_or_insert(set.grammar);
        let valid = names(catalogue);
        let unknown = self.templates.keys().filter(|name| !valid.contains(*name));
        let mut faults: Vec<TemplateFault> = unknown.map(|name| unknown_name(name, catalogue)).collect();
        for (name, text) in set.templates().filter(|(name, _)| valid.contains(*name)) {
            let given = self.templates.entry(name.to_owned());
            given.or_insert_with(|| text.to_owned());
        }
        let hash = |(name, text): (&String, &String)| (name.clone(), format!("{:x}", Sha256::digest(text)));
        self.hashes = self.templates.iter().map(hash).collect();
        let templates = self.templates.iter();
        let templates = templates.map(|(name, text)| (name.as_str(), text.as_str()));
        let (compiled, errors) = PromptSet::assemble(grammar, style, templates);
        faults.extend(match errors.is_empty() {
            true => compiled.faults(&self.set, &needed),
            false => errors.into_iter().map(TemplateFault::from).collect(),
        });
        let fault = |TemplateFault { name, detail }: TemplateFault| {
            Fault::new(format!("{pointer}/templates/{}", pointer_token(&name)), detail)
        };
        match faults.is_empty() {
            true => Ok(self),
            false => Err(faults.into_iter().map(fault).collect()),
        }
    }
}

/// Every valid template name.
fn names(catalogue: &[Template]) -> BTreeSet<String> {
    let frames = [Style::Base, Style::Chat].map(|style| style.frame().to_owned());
    let of_recipe = catalogue
        .iter()
        .flat_map(|template| [template.name.to_owned(), template.system()]);
    of_recipe.chain(frames).collect()
}

fn unknown_name(name: &str, catalogue: &[Template]) -> TemplateFault {
    let of_recipe: Vec<&str> = catalogue.iter().map(|template| template.name).collect();
    let valid = names(catalogue);
    let meant = match nearest(name, valid.iter().map(String::as_str)) {
        Some(meant) => format!("; did you mean `{meant}`?"),
        None => String::new(),
    };
    TemplateFault {
        name: name.to_owned(),
        detail: format!(
            "there is no template `{name}` here: valid are frame, chat, {}, and each of these with `-system` for its system \
             message{meant}",
            of_recipe.join(", ")
        ),
    }
}
