//! Invalid requests are refused with a reason.

use super::*;

#[test]
fn logits_that_are_nan_are_an_error() {
    let model = model(FULL_SET[0]);
    let _ = model.norm.get(0).fill_(f64::NAN);
    let generator = Generator { model: &model, population: None, tokenizer: None };
    let cut = Sampling { top_k: 5, ..sampling() };
    for how in [greedy(), sampling(), cut] {
        let error = generator.generate(&[request(&[1, 2], None, how)], &slots(1), &mut |_| ());
        let message = error.unwrap_err().to_string();
        assert!(message.contains("the model's output for request `r`") && message.contains("not finite"), "{message}");
    }
}

#[test]
fn requests_that_cannot_be_served_say_why() {
    let model = model("qwen2-tied");
    let generator = Generator { model: &model, population: None, tokenizer: None };
    let good = request(&[1, 2], None, greedy());
    let drawn = |sampling| GenerationRequest { sampling, ..good.clone() };
    let at = |temperature| drawn(Sampling { temperature, ..greedy() });
    let cases = [
        (GenerationRequest { prompt: vec![], ..good.clone() }, "no tokens"),
        (GenerationRequest { prompt: vec![320], ..good.clone() }, "id 320 is outside the vocabulary of 320"),
        (drawn(Sampling { max_tokens: 0, ..greedy() }), "`max_tokens` is 0"),
        (GenerationRequest { n: 0, prompt: vec![1; 128], ..good.clone() }, "longest sequence is 128"),
        (drawn(Sampling { max_tokens: 127, ..greedy() }), "longest sequence is 128"),
        (GenerationRequest { adapter: Some(0), ..good.clone() }, "adapter 0 does not exist; there are 0"),
        (at(-1.0), "`temperature` is -1"),
        (at(f64::NAN), "`temperature` is NaN"),
        (drawn(Sampling { top_p: 0.0, ..sampling() }), "`top_p` is 0"),
        (drawn(Sampling { stop: vec!["x".into()], ..greedy() }), "tokenizer"),
    ];
    for (request, part) in cases {
        let error = generator.generate(&[request], &slots(1), &mut |_| ()).unwrap_err().to_string();
        assert!(error.contains("request `r`") && error.contains(part), "`{part}` is not in: {error}");
    }
    let masked = drawn(Sampling {
        vocabulary_mask: Some(VocabularyMask { seed: 1, keep_rate: 0.0, protected: vec![], protected_texts: vec![] }),
        ..greedy()
    });
    let refusal = |requests: &[GenerationRequest]| {
        let refused = generator.generate(requests, &slots(1), &mut |_| ());
        refused.unwrap_err().to_string()
    };
    let error = refusal(std::slice::from_ref(&masked));
    assert!(error.contains("`keep_rate` is 0"), "{error}");
    let error = refusal(&[good, masked]);
    assert!(error.contains("a batch has one mask"), "{error}");
}

#[test]
fn a_request_without_samples_is_only_checked() {
    let model = model("qwen2-tied");
    let generator = Generator { model: &model, population: None, tokenizer: None };
    let checked = |id: &str| GenerationRequest { id: id.to_owned(), n: 0, ..request(&[1, 2], None, greedy()) };
    let counts = |requests: &[GenerationRequest]| -> Vec<(String, usize)> {
        let generated = generator.generate(requests, &slots(2), &mut |_| ()).unwrap();
        let results = generated.results.into_iter();
        results.map(|one| (one.id, one.completions.len())).collect()
    };
    let sampled = request(&[1, 2], None, greedy());
    assert_eq!(counts(&[checked("a"), checked("b")]), [("a".to_owned(), 0), ("b".to_owned(), 0)]);
    assert_eq!(counts(&[checked("a"), sampled.clone()]), [("a".to_owned(), 0), ("r".to_owned(), sampled.n)]);
}
