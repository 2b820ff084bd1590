//! Pretrained models compared with transformers: those of `script/real-model` that are in the folder `LYCEUM_REAL_MODELS`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use lyceum_core::work::{Dtype, Sampling};
use lyceum_engine::generate::{GenerationOptions, GenerationRequest, Generator};
use lyceum_engine::score::{ScoreOptions, ScoreRequest, score};
use lyceum_engine::tokenizer::Tokenizer;
use lyceum_engine::{Model, Placement};
use serde::Deserialize;

use crate::engine::fixtures::folder;

/// What transformers computes in fp32 (`fixtures/make_real_models.py`).
#[derive(Deserialize)]
struct Row {
    text: String,
    ids: Vec<i64>,
    /// The largest after the text.
    logits: BTreeMap<usize, f32>,
    greedy: Vec<i64>,
}

#[test]
fn ids_logits_and_greedy_tokens_of_real_models_are_those_of_transformers() {
    let Some(models) = std::env::var_os("LYCEUM_REAL_MODELS").map(PathBuf::from) else {
        eprintln!("skipped: LYCEUM_REAL_MODELS is not set; script/real-model makes its folder");
        return;
    };
    let golden = std::fs::read_to_string(folder().join("real-models.json")).unwrap();
    let golden: BTreeMap<String, Vec<Row>> = serde_json::from_str(&golden).unwrap();
    let there: Vec<_> = golden.iter().filter(|(name, _)| models.join(name).is_dir()).collect();
    assert!(
        !there.is_empty(),
        "{} has none of {:?}",
        models.display(),
        golden.keys()
    );
    for (name, rows) in there {
        let placement = Placement::new("cpu", Dtype::Fp32).unwrap();
        let model = Model::load(&models.join(name), placement).unwrap();
        let tokenizer = Tokenizer::load(&models.join(name), &model.config).unwrap();
        let scored: Vec<_> = rows
            .iter()
            .map(|row| ScoreRequest {
                ids: row.ids.clone(),
                adapter: None,
            })
            .collect();
        let options = ScoreOptions {
            last_logits: true,
            ..ScoreOptions::default()
        };
        let scores = score(&model, None, &scored, options).unwrap();
        let generator = Generator {
            model: &model,
            population: None,
            tokenizer: Some(&tokenizer),
        };
        let request = |row: &Row| GenerationRequest {
            id: row.text.clone(),
            prompt: row.ids.clone(),
            adapter: None,
            n: 1,
            sampling: Sampling {
                temperature: 0.0,
                max_tokens: row.greedy.len() as u32,
                ignore_eos: true,
                ..Sampling::default()
            },
            seed: 0,
        };
        let requests: Vec<_> = rows.iter().map(request).collect();
        let generated = generator
            .generate(&requests, &GenerationOptions::default(), &mut |_| ())
            .unwrap();
        for ((row, score), result) in rows.iter().zip(&scores).zip(&generated.results) {
            assert_eq!(tokenizer.encode(&row.text).unwrap(), row.ids, "{name}");
            let found = score.last_logits.as_ref().unwrap();
            for (&id, &expected) in &row.logits {
                assert!(
                    (found[id] - expected).abs() < 1e-3,
                    "{name}, {}: {id}: {}",
                    row.text,
                    found[id]
                );
            }
            assert_eq!(result.completions[0].ids, row.greedy, "{name}, {}", row.text);
        }
    }
}
