//! Generation: greedy tokens against transformers and peft, sampling against the distribution it claims, and
//! independence of the rest of the batch.

use lyceum_engine::generate::{
    Completion, FinishReason, Generated, GenerationEvent, GenerationOptions, GenerationRequest, Generator,
    SamplingParams, StopConditions, VocabularyMask,
};
use lyceum_engine::score::{ScoreOptions, ScoreRequest, score};
use lyceum_engine::tokenizer::Tokenizer;
use lyceum_engine::{Model, Population};

use crate::fixtures::{FULL_SET, Golden, MODELS, OTHERS, STACKED, difference, model, model_folder, population};

const GREEDY: SamplingParams = SamplingParams {
    temperature: 0.0,
    top_k: 0,
    top_p: 1.0,
};

fn request(prompt: &[i64], adapter: Option<usize>, sampling: SamplingParams) -> GenerationRequest {
    GenerationRequest {
        id: "r".to_owned(),
        prompt: prompt.to_vec(),
        adapter,
        n: 1,
        max_tokens: 12,
        sampling,
        seed: 7,
        stop: StopConditions {
            ignore_eos: true,
            ..StopConditions::default()
        },
    }
}

fn generate(
    model: &Model,
    population: Option<&Population>,
    requests: &[GenerationRequest],
    options: &GenerationOptions,
) -> Generated {
    let generator = Generator {
        model,
        population,
        tokenizer: None,
    };
    generator.generate(requests, options, &mut |_| ()).unwrap()
}

fn slots(max_slots: usize) -> GenerationOptions {
    GenerationOptions {
        max_slots,
        ..GenerationOptions::default()
    }
}

fn assert_greedy(
    name: &str,
    model: &Model,
    cases: &[&str],
    rows: &[(usize, Option<usize>)],
    options: &GenerationOptions,
) {
    let golden = Golden::of(name);
    let sequences = golden.sequences();
    let population = (!cases.is_empty()).then(|| population(model, name, cases));
    let requests: Vec<_> = rows
        .iter()
        .map(|&(sequence, adapter)| request(&sequences[sequence], adapter, GREEDY))
        .collect();
    let generated = generate(model, population.as_ref(), &requests, options);
    for (&(sequence, adapter), result) in rows.iter().zip(&generated.results) {
        let case = adapter.map_or("base", |adapter| cases[adapter]);
        let completion = &result.completions[0];
        assert_eq!(
            completion.ids,
            golden.ids(&format!("{case}/{sequence}/greedy")),
            "{name} {case}/{sequence}"
        );
        assert_eq!(completion.finish_reason, FinishReason::Length);
    }
}

#[test]
fn greedy_tokens_are_those_of_transformers_and_peft() {
    for name in MODELS {
        let model = model(name);
        for sequence in 0..4 {
            assert_greedy(name, &model, &[], &[(sequence, None)], &slots(1));
        }
        assert_greedy(
            name,
            &model,
            &[],
            &[(0, None), (1, None), (2, None), (3, None)],
            &slots(4),
        );
        let equal: Vec<_> = (0..12).map(|row| (row % 4, Some(row / 4))).collect();
        assert_greedy(name, &model, &STACKED, &equal, &slots(12));
    }
}

#[test]
fn greedy_tokens_survive_ragged_groups_few_slots_and_small_prefills() {
    let rows = [
        (3, Some(2)),
        (0, None),
        (1, Some(0)),
        (2, Some(2)),
        (2, None),
        (0, Some(2)),
        (3, Some(0)),
        (1, Some(1)),
    ];
    for name in MODELS {
        let model = model(name);
        for options in [
            slots(8),
            slots(5),
            slots(3),
            slots(1),
            GenerationOptions {
                prefill_tokens: 12,
                ..slots(8)
            },
        ] {
            assert_greedy(name, &model, &STACKED, &rows, &options);
        }
    }
}

#[test]
fn greedy_tokens_match_peft_for_every_set_of_projections() {
    for name in FULL_SET {
        let model = model(name);
        for case in OTHERS {
            let rows: Vec<_> = (0..4).map(|sequence| (sequence, Some(0))).collect();
            assert_greedy(name, &model, &[case], &rows, &slots(4));
        }
    }
}

fn sampled(n: usize, prompt: &[i64], adapter: Option<usize>, seed: u64) -> GenerationRequest {
    GenerationRequest {
        n,
        seed,
        ..request(prompt, adapter, SamplingParams::default())
    }
}

fn assert_same(left: &[Completion], right: &[Completion]) {
    assert_eq!(left.len(), right.len());
    for (left, right) in left.iter().zip(right) {
        assert_eq!(left.ids, right.ids);
        assert!(difference(&left.logprobs, &right.logprobs) < 1e-5);
        assert!(difference(&left.sampling_logprobs, &right.sampling_logprobs) < 1e-5);
    }
}

#[test]
fn a_requests_samples_do_not_depend_on_the_rest_of_the_batch() {
    let name = "qwen3-wide-heads";
    let (model, golden) = (model(name), Golden::of(name));
    let stacked = population(&model, name, &STACKED);
    let sequences = golden.sequences();
    let adapters = [Some(0), Some(2), None, Some(1), Some(0), None];
    let requests: Vec<_> = adapters
        .iter()
        .enumerate()
        .map(|(index, &adapter)| sampled(1 + index % 3, &sequences[index % 4], adapter, 100 + index as u64))
        .collect();
    let together = generate(&model, Some(&stacked), &requests, &slots(64));
    for (request, result) in requests.iter().zip(&together.results) {
        assert_eq!(result.completions.len(), request.n);
        let alone = generate(&model, Some(&stacked), std::slice::from_ref(request), &slots(64));
        assert_same(&result.completions, &alone.results[0].completions);
    }
    let narrow = generate(&model, Some(&stacked), &requests, &slots(2));
    for (wide, narrow) in together.results.iter().zip(&narrow.results) {
        assert_same(&wide.completions, &narrow.completions);
    }
}

#[test]
fn lanes_change_no_result() {
    let model = model(FULL_SET[0]);
    let population = population(&model, FULL_SET[0], &STACKED);
    let golden = Golden::of(FULL_SET[0]);
    let sequences = golden.sequences();
    let requests: Vec<_> = (0..150)
        .map(|index| GenerationRequest {
            id: index.to_string(),
            max_tokens: 1 + index % 9,
            ..sampled(
                1,
                &sequences[index % 4],
                [Some(0), Some(1), Some(2), None][index * 7 % 4],
                index as u64,
            )
        })
        .collect();
    let with_threads = |threads| {
        let before = tch::get_num_threads();
        tch::set_num_threads(threads);
        let (mut finished, mut tokens) = (Vec::new(), 0);
        let generator = Generator {
            model: &model,
            population: Some(&population),
            tokenizer: None,
        };
        let generated = generator.generate(&requests, &slots(150), &mut |event| match event {
            GenerationEvent::Finished(result) => finished.push(result.id.clone()),
            GenerationEvent::Progress { tokens: so_far, .. } => tokens = so_far,
            GenerationEvent::Halved { .. } => {}
        });
        tch::set_num_threads(before);
        finished.sort_unstable();
        (generated.unwrap(), finished, tokens)
    };
    let (one, one_finished, one_tokens) = with_threads(1);
    let (two, two_finished, two_tokens) = with_threads(2);
    assert_eq!((one_finished, one_tokens), (two_finished, two_tokens));
    for (one, two) in one.results.iter().zip(&two.results) {
        assert_eq!(one.id, two.id);
        assert_same(&one.completions, &two.completions);
    }
}

#[test]
fn logits_that_are_nan_are_an_error() {
    let model = model(FULL_SET[0]);
    let _ = model.norm.get(0).fill_(f64::NAN);
    let generator = Generator {
        model: &model,
        population: None,
        tokenizer: None,
    };
    let error = generator.generate(&[request(&[1, 2], None, GREEDY)], &slots(1), &mut |_| ());
    let message = error.unwrap_err().to_string();
    assert!(
        message.contains("the model's output") && message.contains("not finite"),
        "{message}"
    );
}

#[test]
fn samples_differ_by_index_and_seed_and_repeat_with_the_same() {
    let model = model("qwen2-tied");
    let ask = |seed| {
        generate(&model, None, &[sampled(4, &[1, 2, 3], None, seed)], &slots(4))
            .results
            .remove(0)
            .completions
    };
    let (first, again, other) = (ask(1), ask(1), ask(2));
    assert_eq!(first, again);
    assert_ne!(first, other);
    for (index, completion) in first.iter().enumerate() {
        assert!(first[..index].iter().all(|earlier| earlier.ids != completion.ids));
    }
}

/// The log-probabilities that come with a completion are those that scoring the whole sequence gives.
#[test]
fn reported_logprobs_are_those_of_the_unmasked_model() {
    let name = "qwen2-tied";
    let (model, golden) = (model(name), Golden::of(name));
    let stacked = population(&model, name, &STACKED);
    let sequences = golden.sequences();
    let requests: Vec<_> = (0..6)
        .map(|row| {
            let sampling = SamplingParams {
                temperature: 0.7,
                top_k: 20,
                top_p: 0.9,
            };
            GenerationRequest {
                sampling,
                ..sampled(1, &sequences[row % 4], Some(row % 3), row as u64)
            }
        })
        .collect();
    let mask = VocabularyMask {
        seed: 3,
        rate: 0.4,
        protected: vec![315],
    };
    let options = GenerationOptions {
        mask: Some(mask.clone()),
        ..slots(6)
    };
    let generated = generate(&model, Some(&stacked), &requests, &options);
    let dropped = mask.dropped(model.config.vocab_size);
    for (request, result) in requests.iter().zip(&generated.results) {
        let completion = &result.completions[0];
        assert!(completion.ids.iter().all(|&id| !dropped[id as usize]));
        let ids: Vec<i64> = request.prompt.iter().chain(&completion.ids).copied().collect();
        let scores = score(
            &model,
            Some(&stacked),
            &[ScoreRequest {
                ids,
                adapter: request.adapter,
            }],
            ScoreOptions::default(),
        )
        .unwrap();
        let expected = &scores[0].logprobs[request.prompt.len() - 1..];
        assert!(difference(&completion.logprobs, expected) < 1e-4);
        for (sampling, model) in completion.sampling_logprobs.iter().zip(&completion.logprobs) {
            assert!(
                sampling <= &0.0 && sampling > model,
                "mask and cuts can only make what is left more probable"
            );
        }
    }
}

/// First tokens of many samples against the distribution, computed here from the logits: chi-square over all ids that
/// are expected at least five times. The bound is the 0.999999 quantile (Wilson-Hilferty); seeds are fixed, so the test
/// does not flicker.
#[test]
fn sampled_tokens_follow_the_processed_distribution() {
    let name = "qwen2-tied";
    let (model, golden) = (model(name), Golden::of(name));
    let logits = golden.floats("base/2/last_logits");
    let prompt = golden.ids("ids/2");
    let n = 4000;
    let cases = [
        (SamplingParams::default(), 0.0),
        (
            SamplingParams {
                temperature: 0.5,
                ..SamplingParams::default()
            },
            0.0,
        ),
        (
            SamplingParams {
                top_k: 7,
                ..SamplingParams::default()
            },
            0.0,
        ),
        (
            SamplingParams {
                top_p: 0.6,
                ..SamplingParams::default()
            },
            0.0,
        ),
        (
            SamplingParams {
                temperature: 1.5,
                top_k: 30,
                top_p: 0.8,
            },
            0.3,
        ),
    ];
    let whole = distribution(&logits, SamplingParams::default(), &vec![false; logits.len()]);
    let entropy: f64 = whole.iter().map(|&share| -share * share.ln()).sum();
    for (sampling, rate) in cases {
        let mask = VocabularyMask {
            seed: 5,
            rate,
            protected: Vec::new(),
        };
        let expected = distribution(&logits, sampling, &mask.dropped(model.config.vocab_size));
        let request = GenerationRequest {
            n,
            max_tokens: 1,
            sampling,
            ..sampled(n, &prompt, None, 11)
        };
        let options = GenerationOptions {
            mask: (rate > 0.0).then_some(mask),
            ..slots(n)
        };
        let completions = generate(&model, None, &[request], &options)
            .results
            .remove(0)
            .completions;
        let mut counts = vec![0.0; expected.len()];
        for completion in &completions {
            let id = completion.ids[0] as usize;
            counts[id] += 1.0;
            assert!((f64::from(completion.sampling_logprobs[0]) - expected[id].ln()).abs() < 1e-4);
            assert!(
                (f64::from(completion.entropy) - entropy).abs() < 1e-4,
                "that of the model, whatever is cut off"
            );
        }
        let likely: Vec<usize> = (0..expected.len())
            .filter(|&id| expected[id] * n as f64 >= 5.0)
            .collect();
        let statistic: f64 = likely
            .iter()
            .map(|&id| (counts[id] - expected[id] * n as f64).powi(2) / (expected[id] * n as f64))
            .sum();
        let k = likely.len() as f64;
        let bound = k * (1.0 - 2.0 / (9.0 * k) + 4.75 * (2.0 / (9.0 * k)).sqrt()).powi(3);
        assert!(
            statistic < bound,
            "{sampling:?}: chi-square {statistic:.1}, bound {bound:.1} at {k}"
        );
    }
}

/// Temperature, then top-k, then top-p, in plain arithmetic.
fn distribution(logits: &[f32], sampling: SamplingParams, dropped: &[bool]) -> Vec<f64> {
    let weights: Vec<f64> = logits
        .iter()
        .zip(dropped)
        .map(|(&logit, &dropped)| {
            if dropped {
                0.0
            } else {
                (f64::from(logit) / sampling.temperature).exp()
            }
        })
        .collect();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by(|&left, &right| weights[right].total_cmp(&weights[left]));
    if sampling.top_k > 0 {
        order.truncate(sampling.top_k);
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
fn completions_end_at_ids_strings_and_length() {
    let name = "qwen2-tied";
    let (model, golden) = (model(name), Golden::of(name));
    let tokenizer = Tokenizer::load(&model_folder(name), &model.config).unwrap();
    let generator = Generator {
        model: &model,
        population: None,
        tokenizer: Some(&tokenizer),
    };
    let prompt = golden.ids("ids/0");
    let greedy = golden.ids("base/0/greedy");
    let ask = |stop: StopConditions, max_tokens| {
        let request = GenerationRequest {
            stop,
            max_tokens,
            ..request(&prompt, None, GREEDY)
        };
        generator
            .generate(&[request], &slots(1), &mut |_| ())
            .unwrap()
            .results
            .remove(0)
            .completions
            .remove(0)
    };
    let whole = ask(StopConditions::default(), 12);
    assert_eq!(whole.text.as_deref(), Some(tokenizer.decode(&greedy).unwrap().as_str()));

    let third = ask(
        StopConditions {
            ids: vec![greedy[2]],
            ..StopConditions::default()
        },
        12,
    );
    let first = greedy.iter().position(|id| *id == greedy[2]).unwrap();
    assert_eq!(
        (third.ids.as_slice(), third.finish_reason),
        (&greedy[..=first], FinishReason::Stop)
    );

    assert_eq!(ask(StopConditions::default(), 1).ids, &greedy[..1]);

    let text = whole.text.unwrap();
    let (at, _) = text.char_indices().nth(text.chars().count() / 2).unwrap();
    let stop = text[at..].chars().take(2).collect::<String>();
    let cut = ask(
        StopConditions {
            strings: vec!["never in there".to_owned(), stop.clone()],
            ..StopConditions::default()
        },
        12,
    );
    assert_eq!(cut.text.as_deref(), text.split(stop.as_str()).next());
    assert_eq!(cut.finish_reason, FinishReason::Stop);
    assert!(cut.ids.len() < greedy.len() && greedy.starts_with(&cut.ids));
}

#[test]
fn the_models_own_end_of_sequence_ends_a_completion() {
    let model = model("qwen2-tied");
    assert_eq!(model.config.eos_token_ids, [315]);
    let mask = VocabularyMask {
        seed: 0,
        rate: 0.999_999_9,
        protected: vec![315, 4],
    };
    let options = GenerationOptions {
        mask: Some(mask),
        ..slots(4)
    };
    let open = GenerationRequest {
        stop: StopConditions::default(),
        ..sampled(8, &[1], None, 5)
    };
    let completions = generate(&model, None, std::slice::from_ref(&open), &options)
        .results
        .remove(0)
        .completions;
    let stopped = completions
        .iter()
        .filter(|completion| completion.finish_reason == FinishReason::Stop);
    let mut count = 0;
    for completion in stopped {
        let (last, before) = completion.ids.split_last().unwrap();
        assert!(*last == 315 && !before.contains(&315));
        count += 1;
    }
    assert!(count > 0, "with two ids left, some of eight completions end");
    let past = GenerationRequest {
        stop: StopConditions {
            ignore_eos: true,
            ..StopConditions::default()
        },
        ..open
    };
    assert!(
        generate(&model, None, &[past], &options).results[0]
            .completions
            .iter()
            .all(|c| c.ids.len() == 12)
    );
}

#[test]
fn a_vocabulary_mask_follows_seed_and_rate_and_spares_what_is_protected() {
    let mask = |seed, rate| {
        VocabularyMask {
            seed,
            rate,
            protected: vec![0, 77],
        }
        .dropped(20_000)
    };
    assert_eq!(mask(1, 0.25), mask(1, 0.25));
    assert_ne!(mask(1, 0.25), mask(2, 0.25));
    let share = mask(1, 0.25).iter().filter(|&&dropped| dropped).count() as f64 / 20_000.0;
    assert!((share - 0.25).abs() < 0.015, "{share}");
    assert!(mask(1, 0.0).iter().all(|&dropped| !dropped));
    assert!((0..50).all(|seed| !mask(seed, 0.9)[0] && !mask(seed, 0.9)[77]));
}

/// The budget stands in for the memory of a device.
#[test]
fn running_out_of_memory_halves_the_batch_and_changes_no_result() {
    let name = "qwen2-tied";
    let (model, golden) = (model(name), Golden::of(name));
    let stacked = population(&model, name, &STACKED);
    let sequences = golden.sequences();
    let requests: Vec<_> = (0..8)
        .map(|row| sampled(1, &sequences[row % 4], Some(row % 3), row as u64))
        .collect();
    let plenty = generate(&model, Some(&stacked), &requests, &slots(8));
    assert!(plenty.halved.is_empty());
    // Two layers, keys and values, two heads of eight, 64 positions, four bytes: what one slot takes.
    let slot = 2 * 2 * 2 * 8 * 64 * 4;
    let tight = GenerationOptions {
        cache_bytes: Some(2 * slot),
        ..slots(8)
    };
    let mut events = Vec::new();
    let generator = Generator {
        model: &model,
        population: Some(&stacked),
        tokenizer: None,
    };
    let halved = generator
        .generate(&requests, &tight, &mut |event| {
            if let GenerationEvent::Halved { slots } = event {
                events.push(slots);
            }
        })
        .unwrap();
    assert_eq!(halved.halved, [4, 2]);
    assert_eq!(events, [4, 2]);
    for (plenty, halved) in plenty.results.iter().zip(&halved.results) {
        assert_same(&plenty.completions, &halved.completions);
    }
    let hopeless = GenerationOptions {
        cache_bytes: Some(slot - 1),
        ..slots(8)
    };
    let error = generator.generate(&requests, &hopeless, &mut |_| ()).unwrap_err();
    assert!(
        error.is_out_of_memory() && error.to_string().contains("even one sequence"),
        "{error}"
    );
}

#[test]
fn progress_counts_to_the_end_and_results_stream_as_they_finish() {
    let model = model("qwen2-tied");
    let generator = Generator {
        model: &model,
        population: None,
        tokenizer: None,
    };
    let mut requests: Vec<_> = (0..3).map(|index| sampled(2, &[5, index], None, 1)).collect();
    for (index, request) in requests.iter_mut().enumerate() {
        request.id = index.to_string();
        request.max_tokens = 9 - 3 * index;
    }
    let (mut last, mut order) = (None, Vec::new());
    generator
        .generate(&requests, &slots(6), &mut |event| match event {
            GenerationEvent::Progress {
                finished,
                completions,
                tokens,
            } => last = Some((finished, completions, tokens)),
            GenerationEvent::Finished(result) => order.push(result.id.clone()),
            GenerationEvent::Halved { .. } => panic!("memory did not run out"),
        })
        .unwrap();
    assert_eq!(order, ["2", "1", "0"]);
    assert_eq!(last, Some((6, 6, 2 * (9 + 6 + 3))));
}

#[test]
fn requests_that_cannot_be_served_say_why() {
    let model = model("qwen2-tied");
    let generator = Generator {
        model: &model,
        population: None,
        tokenizer: None,
    };
    let good = request(&[1, 2], None, GREEDY);
    let sampling = |temperature, top_p| SamplingParams {
        temperature,
        top_k: 0,
        top_p,
    };
    let cases = [
        (
            GenerationRequest {
                prompt: vec![],
                ..good.clone()
            },
            "no tokens",
        ),
        (
            GenerationRequest {
                prompt: vec![320],
                ..good.clone()
            },
            "id 320 is outside the vocabulary of 320",
        ),
        (GenerationRequest { n: 0, ..good.clone() }, "`n` is 0"),
        (
            GenerationRequest {
                max_tokens: 127,
                ..good.clone()
            },
            "longest sequence is 128",
        ),
        (
            GenerationRequest {
                adapter: Some(0),
                ..good.clone()
            },
            "adapter 0 was asked for; there are 0",
        ),
        (
            GenerationRequest {
                sampling: sampling(-1.0, 1.0),
                ..good.clone()
            },
            "`temperature` is -1",
        ),
        (
            GenerationRequest {
                sampling: sampling(f64::NAN, 1.0),
                ..good.clone()
            },
            "`temperature` is NaN",
        ),
        (
            GenerationRequest {
                sampling: sampling(1.0, 0.0),
                ..good.clone()
            },
            "`top_p` is 0",
        ),
        (
            GenerationRequest {
                stop: StopConditions {
                    strings: vec!["x".into()],
                    ..Default::default()
                },
                ..good.clone()
            },
            "tokenizer",
        ),
    ];
    for (request, part) in cases {
        let error = generator
            .generate(&[request], &slots(1), &mut |_| ())
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("request `r`") && error.contains(part),
            "`{part}` is not in: {error}"
        );
    }
    let options = GenerationOptions {
        mask: Some(VocabularyMask {
            seed: 1,
            rate: 1.0,
            protected: vec![],
        }),
        ..slots(1)
    };
    let error = generator
        .generate(&[good], &options, &mut |_| ())
        .unwrap_err()
        .to_string();
    assert!(error.contains("`rate` is 1"), "{error}");
}
