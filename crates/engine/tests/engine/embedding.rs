//! Embeddings against mean-pooled hidden states of transformers.

use lyceum_engine::Model;

use crate::fixtures::{Golden, MODELS, difference, model};

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
