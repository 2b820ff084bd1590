//! What all pages have in common: the layout, the viewer, figures, and the format of values. Knows nothing of what is shown.

pub(crate) mod address;
pub(crate) mod assets;
pub(crate) mod charts;
pub(crate) mod config_form;
pub(crate) mod figure;
pub(crate) mod format;
pub(crate) mod glossary;
pub(crate) mod layout;
pub(crate) mod markdown;
pub(crate) mod run;
mod shared;
pub(crate) mod sides;
pub(crate) mod steps;
pub(crate) mod text;
pub(crate) mod view;
