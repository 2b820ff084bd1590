//! Measures of diversity equal those of NLTK and scikit-learn (`fixtures/make_diversity.py`).

use lyceum_core::diversity::{Wordlists, bleu_clusters};
use serde_json::Value;

fn golden() -> (Value, Vec<String>) {
    let golden: Value = serde_json::from_str(include_str!("../fixtures/diversity.json")).unwrap();
    let texts = serde_json::from_value(golden["texts"].clone()).unwrap();
    (golden, texts)
}

#[test]
fn bleu_and_self_bleu_equal_nltks() {
    let (golden, texts) = golden();
    let lists = Wordlists::new(&texts);
    for (one, row) in golden["bleu"].as_array().unwrap().iter().enumerate() {
        for (other, expected) in row.as_array().unwrap().iter().enumerate() {
            let (found, expected) = (lists.bleu(one, other), expected.as_f64().unwrap());
            assert!(
                (found - expected).abs() < 1e-12,
                "`{}` against `{}`: {found}, NLTK {expected}",
                texts[one],
                texts[other]
            );
        }
    }
    let expected = golden["self_bleu"].as_f64().unwrap();
    assert!((lists.self_bleu().unwrap() - expected).abs() < 1e-12);
    assert_eq!(Wordlists::new(&["alone"]).self_bleu(), None);
    let same = Wordlists::new(&["one two three four five", "one two three four five"]);
    assert_eq!(same.self_bleu(), Some(1.0));
}

#[test]
fn clusters_equal_those_of_scikit_learn() {
    let (golden, texts) = golden();
    for (distance, expected) in golden["clusters"].as_object().unwrap() {
        let expected: Vec<u32> = serde_json::from_value(expected.clone()).unwrap();
        assert_eq!(bleu_clusters(&texts, distance.parse().unwrap()), expected, "{distance}");
    }
    assert_eq!(bleu_clusters(&["", "", "a b", "a b"], 0.9), [0, 1, 2, 2], "empty texts repeat nothing");
    assert!(bleu_clusters(&[""; 0], 0.5).is_empty());
    assert_eq!(bleu_clusters(&["x"], 0.5), [0]);
}
