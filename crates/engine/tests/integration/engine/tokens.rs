//! The tokenizer compared with Hugging Face's.

use lyceum_engine::ModelConfig;
use lyceum_engine::tokenizer::Tokenizer;

use crate::engine::fixtures::{folder, model_folder};

#[test]
fn text_becomes_the_ids_and_the_text_that_hugging_face_gives() {
    let model = model_folder("qwen2-tied");
    let tokenizer = Tokenizer::load(&model, &ModelConfig::from_folder(&model).unwrap()).unwrap();
    let text = std::fs::read_to_string(folder().join("tokenizer/golden.json")).unwrap();
    let rows: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
    assert!(rows.len() > 3);
    for row in rows {
        let ids: Vec<i64> = serde_json::from_value(row["ids"].clone()).unwrap();
        assert_eq!(tokenizer.encode(row["text"].as_str().unwrap()).unwrap(), ids);
        assert_eq!(tokenizer.decode(&ids).unwrap(), row["decoded"].as_str().unwrap());
    }
    assert_eq!(tokenizer.id_of("<|im_end|>"), Some(315));
}
