//! Metrics of how much the questions of a curriculum differ.

use super::Measures;
use crate::contract::{
    Chart, ChartGroup,
    Highlight::{Comparison, Diversity as DiversityPage, StepLine},
    Metric,
    metric::parts,
};

const DIVERSITY: ChartGroup = ChartGroup::new("Diversity", None);
const SELF_BLEU: Chart =
    parts(&DIVERSITY, "Self-BLEU").about("How much a question's wording occurs in the others, from 0 to 1.");
const VENDI: Chart = parts(&DIVERSITY, "Vendi score").about("Effective number of different questions.");
const CUMULATIVE_VENDI: Chart = parts(&DIVERSITY, "Cumulative Vendi score")
    .about("Effective number of different questions in all iterations so far.");
const NOVELTY: Chart =
    parts(&DIVERSITY, "Novelty").about("Share of the questions that are unlike any of earlier iterations.");
const EPIPLEXITY: Chart =
    parts(&DIVERSITY, "Epiplexity").about("Structure that an observer learned of the questions, in bits.");
const EPIPLEXITY_PER_TOKEN: Chart =
    parts(&DIVERSITY, "Epiplexity per token").about("The same divided by the tokens learned from.");
const VOCABULARY: Chart = parts(&DIVERSITY, "Unique tokens").about("Different tokens in all questions.");
const NUMBERS: Chart = parts(&DIVERSITY, "Numbers").about("Different numbers in all questions.");
const QUESTION_LENGTH: Chart = parts(&DIVERSITY, "Question length").about("Means over the questions.");

pub(super) fn measures<'t>() -> Measures<'t> {
    vec![
        Metric::number("self_bleu", &[&SELF_BLEU])
            .summary("Mean BLEU of a question against the others.")
            .highlighted(&[Comparison, DiversityPage])
            .of(|of| of.diversity(|found| found.self_bleu)),
        Metric::number("vendi", &[&VENDI])
            .summary("Vendi score of the questions.")
            .highlighted(&[StepLine, Comparison, DiversityPage])
            .of(|of| of.diversity(|found| Some(found.vendi))),
        Metric::number("vendi_centred", &[&VENDI])
            .summary("The same over centred embeddings.")
            .highlighted(&[DiversityPage])
            .of(|of| of.diversity(|found| Some(found.vendi_centred))),
        Metric::number("cumulative_vendi", &[&CUMULATIVE_VENDI])
            .summary("Vendi score of the questions of all iterations so far.")
            .highlighted(&[Comparison, DiversityPage])
            .of(|of| of.diversity(|found| Some(found.cumulative_vendi))),
        Metric::number("cumulative_vendi_centred", &[&CUMULATIVE_VENDI])
            .summary("The same over centred embeddings.")
            .highlighted(&[DiversityPage])
            .of(|of| of.diversity(|found| Some(found.cumulative_vendi_centred))),
        Metric::share("novelty", &[&NOVELTY])
            .summary("Questions unlike any earlier one.")
            .highlighted(&[Comparison, DiversityPage])
            .of(|of| of.diversity(|found| found.novelty)),
        Metric::share("novelty_centred", &[&NOVELTY])
            .summary("The same over centred embeddings.")
            .highlighted(&[DiversityPage])
            .of(|of| of.diversity(|found| found.novelty_centred)),
        Metric::number("unique_tokens", &[&VOCABULARY])
            .summary("Different tokens in all questions.")
            .highlighted(&[Comparison, DiversityPage])
            .of(|of| of.diversity(|found| Some(found.unique_tokens as f64))),
        Metric::number("unique_numbers", &[&NUMBERS])
            .summary("Different numbers in all questions.")
            .highlighted(&[DiversityPage])
            .of(|of| of.diversity(|found| Some(found.unique_numbers as f64))),
        Metric::number("question_numbers", &[&QUESTION_LENGTH])
            .summary("Mean different numbers in a question.")
            .highlighted(&[DiversityPage])
            .of(|of| of.diversity(|found| Some(found.numbers))),
        Metric::number("question_words", &[&QUESTION_LENGTH])
            .summary("Mean words of a question.")
            .highlighted(&[DiversityPage])
            .of(|of| of.diversity(|found| Some(found.words))),
        Metric::number("question_tokens", &[&QUESTION_LENGTH])
            .summary("Mean tokens of a question.")
            .highlighted(&[DiversityPage])
            .of(|of| of.diversity(|found| Some(found.tokens))),
    ]
}

pub(super) fn epiplexity<'t>() -> Measures<'t> {
    vec![
        Metric::new("epiplexity", "bits", &[&EPIPLEXITY])
            .summary("What an observer learned of all questions.")
            .highlighted(&[Comparison, DiversityPage])
            .of(|of| of.diversity(|found| Some(found.epiplexity?.bits))),
        Metric::new("epiplexity_per_token", "bits", &[&EPIPLEXITY_PER_TOKEN])
            .summary("The same per token.")
            .highlighted(&[DiversityPage])
            .of(|of| of.diversity(|found| Some(found.epiplexity?.per_token))),
    ]
}
