//! The recipe's metrics. Those of other stages than the step's have no value.

use std::collections::BTreeMap;

use super::{poll::Polled, solver::Graded, step::Step, uncertainty::Band};
use crate::{
    advantage::has_signal,
    recipe::{
        Chart, ChartGroup,
        Highlight::{Comparison, Diversity as DiversityPage, Learnability, StepLine},
        LEARNING, Metric, MetricRecord, PROPOSING, SOLVING, Side,
        metric::{
            Costs, HasCosts, HasUpdates, Measure, TOKENS, chart, clip_share, diversity_seconds, entropy, grad_norm,
            grade_seconds, halvings, highlighted, kl, learned_tokens, mean, measure, of_side, parts, policy_loss,
            prompt_tokens, propose_seconds, ratio, sampler_mismatch, share, solve_seconds, update_seconds, updates,
            values,
        },
    },
    work::{Diversity, MemberUpdated},
};

const DIVERSITY: ChartGroup = ChartGroup {
    title: "Diversity",
    side: None,
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
const PASS_RATE: Chart = chart(
    &SOLVING,
    "Pass rate",
    "Share of the answers that are right by the label.",
);
const FORMAT_RATE: Chart = chart(&SOLVING, "Format rate", "Share of the answers that can be read.");
const SOLVER_REWARD: Chart = chart(&SOLVING, "Solver reward", "Mean reward of an answer.");
const NO_SIGNAL: Chart = chart(
    &SOLVING,
    "No signal",
    "Groups that all got the same reward; a group estimator learns nothing from them.",
);
const RESPONSE_LENGTH: Chart = chart(&LEARNING, "Response length", "Mean tokens of an answer.");
const SOLVER_ENTROPY: Chart = chart(
    &LEARNING,
    "Solver entropy",
    "Mean entropy of the model over its answers, in nats.",
);
const SELF_BLEU: Chart = parts(
    &DIVERSITY,
    "Self-BLEU",
    "How much a question's wording occurs in the others, from 0 to 1.",
);
const VENDI: Chart = parts(&DIVERSITY, "Vendi score", "Effective number of different questions.");
const CUMULATIVE_VENDI: Chart = parts(
    &DIVERSITY,
    "Cumulative Vendi score",
    "Effective number of different questions in all iterations so far.",
);
const NOVELTY: Chart = parts(
    &DIVERSITY,
    "Novelty",
    "Share of the questions that are unlike any of earlier iterations.",
);
const VOCABULARY: Chart = parts(&DIVERSITY, "Unique tokens", "Different tokens in all questions.");
const NUMBERS: Chart = parts(&DIVERSITY, "Numbers", "Different numbers in all questions.");
const QUESTION_LENGTH: Chart = parts(&DIVERSITY, "Question length", "Means over the questions.");

/// The outcome of a step.
#[derive(Clone, Default)]
pub(super) struct Tally<'t> {
    pub(super) polled: Vec<Polled>,
    /// The reward of each polled proposal, if proposers learn.
    pub(super) proposer_rewards: Vec<f32>,
    /// The share of proposals that repeat each polled one.
    pub(super) repetition: Vec<f32>,
    /// Valid and accepted questions of a curriculum.
    pub(super) curriculum: Option<[usize; 2]>,
    pub(super) graded: Vec<Graded>,
    pub(super) updated: Vec<&'t MemberUpdated>,
    pub(super) diversity: Option<Diversity>,
}

/// A tally for the run or one member.
struct Scope<'t> {
    of: Tally<'t>,
    band: Band,
    keep_rate: Option<f64>,
    costs: Costs,
}

fn measures<'t>() -> Vec<Measure<Scope<'t>>> {
    let mut measures = of_proposers();
    measures.extend(of_solvers());
    measures.extend(of_diversity());
    let rest: Vec<Measure<Scope<'t>>> = vec![
        highlighted(&[Comparison], entropy()),
        policy_loss(),
        grad_norm(),
        clip_share(),
        ratio(),
        sampler_mismatch(),
        kl(),
        updates(),
        prompt_tokens(),
        measure("completion_tokens", "tokens", "Tokens generated.", &[&TOKENS], |of| {
            of.costs.completion_tokens
        }),
        learned_tokens(),
        propose_seconds(),
        solve_seconds(),
        grade_seconds(),
        update_seconds(),
        diversity_seconds(),
        halvings(),
    ];
    measures.extend(rest);
    measures
}

fn of_proposers<'t>() -> Vec<Measure<Scope<'t>>> {
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
                |of| mean(of.polled().filter_map(|polled| Some(share(of.band.has(polled.vote?))))),
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
                |of| mean(of.of.proposer_rewards.iter().map(|reward| f64::from(*reward))),
            ),
        ),
        highlighted(
            &[Learnability],
            measure(
                "repetition",
                "share",
                "Mean share of a proposer's proposals in a proposal's cluster.",
                &[&REPETITION],
                |of| mean(of.of.repetition.iter().map(|share| f64::from(*share))),
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
                "Keep rate of the iteration's masks.",
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
                |of| of.of.curriculum.map_or(f64::NAN, |[valid, _]| valid as f64),
            ),
        ),
        highlighted(
            &[StepLine, DiversityPage],
            measure(
                "accepted_questions",
                "",
                "Questions of the curriculum that solvers learn from.",
                &[&CURRICULUM],
                |of| of.of.curriculum.map_or(f64::NAN, |[_, accepted]| accepted as f64),
            ),
        ),
    ];
    measures.extend(of_run);
    measures
}

fn of_solvers<'t>() -> Vec<Measure<Scope<'t>>> {
    let measures: Vec<Measure<Scope<'t>>> = vec![
        highlighted(
            &[StepLine, Comparison],
            measure(
                "pass_rate",
                "share",
                "Answers that are right by the label.",
                &[&PASS_RATE],
                |of| mean(of.of.graded.iter().map(|answer| share(answer.correct))),
            ),
        ),
        measure(
            "format_rate",
            "share",
            "Answers that can be read.",
            &[&FORMAT_RATE],
            |of| mean(of.of.graded.iter().map(|answer| share(answer.well_formed))),
        ),
        measure(
            "solver_reward",
            "",
            "Mean reward of an answer.",
            &[&SOLVER_REWARD],
            |of| {
                mean(
                    of.of
                        .graded
                        .iter()
                        .map(|answer| f64::from(answer.sequence.sampled.reward)),
                )
            },
        ),
        highlighted(
            &[Learnability],
            measure(
                "no_signal_share",
                "share",
                "Groups of samples that all got the same reward.",
                &[&NO_SIGNAL],
                |of| mean(of.groups().map(|rewards| share(!has_signal(&rewards)))),
            ),
        ),
        measure(
            "response_length",
            "tokens",
            "Mean length of an answer.",
            &[&RESPONSE_LENGTH],
            |of| {
                mean(
                    of.of
                        .graded
                        .iter()
                        .map(|answer| f64::from(answer.sequence.sampled.tokens)),
                )
            },
        ),
        measure(
            "solver_entropy",
            "nats",
            "Mean entropy of the model over its answers.",
            &[&SOLVER_ENTROPY],
            |of| mean(of.of.graded.iter().filter_map(|answer| answer.entropy.map(f64::from))),
        ),
    ];
    measures
        .into_iter()
        .map(|measure| of_side(Side::Solves, measure))
        .collect()
}

fn of_diversity<'t>() -> Vec<Measure<Scope<'t>>> {
    vec![
        highlighted(
            &[Comparison, DiversityPage],
            measure(
                "self_bleu",
                "",
                "Mean BLEU of a question against the others.",
                &[&SELF_BLEU],
                |of| of.diversity(|found| found.self_bleu),
            ),
        ),
        highlighted(
            &[StepLine, Comparison, DiversityPage],
            measure("vendi", "", "Vendi score of the questions.", &[&VENDI], |of| {
                of.diversity(|found| Some(found.vendi))
            }),
        ),
        highlighted(
            &[DiversityPage],
            measure(
                "vendi_centred",
                "",
                "The same over centred embeddings.",
                &[&VENDI],
                |of| of.diversity(|found| Some(found.vendi_centred)),
            ),
        ),
        highlighted(
            &[Comparison, DiversityPage],
            measure(
                "cumulative_vendi",
                "",
                "Vendi score of the questions of all iterations so far.",
                &[&CUMULATIVE_VENDI],
                |of| of.diversity(|found| Some(found.cumulative_vendi)),
            ),
        ),
        highlighted(
            &[DiversityPage],
            measure(
                "cumulative_vendi_centred",
                "",
                "The same over centred embeddings.",
                &[&CUMULATIVE_VENDI],
                |of| of.diversity(|found| Some(found.cumulative_vendi_centred)),
            ),
        ),
        highlighted(
            &[Comparison, DiversityPage],
            measure(
                "novelty",
                "share",
                "Questions unlike any earlier one.",
                &[&NOVELTY],
                |of| of.diversity(|found| found.novelty),
            ),
        ),
        highlighted(
            &[DiversityPage],
            measure(
                "novelty_centred",
                "share",
                "The same over centred embeddings.",
                &[&NOVELTY],
                |of| of.diversity(|found| found.novelty_centred),
            ),
        ),
        highlighted(
            &[Comparison, DiversityPage],
            measure(
                "unique_tokens",
                "",
                "Different tokens in all questions.",
                &[&VOCABULARY],
                |of| of.diversity(|found| Some(found.unique_tokens as f64)),
            ),
        ),
        highlighted(
            &[DiversityPage],
            measure(
                "unique_numbers",
                "",
                "Different numbers in all questions.",
                &[&NUMBERS],
                |of| of.diversity(|found| Some(found.unique_numbers as f64)),
            ),
        ),
        highlighted(
            &[DiversityPage],
            measure(
                "question_numbers",
                "",
                "Mean different numbers in a question.",
                &[&QUESTION_LENGTH],
                |of| of.diversity(|found| Some(found.numbers)),
            ),
        ),
        highlighted(
            &[DiversityPage],
            measure(
                "question_words",
                "",
                "Mean words of a question.",
                &[&QUESTION_LENGTH],
                |of| of.diversity(|found| Some(found.words)),
            ),
        ),
        highlighted(
            &[DiversityPage],
            measure(
                "question_tokens",
                "",
                "Mean tokens of a question.",
                &[&QUESTION_LENGTH],
                |of| of.diversity(|found| Some(found.tokens)),
            ),
        ),
    ]
}

/// The metrics, in the order of their values.
pub(super) fn metrics() -> Vec<Metric> {
    measures().iter().map(|measure| measure.metric).collect()
}

/// The run's row and a row for each member.
pub(super) fn records(step: &Step<'_>, tally: &Tally<'_>) -> Vec<MetricRecord> {
    let draft = &step.draft;
    let band = match tally.curriculum {
        Some(_) => step.parameters.curriculum.band,
        None => step.parameters.uncertainty.band,
    };
    let members = draft.members.iter().enumerate().map(|(place, member)| {
        let id = member.id(draft.run.run);
        let scope = Scope {
            of: tally.of_member(place, id),
            band,
            keep_rate: None,
            costs: Costs::none(),
        };
        (Some(id), scope)
    });
    let run = Scope {
        of: tally.clone(),
        band,
        keep_rate: step.keep_rate().filter(|_| !tally.polled.is_empty()),
        costs: Costs::of(draft.view),
    };
    let measures = measures();
    let rows = members.chain([(None, run)]);
    rows.map(|(member, scope)| MetricRecord {
        member,
        values: values(&measures, &scope),
    })
    .collect()
}

impl<'t> Tally<'t> {
    /// What concerns the member at `place`.
    fn of_member(&self, place: usize, id: crate::id::MemberId) -> Self {
        let own = |at: usize| self.polled.get(at).is_some_and(|polled| polled.proposer == place);
        let kept = |values: &[f32]| -> Vec<f32> {
            let values = values.iter().enumerate().filter(|(at, _)| own(*at));
            values.map(|(_, value)| *value).collect()
        };
        Self {
            polled: self
                .polled
                .iter()
                .filter(|polled| polled.proposer == place)
                .cloned()
                .collect(),
            proposer_rewards: kept(&self.proposer_rewards),
            repetition: kept(&self.repetition),
            graded: self
                .graded
                .iter()
                .filter(|answer| answer.solver == place)
                .cloned()
                .collect(),
            updated: self.updated.iter().copied().filter(|new| new.member == id).collect(),
            ..Self::default()
        }
    }
}

impl Scope<'_> {
    fn polled(&self) -> impl Iterator<Item = &Polled> {
        self.of.polled.iter()
    }

    fn diversity(&self, value: impl Fn(&Diversity) -> Option<f64>) -> f64 {
        self.of.diversity.as_ref().and_then(value).unwrap_or(f64::NAN)
    }

    /// The rewards of each group that is learned from.
    fn groups(&self) -> impl Iterator<Item = Vec<f32>> {
        let mut groups: BTreeMap<(usize, u32), Vec<f32>> = BTreeMap::new();
        for (polled, reward) in self.of.polled.iter().zip(&self.of.proposer_rewards) {
            groups
                .entry((polled.proposer, polled.sample.request))
                .or_default()
                .push(*reward);
        }
        for answer in &self.of.graded {
            let sampled = answer.sequence.sampled;
            groups
                .entry((answer.solver, sampled.group))
                .or_default()
                .push(sampled.reward);
        }
        groups.into_values()
    }
}

impl HasUpdates for Scope<'_> {
    fn updated(&self) -> Vec<&MemberUpdated> {
        self.of.updated.clone()
    }
}

impl HasCosts for Scope<'_> {
    fn costs(&self) -> &Costs {
        &self.costs
    }
}
