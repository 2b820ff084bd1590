//! Metrics of lemmas and lifts.

use super::Scope;
use crate::recipe::{
    Chart,
    Highlight::{Comparison, Learnability, StepLine},
    PROPOSING, Side,
    gasp::{
        candidate::{Candidate, Fate},
        memory::Stone,
        round::Posed,
    },
    metric::{Measure, chart, highlighted, mean, measure, of_side, parts, share},
};

const ACCEPTED: Chart = parts(&PROPOSING, "Accepted", "Lemmas and lifts accepted in a stage.");
const SHORTFALL: Chart = parts(
    &PROPOSING,
    "Shortfall",
    "How many lemmas and lifts were missing when the rounds of a stage were spent; 0 if there were enough.",
);
const ROUNDS: Chart = parts(&PROPOSING, "Rounds", "Rounds of candidates in a stage.");
const SOLVE_RATE: Chart = parts(
    &PROPOSING,
    "Pass rate of candidates",
    "Mean share of the student's trials that solve a candidate, of those that were attempted.",
);
const REWARD: Chart = parts(&PROPOSING, "Teacher reward", "Mean reward of a candidate.");
const DISSIMILARITY: Chart = parts(
    &PROPOSING,
    "Buffer dissimilarity",
    "Mean dissimilarity of accepted lemmas and lifts to those of earlier iterations (Figure 10). It falls when the teacher \
     repeats itself.",
);
const VALID: Chart = chart(
    &PROPOSING,
    "Valid candidates",
    "Share of the candidates that pass the verifier.",
);
const DUPLICATES: Chart = chart(
    &PROPOSING,
    "Duplicates",
    "Share of the valid candidates that were rejected as too similar to others.",
);
const IN_BAND: Chart = chart(
    &PROPOSING,
    "In band",
    "Share of the attempted candidates whose pass rate is within the band.",
);
const SIMILARITY: Chart = chart(
    &PROPOSING,
    "Similarity",
    "Mean of the highest cosine similarity of a valid candidate to another one.",
);
const LENGTH: Chart = chart(&PROPOSING, "Proposal length", "Mean tokens of a candidate.");
const BUFFER: Chart = parts(&PROPOSING, "Global buffers", "Lemmas and lifts accepted so far.");

pub(super) fn measures<'t>() -> Vec<Measure<Scope<'t>>> {
    let by_stone = by_stone().into_iter().chain(of_both());
    let sided = by_stone.map(|measure| of_side(Side::Proposes, measure));
    let of_run: Measure<Scope<'t>> = measure(
        "buffer_size",
        "",
        "Lemmas and lifts accepted so far.",
        &[&BUFFER],
        |of| of.buffer_size,
    );
    sided.chain([of_run]).collect()
}

fn by_stone<'t>() -> Vec<Measure<Scope<'t>>> {
    vec![
        highlighted(
            &[StepLine, Comparison],
            measure("lemma_accepted", "", "Lemmas accepted.", &[&ACCEPTED], |of| {
                of.of_stone(Stone::Lemma, accepted)
            }),
        ),
        highlighted(
            &[StepLine, Comparison],
            measure("lift_accepted", "", "Lifts accepted.", &[&ACCEPTED], |of| {
                of.of_stone(Stone::Lift, accepted)
            }),
        ),
        highlighted(
            &[Learnability],
            measure(
                "lemma_shortfall",
                "",
                "Lemmas missing to the target when all rounds were spent.",
                &[&SHORTFALL],
                |of| of.of_stone(Stone::Lemma, shortfall),
            ),
        ),
        highlighted(
            &[Learnability],
            measure(
                "lift_shortfall",
                "",
                "Lifts missing to the target when all rounds were spent.",
                &[&SHORTFALL],
                |of| of.of_stone(Stone::Lift, shortfall),
            ),
        ),
        measure("lemma_rounds", "", "Rounds of lemmas.", &[&ROUNDS], |of| {
            of.of_stone(Stone::Lemma, rounds)
        }),
        measure("lift_rounds", "", "Rounds of lifts.", &[&ROUNDS], |of| {
            of.of_stone(Stone::Lift, rounds)
        }),
        measure(
            "lemma_solve_rate",
            "share",
            "Mean pass rate of lemmas that were attempted.",
            &[&SOLVE_RATE],
            |of| of.of_stone(Stone::Lemma, solve_rate),
        ),
        measure(
            "lift_solve_rate",
            "share",
            "Mean pass rate of lifts that were attempted.",
            &[&SOLVE_RATE],
            |of| of.of_stone(Stone::Lift, solve_rate),
        ),
        highlighted(
            &[StepLine],
            measure("lemma_reward", "", "Mean reward of a lemma.", &[&REWARD], |of| {
                of.of_stone(Stone::Lemma, reward)
            }),
        ),
        highlighted(
            &[StepLine],
            measure("lift_reward", "", "Mean reward of a lift.", &[&REWARD], |of| {
                of.of_stone(Stone::Lift, reward)
            }),
        ),
        highlighted(
            &[Comparison],
            measure(
                "lemma_dissimilarity",
                "",
                "Mean dissimilarity of accepted lemmas to those of earlier iterations.",
                &[&DISSIMILARITY],
                |of| of.of_stone(Stone::Lemma, dissimilarity),
            ),
        ),
        highlighted(
            &[Comparison],
            measure(
                "lift_dissimilarity",
                "",
                "Mean dissimilarity of accepted lifts to those of earlier iterations.",
                &[&DISSIMILARITY],
                |of| of.of_stone(Stone::Lift, dissimilarity),
            ),
        ),
    ]
}

fn of_both<'t>() -> Vec<Measure<Scope<'t>>> {
    vec![
        highlighted(
            &[StepLine],
            measure(
                "valid_share",
                "share",
                "Candidates that pass the verifier.",
                &[&VALID],
                |of| mean(of.candidates().map(|one| share(one.fate != Fate::Invalid))),
            ),
        ),
        highlighted(
            &[Learnability],
            measure(
                "duplicate_share",
                "share",
                "Valid candidates that were rejected as too similar to others.",
                &[&DUPLICATES],
                |of| {
                    let valid = of.candidates().filter(|one| one.fate != Fate::Invalid);
                    mean(valid.map(|one| share(one.fate == Fate::Duplicate)))
                },
            ),
        ),
        highlighted(
            &[StepLine, Learnability],
            measure(
                "in_band_share",
                "share",
                "Attempted candidates whose pass rate is within the band.",
                &[&IN_BAND],
                |of| {
                    let attempted = of.candidates().filter(|one| one.solved.is_some());
                    mean(attempted.map(|one| share(one.fate == Fate::InBand)))
                },
            ),
        ),
        measure(
            "nearest_similarity",
            "",
            "Mean of the highest cosine similarity of a valid candidate to another one.",
            &[&SIMILARITY],
            |of| mean(of.candidates().filter_map(|one| one.similarity).map(f64::from)),
        ),
        measure(
            "proposal_length",
            "tokens",
            "Mean length of a candidate.",
            &[&LENGTH],
            |of| mean(of.candidates().map(|one| f64::from(one.sample.tokens))),
        ),
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
