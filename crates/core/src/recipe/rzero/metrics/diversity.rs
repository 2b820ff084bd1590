//! Metrics of how much the questions of a curriculum differ.

use super::{DiversityPage, Scope};
use crate::recipe::{
    Chart, ChartGroup,
    Highlight::{Comparison, StepLine},
    metric::{Measure, highlighted, measure, parts},
};

const DIVERSITY: ChartGroup = ChartGroup {
    title: "Diversity",
    side: None,
};
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
const EPIPLEXITY: Chart = parts(
    &DIVERSITY,
    "Epiplexity",
    "Structure that an observer learned of the questions, in bits.",
);
const EPIPLEXITY_PER_TOKEN: Chart = parts(
    &DIVERSITY,
    "Epiplexity per token",
    "The same divided by the tokens learned from.",
);
const VOCABULARY: Chart = parts(&DIVERSITY, "Unique tokens", "Different tokens in all questions.");
const NUMBERS: Chart = parts(&DIVERSITY, "Numbers", "Different numbers in all questions.");
const QUESTION_LENGTH: Chart = parts(&DIVERSITY, "Question length", "Means over the questions.");

pub(super) fn measures<'t>() -> Vec<Measure<Scope<'t>>> {
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

pub(super) fn epiplexity<'t>() -> Vec<Measure<Scope<'t>>> {
    vec![
        highlighted(
            &[Comparison, DiversityPage],
            measure(
                "epiplexity",
                "bits",
                "What an observer learned of all questions.",
                &[&EPIPLEXITY],
                |of| of.diversity(|found| Some(found.epiplexity?.bits)),
            ),
        ),
        highlighted(
            &[DiversityPage],
            measure(
                "epiplexity_per_token",
                "bits",
                "The same per token.",
                &[&EPIPLEXITY_PER_TOKEN],
                |of| of.diversity(|found| Some(found.epiplexity?.per_token)),
            ),
        ),
    ]
}
