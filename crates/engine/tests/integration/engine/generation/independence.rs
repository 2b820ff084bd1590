//! A sample depends only on its request and seed: not on the rest of the batch, nor on how it is computed.

use super::*;

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
            sampling: Sampling { max_tokens: 1 + index as u32 % 9, ..sampling() },
            ..sampled(1, &sequences[index % 4], [Some(0), Some(1), Some(2), None][index * 7 % 4], index as u64)
        })
        .collect();
    let with_threads = |threads| {
        let before = tch::get_num_threads();
        tch::set_num_threads(threads);
        let (mut finished, mut tokens) = (Vec::new(), 0);
        let generator = Generator { model: &model, population: Some(&population), tokenizer: None };
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
fn samples_differ_by_index_and_seed_and_repeat_with_the_same() {
    let model = model("qwen2-tied");
    let ask =
        |seed| generate(&model, None, &[sampled(4, &[1, 2, 3], None, seed)], &slots(4)).results.remove(0).completions;
    let (first, again, other) = (ask(1), ask(1), ask(2));
    assert_eq!(first, again);
    assert_ne!(first, other);
    for (index, completion) in first.iter().enumerate() {
        assert!(first[..index].iter().all(|earlier| earlier.ids != completion.ids));
    }
}
