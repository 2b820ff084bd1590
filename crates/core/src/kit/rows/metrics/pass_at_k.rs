//! pass@k on held-out rows.

use super::{Measures, Tally};
use crate::{
    benchmark::pass_at_k,
    contract::{
        Chart,
        Highlight::{Comparison, StepLine},
        Metric, SOLVING,
        metric::{chart, mean, parts},
    },
};

const PASS_AT_1: Chart = chart(&SOLVING, "Held-out pass@1")
    .about("Probability that an answer to a row that is never learned from is correct.");
const PASS_AT_K: Chart = parts(&SOLVING, "Held-out pass@k")
    .about("Probability that at least one of k answers to a row that is never learned from is correct.");

const METRICS: [(u32, Metric); 8] = [
    (
        1,
        Metric::share("held_out_pass_at_1", &[&PASS_AT_1, &PASS_AT_K]).highlighted(&[StepLine, Comparison]),
    ),
    (2, Metric::share("held_out_pass_at_2", &[&PASS_AT_K])),
    (4, Metric::share("held_out_pass_at_4", &[&PASS_AT_K])),
    (8, Metric::share("held_out_pass_at_8", &[&PASS_AT_K])),
    (16, Metric::share("held_out_pass_at_16", &[&PASS_AT_K])),
    (32, Metric::share("held_out_pass_at_32", &[&PASS_AT_K])),
    (64, Metric::share("held_out_pass_at_64", &[&PASS_AT_K])),
    (128, Metric::share("held_out_pass_at_128", &[&PASS_AT_K])),
];

/// pass@k for k = 1, 2, 4, … up to `n`.
pub(super) fn measures<'t>(n: u32) -> Measures<'t> {
    let estimable = METRICS.into_iter().filter(|(k, _)| *k <= n);
    let measure = |(k, metric): (u32, Metric)| {
        metric
            .summary("Unbiased estimate of the probability that one of k answers to a held-out row is correct.")
            .computed_by(move |of: &Tally<'t>| {
                let rows = of.measured.iter().flat_map(|measured| {
                    let correct = measured.correct.iter();
                    correct.filter_map(move |&correct| pass_at_k(measured.n.into(), correct.into(), k.into()))
                });
                mean(rows)
            })
    };
    estimable.map(measure).collect()
}
