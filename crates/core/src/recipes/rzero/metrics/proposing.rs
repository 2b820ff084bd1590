//! Metrics of proposals, votes on them and the curriculum.

use super::Measures;
use crate::{
    contract::{
        Chart,
        Highlight::{Comparison, Diversity as DiversityPage, Learnability, StepLine},
        Metric, PROPOSING, Side,
        metric::{chart, mean, of_side, parts, share},
    },
    verdict::Signal,
};

const VALID: Chart =
    chart(&PROPOSING, "Valid proposals").about("Share of the proposals with a question and an answer.");
const MAJORITY: Chart = chart(&PROPOSING, "Majority share")
    .about("Mean share of a solver's answers that agree with the majority; high where questions are easy.");
const IN_BAND: Chart = chart(&PROPOSING, "In the band").about("Share of the questions that solvers are unsure of.");
const AGREEMENT: Chart =
    chart(&PROPOSING, "Stated answers that are the majority's").about("Share of the questions with a vote.");
const RIGHT: Chart = chart(&PROPOSING, "Right stated answers")
    .about("Share of the arithmetic questions that Lyceum can evaluate. Nothing learns from it.");
const PROPOSER_REWARD: Chart = chart(&PROPOSING, "Proposer reward").about("Mean reward of a proposal.");
const REPETITION: Chart =
    chart(&PROPOSING, "Repetition").about("Mean share of a proposer's proposals that repeat one another's wording.");
const CURRICULUM: Chart =
    parts(&PROPOSING, "Curriculum").about("Questions generated, and those that solvers learn from.");
const PROPOSAL_LENGTH: Chart = chart(&PROPOSING, "Proposal length").about("Mean tokens of a proposal.");
const PROPOSER_ENTROPY: Chart =
    chart(&PROPOSING, "Proposer entropy").about("Mean entropy of the unmasked model over its proposals, in nats.");
const MASK: Chart = chart(&PROPOSING, "Mask mismatch")
    .about("How much more probable proposals are under the mask than without it, in nats a token.");
const KEEP_RATE: Chart = parts(&PROPOSING, "Keep rate").about("Share of the vocabulary that a mask keeps.");

pub(super) fn measures<'t>() -> Measures<'t> {
    let measures: Measures<'t> = vec![
        Metric::share("valid_share", &[&VALID])
            .summary("Proposals with a question and an answer.")
            .signal(Signal::Valid)
            .highlighted(&[StepLine, Comparison])
            .of(|of| mean(of.polled().map(|polled| share(polled.is_read)))),
        Metric::share("majority_share", &[&MAJORITY])
            .summary("Mean share of answers that agree with the majority.")
            .highlighted(&[StepLine, Comparison, DiversityPage])
            .of(|of| mean(of.polled().filter_map(|polled| Some(f64::from(polled.vote?.share()))))),
        Metric::share("in_band_share", &[&IN_BAND])
            .summary("Questions with a vote within the band of the step's stage.")
            .signal(Signal::InBand)
            .highlighted(&[Learnability])
            .of(|of| {
                let votes = of.polled().filter_map(|polled| polled.vote);
                mean(votes.map(|vote| share(of.band.has(vote.count, vote.of))))
            }),
        Metric::share("stated_majority_share", &[&AGREEMENT])
            .summary("Questions whose stated answer is the majority's.")
            .of(|of| {
                let voted = of.polled().filter(|polled| polled.vote.is_some());
                mean(voted.map(|polled| share(polled.agrees)))
            }),
        Metric::share("stated_right_share", &[&RIGHT])
            .summary("Stated answers that are right, of the questions that can be evaluated exactly.")
            .highlighted(&[Comparison, DiversityPage])
            .of(|of| mean(of.polled().filter_map(|polled| polled.stated_right.map(share)))),
        Metric::number("proposer_reward", &[&PROPOSER_REWARD])
            .summary("Mean reward of a proposal.")
            .highlighted(&[StepLine])
            .of(|of| mean(of.tally.proposer_rewards.iter().map(|reward| f64::from(*reward)))),
        Metric::share("repetition", &[&REPETITION])
            .summary("Mean share of a proposer's proposals in a proposal's cluster.")
            .signal(Signal::Duplicates)
            .highlighted(&[Learnability])
            .of(|of| mean(of.tally.repetition.iter().map(|share| f64::from(*share)))),
        Metric::tokens("proposal_length", &[&PROPOSAL_LENGTH])
            .summary("Mean length of a proposal.")
            .of(|of| mean(of.polled().map(|polled| f64::from(polled.sample.tokens)))),
        Metric::nats("proposer_entropy", &[&PROPOSER_ENTROPY])
            .summary("Mean entropy of the unmasked model over its proposals.")
            .highlighted(&[Comparison, DiversityPage])
            .of(|of| mean(of.polled().filter_map(|polled| polled.sample.entropy.map(f64::from)))),
        Metric::nats("mask_mismatch", &[&MASK])
            .summary("Mean log-probability of a proposal's tokens under the mask minus that without it.")
            .of(|of| mean(of.polled().filter_map(|polled| polled.mask_mismatch.map(f64::from)))),
    ];
    let mut measures = of_side(Side::Proposes, measures);
    let of_run: Measures<'t> = vec![
        Metric::share("keep_rate", &[&KEEP_RATE])
            .summary("Keep rate of the step's masks.")
            .highlighted(&[DiversityPage])
            .of(|of| of.keep_rate.unwrap_or(f64::NAN)),
        Metric::number("valid_questions", &[&CURRICULUM])
            .summary("Valid questions of the curriculum.")
            .highlighted(&[StepLine, Comparison, DiversityPage])
            .of(|of| of.tally.curriculum.map_or(f64::NAN, |[valid, _]| valid as f64)),
        Metric::number("accepted_questions", &[&CURRICULUM])
            .summary("Questions of the curriculum that solvers learn from.")
            .highlighted(&[StepLine, DiversityPage])
            .of(|of| of.tally.curriculum.map_or(f64::NAN, |[_, accepted]| accepted as f64)),
    ];
    measures.extend(of_run);
    measures
}
