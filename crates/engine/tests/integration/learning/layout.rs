//! The way a batch is split, computed and distributed does not change results, and members never mix.

use lyceum_engine::learn::Padding;

use crate::learning::batch::{Case, fresh, gradient_values, member_weights, weights};
use crate::learning::fixtures::difference;

const TOLERANCE: f32 = 2e-6;
/// Base and adapter merged into one product round differently from three products; the largest gradient is 1.
const MERGED_TOLERANCE: f32 = 5e-6;

fn cases() -> [Case; 2] {
    [Case::new("policy", "qwen2-tied"), Case::new("policy", "qwen3-wide-heads")]
}

#[test]
fn recomputation_changes_nothing() {
    for mut case in cases() {
        case.options.recompute = true;
        let again = gradient_values(&case.piece(0, 1));
        case.options.recompute = false;
        assert_eq!(gradient_values(&case.piece(0, 1)), again);
    }
}

#[test]
fn chunks_micro_batches_and_shared_prompts_change_nothing() {
    for mut case in cases() {
        let expected = gradient_values(&case.piece(0, 1));
        for (logits, tokens, share) in
            [(1, 1000, true), (3 * 320, 1000, true), (1 << 20, 24, true), (1 << 20, 1, false)]
        {
            case.options.logits = Some(logits);
            case.options.micro_batch_tokens = tokens;
            case.options.share_prompts = share;
            let largest = difference(&gradient_values(&case.piece(0, 1)), &expected);
            assert!(largest < TOLERANCE, "{logits} logits, {tokens} tokens: off by {largest}");
        }
    }
}

#[test]
fn padding_by_length_changes_nothing() {
    for mut case in cases() {
        let mut with = |padding, share| {
            case.options.padding = Some(padding);
            case.options.share_prompts = share;
            gradient_values(&case.piece(0, 1))
        };
        for share in [true, false] {
            let expected = with(Padding::ToLongest, share);
            for worth in [0, 2, 1 << 20] {
                let largest = difference(&with(Padding::ByLength { worth }, share), &expected);
                assert!(largest < TOLERANCE, "worth {worth}, shared prompts {share}: off by {largest}");
            }
        }
    }
}

#[test]
fn lanes_change_nothing() {
    for mut case in cases() {
        for list in &mut case.sequences {
            *list = std::iter::repeat_n(list.clone(), 30).flatten().collect();
        }
        case.options.micro_batch_tokens = 4096;
        let rows: usize = case.sequences.iter().flatten().map(|s| s.prompt.len() + s.completion.len() - 1).sum();
        assert!(rows > 2048, "{rows} rows are not worth two lanes");
        let with_threads = |threads| {
            let before = tch::get_num_threads();
            tch::set_num_threads(threads);
            let gradient = gradient_values(&case.piece(0, 1));
            tch::set_num_threads(before);
            gradient
        };
        let largest = difference(&with_threads(1), &with_threads(2));
        assert!(largest < TOLERANCE, "off by {largest}");
    }
}

#[test]
fn many_rows_of_a_member_change_nothing() {
    for mut case in cases() {
        for list in &mut case.sequences {
            *list = std::iter::repeat_n(list.clone(), 60).flatten().collect();
            let rows: usize = list.iter().map(|s| s.prompt.len() + s.completion.len() - 1).sum();
            assert!(rows > 2 * 512, "{rows} rows are too few for base and adapter to be merged");
        }
        case.options.share_prompts = false;
        let with_budget = |case: &mut Case, tokens| {
            case.options.micro_batch_tokens = tokens;
            gradient_values(&case.piece(0, 1))
        };
        let largest = difference(&with_budget(&mut case, 1 << 14), &with_budget(&mut case, 256));
        assert!(largest < MERGED_TOLERANCE, "off by {largest}");
    }
}

#[test]
fn pieces_summed_by_index_are_the_whole_to_the_last_bit_each_time() {
    for case in cases() {
        let start = fresh(&case.population);
        let whole = case.run().unwrap();
        let apply = |order: [usize; 3]| {
            // Computed in any order, summed by index.
            let mut pieces: Vec<_> = order.iter().map(|&index| (index, case.piece(index, 3))).collect();
            pieces.sort_by_key(|(index, _)| *index);
            let pieces: Vec<_> = pieces.into_iter().map(|(_, piece)| piece).collect();
            case.update().apply(&case.population, &start, &pieces).unwrap()
        };
        let (one, other) = (apply([0, 1, 2]), apply([2, 0, 1]));
        assert_eq!(weights(&one.population), weights(&other.population));
        assert_eq!(one.diagnostics, other.diagnostics);
        // AdamW's first step divides by the gradient's own magnitude, which magnifies rounding where it is small.
        assert!(difference(&weights(&one.population), &weights(&whole.population)) < 1e-4);
        for (one, whole) in one.diagnostics.iter().zip(&whole.diagnostics) {
            assert!(
                (one.grad_norm - whole.grad_norm).abs() < 1e-5 && (one.policy_loss - whole.policy_loss).abs() < 1e-6
            );
            assert_eq!(one.tokens, whole.tokens);
        }
    }
}

#[test]
fn the_same_update_gives_the_same_bits() {
    for mut case in cases() {
        case.options.optimizer.epochs = 2;
        case.options.optimizer.minibatches = 2;
        case.options.micro_batch_tokens = 30;
        assert_eq!(weights(&case.run().unwrap().population), weights(&case.run().unwrap().population));
    }
}

#[test]
fn a_member_does_not_see_another_members_data() {
    for mut case in cases() {
        case.options.optimizer.epochs = 2;
        let before = case.run().unwrap();
        for sequence in &mut case.sequences[1] {
            sequence.advantage *= -30.0;
            for id in &mut sequence.completion {
                *id = (*id + 7) % 300;
            }
        }
        let after = case.run().unwrap();
        for member in [0, 2] {
            assert_eq!(member_weights(&before.population, member), member_weights(&after.population, member));
            assert_eq!(before.diagnostics[member], after.diagnostics[member]);
        }
        assert_ne!(member_weights(&before.population, 1), member_weights(&after.population, 1));
    }
}
