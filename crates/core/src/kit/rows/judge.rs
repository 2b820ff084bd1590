//! A model as judge: the base, or frozen weights, asked to score answers to rows.

use minijinja::context;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Question, Rows};
use crate::benchmark::BenchmarkRow;
use crate::config::Ancestor;
use crate::contract::gates::number;
use crate::contract::{CostClass, Phase, PlanError};
use crate::fault::Fault;
use crate::kit::judge::prompt_error;
use crate::kit::{Draft, Progress, completions, sampling_faults};
use crate::prompt::{Field, PromptConfig, PromptSet, Template, Variable};
use crate::work::{Completion, Prompt, RolloutPayload, RolloutRequest, RolloutResult, Sampling, WorkKey};

pub(crate) const JUDGE: Phase = Phase::new("judge", CostClass::Grade);

/// The part of a reward that a judge gives.
pub(super) const PART: &str = "judge";

const TEMPLATE: Template = Template {
    name: "judge",
    doc: "Asks a judge for the score of an answer. `reference` is the row's own answer, empty if it has none.",
    variables: &[
        Variable::text("question", "What is 1 + 1?"),
        Variable::text("answer", "It is 2."),
        Variable::text("reference", "2"),
    ],
};

const FIELDS: [Field; 1] = [Field::first("score")];

/// A model that scores answers: the base of the members, or weights that do not learn. Its score is the part `judge` of the
/// reward, and does not decide whether an answer is correct. Held-out rows have none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct JudgeConfig {
    /// The judge's weights: a version of a member, or an imported adapter, of the same base and any rank. Left out, the base
    /// judges. They never change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Ancestor>,
    /// How the judge is asked and its number read. The template is called `judge`, and shows `question`, `answer` (the whole
    /// completion) and `reference` (the row's own answer; empty if it has none). The shipped set `judge` is for models that follow
    /// instructions, and wants `<score>8</score>`.
    pub prompts: PromptConfig,
    /// How the judge is sampled, once for each answer; by default greedily.
    pub sampling: Sampling,
    /// The number that counts as 0.
    pub lowest: f64,
    /// The number that counts as 1. Numbers between the two are scores between 0 and 1. A number outside, or none, scores 0,
    /// and the attempt says so.
    pub highest: f64,
}

impl Default for JudgeConfig {
    fn default() -> Self {
        Self {
            from: None,
            prompts: PromptConfig { set: TEMPLATE.name.to_owned(), ..PromptConfig::default() },
            sampling: Sampling { temperature: 0.0, ..Sampling::default() },
            lowest: 1.0,
            highest: 10.0,
        }
    }
}

fn reads(prompts: &PromptSet, _: &str, answer: &str) -> Result<(), String> {
    prompts.reads(&FIELDS, answer)
}

/// A judge's score, from 0 to 1, or why there is none.
pub(super) type Score = Result<f64, String>;

impl JudgeConfig {
    /// Fills in the templates, and returns the faults; `at` is the pointer of this config.
    pub(super) fn resolve(&mut self, at: &str) -> Vec<Fault> {
        let from = self.from.as_ref();
        let mut faults: Vec<Fault> = from.and_then(|from| from.fault(&format!("{at}/from"))).into_iter().collect();
        match self.prompts.clone().resolve_for(&format!("{at}/prompts"), &[TEMPLATE], |_| true, &reads) {
            Ok(prompts) => self.prompts = prompts,
            Err(found) => faults.extend(found),
        }
        // One completion a prompt, so greedy ones are fine.
        let warm = Sampling {
            temperature: if self.sampling.temperature == 0.0 { 1.0 } else { self.sampling.temperature },
            ..self.sampling.clone()
        };
        faults.extend(sampling_faults(&format!("{at}/sampling"), &warm, false));
        let (lowest, highest) = (self.lowest, self.highest);
        if !(lowest < highest && (highest - lowest).is_finite()) {
            let detail = format!("{highest}: a number above `lowest`, {lowest}, is valid");
            faults.push(Fault::new(format!("{at}/highest"), detail));
        }
        faults
    }

    /// The prompt, or why there is none: what a template makes of an answer is not known before it is there.
    fn prompt(prompts: &PromptSet, row: &BenchmarkRow, answer: &Completion) -> Result<Prompt, String> {
        let variables = context! {
            question => row.question.as_str(),
            answer => answer.text.as_str(),
            reference => row.own_answer().unwrap_or_default(),
        };
        let rendered = prompts.render(TEMPLATE.name, variables);
        rendered.map(|rendered| rendered.prompt).map_err(|error| error.to_string())
    }

    fn score(&self, prompts: &PromptSet, said: Option<&Completion>) -> Score {
        let said = said.ok_or("its prompt, with the question and the answer, is too long for the model's context")?;
        let (text, finish) = (&said.text, said.finish_reason);
        let reading = prompts.grammar.read(&FIELDS, text, finish, prompts.opening());
        let stated = reading.text(FIELDS[0].name)?;
        let stated = number(stated).ok_or("there is no number in its score")?;
        match (self.lowest..=self.highest).contains(&stated) {
            true => Ok((stated - self.lowest) / (self.highest - self.lowest)),
            false => Err(format!("its score {stated} is not from {} to {}", self.lowest, self.highest)),
        }
    }
}

impl Rows<'_> {
    /// The scores of the answers to `questions`, in order. The item at `key` asks for them; an answer whose prompt cannot be made, or
    /// is too long for the context, has none.
    pub(super) fn judged(
        &mut self,
        judge: &JudgeConfig,
        key: &WorkKey,
        questions: &[Question],
        solved: &RolloutResult,
    ) -> Progress<Vec<Score>> {
        let view = self.draft.view;
        let prompts = view.once("judge prompts", || PromptSet::compile(&judge.prompts).map_err(prompt_error))?;
        let asked = view.once(&format!("asked/{key}"), || -> Result<_, PlanError> {
            Ok(completions(questions, solved)
                .map(|(question, _, answer)| JudgeConfig::prompt(&prompts, &question.row.row, answer))
                .collect::<Vec<_>>())
        })?;
        let count = asked.iter().filter(|prompt| prompt.is_ok()).count();
        let mut said = [].iter();
        if count > 0 {
            let result = self.draft.rollout(key, |draft| {
                let requests = (0..).zip(asked.iter()).zip(completions(questions, solved)).filter_map(
                    |((place, prompt), (question, sample, _))| {
                        Some(RolloutRequest {
                            adapter: judge.from.as_ref().map(|_| 0),
                            if_it_fits: true,
                            ..RolloutRequest::new(
                                format!("{}/{sample}", question.number),
                                prompt.clone().ok()?,
                                1,
                                draft.seed(key, place),
                            )
                        })
                    },
                );
                let weights = judge.from.as_ref().map(|from| {
                    let unknown = || PlanError::Other(format!("the judge's weights, {from:?}, were not looked up"));
                    from.weights().ok_or_else(unknown)
                });
                Ok(RolloutPayload {
                    adapters: weights.transpose()?.into_iter().collect(),
                    requests: requests.collect(),
                    ..RolloutPayload::new(
                        draft.population(0)?.1.base_model.clone(),
                        draft.run.config.compute,
                        judge.sampling.clone(),
                    )
                })
            })?;
            if result.generated.len() != count {
                return Err(Draft::misfit(key, format!("its result does not have {count} requests")).into());
            }
            said = result.generated.iter();
        }
        let scores = asked.iter().map(|prompt| {
            prompt.as_ref().map_err(String::clone)?;
            judge.score(&prompts, said.next().and_then(|one| one.completions.first()))
        });
        Ok(scores.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::FinishReason;

    #[test]
    fn a_number_within_the_bounds_is_a_score() {
        let mut judge = JudgeConfig::default();
        assert_eq!(judge.resolve(""), []);
        let prompts = PromptSet::compile(&judge.prompts).unwrap();
        let score = |judge: &JudgeConfig, text: &str| {
            let said = Completion {
                text: text.to_owned(),
                finish_reason: FinishReason::Stop,
                tokens: 1,
                entropy: None,
                mask_mismatch: None,
            };
            judge.score(&prompts, Some(&said))
        };
        for (text, wanted) in [("1", 0.0), ("10", 1.0), ("5.5", 0.5), ("4/10", 3.0 / 9.0)] {
            assert_eq!(score(&judge, &format!("Fine.\n<score>{text}</score>")), Ok(wanted), "{text}");
        }
        for text in [
            "10",
            "<score></score>",
            "<score>good</score>",
            "<score>0.9</score>",
            "<score>NaN</score>",
            "<score>11</score>",
        ] {
            assert!(score(&judge, text).is_err(), "{text}");
        }
        (judge.lowest, judge.highest) = (-1.0, 1.0);
        assert_eq!(score(&judge, "<score>-0.5</score>"), Ok(0.25));
        let unfit = judge.score(&prompts, None).unwrap_err();
        assert!(unfit.contains("too long"), "{unfit}");
    }
}
