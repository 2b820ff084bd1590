//! Answers to rows: samples, reads and grades them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::judge::{JUDGE, Score};
use super::reward::Reward;
use super::{Asking, PlacedRow, Question, Rows};
use crate::benchmark::{Graded, graded, task};
use crate::contract::{AttemptRecord, PlanError, Role, Side};
use crate::id::{AttemptId, ProblemId, WorkId};
use crate::kit::{Generation, Progress, Sample, Sequence, both, completions, join};
use crate::verify::Task;
use crate::work::{Completion, RolloutResult, WorkKey};

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
    /// Whether it is not learned from, as its group was left out.
    pub is_dropped: bool,
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
                    let key = self.draft.key(JUDGE, chunk).round(asking.round);
                    self.judged(judge, &key, questions, solved).map(Some)
                }
                None => Ok(None),
            };
            self.grade(asking, chunk, questions, solved, scores)
        })
    }

    fn solve(&mut self, asking: Asking<'_>, chunk: u32, questions: &[Question]) -> Progress<&'a RolloutResult> {
        let key = self.draft.key(asking.phases[0], chunk).round(asking.round);
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
        let [source, key] = asking.phases.map(|phase| self.draft.key(phase, chunk).round(asking.round));
        let view = self.draft.view;
        let own = self.own(&key, questions)?;
        let questions = own.as_ref().map_or(questions, |own| own.as_slice());
        let read = view.once(&format!("read/{key}"), || -> Progress<Vec<Result<String, String>>> {
            let read = completions(questions, solved).map(|(question, _, completion)| {
                let (text, finish) = (&completion.text, completion.finish_reason);
                Ok(self.style.solution(&question.row.row, text, finish)?.text)
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
                    graded.reason.push_str(&format!("{before}no score from the judge: {unscored}"));
                }
                let judged = Judged {
                    question,
                    completion,
                    solution,
                    graded,
                    reward: asking.reward.reward(
                        completion.finish_reason,
                        verdict,
                        score.map(Result::unwrap_or_default),
                    ),
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
        let Some(oracle) = self.oracle else { return Ok(None) };
        let source = self.draft.reward(oracle.file)?;
        let own = self.draft.view.once(&format!("own/{key}"), || -> Progress<Vec<Question>> {
            let judged = questions.iter().map(|question| Question {
                row: Arc::new(PlacedRow { row: oracle.judging(&question.row.row, source), ..*question.row }),
                ..*question
            });
            Ok(judged.collect())
        })?;
        Ok(Some(own))
    }

    fn write(&mut self, judged: Judged<'_>, answer: &Answer) {
        let run = self.draft.run.run;
        let Sequence { source, sample, sampled, .. } = &answer.sequence;
        let record = AttemptRecord {
            id: AttemptId::of(WorkId::of(run, source), &judged.question.number.to_string(), *sample),
            problem: answer.problem,
            solver: self.draft.members[answer.member].playing(run),
            role: self.draft.members[answer.member].role_of(Side::Solves).unwrap_or(Role::Solver),
            sample: *sample,
            text: judged.completion.text.clone(),
            answer: judged.solution.clone().ok(),
            reading: None,
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
            is_dropped: false,
        }
    }

    /// The parts of its reward, where they say more than their sum.
    fn charted(&self) -> BTreeMap<String, f64> {
        let parts = self.reward.parts.as_object().into_iter().flatten();
        let parts: BTreeMap<String, f64> =
            parts.filter_map(|(name, part)| Some((name.clone(), part.as_f64()?))).collect();
        if self.is_own || parts.len() > 1 { parts } else { BTreeMap::new() }
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
