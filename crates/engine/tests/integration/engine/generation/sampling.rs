//! Sampled tokens compared with the specified distribution, and their log-probabilities.

use lyceum_core::work::Dtype;
use lyceum_engine::Placement;
use tch::Kind;

use super::*;

/// The log-probabilities of a completion equal those from scoring the whole sequence.
#[test]
fn reported_logprobs_are_those_of_the_unmasked_model() {
    let name = "qwen2-tied";
    let (model, golden) = (model(name), Golden::of(name));
    let stacked = population(&model, name, &STACKED);
    let sequences = golden.sequences();
    let mask = VocabularyMask { seed: 3, keep_rate: 0.6, protected: vec![315], protected_texts: Vec::new() };
    let requests: Vec<_> = (0..6)
        .map(|row| GenerationRequest {
            sampling: Sampling {
                temperature: 0.7,
                top_k: 20,
                top_p: 0.9,
                vocabulary_mask: Some(mask.clone()),
                ..sampling()
            },
            ..sampled(1, &sequences[row % 4], Some(row % 3), row as u64)
        })
        .collect();
    let generated = generate(&model, Some(&stacked), &requests, &slots(6));
    let dropped = dropped(&mask, model.config.vocab_size, &[]);
    for (request, result) in requests.iter().zip(&generated.results) {
        let completion = &result.completions[0];
        assert!(completion.ids.iter().all(|&id| !dropped[id as usize]));
        let ids: Vec<i64> = request.prompt.iter().chain(&completion.ids).copied().collect();
        let scores =
            score(&model, Some(&stacked), &[ScoreRequest { ids, adapter: request.adapter }], ScoreOptions::default())
                .unwrap();
        let expected = &scores[0].logprobs[request.prompt.len() - 1..];
        assert!(difference(&completion.logprobs, expected) < 1e-4);
        for (sampling, model) in completion.sampling_logprobs.iter().zip(&completion.logprobs) {
            assert!(sampling <= &0.0 && sampling > model, "mask and cuts can only make what is left more probable");
        }
    }
}

/// First tokens of many samples compared with the distribution, computed here from the logits: chi-square over all ids
/// expected at least five times. The bound is the 0.999999 quantile (Wilson-Hilferty); seeds are fixed, so the test is
/// deterministic.
#[test]
fn sampled_tokens_follow_the_processed_distribution() {
    let name = "qwen2-tied";
    let (model, golden) = (model(name), Golden::of(name));
    let logits = golden.floats("base/2/last_logits");
    let prompt = golden.ids("ids/2");
    let n = 4000;
    let plain = Sampling { max_tokens: 1, ..sampling() };
    let mask = |keep_rate| VocabularyMask { seed: 5, keep_rate, protected: Vec::new(), protected_texts: Vec::new() };
    let cases = [
        plain.clone(),
        Sampling { temperature: 0.5, ..plain.clone() },
        Sampling { top_k: 7, ..plain.clone() },
        Sampling { top_p: 0.6, ..plain.clone() },
        Sampling { temperature: 1.5, top_k: 30, top_p: 0.8, vocabulary_mask: Some(mask(0.7)), ..plain.clone() },
    ];
    let whole = distribution(&logits, &plain);
    let entropy: f64 = whole.iter().map(|&share| -share * share.ln()).sum();
    for sampling in cases {
        let expected = distribution(&logits, &sampling);
        let request = GenerationRequest { sampling: sampling.clone(), ..sampled(n, &prompt, None, 11) };
        let completions = generate(&model, None, &[request], &slots(n)).results.remove(0).completions;
        let mut counts = vec![0.0; expected.len()];
        for completion in &completions {
            let id = completion.ids[0] as usize;
            counts[id] += 1.0;
            assert!((f64::from(completion.sampling_logprobs[0]) - expected[id].ln()).abs() < 1e-4);
            assert!((f64::from(completion.entropy) - entropy).abs() < 1e-4, "that of the model, whatever is cut off");
        }
        let likely: Vec<usize> = (0..expected.len()).filter(|&id| expected[id] * n as f64 >= 5.0).collect();
        let statistic: f64 =
            likely.iter().map(|&id| (counts[id] - expected[id] * n as f64).powi(2) / (expected[id] * n as f64)).sum();
        let k = likely.len() as f64;
        let bound = k * (1.0 - 2.0 / (9.0 * k) + 4.75 * (2.0 / (9.0 * k)).sqrt()).powi(3);
        assert!(statistic < bound, "{sampling:?}: chi-square {statistic:.1}, bound {bound:.1} at {k}");
    }
}

/// Mask, temperature, then top-k, then top-p, in plain arithmetic.
fn distribution(logits: &[f32], sampling: &Sampling) -> Vec<f64> {
    let dropped = match &sampling.vocabulary_mask {
        Some(mask) => dropped(mask, logits.len() as i64, &[]),
        None => vec![false; logits.len()],
    };
    let weights: Vec<f64> = logits
        .iter()
        .zip(dropped)
        .map(|(&logit, dropped)| if dropped { 0.0 } else { (f64::from(logit) / sampling.temperature).exp() })
        .collect();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by(|&left, &right| weights[right].total_cmp(&weights[left]));
    if sampling.top_k > 0 {
        order.truncate(sampling.top_k as usize);
    }
    let total: f64 = order.iter().map(|&id| weights[id]).sum();
    let mut kept = vec![0.0; weights.len()];
    let mut reached = 0.0;
    for &id in &order {
        if reached / total >= sampling.top_p {
            break;
        }
        kept[id] = weights[id];
        reached += weights[id];
    }
    kept.iter().map(|weight| weight / reached).collect()
}

#[test]
fn a_vocabulary_mask_follows_seed_and_rate_and_spares_what_is_protected() {
    let mask = |seed, rate: f64| {
        let mask = VocabularyMask { seed, keep_rate: 1.0 - rate, protected: vec![0], protected_texts: Vec::new() };
        dropped(&mask, 20_000, &[77])
    };
    assert_eq!(mask(1, 0.25), mask(1, 0.25));
    assert_ne!(mask(1, 0.25), mask(2, 0.25));
    let share = mask(1, 0.25).iter().filter(|&&dropped| dropped).count() as f64 / 20_000.0;
    assert!((share - 0.25).abs() < 0.015, "{share}");
    assert!(mask(1, 0.0).iter().all(|&dropped| !dropped));
    assert!((0..50).all(|seed| !mask(seed, 0.9)[0] && !mask(seed, 0.9)[77]));
}

/// The ids that end a completion and those of protected texts are drawn however few are kept.
#[test]
fn a_mask_keeps_the_ends_and_the_protected_texts() {
    let model = model("qwen2-tied");
    let tokenizer = Tokenizer::load(&model_folder("qwen2-tied"), &model.config).unwrap();
    let text = "def";
    let spelling = tokenizer.spelling(text).unwrap().unwrap();
    let masked = |seed: u64| GenerationRequest {
        sampling: Sampling {
            ignore_eos: false,
            stop_token_ids: vec![9],
            vocabulary_mask: Some(VocabularyMask {
                seed,
                keep_rate: 1e-7,
                protected: vec![4],
                protected_texts: vec![text.to_owned()],
            }),
            ..sampling()
        },
        ..sampled(64, &[1, 2, 3], None, seed)
    };
    let generator = Generator { model: &model, population: None, tokenizer: Some(&tokenizer) };
    let kept: Vec<i64> = spelling.iter().copied().chain([4, 9, 315]).collect();
    let generated = generator.generate(&[masked(1)], &slots(64), &mut |_| ()).unwrap();
    let mut drawn: Vec<i64> = Vec::new();
    for completion in &generated.results[0].completions {
        drawn.extend(&completion.ids);
    }
    assert!(drawn.iter().all(|id| kept.contains(id)), "{drawn:?}, {kept:?}");
    assert!([4, 9, 315].iter().all(|id| drawn.contains(id)));

    let refused = |tokenizer: Option<&Tokenizer>, change: &dyn Fn(&mut VocabularyMask)| {
        let mut request = masked(1);
        let mask = request.sampling.vocabulary_mask.as_mut().unwrap();
        change(mask);
        let generator = Generator { tokenizer, ..generator };
        let refused = generator.generate(&[request], &slots(64), &mut |_| ());
        refused.unwrap_err().to_string()
    };
    assert!(refused(None, &|_| ()).contains("tokenizer.json"));
    let unknown = refused(Some(&tokenizer), &|mask| mask.protected_texts.push(String::new()));
    assert!(unknown.contains("`protected_texts`") && unknown.contains("no tokens"), "{unknown}");
    let outside = refused(Some(&tokenizer), &|mask| mask.protected = vec![1 << 20]);
    assert!(outside.contains("1048576") && outside.contains("outside the vocabulary"), "{outside}");
    let mut alone = masked(1);
    alone.sampling.stop_token_ids.clear();
    let mask = alone.sampling.vocabulary_mask.as_mut().unwrap();
    (mask.protected, mask.protected_texts) = (Vec::new(), Vec::new());
    let few = generator.generate(&[alone], &slots(64), &mut |_| ()).unwrap_err().to_string();
    assert!(few.contains("leaves 1 of"), "{few}");
    let mut other = masked(1);
    other.sampling.stop_token_ids = vec![10];
    let other = generator.generate(&[masked(1), other], &slots(64), &mut |_| ());
    assert!(other.unwrap_err().to_string().contains("`stop_token_ids`"));
}

/// Temperatures so small that dividing by them would overflow, and so large that nothing is left of the logits.
#[test]
fn the_lowest_temperature_is_greedy_and_the_highest_uniform() {
    let model = model("qwen2-tied");
    let at = |temperature| {
        let sampling = Sampling { temperature, ..sampling() };
        let mut generated = generate(&model, None, &[request(&[1, 2, 3], None, sampling)], &slots(1));
        generated.results.remove(0).completions.remove(0)
    };
    let greedy = at(0.0);
    for temperature in [f64::MIN_POSITIVE, 1e-46, 1e-38] {
        let found = at(temperature);
        assert_eq!(found.ids, greedy.ids);
        assert!(found.sampling_logprobs.iter().all(|&logprob| logprob > -1e-3));
    }
    let uniform = -(model.config.vocab_size as f32).ln();
    for temperature in [1e30, f64::MAX] {
        let found = at(temperature).sampling_logprobs;
        assert!(found.iter().all(|logprob| (logprob - uniform).abs() < 1e-3), "{found:?}");
    }
}

/// In bf16, decoding through the cache gives the same log-probabilities as scoring the whole sequence.
#[test]
fn bf16_reports_the_logprobs_of_bf16() {
    let (name, bf16) = ("qwen2-tied", Placement::new("cpu", Dtype::Bf16).unwrap());
    let (reference, model) = (model(name), Model::load(&model_folder(name), bf16).unwrap());
    let stacked = population(&reference, name, &STACKED).to(bf16.device, Kind::BFloat16).unwrap();
    let sequences = Golden::of(name).sequences();
    let requests: Vec<_> = (0..6).map(|row| sampled(1, &sequences[row % 4], Some(row % 3), row as u64)).collect();
    for (request, result) in requests.iter().zip(generate(&model, Some(&stacked), &requests, &slots(6)).results) {
        let completion = &result.completions[0];
        let ids: Vec<i64> = request.prompt.iter().chain(&completion.ids).copied().collect();
        let of_whole = [ScoreRequest { ids, adapter: request.adapter }];
        let scores = score(&model, Some(&stacked), &of_whole, ScoreOptions::default()).unwrap();
        let expected = &scores[0].logprobs[request.prompt.len() - 1..];
        assert!(difference(&completion.logprobs, expected) < 0.1);
    }
}
