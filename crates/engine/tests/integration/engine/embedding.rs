//! Embeddings against mean-pooled hidden states of transformers.

use lyceum_engine::Model;
use lyceum_engine::embeddings::Embeddings;
use serde_json::Value;

use crate::engine::fixtures::{Golden, MODELS, difference, model};

#[test]
fn embeddings_are_normalised_means_of_the_last_hidden_states() {
    for name in MODELS {
        let (model, golden) = (model(name), Golden::of(name));
        for tokens_per_pass in [1, 16, 1000] {
            let embeddings = model.embed_texts(&golden.sequences(), tokens_per_pass).unwrap();
            for (index, embedding) in embeddings.iter().enumerate() {
                assert!(difference(embedding, &golden.floats(&format!("embedding/{index}"))) < 1e-5);
                assert!((embedding.iter().map(|x| x * x).sum::<f32>() - 1.0).abs() < 1e-5);
            }
        }
    }
}

#[test]
fn texts_that_have_no_embedding_are_named() {
    let mut model = model("qwen2-tied");
    let refused = |model: &Model, second: Vec<i64>, parts: [&str; 2]| {
        let message = model.embed_texts(&[vec![1], second], 1).unwrap_err().to_string();
        assert!(parts.iter().all(|part| message.contains(part)), "{message}");
    };
    refused(&model, vec![], ["`text 1`", "at least one"]);
    refused(&model, vec![5, 320], ["`text 1`", "vocabulary of 320"]);
    // Finite, but the sum of the squares is not.
    model.norm = model.norm.full_like(1e30);
    refused(&model, vec![2], ["`text 0`", "length inf"]);
}

/// `make_diversity.py` scored the same vectors with the package vendi-score.
#[test]
fn vendi_scores_equal_those_of_the_package() {
    let golden: Value = serde_json::from_str(include_str!("../../../../core/tests/fixtures/diversity.json")).unwrap();
    let table = |rows: &Value| -> Embeddings {
        let rows: Vec<Vec<f32>> = serde_json::from_value(rows.clone()).unwrap();
        Embeddings::new(&rows, rows[0].len()).unwrap()
    };
    for case in golden["vendi"].as_array().unwrap() {
        let (rows, reference) = (table(&case["rows"]), table(&case["reference"]));
        let centred = rows.centred(&reference.mean().unwrap()).unwrap();
        for (found, expected) in
            [rows.vendi().unwrap(), centred.vendi().unwrap()].into_iter().zip(case["vendi"].as_array().unwrap())
        {
            let expected = expected.as_f64().unwrap();
            assert!((found - expected).abs() < 1e-6 * expected, "{found}, vendi-score {expected}");
        }
    }
}

#[test]
fn the_nearest_is_the_most_similar() {
    let table = |rows: &[[f32; 2]]| {
        let rows: Vec<Vec<f32>> = rows.iter().map(|row| row.to_vec()).collect();
        Embeddings::new(&rows, 2).unwrap()
    };
    let rows = table(&[[1.0, 0.0], [0.6, 0.8]]);
    let nearest = rows.nearest(&table(&[[0.0, 1.0], [-1.0, 0.0]])).unwrap();
    assert_eq!(nearest, Some(vec![0.0, 0.8]));
    assert_eq!(rows.nearest(&table(&[])).unwrap(), None);
    assert_eq!(table(&[]).vendi().unwrap(), 0.0);
    let equal = table(&[[1.0, 0.0]; 3]);
    let centred = equal.centred(&equal.mean().unwrap()).unwrap();
    assert_eq!(centred.vendi().unwrap(), 1.0, "equal texts have no direction from their mean");
}
