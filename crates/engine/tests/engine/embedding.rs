//! Embeddings against mean-pooled hidden states of transformers.

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
    let error = model("qwen2-tied")
        .embed_texts(&[vec![1], vec![]], 10)
        .unwrap_err()
        .to_string();
    assert!(error.contains("without tokens"), "{error}");
}
