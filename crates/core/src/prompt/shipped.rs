//! The built-in sets of `configs/prompts`.

use super::{Grammar, Style, Template};

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

static SHIPPED: [Shipped; 7] = [
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

/// The names of the shipped sets that have all of `templates`.
pub(super) fn sets_with(templates: &[&Template]) -> Vec<&'static str> {
    let fitting = SHIPPED
        .iter()
        .filter(|set| templates.iter().all(|template| set.has(template)));
    fitting.map(|set| set.name).collect()
}

pub(super) fn shipped(name: &str) -> Option<&'static Shipped> {
    SHIPPED.iter().find(|set| set.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{collections::BTreeSet, fs, path::Path};

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
        let folders = fs::read_dir(folders).unwrap().map(Result::unwrap);
        let folders = folders.filter(|entry| entry.path().is_dir());
        assert_eq!(folders.count(), SHIPPED.len());
    }
}
