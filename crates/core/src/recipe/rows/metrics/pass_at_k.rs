//! pass@k on held-out rows.

use super::Tally;
use crate::{
    benchmark::pass_at_k,
    recipe::{
        Chart,
        Highlight::{Comparison, StepLine},
        SOLVING,
        metric::{Measure, chart, highlighted, mean, measure, parts},
    },
};

const PASS_AT_1: Chart = chart(
    &SOLVING,
    "Held-out pass@1",
    "Probability that an answer to a row that is never learned from is correct.",
);
const PASS_AT_K: Chart = parts(
    &SOLVING,
    "Held-out pass@k",
    "Probability that at least one of k answers to a row that is never learned from is correct.",
);

/// pass@k for k = 1, 2, 4, … up to `n`.
pub(super) fn measures<'t>(n: u32) -> Vec<Measure<Tally<'t>>> {
    let all = [
        (
            1,
            highlighted(
                &[StepLine, Comparison],
                of::<1>("held_out_pass_at_1", &[&PASS_AT_1, &PASS_AT_K]),
            ),
        ),
        (2, of::<2>("held_out_pass_at_2", &[&PASS_AT_K])),
        (4, of::<4>("held_out_pass_at_4", &[&PASS_AT_K])),
        (8, of::<8>("held_out_pass_at_8", &[&PASS_AT_K])),
        (16, of::<16>("held_out_pass_at_16", &[&PASS_AT_K])),
        (32, of::<32>("held_out_pass_at_32", &[&PASS_AT_K])),
        (64, of::<64>("held_out_pass_at_64", &[&PASS_AT_K])),
        (128, of::<128>("held_out_pass_at_128", &[&PASS_AT_K])),
    ];
    let estimable = all.into_iter().filter(|(k, _)| *k <= n);
    estimable.map(|(_, measure)| measure).collect()
}

const fn of<'t, const K: u64>(name: &'static str, charts: &'static [&'static Chart]) -> Measure<Tally<'t>> {
    measure(
        name,
        "share",
        "Unbiased estimate of the probability that one of k answers to a held-out row is correct.",
        charts,
        |of| {
            let rows = of.measured.iter().flat_map(|measured| {
                let correct = measured.correct.iter();
                correct.filter_map(|&correct| pass_at_k(u64::from(measured.n), u64::from(correct), K))
            });
            mean(rows)
        },
    )
}
