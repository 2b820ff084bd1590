//! Conditions that end a completion.

use super::*;

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
