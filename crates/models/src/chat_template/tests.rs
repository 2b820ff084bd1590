//! Templates against Jinja 3.1 with transformers' settings: `tests/make.py` writes what it gives.

use serde_json::json;

use super::*;

const GOLDEN: &str = include_str!("tests/golden.json");

fn template(source: &str) -> Result<ChatTemplate> {
    let config = json!({"bos_token": "<s>", "eos_token": {"content": "</s>", "lstrip": false}});
    ChatTemplate::new(source, &serde_json::from_value(config).unwrap())
}

fn rendered(source: &str) -> std::result::Result<String, String> {
    let template = template(source).map_err(|error| error.to_string())?;
    template.render(&Conversation::default()).map_err(|error| error.to_string())
}

#[test]
fn templates_are_rendered_as_jinja_renders_them() {
    let golden: Value = serde_json::from_str(GOLDEN).unwrap();
    let cases = golden["cases"].as_array().unwrap();
    assert!(cases.len() > 40);
    let mut wrong = Vec::new();
    for case in cases {
        let conversation = Conversation {
            messages: golden["messages"].as_array().unwrap().clone(),
            tools: case["tools"].as_array().cloned().unwrap_or_default(),
            add_generation_prompt: true,
            extra: golden["values"].as_object().unwrap().clone(),
        };
        let text = template(case["source"].as_str().unwrap()).and_then(|template| template.render(&conversation));
        match (text, case["text"].as_str()) {
            (Err(_), None) => {}
            (Ok(text), Some(wanted)) if text == wanted => {}
            (text, wanted) => wrong.push(format!("{}\n  {text:?}\n  {wanted:?}", case["source"])),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn marks_of_what_the_assistant_said_are_left_out() {
    let source = "a\n{% generation %}\nb{{ 'c' ~ 1 }}\n{%- endgeneration -%}\n d\n";
    let plain = source.replace("{% generation %}", "{% if true %}").replace("endgeneration", "endif");
    assert_eq!(rendered(source), rendered(&plain));
    assert_eq!(rendered(source), Ok("a\nbc1d".to_owned()));
}

#[test]
fn what_is_no_operator_stays_as_it_is() {
    for source in
        ["100% ~ {{ '%' }}{# a % b ~ c #}", "{% raw %}{{ a % b ~ c }}{% endraw %}", "{{ '~' }}{{ '{% if %}' }}"]
    {
        assert!(!rendered(source).unwrap().contains("lyceum"), "{source}");
    }
    assert_eq!(rendered("é{{ 'é' ~ 1 }}é{{ 7 % 4 }}é"), Ok("éé1é3é".to_owned()));
}

#[test]
fn no_template_takes_for_ever_or_all_of_the_stack() {
    let deep = format!("{{{{ {}1{} }}}}", "(".repeat(5_000), ")".repeat(5_000));
    let wide = format!("{{{{ 1{} }}}}", " ~ 1 % 2".repeat(20_000));
    let nested = "{% set ns = namespace(x=[]) %}{% for i in range(300) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x }}";
    let endless = "{% for a in range(9999) %}{% for b in range(9999) %}{{ a }}{% endfor %}{% endfor %}";
    for source in [deep.as_str(), nested, endless, "{{ 'a'.center(99999999) }}"] {
        assert!(rendered(source).is_err(), "{}", &source[..40]);
    }
    assert_eq!(rendered(&wide).map(|text| text.len()), Ok(20_001));
    assert!(rendered("{{ 1 % 0 }}").is_err() && rendered("{{ ~ }}").is_err() && rendered("{{ 1 % }}").is_err());
}
