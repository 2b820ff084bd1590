//! Chat templates against transformers' `apply_chat_template`.

use hf_chat_template::TokenizerConfig;
use lyceum_core::work::Message;
use lyceum_engine::chat_template::{ChatTemplate, Conversation};
use lyceum_engine::config::ModelConfig;
use lyceum_models::Texts;
use serde_json::{Value, json};

use crate::engine::fixtures::{folder, model_folder};

#[test]
fn templates_render_as_transformers_renders_them() {
    let text = std::fs::read_to_string(folder().join("chat/golden.json")).unwrap();
    let golden: Value = serde_json::from_str(&text).unwrap();
    let config: TokenizerConfig =
        serde_json::from_value(json!({"bos_token": "<|endoftext|>", "eos_token": "<|im_end|>"})).unwrap();
    let cases = golden["cases"].as_array().unwrap();
    assert!(cases.len() > 40 && cases.iter().any(|case| case.get("error").is_some()));
    for case in cases {
        let source = golden["templates"][case["template"].as_str().unwrap()].as_str().unwrap();
        let mut extra = case["extra"].as_object().unwrap().clone();
        let conversation = Conversation {
            messages: case["messages"].as_array().unwrap().clone(),
            tools: extra.remove("tools").and_then(|tools| tools.as_array().cloned()).unwrap_or_default(),
            add_generation_prompt: case["add_generation_prompt"].as_bool().unwrap(),
            extra,
        };
        let rendered = ChatTemplate::new(source, &config).unwrap().render(&conversation);
        match case.get("error").and_then(Value::as_str) {
            Some(error) => assert!(rendered.unwrap_err().to_string().contains(error)),
            None => assert_eq!(rendered.unwrap(), case["text"].as_str().unwrap(), "{}", case["template"]),
        }
    }
}

#[test]
fn a_folder_gives_its_template_from_either_file_or_none() {
    assert!(ChatTemplate::load(&model_folder("qwen2-tied")).unwrap().is_none());
    let folder = tempfile::tempdir().unwrap();
    let conversation =
        Conversation { messages: vec![json!({"role": "user", "content": "hi"})], ..Conversation::default() };
    let render = || ChatTemplate::load(folder.path()).unwrap().unwrap().render(&conversation).unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write(
        "tokenizer_config.json",
        r#"{"chat_template": "A{{ messages[0].content }}{{ eos_token }}", "eos_token": "!"}"#,
    );
    assert_eq!(render(), "Ahi!");
    write("chat_template.jinja", "B{{ messages[0].content }}{{ eos_token }}");
    assert_eq!(render(), "Bhi!");
    write("chat_template.jinja", "{% for %}");
    let error = ChatTemplate::load(folder.path()).unwrap_err().to_string();
    assert!(error.contains("chat_template.jinja"), "{error}");
}

/// As EvalPlus finds where an answer goes on: it formats all of it with a mark at that place, and cuts there.
#[test]
fn an_answer_that_was_begun_goes_on_where_the_template_would_have_put_it() {
    let text = std::fs::read_to_string(folder().join("chat/golden.json")).unwrap();
    let golden: Value = serde_json::from_str(&text).unwrap();
    let (base, tokenizer) = (model_folder("qwen2-tied"), json!({"eos_token": "<|im_end|>"}));
    let model = tempfile::tempdir().unwrap();
    std::fs::copy(base.join("tokenizer.json"), model.path().join("tokenizer.json")).unwrap();
    let template = golden["templates"]["chatml"].as_str().unwrap();
    std::fs::write(model.path().join("chat_template.jinja"), template).unwrap();
    std::fs::write(model.path().join("tokenizer_config.json"), tokenizer.to_string()).unwrap();
    let config = ModelConfig::from_folder(&base).unwrap();
    let texts = Texts::load("it", model.path(), &config).unwrap();
    let message = |role: &str, content: &str| Message { role: role.to_owned(), content: content.to_owned() };
    let marked = [message("user", "Write f."), message("assistant", "Here it is:\n```python\n\u{1}")];
    let whole = ChatTemplate::new(template, &serde_json::from_value(tokenizer).unwrap())
        .unwrap()
        .render(&Conversation {
            messages: marked.iter().map(|message| serde_json::to_value(message).unwrap()).collect(),
            ..Conversation::default()
        })
        .unwrap();
    let begun = [marked[0].clone(), message("assistant", "Here it is:\n```python\n")];
    assert_eq!(texts.render(&begun).unwrap(), whole.split('\u{1}').next().unwrap());
}
