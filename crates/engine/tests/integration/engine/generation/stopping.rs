//! Conditions that end a completion.

use super::*;

#[test]
fn completions_end_at_ids_strings_and_length() {
    let name = "qwen2-tied";
    let (model, golden) = (model(name), Golden::of(name));
    let tokenizer = Tokenizer::load(&model_folder(name), &model.config).unwrap();
    let generator = Generator { model: &model, population: None, tokenizer: Some(&tokenizer) };
    let prompt = golden.ids("ids/0");
    let expected = golden.ids("base/0/greedy");
    let ask = |sampling: Sampling| {
        generator
            .generate(&[request(&prompt, None, sampling)], &slots(1), &mut |_| ())
            .unwrap()
            .results
            .remove(0)
            .completions
            .remove(0)
    };
    let open = Sampling { ignore_eos: false, ..greedy() };
    let whole = ask(open.clone());
    assert_eq!(whole.text.as_deref(), Some(tokenizer.decode(&expected).unwrap().as_str()));

    let third = ask(Sampling { stop_token_ids: vec![expected[2] as u32], ..open.clone() });
    let first = expected.iter().position(|id| *id == expected[2]).unwrap();
    assert_eq!((third.ids.as_slice(), third.finish_reason), (&expected[..=first], FinishReason::Stop));

    let one = Sampling { max_tokens: 1, ..open.clone() };
    assert_eq!(ask(one).ids, &expected[..1]);

    let text = whole.text.unwrap();
    let (at, _) = text.char_indices().nth(text.chars().count() / 2).unwrap();
    let stop = text[at..].chars().take(2).collect::<String>();
    let cut = ask(Sampling { stop: vec!["never in there".to_owned(), stop.clone()], ..open });
    assert_eq!(cut.text.as_deref(), text.split(stop.as_str()).next());
    assert_eq!(cut.finish_reason, FinishReason::Stop);
    assert!(cut.ids.len() < expected.len() && expected.starts_with(&cut.ids));
}

#[test]
fn the_models_own_end_of_sequence_ends_a_completion() {
    let model = model("qwen2-tied");
    assert_eq!(model.config.eos_token_ids, [315]);
    let past = Sampling {
        vocabulary_mask: Some(VocabularyMask {
            seed: 0,
            keep_rate: 1e-7,
            protected: vec![315, 4],
            protected_texts: Vec::new(),
        }),
        ..sampling()
    };
    let open = Sampling { ignore_eos: false, ..past.clone() };
    let asked = |sampling| GenerationRequest { sampling, ..sampled(8, &[1], None, 5) };
    let completions = generate(&model, None, &[asked(open)], &slots(4)).results.remove(0).completions;
    let stopped = completions.iter().filter(|completion| completion.finish_reason == FinishReason::Stop);
    let mut count = 0;
    for completion in stopped {
        let (last, before) = completion.ids.split_last().unwrap();
        assert!(*last == 315 && !before.contains(&315));
        count += 1;
    }
    assert!(count > 0, "with two ids left, some of eight completions end");
    assert!(generate(&model, None, &[asked(past)], &slots(4)).results[0].completions.iter().all(|c| c.ids.len() == 12));
}
