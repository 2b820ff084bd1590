//! The prompts of a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};

use super::set::{Reads, TemplateFault};
use super::{AnswerReading, Grammar, PromptSet, Template};
use crate::config::pointer_token;
use crate::fault::{Fault, nearest};

/// The prompts of a run. Once resolved, it contains every template and its hash, so that a run can be repeated after
/// the shipped sets have changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PromptConfig {
    /// The shipped set to start from: `azr`, `instruct`, `gasp`, `seedling` or `seedling-gasp` for problems of code, `rzero`, `sage`
    /// or `seedling-math` for mathematics, `judge` for a judge's. `instruct`, `judge`, `rzero` and `sage` are for models that follow instructions, `azr` and
    /// `gasp` also for those that continue a dialogue; the others are the compact formats of small models.
    pub set: String,
    /// How prompts are sent to the model; defaults to the set's choice.
    pub style: Option<Style>,
    /// How completions are read; defaults to the set's choice.
    pub grammar: Option<Grammar>,
    /// Which rules read a solver's answer to a problem of code: `strict` only the form that the prompt asks for, `flexible`
    /// also other places. Which rule read an answer is recorded with it. `configs/prompts/README.md` has the rules.
    #[serde(skip_serializing_if = "AnswerReading::is_strict")]
    pub reading: AnswerReading,
    /// Templates (Jinja) by name that replace the set's. For example, `propose_code_o` is the text or the user's
    /// message, `propose_code_o-system` a system message, and `propose_code_o-example` with `propose_code_o-example-answer`
    /// an earlier turn that shows the form; `frame` and `chat` wrap each prompt of the style `base` or `chat`. An unknown name is refused with the list of valid ones.
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
            reading: AnswerReading::Strict,
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
    /// Whether prompts are sent as messages. Known once it is resolved.
    pub(crate) fn has_conversations(&self) -> bool {
        self.style == Some(Style::Chat)
    }

    /// Fills in the set's choices and templates for a recipe that renders the templates of `catalogue`, and checks
    /// those this run needs. `reads` reads the answers of their examples.
    ///
    /// # Errors
    /// Every fault, at a JSON pointer below `pointer`: an unknown set or name, a syntax error, an unknown variable, or
    /// a required template that is missing, fails on sample values or renders to nothing.
    pub fn resolve_for(
        mut self,
        pointer: &str,
        catalogue: &[Template],
        is_needed: impl Fn(&Template) -> bool,
        reads: Reads<'_>,
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
        let templates = self.templates.iter().map(|(name, text)| (name.as_str(), text.as_str()));
        let (compiled, errors) = PromptSet::assemble(grammar, style, templates);
        faults.extend(match errors.is_empty() {
            true => compiled.faults(&self.set, &needed, reads),
            false => errors.into_iter().map(TemplateFault::from).collect(),
        });
        let fault = |TemplateFault { name, detail }: TemplateFault| {
            Fault::new(format!("{pointer}/templates/{}", pointer_token(&name)), detail)
        };
        if faults.is_empty() { Ok(self) } else { Err(faults.into_iter().map(fault).collect()) }
    }
}

/// Every valid template name.
fn names(catalogue: &[Template]) -> BTreeSet<String> {
    let frames = [Style::Base, Style::Chat].map(|style| style.frame().to_owned());
    let of_recipe = catalogue.iter().flat_map(|template| {
        let [asked, answered] = template.example();
        [template.name.to_owned(), template.system(), asked, answered]
    });
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
             message, or with `-example` and `-example-answer` for an earlier turn of the dialogue{meant}",
            of_recipe.join(", ")
        ),
    }
}

/// A set as shipped.
pub(super) struct Shipped {
    name: &'static str,
    pub(super) grammar: Grammar,
    pub(super) style: Style,
    own: &'static [(&'static str, &'static str)],
    /// Templates of another set that are its own, too.
    shared: &'static [(&'static str, &'static str)],
}

impl Shipped {
    /// Its templates: their names and texts.
    pub(super) fn templates(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.own.iter().chain(self.shared).copied()
    }

    fn has(&self, template: &Template) -> bool {
        self.templates().any(|(name, _)| name == template.name)
    }
}

macro_rules! templates {
    ($set:literal: $($name:literal),+) => {
        &[$(($name, include_str!(concat!("../../../../configs/prompts/", $set, "/", $name, ".jinja")))),+]
    };
}

static SHIPPED: [Shipped; 9] = [
    Shipped {
        name: "azr",
        grammar: Grammar::Fenced,
        style: Style::Base,
        own: templates!("azr": "frame", "chat", "propose_code_i", "propose_code_o", "propose_code_f", "solve_code_i",
            "solve_code_o", "solve_code_f"),
        shared: &[],
    },
    Shipped {
        name: "gasp",
        grammar: Grammar::Fenced,
        style: Style::Base,
        own: templates!("gasp": "lemma_io", "lemma_f", "lift_io", "lift_f"),
        shared: templates!("azr": "frame", "chat", "solve_code_i", "solve_code_o", "solve_code_f"),
    },
    Shipped {
        name: "instruct",
        grammar: Grammar::Blocks,
        style: Style::Chat,
        own: templates!("instruct": "propose_code_i", "propose_code_i-example", "propose_code_i-example-answer",
            "propose_code_o", "propose_code_o-example", "propose_code_o-example-answer", "propose_code_f",
            "propose_code_f-example", "propose_code_f-example-answer", "solve_code_i", "solve_code_i-example",
            "solve_code_i-example-answer", "solve_code_o", "solve_code_o-example", "solve_code_o-example-answer",
            "solve_code_f", "solve_code_f-example", "solve_code_f-example-answer"),
        shared: &[],
    },
    Shipped {
        name: "judge",
        grammar: Grammar::Tagged,
        style: Style::Chat,
        own: templates!("judge": "judge"),
        shared: &[],
    },
    Shipped {
        name: "rzero",
        grammar: Grammar::Tagged,
        style: Style::Chat,
        own: templates!("rzero": "propose", "propose-system", "solve", "solve-system"),
        shared: &[],
    },
    Shipped {
        name: "sage",
        grammar: Grammar::Tagged,
        style: Style::Chat,
        own: templates!("sage": "challenge", "challenge-system", "plan", "plan-system", "solve", "solve-system",
            "solve_with_plan", "solve_with_plan-system", "critique_question", "critique_question-system", "critique_plan",
            "critique_plan-system", "challenge_code", "challenge_code-system", "plan_code", "plan_code-system", "solve_code",
            "solve_code-system", "solve_with_plan_code", "solve_with_plan_code-system", "critique_question_code",
            "critique_question_code-system", "critique_plan_code", "critique_plan_code-system"),
        shared: &[],
    },
    Shipped {
        name: "seedling",
        grammar: Grammar::Compact,
        style: Style::Base,
        own: templates!("seedling": "propose_code_i", "propose_code_o", "propose_code_f", "solve_code_i",
            "solve_code_o", "solve_code_f"),
        shared: &[],
    },
    Shipped {
        name: "seedling-gasp",
        grammar: Grammar::Compact,
        style: Style::Base,
        own: templates!("seedling-gasp": "lemma_io", "lemma_f", "lift_io", "lift_f"),
        shared: templates!("seedling": "solve_code_i", "solve_code_o", "solve_code_f"),
    },
    Shipped {
        name: "seedling-math",
        grammar: Grammar::Tagged,
        style: Style::Base,
        own: templates!("seedling-math": "propose", "solve", "challenge", "plan", "solve_with_plan",
            "critique_question", "critique_plan"),
        shared: &[],
    },
];

/// The names of the shipped sets.
pub fn shipped_sets() -> impl Iterator<Item = &'static str> {
    SHIPPED.iter().map(|set| set.name)
}

/// The names and texts of a shipped set's templates.
pub(crate) fn shipped_templates(set: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    shipped(set).into_iter().flat_map(Shipped::templates)
}

/// The names of the shipped sets that have all of `templates`.
pub(super) fn sets_with(templates: &[&Template]) -> Vec<&'static str> {
    let fitting = SHIPPED.iter().filter(|set| templates.iter().all(|template| set.has(template)));
    fitting.map(|set| set.name).collect()
}

pub(super) fn shipped(name: &str) -> Option<&'static Shipped> {
    SHIPPED.iter().find(|set| set.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_template_in_the_folders_is_shipped() {
        let folders = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/prompts");
        for set in &SHIPPED {
            let listed: BTreeSet<String> = set.own.iter().map(|(name, _)| format!("{name}.jinja")).collect();
            let files = fs::read_dir(folders.join(set.name)).unwrap();
            let files = files.map(|file| file.unwrap().file_name().into_string().unwrap());
            let there: BTreeSet<String> = files.filter(|name| name.ends_with(".jinja")).collect();
            assert_eq!(listed, there, "{}", set.name);
        }
        let folders = fs::read_dir(folders).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_dir());
        assert_eq!(folders.count(), SHIPPED.len());
    }
}
