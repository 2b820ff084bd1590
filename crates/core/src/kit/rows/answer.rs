//! Answers to rows: samples, reads and grades them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::Arc};

use super::{
    Asking, PlacedRow, Question, Rows,
    judge::{self, JUDGE, JudgeConfig, Score},
};
use crate::{
    artifact::Digest,
    benchmark::{Graded, graded, task},
    config::pointer_token,
    contract::{AttemptRecord, PlanError, Role, Side},
    fault::Fault,
    id::{AttemptId, ProblemId, WorkId},
    kit::{Generation, Progress, Sample, Sequence, both, completions, join},
    verify::{Task, Verdict, is_part_name},
    work::{Completion, RolloutResult, WorkKey},
};

/// A graded answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The solver: a position among the members.
    pub member: usize,
    /// The row's place in its dataset.
    pub place: u32,
    /// The row's problem.
    pub problem: ProblemId,
    /// The sequence to learn from; answers to one question form a group.
    pub sequence: Sequence,
    /// Whether a solution was found in it.
    pub well_formed: bool,
    /// Whether it solves the problem.
    pub correct: bool,
    /// Mean entropy of the model over it, in nats.
    pub entropy: Option<f32>,
    /// The parts of its reward that are charted, by name.
    pub parts: BTreeMap<String, f64>,
}

/// An answer as it is read and judged.
struct Judged<'a> {
    question: &'a Question,
    completion: &'a Completion,
    /// The solution, or why there is none.
    solution: &'a Result<String, String>,
    graded: Graded,
    reward: Reward,
    /// Whether the user's own reward scored it.
    is_own: bool,
}

impl<'a> Rows<'a> {
    /// The graded answers to `questions`, of which an item of work has at most `size`.
    pub fn answers(&mut self, asking: Asking<'_>, questions: &[Question], size: u32) -> Progress<Vec<Answer>> {
        let answers = self.answers_in(asking, questions.chunks(size as usize))?;
        Ok(answers.iter().flat_map(|part| part.iter().cloned()).collect())
    }

    /// The graded answers to the questions of each part, which is an item of work.
    pub fn answers_in<'q>(
        &mut self,
        asking: Asking<'_>,
        parts: impl IntoIterator<Item = &'q [Question]>,
    ) -> Progress<Vec<Arc<Vec<Answer>>>> {
        join((0..).zip(parts), |(chunk, questions)| {
            let solved = self.solve(asking, chunk, questions)?;
            let scores = match &asking.reward.judge {
                Some(judge) => {
                    let key = self.draft.key(JUDGE, chunk);
                    self.judged(judge, &key, questions, solved).map(Some)
                }
                None => Ok(None),
            };
            self.grade(asking, chunk, questions, solved, scores)
        })
    }

    fn solve(&mut self, asking: Asking<'_>, chunk: u32, questions: &[Question]) -> Progress<&'a RolloutResult> {
        let key = self.draft.key(asking.phases[0], chunk);
        let samples = asking.n;
        self.draft.generate(&key, [questions.len(), samples as usize], || {
            let requests = questions.iter().map(|question| {
                let place = question.row.place;
                let prompt = self
                    .style
                    .render(&question.row.row)
                    .map_err(|error| PlanError::Other(format!("row {place}: {error}")))?;
                Ok((question.number, question.member, prompt))
            });
            let mut sampling = asking.sampling.clone();
            let rows = questions.iter().map(|question| &question.row.row);
            sampling.stop.extend(self.style.stops_of(rows));
            Ok(Generation {
                sampling,
                samples,
                keep_tokens: asking.is_learned,
                draws: asking.draws,
                requests: requests.collect::<Result<_, PlanError>>()?,
            })
        })
    }

    fn grade(
        &mut self,
        asking: Asking<'_>,
        chunk: u32,
        questions: &[Question],
        solved: &RolloutResult,
        scores: Progress<Option<Vec<Score>>>,
    ) -> Progress<Arc<Vec<Answer>>> {
        let [source, key] = asking.phases.map(|phase| self.draft.key(phase, chunk));
        let view = self.draft.view;
        let own = self.own(&key, questions)?;
        let questions = own.as_ref().map_or(questions, |own| own.as_slice());
        let read = view.once(&format!("read/{key}"), || -> Progress<Vec<Result<String, String>>> {
            let read = completions(questions, solved).map(|(question, _, completion)| {
                let (text, finish) = (&completion.text, completion.finish_reason);
                self.style.solution(&question.row.row, text, finish)
            });
            Ok(read.collect())
        })?;
        view.once(&format!("graded/{key}"), || {
            let tasks = tasks(questions, solved, &read)?;
            let judged = read.iter().map(Result::is_ok);
            let verdicts = self.draft.verify_some(&key, judged, || tasks);
            let (scores, verdicts) = both(scores, verdicts)?;
            let mut scores = scores.into_iter().flatten();
            let mut answers = Vec::with_capacity(read.len());
            let solutions = completions(questions, solved).zip(read.iter());
            for (((question, sample, completion), solution), verdict) in solutions.zip(verdicts) {
                let score = scores.next();
                let row = &question.row.row;
                let unreadable = || Graded::unreadable(row, solution.as_ref().err().cloned().unwrap_or_default());
                let mut graded = verdict.map_or_else(unreadable, |verdict| graded(row, verdict));
                if let Some(Err(unscored)) = &score {
                    let before = if graded.reason.is_empty() { "" } else { "; " };
                    graded
                        .reason
                        .push_str(&format!("{before}no score from the judge: {unscored}"));
                }
                let judged = Judged {
                    question,
                    completion,
                    solution,
                    graded,
                    reward: asking.reward.reward(verdict, score.map(Result::unwrap_or_default)),
                    is_own: verdict.is_some_and(|verdict| verdict.parts.is_some()),
                };
                let answer = judged.answer(&source, sample);
                if asking.is_learned {
                    self.write(judged, &answer);
                }
                answers.push(answer);
            }
            Ok(answers)
        })
    }

    /// The questions with the oracle of the user's own, if there is one.
    fn own(&mut self, key: &WorkKey, questions: &[Question]) -> Progress<Option<Arc<Vec<Question>>>> {
        let Some(oracle) = self.oracle else {
            return Ok(None);
        };
        let source = self.draft.reward(oracle.file)?;
        let own = self
            .draft
            .view
            .once(&format!("own/{key}"), || -> Progress<Vec<Question>> {
                let judged = questions.iter().map(|question| Question {
                    row: Arc::new(PlacedRow {
                        row: oracle.judging(&question.row.row, source),
                        ..*question.row
                    }),
                    ..*question
                });
                Ok(judged.collect())
            })?;
        Ok(Some(own))
    }

    fn write(&mut self, judged: Judged<'_>, answer: &Answer) {
        let run = self.draft.run.run;
        let Sequence {
            source,
            sample,
            sampled,
            ..
        } = &answer.sequence;
        let record = AttemptRecord {
            id: AttemptId::of(WorkId::of(run, source), &judged.question.number.to_string(), *sample),
            problem: answer.problem,
            solver: self.draft.members[answer.member].playing(run),
            role: self.draft.members[answer.member]
                .role_of(Side::Solves)
                .unwrap_or(Role::Solver),
            sample: *sample,
            text: judged.completion.text.clone(),
            answer: judged.solution.clone().ok(),
            well_formed: answer.well_formed,
            status: judged.graded.status,
            reason: judged.graded.reason,
            correct: answer.correct,
            reward: sampled.reward,
            reward_parts: judged.reward.parts,
            tokens: judged.completion.tokens,
        };
        self.draft.plan.records.attempts.push(record);
    }
}

impl Judged<'_> {
    fn answer(&self, source: &WorkKey, sample: u32) -> Answer {
        let Question { number, row, member } = self.question;
        let sample = Sample::of(source, *number, sample, self.completion);
        Answer {
            member: *member,
            place: row.place,
            problem: row.problem,
            sequence: sample.sequence(self.reward.total, *number),
            well_formed: self.solution.is_ok(),
            correct: self.graded.correct,
            entropy: self.completion.entropy,
            parts: self.charted(),
        }
    }

    /// The parts of its reward, where they say more than their sum.
    fn charted(&self) -> BTreeMap<String, f64> {
        let parts = self.reward.parts.as_object().into_iter().flatten();
        let parts: BTreeMap<String, f64> = parts
            .filter_map(|(name, part)| Some((name.clone(), part.as_f64()?)))
            .collect();
        match self.is_own || parts.len() > 1 {
            true => parts,
            false => BTreeMap::new(),
        }
    }
}

fn tasks(
    questions: &[Question],
    solved: &RolloutResult,
    read: &[Result<String, String>],
) -> Result<Vec<Task>, PlanError> {
    let mut tasks = Vec::new();
    for ((question, sample, _), solution) in completions(questions, solved).zip(read) {
        if let Ok(solution) = solution {
            let id = format!("{}/{sample}", question.number);
            tasks.push(task(&question.row.row, id, solution.clone()).map_err(PlanError::Other)?);
        }
    }
    Ok(tasks)
}

/// The reward of an answer: what its solution earns, minus a penalty if there is no solution in it. An attempt's
/// `reward_parts` name both parts, and its reward is their sum.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RewardConfig {
    /// What a solution earns, from 0 to 1.
    pub solution: SolutionReward,
    /// Subtracted from the reward of an answer in which no solution is found; `format` in `reward_parts`. With 0, such
    /// an answer is worth as much as a wrong one.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub format_penalty: f32,
    /// Weights of the parts by name: those that a reward of one's own gives, `judge`, and the solution's, `correct` or
    /// `tests_passed`; 1 for a part that is not named. Rows with a reward of one's own earn the weighted sum of its parts, and
    /// neither `solution` nor `format_penalty` applies to them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub weights: BTreeMap<String, f64>,
    /// A model that scores answers too; none by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judge: Option<JudgeConfig>,
}

/// The largest weight of a part.
const MAX_WEIGHT: f64 = 1000.0;

/// What a solution earns; also the name of this part of the reward.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum SolutionReward {
    /// 1 if it is correct, else 0 (GASP, section 3.1).
    #[default]
    Correct,
    /// The share of the row's tests that it passes. Without tests (mathematics, the output or input of a program) 1 if
    /// it is correct, else 0.
    TestsPassed,
}

/// A reward and its parts.
#[derive(Clone, Debug, PartialEq)]
pub struct Reward {
    /// Their sum.
    pub total: f32,
    /// The parts, by name.
    pub parts: Value,
}

impl RewardConfig {
    /// The reward of an answer whose solution got `verdict`, and which a judge scored; `None` is an answer without a solution, or
    /// without a judge.
    pub fn reward(&self, verdict: Option<&Verdict>, score: Option<f64>) -> Reward {
        let mut parts: BTreeMap<String, f64> = match verdict.and_then(|verdict| verdict.parts.as_ref()) {
            Some(own) => own.clone(),
            None => {
                let name: &'static str = self.solution.into();
                let earned = verdict.map_or(0.0, |verdict| match self.solution {
                    SolutionReward::Correct => f32::from(u8::from(verdict.correct == Some(true))),
                    SolutionReward::TestsPassed => verdict.share_passed(),
                });
                let format = if verdict.is_some() { 0.0 } else { -self.format_penalty };
                let format = (self.format_penalty > 0.0).then(|| ("format".to_owned(), f64::from(format)));
                [(name.to_owned(), f64::from(earned))]
                    .into_iter()
                    .chain(format)
                    .collect()
            }
        };
        if let Some(score) = score {
            *parts.entry(judge::PART.to_owned()).or_default() += score;
        }
        for (name, part) in &mut parts {
            *part *= self.weights.get(name).copied().unwrap_or(1.0);
        }
        Reward {
            total: parts.values().sum::<f64>() as f32,
            parts: json!(parts),
        }
    }

    /// The weights of the judge.
    pub(crate) fn held(&self) -> Vec<Digest> {
        let from = self.judge.as_ref().and_then(|judge| judge.from.as_ref());
        from.and_then(|from| from.artifact).into_iter().collect()
    }

    /// Fills in the judge's templates. Refuses them, and weights that are no numbers to multiply with; `at` is the pointer of this
    /// config.
    pub(crate) fn resolve(&mut self, at: &str) -> Vec<Fault> {
        let judge = self.judge.as_mut();
        let mut faults = judge.map_or_else(Vec::new, |judge| judge.resolve(&format!("{at}/judge")));
        faults.extend(self.weight_faults(at));
        faults
    }

    fn weight_faults(&self, at: &str) -> Vec<Fault> {
        let faults = self.weights.iter().filter_map(|(name, weight)| {
            let detail = match is_part_name(name) {
                false => "no part has such a name: a letter, then letters, digits or _, 40 at most".to_owned(),
                true if weight.is_finite() && weight.abs() <= MAX_WEIGHT => return None,
                true => format!("{weight} is no weight: -{MAX_WEIGHT} to {MAX_WEIGHT} is valid"),
            };
            Some(Fault::new(format!("{at}/weights/{}", pointer_token(name)), detail))
        });
        faults.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::Status;

    fn verdict(correct: bool, tests: Option<(usize, usize)>) -> Verdict {
        Verdict {
            correct: Some(correct),
            passed: tests.map(|(passed, _)| passed),
            total: tests.map(|(_, total)| total),
            ..Verdict::bare(None, Status::Ok, "")
        }
    }

    fn rewards(config: Value) -> Vec<(f32, Value)> {
        let config: RewardConfig = serde_json::from_value(config).unwrap();
        let answers = [
            Some(verdict(true, Some((4, 4)))),
            Some(verdict(false, Some((3, 4)))),
            Some(verdict(true, None)),
            Some(verdict(false, None)),
            Some(verdict(false, Some((0, 0)))),
            None,
        ];
        let rewards = answers.iter().map(|answer| config.reward(answer.as_ref(), None));
        rewards.map(|reward| (reward.total, reward.parts)).collect()
    }

    #[test]
    fn parts_of_a_reward_are_weighted() {
        let config: RewardConfig =
            serde_json::from_value(json!({"weights": {"brief": -0.5}, "format_penalty": 1.0})).unwrap();
        let scored = |parts: &[(&str, f64)]| Verdict {
            parts: Some(parts.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()),
            ..verdict(false, None)
        };
        let reward = config.reward(Some(&scored(&[("right", 2.0), ("brief", 3.0)])), None);
        assert_eq!(
            (reward.total, reward.parts),
            (0.5, json!({"right": 2.0, "brief": -1.5}))
        );
        let unscored = config.reward(Some(&scored(&[])), None);
        assert_eq!(
            (unscored.total, unscored.parts),
            (0.0, json!({})),
            "it could not be scored"
        );
        let wrong: RewardConfig = serde_json::from_value(json!({"weights": {"a b": 1.0, "c": 1e9}})).unwrap();
        let pointers: Vec<String> = wrong
            .weight_faults("/reward")
            .into_iter()
            .map(|fault| fault.pointer)
            .collect();
        assert_eq!(pointers, ["/reward/weights/a b", "/reward/weights/c"]);
    }

    #[test]
    fn rewards_by_hand() {
        let correct = |reward: f32| (reward, json!({ "correct": reward }));
        assert_eq!(rewards(json!({})), [1.0, 0.0, 1.0, 0.0, 0.0, 0.0].map(correct));
        let passed = |reward: f32| (reward, json!({ "tests_passed": reward }));
        let shares = rewards(json!({"solution": "tests_passed"}));
        assert_eq!(shares, [1.0, 0.75, 1.0, 0.0, 0.0, 0.0].map(passed));
        let both = |earned: f32, format: f32| (earned + format, json!({ "tests_passed": earned, "format": format }));
        assert_eq!(
            rewards(json!({"solution": "tests_passed", "format_penalty": 0.5})),
            [
                both(1.0, 0.0),
                both(0.75, 0.0),
                both(1.0, 0.0),
                both(0.0, 0.0),
                both(0.0, 0.0),
                both(0.0, -0.5)
            ]
        );
        let wrong = rewards(json!({"format_penalty": 1.0}));
        assert_eq!(wrong[3].0, 0.0, "a wrong solution is not a missing one");
        assert_eq!(wrong[5], (-1.0, json!({"correct": 0.0, "format": -1.0})));
    }
}
