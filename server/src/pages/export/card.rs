//! The dataset card of an exported run, in the format of the Hugging Face hub.

use askama::Template;
use lyceum_store::{export::Table, runs::RunDetail};

#[derive(Template)]
#[template(path = "dataset_card.md", escape = "none")]
struct Card<'a> {
    name: String,
    run: &'a RunDetail,
    format: &'a str,
    tables: &'a [Table],
    base_models: String,
    config: String,
}

/// The card of `run` with files in `format`, listing those `tables` that have rows.
pub(super) fn card(run: &RunDetail, format: &str, tables: &[Table]) -> Result<String, askama::Error> {
    let populations = run.config["populations"].as_object().into_iter().flatten();
    let bases = populations.filter_map(|(_, population)| population["base_model"]["name"].as_str());
    let card = Card {
        // For a Markdown heading and a quoted YAML string.
        name: one_line(&run.run.name),
        format,
        tables,
        base_models: one_line(&bases.collect::<Vec<_>>().join(", ")),
        config: serde_json::to_string_pretty(&run.config).unwrap_or_default(),
        run,
    };
    card.render()
}

/// `text` without characters that end a line, a quoted string or Markdown.
fn one_line(text: &str) -> String {
    let text = crate::frame::text::inert(text);
    text.chars()
        .map(|letter| if "\n\t\"\\`<>[]".contains(letter) { ' ' } else { letter })
        .collect()
}
