//! Proposals under a vocabulary mask, and the diversity of texts, through the queue.

use anyhow::{Context as _, Result, bail};
use lyceum_core::work::{
    DiversityRequest, EmbeddingBatch, Observer, Outcome, Payload, RolloutPayload, RolloutResult, Sampling,
    VocabularyMask,
};
use lyceum_engine::generate::dropped;
use lyceum_engine::token_batch::TokenBatch;

use crate::work::engine::{adapter_folder, adapters, fixtures, rollout, scored};
use crate::work::house::{House, Worker};

async fn done(house: &House, worker: &mut Worker, phase: &str, payload: RolloutPayload) -> Result<RolloutResult> {
    match house.done(worker, phase, Payload::Rollout(payload)).await? {
        Outcome::Rollout(result) => Ok(result),
        other => bail!("a result of kind {}", other.kind()),
    }
}

fn worker(house: &House) -> Result<Worker> {
    let models = fixtures().join("models").display().to_string();
    house.worker(&["--kinds", "rollout", "--models", &models, "--device", "cpu"])
}

/// No masked id was drawn, the stored log-probabilities are those of the model without the mask, and both are there.
#[tokio::test(flavor = "multi_thread")]
async fn masked_batches_keep_both_log_probabilities() -> Result<()> {
    let house = House::new().await?;
    let mut worker = worker(&house)?;
    let adapters = adapters(&house).await?;
    let mask = VocabularyMask { seed: 5, keep_rate: 0.3, protected: vec![4], protected_texts: Vec::new() };
    let plain = rollout(&adapters);
    let masked = RolloutPayload {
        sampling: Sampling { vocabulary_mask: Some(mask.clone()), ..plain.sampling.clone() },
        ..plain.clone()
    };
    let result = done(&house, &mut worker, "masked", masked).await?;
    let bytes = house.artifacts()?.get(result.tokens.context("no tokens")?).await?;
    let tokens = TokenBatch::from_bytes(&bytes)?;
    // The fixture's vocabulary has 320 ids; 315 ends a text.
    let hidden = dropped(&mask, 320, &[315]);
    for (place, request) in tokens.requests.iter().enumerate() {
        for (sample, completion) in request.samples.iter().zip(&result.generated[place].completions) {
            assert!(sample.ids.iter().all(|id| !hidden[*id as usize]), "{:?}", sample.ids);
            let pairs = sample.sampling_logprobs.iter().zip(&sample.logprobs);
            let gaps: Vec<f32> = pairs.map(|(drawn, own)| drawn - own).collect();
            assert_eq!(gaps.len(), sample.ids.len());
            assert!(gaps.iter().all(|gap| *gap > 0.0), "{gaps:?}");
            let mean = gaps.iter().sum::<f32>() / gaps.len() as f32;
            let said = completion.mask_mismatch.context("no mismatch")?;
            assert!((said - mean).abs() < 1e-5, "{said}, {mean}");
            if request.id != "base" {
                let folder = adapter_folder(usize::from(request.id == "b"));
                let own: f64 = sample.logprobs.iter().map(|logprob| f64::from(*logprob)).sum();
                assert!((own - scored(&folder, &request.prompt, &sample.ids)?).abs() < 1e-4 * sample.ids.len() as f64);
            }
        }
    }
    let free = done(&house, &mut worker, "plain", plain).await?;
    let bytes = house.artifacts()?.get(free.tokens.context("no tokens")?).await?;
    let tokens = TokenBatch::from_bytes(&bytes)?;
    assert!(tokens.requests[0].samples[0].sampling_logprobs.is_empty());
    assert_eq!(free.generated[0].completions[0].mask_mismatch, None);

    let mut unknown = rollout(&adapters);
    unknown.sampling.vocabulary_mask = Some(VocabularyMask { keep_rate: 1e-9, protected: Vec::new(), ..mask });
    let refusal = done(&house, &mut worker, "few", unknown).await.unwrap_err().to_string();
    assert!(refusal.contains("leaves 1 of 320 ids"), "{refusal}");
    worker.stop(&house).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_diversity_of_texts_is_measured_against_earlier_ones() -> Result<()> {
    let house = House::new().await?;
    let mut worker = worker(&house)?;
    let payload = |texts: &[&str], against| RolloutPayload {
        requests: Vec::new(),
        keep_tokens: false,
        embedding: Some(EmbeddingBatch {
            centred: false,
            texts: texts.iter().map(|text| (*text).to_owned()).collect(),
            against,
            diversity: Some(DiversityRequest { novelty_distance: 1e-4, cumulative: 2000, seed: 1, observer: None }),
        }),
        ..rollout(&[])
    };
    let texts = ["def f(a): return a", "def f(a): return a", "x = 12 + 3.5"];
    let first = done(&house, &mut worker, "first", payload(&texts, Vec::new())).await?;
    let embedded = first.embedded.context("nothing is embedded")?;
    let found = embedded.diversity.context("no diversity")?;
    assert!(embedded.among.is_empty() && found.novelty.is_none());
    assert!(found.vendi > 1.0 && found.vendi < 2.0 + 1e-9, "{found:?}");
    assert_eq!(found.vendi, found.cumulative_vendi);
    assert_eq!((found.unique_numbers, found.words), (2, 13.0 / 3.0));

    assert_eq!(found.epiplexity, None);

    let texts = ["x = 12 + 3.5", "print(7)"];
    let against = vec![(embedded.vectors, vec![0, 1, 2])];
    let second = done(&house, &mut worker, "second", payload(&texts, against)).await?;
    let embedded = second.embedded.context("nothing is embedded")?;
    let found = embedded.diversity.context("no diversity")?;
    assert!(embedded.nearest[0].is_some_and(|nearest| nearest > 0.9999));
    assert_eq!(found.novelty, Some(0.5));
    assert!(found.cumulative_vendi > found.vendi);

    let observed = |seed| {
        let mut payload = payload(&texts, Vec::new());
        let request = payload.embedding.as_mut().and_then(|batch| batch.diversity.as_mut());
        if let Some(request) = request {
            request.seed = seed;
            request.observer = Some(Observer { learning_rate: 1e-2, epochs: 2, ..Observer::default() });
        }
        payload
    };
    let mut found = Vec::new();
    for (name, seed) in [("observed", 1), ("again", 1), ("other", 2)] {
        let result = done(&house, &mut worker, name, observed(seed)).await?;
        let diversity = result.embedded.and_then(|embedded| embedded.diversity);
        found.push(diversity.and_then(|diversity| diversity.epiplexity).context("no epiplexity")?);
    }
    assert!(found[0].bits > 0.0, "{found:?}");
    assert_eq!(found[0], found[1]);
    assert_ne!(found[0].bits, found[2].bits);
    worker.stop(&house).await
}
