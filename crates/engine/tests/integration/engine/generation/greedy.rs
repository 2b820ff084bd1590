//! Greedy tokens compared with transformers and peft.

use super::*;

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
    let requests: Vec<_> =
        rows.iter().map(|&(sequence, adapter)| request(&sequences[sequence], adapter, greedy())).collect();
    let generated = generate(model, population.as_ref(), &requests, options);
    for (&(sequence, adapter), result) in rows.iter().zip(&generated.results) {
        let case = adapter.map_or("base", |adapter| cases[adapter]);
        let completion = &result.completions[0];
        assert_eq!(completion.ids, golden.ids(&format!("{case}/{sequence}/greedy")), "{name} {case}/{sequence}");
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
        assert_greedy(name, &model, &[], &[(0, None), (1, None), (2, None), (3, None)], &slots(4));
        let equal: Vec<_> = (0..12).map(|row| (row % 4, Some(row / 4))).collect();
        assert_greedy(name, &model, &STACKED, &equal, &slots(12));
    }
}

#[test]
fn greedy_tokens_survive_ragged_groups_few_slots_and_small_prefills() {
    let rows =
        [(3, Some(2)), (0, None), (1, Some(0)), (2, Some(2)), (2, None), (0, Some(2)), (3, Some(0)), (1, Some(1))];
    for name in MODELS {
        let model = model(name);
        for options in [slots(8), slots(5), slots(3), slots(1), GenerationOptions { prefill_tokens: 12, ..slots(8) }] {
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
