//! A server and the engine give the same for the same item.

use anyhow::Result;
use lyceum_core::work::{Compute, FinishReason, Prompt, RolloutPayload, Sampler, Sampling, VocabularyMask};

use crate::stage::{Stage, difference, ids, payload};

/// An item and the same on the other sampler.
fn on(payload: &RolloutPayload, sampler: Sampler) -> RolloutPayload {
    RolloutPayload { compute: Compute { sampler, ..payload.compute }, ..payload.clone() }
}

/// The stand-in generates with the engine, so that seeds give the same draws on both.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_completes_as_the_engine_does() -> Result<()> {
    let stage = Stage::new()?;
    let server = stage.server().await?;
    let (engine, served) = (stage.engine()?, stage.served(&[&server], |_| {})?);
    let adapters = stage.adapters().await?;
    let sampled = payload(&adapters, Sampler::Engine);
    let mut greedy = sampled.clone();
    greedy.sampling.temperature = 0.0;
    let mut cut = sampled.clone();
    let first = stage.run(&engine, sampled.clone()).await?;
    // A text that is sure to come up.
    let text = &first.generated[0].completions[0].text;
    let middle = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at);
    cut.sampling.stop = vec![text[middle..].chars().take(2).collect()];
    cut.sampling.stop_token_ids = vec![5, 9];
    let mut text = sampled.clone();
    for request in &mut text.requests {
        request.prompt = Prompt::Text(format!("def f{}(x):", request.id));
        request.max_tokens = Some(7);
    }
    let mut sharp = sampled.clone();
    sharp.sampling = Sampling { temperature: 0.7, top_p: 0.9, top_k: 20, ..sharp.sampling };
    let mut lasting = sampled.clone();
    lasting.sampling.ignore_eos = true;
    for (name, item) in [
        ("sampled", sampled),
        ("greedy", greedy),
        ("stopped", cut),
        ("from texts", text),
        ("sharpened", sharp),
        ("without end", lasting),
    ] {
        let own = stage.run(&engine, item.clone()).await?;
        let other = stage.run(&served, on(&item, Sampler::Served)).await?;
        let tokens = (stage.tokens(&own).await?, stage.tokens(&other).await?);
        assert_eq!(ids(&tokens.0), ids(&tokens.1), "{name}");
        let apart = difference(&tokens.0, &tokens.1);
        assert!(apart < 1e-4, "{name}: {apart}");
        for (own, other) in own.generated.iter().zip(&other.generated) {
            assert_eq!(own.id, other.id);
            let told = |of: &lyceum_core::work::Completion| (of.text.clone(), of.finish_reason, of.tokens);
            let pairs = own.completions.iter().zip(&other.completions);
            pairs.for_each(|(own, other)| assert_eq!(told(own), told(other), "{name}"));
            assert!(other.completions.iter().all(|completion| completion.entropy.is_none()));
        }
        assert_eq!(own.usage.prompt_tokens, other.usage.prompt_tokens);
        assert_eq!(own.usage.completion_tokens, other.usage.completion_tokens);
        assert_eq!(other.usage.sampler, Sampler::Served);
        if name == "stopped" {
            let all = own.generated.iter().flat_map(|of| &of.completions);
            assert!(all.clone().any(|one| one.finish_reason == FinishReason::Stop), "nothing was stopped");
        }
    }
    assert_eq!(server.seen().loads.len(), 3, "each adapter is loaded once");
    assert!(server.seen().at_once > 4, "requests go out together");
    Ok(())
}

/// For servers that apply some adapter to requests without any.
#[tokio::test(flavor = "multi_thread")]
async fn the_base_in_the_name_of_an_adapter_of_zeros_is_the_base() -> Result<()> {
    let stage = Stage::new()?;
    let server = stage.server().await?;
    let adapters = stage.adapters().await?;
    let item = payload(&adapters, Sampler::Engine);
    let own = stage.tokens(&stage.run(&stage.engine()?, item.clone()).await?).await?;
    let served = stage.served(&[&server], |settings| settings.base_as_adapter = true)?;
    let other = stage.tokens(&stage.run(&served, on(&item, Sampler::Served)).await?).await?;
    assert_eq!(ids(&own), ids(&other));
    let apart = difference(&own, &other);
    assert!(apart < 1e-4, "{apart}");
    let seen = server.seen();
    assert_eq!(seen.loads.len(), adapters.len() + 1);
    assert!(seen.bare == 0, "{} requests of the bare base", seen.bare);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_server_cannot_do_is_refused_before_it_is_asked() -> Result<()> {
    let stage = Stage::new()?;
    let server = stage.server().await?;
    let served = stage.served(&[&server], |_| {})?;
    let item = payload(&[], Sampler::Served);
    let mut masked = item.clone();
    masked.sampling.vocabulary_mask =
        Some(VocabularyMask { seed: 1, keep_rate: 0.5, protected: Vec::new(), protected_texts: Vec::new() });
    let mut long = item.clone();
    long.sampling.max_tokens = 126;
    let mut empty = item.clone();
    empty.requests[0].prompt = Prompt::Ids(Vec::new());
    let mut outside = item.clone();
    outside.requests[1].prompt = Prompt::Ids(vec![320]);
    let mut unknown = item.clone();
    unknown.base_model.name = "qwen3-tied-sharded".to_owned();
    let mut checked = item.clone();
    checked.requests.iter_mut().for_each(|request| request.n = 0);
    checked.sampling.max_tokens = 125;
    for (item, said) in [
        (masked, "vocabulary masks"),
        (long, "3 prompt tokens and `max_tokens` 126 add up to 129; the model's longest sequence is 128"),
        (empty, "the prompt has no tokens"),
        (outside, "prompt id 320 is outside the vocabulary of 320"),
        (unknown, "no server has the base model `qwen3-tied-sharded`"),
        (checked, "4 prompt tokens and `max_tokens` 125"),
        (payload(&[], Sampler::Engine), "does not have the sampler `engine`"),
    ] {
        let failure = stage.failure(&served, item).await;
        assert!(failure.contains(said), "{failure}");
    }
    assert_eq!(server.seen().completions, 0);
    Ok(())
}
