//! Metrics of lemmas and lifts.

use super::{Measures, Scope};
use crate::{
    contract::{
        Chart,
        Highlight::{Comparison, Learnability, StepLine},
        Metric, PROPOSING, Side,
        metric::{chart, mean, of_side, parts, share},
    },
    recipes::gasp::{
        candidate::{Candidate, Fate},
        memory::Stone,
        round::Posed,
    },
    verdict::Signal,
};

const ACCEPTED: Chart = parts(&PROPOSING, "Accepted").about("Lemmas and lifts accepted in a stage.");
const SHORTFALL: Chart = parts(&PROPOSING, "Shortfall")
    .about("How many lemmas and lifts were missing when the rounds of a stage were spent; 0 if there were enough.");
const ROUNDS: Chart = parts(&PROPOSING, "Rounds").about("Rounds of candidates in a stage.");
const SOLVE_RATE: Chart = parts(&PROPOSING, "Pass rate of candidates")
    .about("Mean share of the student's trials that solve a candidate, of those that were attempted.");
const REWARD: Chart = parts(&PROPOSING, "Teacher reward").about("Mean reward of a candidate.");
const DISSIMILARITY: Chart = parts(&PROPOSING, "Buffer dissimilarity").about(
    "Mean dissimilarity of accepted lemmas and lifts to those of earlier iterations (Figure 10). It falls when the teacher \
     repeats itself.",
);
const VALID: Chart = chart(&PROPOSING, "Valid candidates").about("Share of the candidates that pass the verifier.");
const DUPLICATES: Chart =
    chart(&PROPOSING, "Duplicates").about("Share of the valid candidates that were rejected as too similar to others.");
const IN_BAND: Chart =
    chart(&PROPOSING, "In band").about("Share of the attempted candidates whose pass rate is within the band.");
const SIMILARITY: Chart =
    chart(&PROPOSING, "Similarity").about("Mean of the highest cosine similarity of a valid candidate to another one.");
const LENGTH: Chart = chart(&PROPOSING, "Proposal length").about("Mean tokens of a candidate.");
const BUFFER: Chart = parts(&PROPOSING, "Global buffers").about("Lemmas and lifts accepted so far.");

pub(super) fn measures<'t>() -> Measures<'t> {
    let mut measures = by_stone();
    measures.extend(of_both());
    let mut measures = of_side(Side::Proposes, measures);
    let of_run: Measures<'t> = vec![
        Metric::number("buffer_size", &[&BUFFER])
            .summary("Lemmas and lifts accepted so far.")
            .of(|of| of.buffer_size),
    ];
    measures.extend(of_run);
    measures
}

fn by_stone<'t>() -> Measures<'t> {
    vec![
        Metric::number("lemma_accepted", &[&ACCEPTED])
            .summary("Lemmas accepted.")
            .highlighted(&[StepLine, Comparison])
            .of(|of| of.of_stone(Stone::Lemma, accepted)),
        Metric::number("lift_accepted", &[&ACCEPTED])
            .summary("Lifts accepted.")
            .highlighted(&[StepLine, Comparison])
            .of(|of| of.of_stone(Stone::Lift, accepted)),
        Metric::number("lemma_shortfall", &[&SHORTFALL])
            .summary("Lemmas missing to the target when all rounds were spent.")
            .highlighted(&[Learnability])
            .of(|of| of.of_stone(Stone::Lemma, shortfall)),
        Metric::number("lift_shortfall", &[&SHORTFALL])
            .summary("Lifts missing to the target when all rounds were spent.")
            .highlighted(&[Learnability])
            .of(|of| of.of_stone(Stone::Lift, shortfall)),
        Metric::number("lemma_rounds", &[&ROUNDS])
            .summary("Rounds of lemmas.")
            .of(|of| of.of_stone(Stone::Lemma, rounds)),
        Metric::number("lift_rounds", &[&ROUNDS])
            .summary("Rounds of lifts.")
            .of(|of| of.of_stone(Stone::Lift, rounds)),
        Metric::share("lemma_solve_rate", &[&SOLVE_RATE])
            .summary("Mean pass rate of lemmas that were attempted.")
            .of(|of| of.of_stone(Stone::Lemma, solve_rate)),
        Metric::share("lift_solve_rate", &[&SOLVE_RATE])
            .summary("Mean pass rate of lifts that were attempted.")
            .signal(Signal::Solved)
            .of(|of| of.of_stone(Stone::Lift, solve_rate)),
        Metric::number("lemma_reward", &[&REWARD])
            .summary("Mean reward of a lemma.")
            .highlighted(&[StepLine])
            .of(|of| of.of_stone(Stone::Lemma, reward)),
        Metric::number("lift_reward", &[&REWARD])
            .summary("Mean reward of a lift.")
            .highlighted(&[StepLine])
            .of(|of| of.of_stone(Stone::Lift, reward)),
        Metric::number("lemma_dissimilarity", &[&DISSIMILARITY])
            .summary("Mean dissimilarity of accepted lemmas to those of earlier iterations.")
            .highlighted(&[Comparison])
            .of(|of| of.of_stone(Stone::Lemma, dissimilarity)),
        Metric::number("lift_dissimilarity", &[&DISSIMILARITY])
            .summary("Mean dissimilarity of accepted lifts to those of earlier iterations.")
            .highlighted(&[Comparison])
            .of(|of| of.of_stone(Stone::Lift, dissimilarity)),
    ]
}

fn of_both<'t>() -> Measures<'t> {
    vec![
        Metric::share("valid_share", &[&VALID])
            .summary("Candidates that pass the verifier.")
            .signal(Signal::Valid)
            .highlighted(&[StepLine])
            .of(|of| mean(of.candidates().map(|one| share(one.fate != Fate::Invalid)))),
        Metric::share("duplicate_share", &[&DUPLICATES])
            .summary("Valid candidates that were rejected as too similar to others.")
            .signal(Signal::Duplicates)
            .highlighted(&[Learnability])
            .of(|of| {
                let valid = of.candidates().filter(|one| one.fate != Fate::Invalid);
                mean(valid.map(|one| share(one.fate == Fate::Duplicate)))
            }),
        Metric::share("in_band_share", &[&IN_BAND])
            .summary("Attempted candidates whose pass rate is within the band.")
            .signal(Signal::InBand)
            .highlighted(&[StepLine, Learnability])
            .of(|of| {
                let attempted = of.candidates().filter(|one| one.solved.is_some());
                mean(attempted.map(|one| share(one.fate == Fate::InBand)))
            }),
        Metric::number("nearest_similarity", &[&SIMILARITY])
            .summary("Mean of the highest cosine similarity of a valid candidate to another one.")
            .of(|of| mean(of.candidates().filter_map(|one| one.similarity).map(f64::from))),
        Metric::tokens("proposal_length", &[&LENGTH])
            .summary("Mean length of a candidate.")
            .of(|of| mean(of.candidates().map(|one| f64::from(one.sample.tokens)))),
    ]
}

impl Scope<'_> {
    fn candidates(&self) -> impl Iterator<Item = &Candidate> {
        self.posed().into_iter().flat_map(|(_, posed)| &posed.candidates)
    }
}

fn accepted(_: &Scope<'_>, posed: &Posed) -> f64 {
    posed.accepted().count() as f64
}

fn shortfall(of: &Scope<'_>, posed: &Posed) -> f64 {
    f64::from(of.target) - accepted(of, posed)
}

fn rounds(_: &Scope<'_>, posed: &Posed) -> f64 {
    f64::from(posed.rounds)
}

fn solve_rate(_: &Scope<'_>, posed: &Posed) -> f64 {
    let solved = posed.candidates.iter().filter_map(|one| one.solved);
    mean(solved.map(|solved| f64::from(solved.rate())))
}

fn reward(_: &Scope<'_>, posed: &Posed) -> f64 {
    mean(posed.candidates.iter().map(|one| f64::from(one.reward)))
}

fn dissimilarity(_: &Scope<'_>, posed: &Posed) -> f64 {
    mean(posed.accepted().filter_map(|one| one.dissimilarity))
}
