//! The model card.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use super::Arithmetic;
use crate::command::pretrain::card::{percent, size, trained};
use crate::command::pretrain::config::PretrainConfig;
use crate::command::pretrain::figures::OwnProblems;
use crate::command::pretrain::training::Totals;

/// Writes `README.md` into a model folder.
pub(in super::super) fn write(
    config: &PretrainConfig<Arithmetic>,
    evaluation: &Evaluation,
    folder: &Path,
) -> anyhow::Result<()> {
    let path = folder.join("README.md");
    std::fs::write(&path, text(config, evaluation)?).with_context(|| path.display().to_string())
}

fn text(config: &PretrainConfig<Arithmetic>, evaluation: &Evaluation) -> Result<String, std::fmt::Error> {
    let mut card = String::from(
        "---\nlicense: apache-2.0\nlibrary_name: transformers\npipeline_tag: text-generation\ntags: [math, self-play]\n\
         ---\n\n# Seedling for mathematics\n\nA small base model (Qwen2 architecture) that proposes and answers arithmetic \
         questions in plain English, plans them, and scores questions and plans: a start for R-Zero, SAGE and RLVR. It \
         knows the format of `configs/prompts/seedling-math` and nothing else: it cannot follow instructions. It has not \
         mastered arithmetic on purpose, so that there is something to learn.\n\nWith `transformers`, load the tokenizer as \
         `PreTrainedTokenizerFast`: `AutoTokenizer` of version 5 gives every Qwen2 model the pre-tokenizer of Qwen2, \
         whatever its files say.\n\n## What made it\n\n",
    );
    writeln!(card, "Nothing but generated questions: no text from elsewhere is in it.\n")?;
    size(&mut card, &config.model, evaluation.parameters)?;
    writeln!(
        card,
        "- One expression in {} is held out, in all its wordings. (Steps of other questions may contain it.)",
        config.corpus.hold_out_one_in
    )?;
    trained(&mut card, config, evaluation.training.as_ref())?;
    writeln!(
        card,
        "- A critic's scores were learned from exact labels (sound 8 to 10, ambiguous or incomplete 4 to 7, wrong or malformed \
         1 to 3; {} drawn at random): its judgement comes from pretraining.\n",
        percent(config.samples.score_noise)
    )?;
    writeln!(
        card,
        "## What it can do\n\nMeasured with `lyceum-workshop pretrain --config FILE --evaluate DIR`; all figures are in \
         `evaluation.json`.\n"
    )?;
    held_out(&mut card, config, &evaluation.held_out)?;
    proposals(&mut card, evaluation)?;
    roles(&mut card, evaluation)?;
    shortfalls(&mut card, evaluation)?;
    Ok(card)
}

fn held_out(card: &mut String, config: &PretrainConfig<Arithmetic>, bands: &[Band]) -> std::fmt::Result {
    let samples = config.evaluation.samples;
    writeln!(
        card,
        "### Held-out questions\n\nGreedy answers, and {samples} to each question at temperature 1; \"with steps\" are those that \
         work in steps before they answer. Greedy accuracy should be 30 to 75 % at level 1 and below 20 % at level 5.\n\n\
         | level | questions | greedy | greedy with steps | pass@1 | pass@{samples} | with steps | of those right | of the others \
         right | in the format | tokens |\n|---|---|---|---|---|---|---|---|---|---|---|"
    )?;
    for band in bands {
        writeln!(
            card,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {:.1} |",
            band.level,
            band.questions,
            percent(band.greedy),
            percent(band.greedy_steps),
            percent(band.sampled),
            percent(band.any),
            percent(band.steps),
            percent(band.steps_right),
            percent(band.direct_right),
            percent(band.well_formed),
            band.tokens
        )?;
    }
    writeln!(card)
}

fn proposals(card: &mut String, evaluation: &Evaluation) -> std::fmt::Result {
    writeln!(
        card,
        "### Proposals\n\nAt temperature 1. \"Understood\" are questions that `lyceum_core::arithmetic` can read.\n\n\
         | prompt | asked | in the format | understood (80 %) | stated answer right | distinct (80 %) | operations |\n\
         |---|---|---|---|---|---|---|"
    )?;
    for (name, row) in [("propose", &evaluation.proposals), ("challenge", &evaluation.challenges)] {
        writeln!(
            card,
            "| {name} | {} | {} | {} | {} | {} | {:.1} |",
            row.asked,
            percent(row.well_formed),
            percent(row.understood),
            percent(row.right),
            percent(row.distinct),
            row.operations
        )?;
    }
    let (own, votes) = (&evaluation.own, &evaluation.votes);
    writeln!(
        card,
        "\nIts answers to the {} proposed questions that are understood, {} to each: {} right; never right {}, sometimes {}, \
         always {}. The most frequent answer has {} of the answers on average, from 30 to 70 % for {} of the questions; it is \
         right for {} and the stated one for {}.\n",
        own.problems,
        own.samples,
        percent(own.passed),
        percent(own.never),
        percent(own.sometimes),
        percent(own.always),
        percent(votes.agreement),
        percent(votes.in_band),
        percent(votes.right),
        percent(votes.as_stated)
    )
}

fn roles(card: &mut String, evaluation: &Evaluation) -> std::fmt::Result {
    let plans = &evaluation.plans;
    writeln!(
        card,
        "### Plans and scores\n\nGreedy plans for {} held-out questions: {} in the format, {} right. Greedy answers: {} right \
         without a plan, {} with the true plan.\n\n\
         | critic of | asked | in the format | AUC | mean score: bad | doubtful | sound |\n|---|---|---|---|---|---|---|",
        plans.asked,
        percent(plans.well_formed),
        percent(plans.right),
        percent(plans.solved_without),
        percent(plans.solved_with_plan)
    )?;
    for (name, critic) in [("questions", &evaluation.question_critic), ("plans", &evaluation.plan_critic)] {
        let Critic { asked, well_formed, auc, means } = critic;
        let [bad, doubtful, sound] = means;
        writeln!(
            card,
            "| {name} | {asked} | {} | {auc:.2} | {bad:.1} | {doubtful:.1} | {sound:.1} |",
            percent(*well_formed)
        )?;
    }
    writeln!(card)
}

/// Every figure that misses its target.
fn shortfalls(card: &mut String, evaluation: &Evaluation) -> std::fmt::Result {
    let mut short = Vec::new();
    if let Some(lowest) = evaluation.held_out.first().filter(|band| !(0.3..=0.75).contains(&band.greedy)) {
        short.push(format!("held-out, level 1: {} right", percent(lowest.greedy)));
    }
    if let Some(highest) = evaluation.held_out.last().filter(|band| band.greedy >= 0.2) {
        short.push(format!("held-out, level 5: {} right", percent(highest.greedy)));
    }
    for band in evaluation.held_out.iter().filter(|band| band.steps_right < band.direct_right) {
        short.push(format!("held-out, level {}: steps do not help", band.level));
    }
    let mut proposals = |name: &str, row: &Proposals| {
        for (what, share) in [("understood", row.understood), ("distinct", row.distinct)] {
            if share < 0.8 {
                short.push(format!("{name}: {} {what}", percent(share)));
            }
        }
    };
    proposals("propose", &evaluation.proposals);
    proposals("challenge", &evaluation.challenges);
    writeln!(card, "### What falls short\n")?;
    if short.is_empty() {
        return writeln!(card, "Nothing of the above.");
    }
    short.iter().try_for_each(|line| writeln!(card, "- {line}"))
}

/// The whole report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(in super::super) struct Evaluation {
    /// The cost of training the model.
    pub(super) training: Option<Totals>,
    /// Total number of weights.
    pub(super) parameters: usize,
    /// Questions proposed without a reference (R-Zero).
    pub(super) proposals: Proposals,
    /// Questions proposed like one that is shown (SAGE).
    pub(super) challenges: Proposals,
    /// Answers to the model's own proposals that are understood.
    pub(super) own: OwnProblems,
    /// Shares of those questions.
    pub(super) votes: Votes,
    /// Answers to held-out questions, by level.
    pub(super) held_out: Vec<Band>,
    /// Plans for held-out questions.
    pub(super) plans: Plans,
    /// Scores of questions with their answers.
    pub(super) question_critic: Critic,
    /// Scores of plans.
    pub(super) plan_critic: Critic,
}

/// Proposed questions with their stated answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Proposals {
    pub(super) asked: usize,
    /// Share with the right format.
    pub(super) well_formed: f64,
    /// Share that the evaluator understands.
    pub(super) understood: f64,
    /// Share of those whose stated answer is right.
    pub(super) right: f64,
    /// Share of those that differ from all others as text.
    pub(super) distinct: f64,
    /// Mean number of their operations.
    pub(super) operations: f64,
}

/// Majority votes on the model's own questions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Votes {
    /// Mean share of the most frequent answer among all answers.
    pub(super) agreement: f64,
    /// Share of questions whose most frequent answer is from 30 to 70 % of all answers: R-Zero's band.
    pub(super) in_band: f64,
    /// Share of questions whose most frequent answer is right.
    pub(super) right: f64,
    /// Share of questions whose most frequent answer is the stated one.
    pub(super) as_stated: f64,
}

/// Answers to the held-out questions of one level.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(in super::super) struct Band {
    pub(super) level: u8,
    pub(super) questions: usize,
    /// Share of greedy answers that are right.
    pub(super) greedy: f64,
    /// Share of greedy answers with steps.
    pub(super) greedy_steps: f64,
    /// Share of answers at temperature 1 that are right.
    pub(super) sampled: f64,
    /// Share of questions with a right answer among those sampled.
    pub(super) any: f64,
    /// Share of sampled answers with steps.
    pub(super) steps: f64,
    /// Share of those that are right.
    pub(super) steps_right: f64,
    /// Share of the other sampled answers that are right.
    pub(super) direct_right: f64,
    /// Share of sampled answers with the right format.
    pub(super) well_formed: f64,
    /// Mean number of tokens of a sampled answer.
    pub(super) tokens: f64,
}

/// Greedy plans for held-out questions of all levels, and greedy answers with their help.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Plans {
    pub(super) asked: usize,
    pub(super) well_formed: f64,
    /// Share whose value is that of the question.
    pub(super) right: f64,
    /// Share of right answers with the true plan.
    pub(super) solved_with_plan: f64,
    /// Share of right answers without a plan.
    pub(super) solved_without: f64,
}

/// Scores at temperature 1 of sound and unsound questions or plans.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Critic {
    pub(super) asked: usize,
    /// Share of completions with a number from 1 to 10.
    pub(super) well_formed: f64,
    /// Chance that a sound one has a higher score than an unsound one; ties count half (the area under the ROC curve).
    pub(super) auc: f64,
    /// Mean scores of bad, doubtful and sound ones.
    pub(super) means: [f64; 3],
}
