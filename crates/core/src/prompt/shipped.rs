//! The sets of `configs/prompts`, built in.

use super::{Grammar, Style};

/// A set as shipped.
pub(super) struct Shipped {
    name: &'static str,
    pub(super) grammar: Grammar,
    pub(super) style: Style,
    pub(super) templates: &'static [(&'static str, &'static str)],
}

macro_rules! templates {
    ($set:literal: $($name:literal),+) => {
        &[$(($name, include_str!(concat!("../../../../configs/prompts/", $set, "/", $name, ".jinja")))),+]
    };
}

static SHIPPED: [Shipped; 2] = [
    Shipped {
        name: "azr",
        grammar: Grammar::Fenced,
        style: Style::Base,
        templates: templates!("azr": "frame", "chat", "propose_code_i", "propose_code_o", "propose_code_f", "solve_code_i",
            "solve_code_o", "solve_code_f"),
    },
    Shipped {
        name: "seedling",
        grammar: Grammar::Compact,
        style: Style::Base,
        templates: templates!("seedling": "propose_code_i", "propose_code_o", "propose_code_f", "solve_code_i",
            "solve_code_o", "solve_code_f"),
    },
];

/// The names of the shipped sets.
pub fn shipped_sets() -> impl Iterator<Item = &'static str> {
    SHIPPED.iter().map(|set| set.name)
}

pub(super) fn shipped(name: &str) -> Option<&'static Shipped> {
    SHIPPED.iter().find(|set| set.name == name)
}
