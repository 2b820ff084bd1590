//! The recipe's metrics. Those of other stages than the step's have no value.

use std::collections::BTreeMap;

use super::poll::{Polled, TALLY, VOTE};
use super::proposer::REPETITION;
use super::solver::Graded;
use super::step::{DIVERSITY, Step};
use crate::contract::Highlight::{Comparison, Diversity as DiversityPage, Learnability, StepLine};
use crate::contract::metric::{Measure, charts, mean, of_side, share, table};
use crate::contract::phase::{GRADE, PROPOSE, SOLVE};
use crate::contract::{
    ChartGroup, CostClass, LEARNING, Metric, MetricRecord, PROPOSING, Phase, PlanError, SOLVING, Side, metric,
};
use crate::id::MemberId;
use crate::kit::Band;
use crate::kit::measures::{
    Answered, Costs, HasAnswers, HasCosts, HasUpdates, format_rate, kl_to_base, mean_entropy, mean_reward,
    no_signal_share, of_cost, of_prompts, pass_rate, policy, response_length, steps_share,
};
use crate::verdict::Signal;
use crate::work::{Diversity, MemberUpdated};

type Measures<'t> = Vec<Measure<'t, Scope<'t>>>;

const PHASES: [Phase; 7] = [PROPOSE, VOTE, TALLY, REPETITION, SOLVE, GRADE, DIVERSITY];
const COSTS: [CostClass; 5] =
    [CostClass::Propose, CostClass::Solve, CostClass::Grade, CostClass::Update, CostClass::Diversity];

/// A tally for the run or one member.
struct Scope<'t> {
    tally: Tally<'t>,
    band: Band,
    keep_rate: Option<f64>,
    costs: Costs,
}

/// All measures. Those of epiplexity are last, and only there if it is measured.
fn measures<'t>(has_observer: bool) -> Measures<'t> {
    let mut measures = proposing_measures();
    measures.extend(solving_measures());
    measures.extend(diversity_measures());
    measures.extend(policy());
    measures.extend(of_cost(&COSTS));
    if has_observer {
        measures.extend(epiplexity());
    }
    measures.push(steps_share());
    measures.push(kl_to_base());
    measures
}

/// The metrics, in the order of their values; those of epiplexity only if it is measured.
pub(super) fn metrics(has_observer: bool) -> Vec<Metric> {
    metric::metrics(&measures(has_observer))
}

/// The run's row and a row for each member.
pub(super) fn records(step: &Step<'_>, tally: &Tally<'_>) -> Result<Vec<MetricRecord>, PlanError> {
    let draft = &step.draft;
    let band = match tally.curriculum {
        Some(_) => step.parameters.curriculum.band,
        None => step.parameters.uncertainty.band,
    };
    let members = draft.members.iter().enumerate().map(|(place, member)| {
        let id = member.id(draft.run.run);
        let scope = Scope { tally: tally.of_member(place, id), band, keep_rate: None, costs: Costs::none() };
        (Some(id), scope)
    });
    let run = Scope { tally: tally.clone(), band, keep_rate: step.keep_rate(), costs: Costs::of(draft.view, &PHASES)? };
    let measures = measures(step.parameters.diversity.epiplexity.is_some());
    Ok(metric::records(&measures, members.chain([(None, run)])))
}

impl Scope<'_> {
    fn polled(&self) -> impl Iterator<Item = &Polled> {
        self.tally.polled.iter()
    }

    fn diversity(&self, value: impl Fn(&Diversity) -> Option<f64>) -> f64 {
        self.tally.diversity.as_ref().and_then(value).unwrap_or(f64::NAN)
    }
}

impl HasAnswers for Scope<'_> {
    fn answers(&self) -> impl Iterator<Item = Answered> {
        self.tally.graded.iter().map(|answer| Answered {
            correct: answer.correct,
            well_formed: answer.well_formed,
            has_steps: answer.sequence.has_steps,
            sampled: answer.sequence.sampled,
            entropy: answer.entropy,
        })
    }

    /// Those of proposals, too.
    fn groups(&self) -> Vec<Vec<f32>> {
        let mut groups: BTreeMap<(usize, u32), Vec<f32>> = BTreeMap::new();
        for (polled, reward) in self.tally.polled.iter().zip(&self.tally.proposer_rewards) {
            let group = groups.entry((polled.proposer, polled.sample.request));
            group.or_default().push(*reward);
        }
        for answer in &self.tally.graded {
            let sampled = answer.sequence.sampled;
            let group = groups.entry((answer.solver, sampled.group));
            group.or_default().push(sampled.reward);
        }
        of_prompts(groups).collect()
    }
}

impl HasUpdates for Scope<'_> {
    fn updated(&self) -> Vec<&MemberUpdated> {
        self.tally.updated.clone()
    }
}

impl HasCosts for Scope<'_> {
    fn costs(&self) -> &Costs {
        &self.costs
    }
}

/// The outcome of a step.
#[derive(Clone, Default)]
pub(in crate::recipes::rzero) struct Tally<'t> {
    pub(in crate::recipes::rzero) polled: Vec<Polled>,
    /// The reward of each polled proposal, if proposers learn.
    pub(in crate::recipes::rzero) proposer_rewards: Vec<f32>,
    /// The share of proposals that repeat each polled one.
    pub(in crate::recipes::rzero) repetition: Vec<f32>,
    /// Valid and accepted questions of a curriculum.
    pub(in crate::recipes::rzero) curriculum: Option<[usize; 2]>,
    pub(in crate::recipes::rzero) graded: Vec<Graded>,
    pub(in crate::recipes::rzero) updated: Vec<&'t MemberUpdated>,
    pub(in crate::recipes::rzero) diversity: Option<Diversity>,
}

impl Tally<'_> {
    /// What concerns the member at `place`.
    fn of_member(&self, place: usize, id: MemberId) -> Self {
        let mut own = self.clone();
        own.polled.retain(|polled| polled.proposer == place);
        own.proposer_rewards = self.of_proposer(place, &self.proposer_rewards);
        own.repetition = self.of_proposer(place, &self.repetition);
        own.graded.retain(|answer| answer.solver == place);
        own.updated.retain(|new| new.member == id);
        Self { curriculum: None, diversity: None, ..own }
    }

    /// The values of the proposals of the proposer at `place`.
    fn of_proposer(&self, place: usize, values: &[f32]) -> Vec<f32> {
        let values = self.polled.iter().zip(values);
        let own = values.filter(|(polled, _)| polled.proposer == place);
        own.map(|(_, value)| *value).collect()
    }
}

charts! {
    chart VALID PROPOSING "Valid proposals": "Share of the proposals with a question and an answer.";
    chart MAJORITY PROPOSING "Majority share":
        "Mean share of a solver's answers that agree with the majority; high where questions are easy.";
    chart IN_BAND PROPOSING "In the band": "Share of the questions that solvers are unsure of.";
    chart AGREEMENT PROPOSING "Stated answers that are the majority's": "Share of the questions with a vote.";
    chart RIGHT PROPOSING "Right stated answers":
        "Share of the arithmetic questions that Lyceum can evaluate. Nothing learns from it.";
    chart PROPOSER_REWARD PROPOSING "Proposer reward": "Mean reward of a proposal.";
    chart REPEATED PROPOSING "Repetition": "Mean share of a proposer's proposals that repeat one another's wording.";
    parts CURRICULUM PROPOSING "Curriculum": "Questions generated, and those that solvers learn from.";
    chart PROPOSAL_LENGTH PROPOSING "Proposal length": "Mean tokens of a proposal.";
    chart PROPOSER_ENTROPY PROPOSING "Proposer entropy":
        "Mean entropy of the unmasked model over its proposals, in nats.";
    chart MASK PROPOSING "Mask mismatch":
        "How much more probable proposals are under the mask than without it, in nats a token.";
    parts KEEP_RATE PROPOSING "Keep rate": "Share of the vocabulary that a mask keeps.";
}

fn proposing_measures<'t>() -> Measures<'t> {
    let measures: Measures<'t> = table! {
        share "valid_share" [VALID] "Proposals with a question and an answer.",
            signal(Signal::Valid), highlighted(&[StepLine, Comparison])
            => |of| mean(of.polled().map(|polled| share(polled.is_read)));
        share "majority_share" [MAJORITY] "Mean share of answers that agree with the majority.",
            highlighted(&[StepLine, Comparison, DiversityPage])
            => |of| mean(of.polled().filter_map(|polled| Some(f64::from(polled.vote?.share()))));
        share "in_band_share" [IN_BAND] "Questions with a vote within the band of the step's stage.",
            signal(Signal::InBand), highlighted(&[Learnability])
            => |of| {
                let votes = of.polled().filter_map(|polled| polled.vote);
                mean(votes.map(|vote| share(of.band.has(vote.count, vote.of))))
            };
        share "stated_majority_share" [AGREEMENT] "Questions whose stated answer is the majority's." => |of| {
            let voted = of.polled().filter(|polled| polled.vote.is_some());
            mean(voted.map(|polled| share(polled.agrees)))
        };
        share "stated_right_share" [RIGHT]
            "Stated answers that are right, of the questions that can be evaluated exactly.",
            highlighted(&[Comparison, DiversityPage])
            => |of| mean(of.polled().filter_map(|polled| polled.stated_right.map(share)));
        number "proposer_reward" [PROPOSER_REWARD] "Mean reward of a proposal.", highlighted(&[StepLine])
            => |of| mean(of.tally.proposer_rewards.iter().map(|reward| f64::from(*reward)));
        share "repetition" [REPEATED] "Mean share of a proposer's proposals in a proposal's cluster.",
            signal(Signal::Duplicates), highlighted(&[Learnability])
            => |of| mean(of.tally.repetition.iter().map(|share| f64::from(*share)));
        tokens "proposal_length" [PROPOSAL_LENGTH] "Mean length of a proposal."
            => |of| mean(of.polled().map(|polled| f64::from(polled.sample.tokens)));
        nats "proposer_entropy" [PROPOSER_ENTROPY] "Mean entropy of the unmasked model over its proposals.",
            highlighted(&[Comparison, DiversityPage])
            => |of| mean(of.polled().filter_map(|polled| polled.sample.entropy.map(f64::from)));
        nats "mask_mismatch" [MASK] "Mean log-probability of a proposal's tokens under the mask minus that without it."
            => |of| mean(of.polled().filter_map(|polled| polled.mask_mismatch.map(f64::from)));
    };
    let mut measures = of_side(Side::Proposes, measures);
    let of_run: Measures<'t> = table! {
        share "keep_rate" [KEEP_RATE] "Keep rate of the step's masks.", highlighted(&[DiversityPage])
            => |of| of.keep_rate.unwrap_or(f64::NAN);
        number "valid_questions" [CURRICULUM] "Valid questions of the curriculum.",
            highlighted(&[StepLine, Comparison, DiversityPage])
            => |of| of.tally.curriculum.map_or(f64::NAN, |[valid, _]| valid as f64);
        number "accepted_questions" [CURRICULUM] "Questions of the curriculum that solvers learn from.",
            highlighted(&[StepLine, DiversityPage])
            => |of| of.tally.curriculum.map_or(f64::NAN, |[_, accepted]| accepted as f64);
    };
    measures.extend(of_run);
    measures
}

charts! {
    chart SOLVER_REWARD SOLVING "Solver reward": "Mean reward of an answer.";
    chart SOLVER_ENTROPY LEARNING "Solver entropy": "Mean entropy of the model over its answers, in nats.";
}

fn solving_measures<'t>() -> Measures<'t> {
    let measures: Measures<'t> = table! {
        = pass_rate().highlighted(&[StepLine, Comparison]);
        = format_rate();
        number "solver_reward" [SOLVER_REWARD] "Mean reward of an answer." => mean_reward;
        = no_signal_share().highlighted(&[Learnability]);
        = response_length();
        nats "solver_entropy" [SOLVER_ENTROPY] "Mean entropy of the model over its answers." => mean_entropy;
    };
    of_side(Side::Solves, measures)
}

const DIVERSITY_CHARTS: ChartGroup = ChartGroup::new("Diversity", None);
charts! {
    parts SELF_BLEU DIVERSITY_CHARTS "Self-BLEU": "How much a question's wording occurs in the others, from 0 to 1.";
    parts VENDI DIVERSITY_CHARTS "Vendi score": "Effective number of different questions.";
    parts CUMULATIVE_VENDI DIVERSITY_CHARTS "Cumulative Vendi score":
        "Effective number of different questions in all iterations so far.";
    parts NOVELTY DIVERSITY_CHARTS "Novelty": "Share of the questions that are unlike any of earlier iterations.";
    parts EPIPLEXITY DIVERSITY_CHARTS "Epiplexity": "Structure that an observer learned of the questions, in bits.";
    parts EPIPLEXITY_PER_TOKEN DIVERSITY_CHARTS "Epiplexity per token": "The same divided by the tokens learned from.";
    parts VOCABULARY DIVERSITY_CHARTS "Unique tokens": "Different tokens in all questions.";
    parts NUMBERS DIVERSITY_CHARTS "Numbers": "Different numbers in all questions.";
    parts QUESTION_LENGTH DIVERSITY_CHARTS "Question length": "Means over the questions.";
}

fn diversity_measures<'t>() -> Measures<'t> {
    table! {
        number "self_bleu" [SELF_BLEU] "Mean BLEU of a question against the others.",
            highlighted(&[Comparison, DiversityPage]) => |of| of.diversity(|found| found.self_bleu);
        number "vendi" [VENDI] "Vendi score of the questions.", highlighted(&[StepLine, Comparison, DiversityPage])
            => |of| of.diversity(|found| Some(found.vendi));
        number "vendi_centred" [VENDI] "The same over centred embeddings.", highlighted(&[DiversityPage])
            => |of| of.diversity(|found| Some(found.vendi_centred));
        number "cumulative_vendi" [CUMULATIVE_VENDI] "Vendi score of the questions of all iterations so far.",
            highlighted(&[Comparison, DiversityPage]) => |of| of.diversity(|found| Some(found.cumulative_vendi));
        number "cumulative_vendi_centred" [CUMULATIVE_VENDI] "The same over centred embeddings.",
            highlighted(&[DiversityPage]) => |of| of.diversity(|found| Some(found.cumulative_vendi_centred));
        share "novelty" [NOVELTY] "Questions unlike any earlier one.", highlighted(&[Comparison, DiversityPage])
            => |of| of.diversity(|found| found.novelty);
        share "novelty_centred" [NOVELTY] "The same over centred embeddings.", highlighted(&[DiversityPage])
            => |of| of.diversity(|found| found.novelty_centred);
        number "unique_tokens" [VOCABULARY] "Different tokens in all questions.",
            highlighted(&[Comparison, DiversityPage]) => |of| of.diversity(|found| Some(found.unique_tokens as f64));
        number "unique_numbers" [NUMBERS] "Different numbers in all questions.", highlighted(&[DiversityPage])
            => |of| of.diversity(|found| Some(found.unique_numbers as f64));
        number "question_numbers" [QUESTION_LENGTH] "Mean different numbers in a question.",
            highlighted(&[DiversityPage]) => |of| of.diversity(|found| Some(found.numbers));
        number "question_words" [QUESTION_LENGTH] "Mean words of a question.", highlighted(&[DiversityPage])
            => |of| of.diversity(|found| Some(found.words));
        number "question_tokens" [QUESTION_LENGTH] "Mean tokens of a question.", highlighted(&[DiversityPage])
            => |of| of.diversity(|found| Some(found.tokens));
    }
}

fn epiplexity<'t>() -> Measures<'t> {
    table! {
        new("bits") "epiplexity" [EPIPLEXITY] "What an observer learned of all questions.",
            highlighted(&[Comparison, DiversityPage]) => |of| of.diversity(|found| Some(found.epiplexity?.bits));
        new("bits") "epiplexity_per_token" [EPIPLEXITY_PER_TOKEN] "The same per token.", highlighted(&[DiversityPage])
            => |of| of.diversity(|found| Some(found.epiplexity?.per_token));
    }
}
