//! Reads the tokenizer's file with the `tokenizers` library.

use lyceum_curriculum::tokenizer::{MARKERS, STONE_MARKERS, stones_tokenizer_json, tokenizer_json};
use lyceum_curriculum::{Level, Program};
use proptest::prelude::*;
use tokenizers::Tokenizer;

fn tokenizer() -> Tokenizer {
    Tokenizer::from_bytes(tokenizer_json().to_string()).expect("a tokenizer")
}

fn tokens(tokenizer: &Tokenizer, text: &str) -> Vec<String> {
    tokenizer.encode(text, false).expect("any text").get_tokens().to_vec()
}

#[test]
fn the_vocabulary_is_small_and_has_no_piece_twice() {
    let vocabulary = tokenizer_json()["model"]["vocab"].as_array().expect("a list").clone();
    let distinct: std::collections::HashSet<_> = vocabulary.iter().map(|piece| piece[0].to_string()).collect();
    assert_eq!(distinct.len(), vocabulary.len());
    assert!((256..=416).contains(&vocabulary.len()), "{} pieces", vocabulary.len());
}

#[test]
fn markers_stay_and_the_end_goes() {
    let tokenizer = tokenizer();
    for marker in MARKERS {
        assert_eq!(tokens(&tokenizer, marker), [marker]);
    }
    let ids = tokenizer.encode("<so>def f(a):\n return a<in>12<out>12<eos>", false).expect("any text");
    let text = tokenizer.decode(ids.get_ids(), true).expect("its own ids");
    assert_eq!(text, "<so>def f(a):\n return a<in>12<out>12");
}

#[test]
fn markers_of_stepping_stones_follow_all_other_tokens() {
    let longer = Tokenizer::from_bytes(stones_tokenizer_json().to_string()).expect("a tokenizer");
    let shorter = tokenizer();
    for (at, marker) in STONE_MARKERS.into_iter().enumerate() {
        assert!(tokens(&shorter, marker).len() > 1, "the seedling reads {marker} by letters");
        let id = longer.encode(marker, false).expect("any text").get_ids().to_vec();
        assert_eq!(id, [(shorter.get_vocab_size(true) + at) as u32]);
    }
    assert!(longer.get_vocab_size(true) <= 416, "as many ids as the seedling has weights");
    let text = "<si>def f(a):\n return a+12<out>'ab'<in>é<eos>";
    let ids = |of: &Tokenizer| of.encode(text, false).expect("any text").get_ids().to_vec();
    assert_eq!(ids(&longer), ids(&shorter));
    let lemma = longer.encode("<lemma_f><msg>each add<prog>", false).expect("any text");
    assert_eq!(longer.decode(lemma.get_ids(), true).expect("its own ids"), "<lemma_f><msg>each add<prog>");
}

#[test]
fn words_of_code_are_pieces_and_digits_stand_alone() {
    let tokenizer = tokenizer();
    assert_eq!(
        tokens(&tokenizer, "def f(x):\n return sum(x)+12"),
        ["def f(", "x", "):\n return ", "sum(", "x", ")", "+", "1", "2"]
    );
    assert_eq!(tokens(&tokenizer, "['ab','c']"), ["['", "a", "b", "','", "c", "']"]);
}

#[test]
fn transformers_sees_the_same_tokens() {
    let tokenizer = tokenizer();
    let rows: serde_json::Value = serde_json::from_str(include_str!("../fixtures/tokens.json")).expect("JSON");
    for row in rows.as_array().expect("a list") {
        let text = row["text"].as_str().expect("a text");
        let ids = tokenizer.encode(text, false).expect("any text");
        assert_eq!(serde_json::json!(ids.get_ids()), row["ids"], "{text}");
        assert_eq!(tokenizer.decode(ids.get_ids(), true).expect("its own ids"), row["decoded"], "{text}");
    }
}

#[test]
fn programs_are_short() {
    let tokenizer = tokenizer();
    let (mut characters, mut pieces) = (0, 0);
    for level in Level::ALL {
        for item in 0..100 {
            let source = Program::random(5, level, item).source;
            characters += source.len();
            pieces += tokens(&tokenizer, &source).len();
        }
    }
    assert!(characters > 2 * pieces, "{characters} characters in {pieces} pieces");
}

proptest! {
    #[test]
    fn any_text_comes_back(text in "\\PC{0,40}|[ -~\n\t\r]{0,80}|.{0,40}") {
        prop_assume!(!["<pad>", "<eos>", "<unk>"].iter().any(|special| text.contains(special)));
        let tokenizer = tokenizer();
        let ids = tokenizer.encode(text.as_str(), false).expect("any text");
        prop_assert!(!ids.get_tokens().iter().any(|token| token == "<unk>"));
        prop_assert_eq!(tokenizer.decode(ids.get_ids(), true).expect("its own ids"), text);
    }
}
