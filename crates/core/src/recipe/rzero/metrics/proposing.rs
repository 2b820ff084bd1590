//! Metrics of proposals, votes on them and the curriculum.

use super::{DiversityPage, Scope};
use crate::recipe::{
    Chart,
    Highlight::{Comparison, Learnability, StepLine},
    PROPOSING, Side,
    metric::{Measure, chart, highlighted, mean, measure, of_side, parts, share},
};

const VALID: Chart = chart(
    &PROPOSING,
    "Valid proposals",
    "Share of the proposals with a question and an answer.",
);
const MAJORITY: Chart = chart(
    &PROPOSING,
    "Majority share",
    "Mean share of a solver's answers that agree with the majority; high where questions are easy.",
);
const IN_BAND: Chart = chart(
    &PROPOSING,
    "In the band",
    "Share of the questions that solvers are unsure of.",
);
const AGREEMENT: Chart = chart(
    &PROPOSING,
    "Stated answers that are the majority's",
    "Share of the questions with a vote.",
);
const RIGHT: Chart = chart(
    &PROPOSING,
    "Right stated answers",
    "Share of the arithmetic questions that Lyceum can evaluate. Nothing learns from it.",
);
const PROPOSER_REWARD: Chart = chart(&PROPOSING, "Proposer reward", "Mean reward of a proposal.");
const REPETITION: Chart = chart(
    &PROPOSING,
    "Repetition",
    "Mean share of a proposer's proposals that repeat one another's wording.",
);
const CURRICULUM: Chart = parts(
    &PROPOSING,
    "Curriculum",
    "Questions generated, and those that solvers learn from.",
);
const PROPOSAL_LENGTH: Chart = chart(&PROPOSING, "Proposal length", "Mean tokens of a proposal.");
const PROPOSER_ENTROPY: Chart = chart(
    &PROPOSING,
    "Proposer entropy",
    "Mean entropy of the unmasked model over its proposals, in nats.",
);
const MASK: Chart = chart(
    &PROPOSING,
    "Mask mismatch",
    "How much more probable proposals are under the mask than without it, in nats a token.",
);
const KEEP_RATE: Chart = parts(&PROPOSING, "Keep rate", "Share of the vocabulary that a mask keeps.");

pub(super) fn measures<'t>() -> Vec<Measure<Scope<'t>>> {
    let measures: Vec<Measure<Scope<'t>>> = vec![
        highlighted(
            &[StepLine, Comparison],
            measure(
                "valid_share",
                "share",
                "Proposals with a question and an answer.",
                &[&VALID],
                |of| mean(of.polled().map(|polled| share(polled.is_read))),
            ),
        ),
        highlighted(
            &[StepLine, Comparison, DiversityPage],
            measure(
                "majority_share",
                "share",
                "Mean share of answers that agree with the majority.",
                &[&MAJORITY],
                |of| mean(of.polled().filter_map(|polled| Some(f64::from(polled.vote?.share())))),
            ),
        ),
        highlighted(
            &[Learnability],
            measure(
                "in_band_share",
                "share",
                "Questions with a vote within the band of the step's stage.",
                &[&IN_BAND],
                |of| {
                    let votes = of.polled().filter_map(|polled| polled.vote);
                    mean(votes.map(|vote| share(of.band.has(vote.count, vote.of))))
                },
            ),
        ),
        measure(
            "stated_majority_share",
            "share",
            "Questions whose stated answer is the majority's.",
            &[&AGREEMENT],
            |of| {
                let voted = of.polled().filter(|polled| polled.vote.is_some());
                mean(voted.map(|polled| share(polled.agrees)))
            },
        ),
        highlighted(
            &[Comparison, DiversityPage],
            measure(
                "stated_right_share",
                "share",
                "Stated answers that are right, of the questions that can be evaluated exactly.",
                &[&RIGHT],
                |of| mean(of.polled().filter_map(|polled| polled.stated_right.map(share))),
            ),
        ),
        highlighted(
            &[StepLine],
            measure(
                "proposer_reward",
                "",
                "Mean reward of a proposal.",
                &[&PROPOSER_REWARD],
                |of| mean(of.tally.proposer_rewards.iter().map(|reward| f64::from(*reward))),
            ),
        ),
        highlighted(
            &[Learnability],
            measure(
                "repetition",
                "share",
                "Mean share of a proposer's proposals in a proposal's cluster.",
                &[&REPETITION],
                |of| mean(of.tally.repetition.iter().map(|share| f64::from(*share))),
            ),
        ),
        measure(
            "proposal_length",
            "tokens",
            "Mean length of a proposal.",
            &[&PROPOSAL_LENGTH],
            |of| mean(of.polled().map(|polled| f64::from(polled.sample.tokens))),
        ),
        highlighted(
            &[Comparison, DiversityPage],
            measure(
                "proposer_entropy",
                "nats",
                "Mean entropy of the unmasked model over its proposals.",
                &[&PROPOSER_ENTROPY],
                |of| mean(of.polled().filter_map(|polled| polled.sample.entropy.map(f64::from))),
            ),
        ),
        measure(
            "mask_mismatch",
            "nats",
            "Mean log-probability of a proposal's tokens under the mask minus that without it.",
            &[&MASK],
            |of| mean(of.polled().filter_map(|polled| polled.mask_mismatch.map(f64::from))),
        ),
    ];
    let mut measures: Vec<Measure<Scope<'t>>> = measures
        .into_iter()
        .map(|measure| of_side(Side::Proposes, measure))
        .collect();
    let of_run: Vec<Measure<Scope<'t>>> = vec![
        highlighted(
            &[DiversityPage],
            measure(
                "keep_rate",
                "share",
                "Keep rate of the step's masks.",
                &[&KEEP_RATE],
                |of| of.keep_rate.unwrap_or(f64::NAN),
            ),
        ),
        highlighted(
            &[StepLine, Comparison, DiversityPage],
            measure(
                "valid_questions",
                "",
                "Valid questions of the curriculum.",
                &[&CURRICULUM],
                |of| of.tally.curriculum.map_or(f64::NAN, |[valid, _]| valid as f64),
            ),
        ),
        highlighted(
            &[StepLine, DiversityPage],
            measure(
                "accepted_questions",
                "",
                "Questions of the curriculum that solvers learn from.",
                &[&CURRICULUM],
                |of| of.tally.curriculum.map_or(f64::NAN, |[_, accepted]| accepted as f64),
            ),
        ),
    ];
    measures.extend(of_run);
    measures
}
