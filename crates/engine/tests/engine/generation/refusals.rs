//! Invalid requests are refused with a reason.

use super::*;

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
        message.contains("the model's output for request `r`") && message.contains("not finite"),
        "{message}"
    );
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
            "adapter 0 does not exist; there are 0",
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
