//! Asks members about problems: critics for scores, solvers for answers.

use lyceum_core::id::ProblemId;
use lyceum_core::recipe::{AttemptRecord, Draft, Generation, Progress, Role, Sample, Sequence, completions, join};
use lyceum_core::verify::{Check, Solution, Status, Task};
use lyceum_core::work::{Prompt, Sampling};
use std::collections::BTreeMap;

use super::step::{Lessons, SAMPLES, Step};

/// A problem and the text shown of it.
pub(super) type Shown = (ProblemId, String);

/// A completion.
pub(super) struct Said {
    pub(super) sample: Sample,
    pub(super) text: String,
}

impl Said {
    /// What is learned from it.
    pub(super) fn sequence(&self, reward: f32) -> Sequence {
        self.sample.sequence(reward, self.sample.request)
    }
}

impl Step<'_> {
    /// One prompt after the other to a member, `samples` of each.
    pub(super) fn ask(
        &mut self,
        (phase, chunk): (&str, u32),
        member: usize,
        prompts: &[String],
        samples: u32,
    ) -> Progress<Vec<Said>> {
        if prompts.is_empty() {
            return Ok(Vec::new());
        }
        let draft = &mut self.rows.draft;
        let source = draft.key(phase, chunk);
        let result = draft.generate(&source, [prompts.len(), samples as usize], || {
            let requests = (0..).zip(prompts).map(|(number, prompt)| (number, member, Prompt::Text(prompt.clone())));
            Ok(Generation {
                sampling: Sampling::default(),
                samples,
                keep_tokens: true,
                draws: None,
                requests: requests.collect(),
            })
        })?;
        let requests: Vec<u32> = (0..).zip(prompts).map(|(request, _)| request).collect();
        let said = completions(&requests, result).map(|(request, index, completion)| Said {
            sample: Sample::of(&source, *request, index, completion),
            text: completion.text.clone(),
        });
        Ok(said.collect())
    }

    /// The critic scores problems, 0 or 1. It is rewarded only for the format, as in SAGE.
    pub(super) fn critique(&mut self, problems: &[Shown]) -> Progress<(BTreeMap<ProblemId, f64>, Lessons)> {
        let critic = self.first(Role::Critic)?;
        let prompts: Vec<String> = problems.iter().map(|(_, shown)| format!("<cq>{shown}")).collect();
        let said = self.ask(("critique", 0), critic, &prompts, 1)?;
        let (mut scores, mut lessons) = (BTreeMap::new(), Vec::new());
        for (said, (problem, _)) in said.iter().zip(problems) {
            let score: Option<f64> = said.text.parse().ok();
            let reward = if score.is_some() { 1.0 } else { 0.0 };
            let attempt = attempt(&self.rows.draft, critic, Role::Critic, *problem, said, reward);
            self.rows.draft.plan.records.attempts.push(AttemptRecord {
                answer: score.map(|score| score.to_string()),
                reading: None,
                well_formed: score.is_some(),
                status: if score.is_some() { Status::Ok } else { Status::Malformed },
                ..attempt
            });
            self.tally.scores.extend(score);
            scores.insert(*problem, score.unwrap_or(0.5));
            lessons.push((critic, said.sequence(reward)));
        }
        Ok((scores, lessons))
    }

    /// Every solver answers every problem [`SAMPLES`] times, and the answers are graded.
    pub(super) fn solve(&mut self, problems: &[Shown]) -> Progress<Lessons> {
        let solvers = self.playing(Role::Solver);
        let answered = join((0..).zip(solvers), |(chunk, solver)| {
            let prompts: Vec<String> = problems.iter().map(|(_, program)| format!("<so>{program}<in>1")).collect();
            let said = self.ask(("solve", chunk), solver, &prompts, SAMPLES)?;
            let key = self.rows.draft.key("grade", chunk);
            let tasks = || said.iter().map(|said| grading(problems, said)).collect();
            let verdicts = self.rows.draft.verify(&key, said.len(), tasks)?;
            let mut lessons = Vec::new();
            for (said, verdict) in said.iter().zip(verdicts) {
                let (problem, correct) = (problems[said.sample.request as usize].0, verdict.correct == Some(true));
                let reward = f32::from(u8::from(correct));
                let attempt = attempt(&self.rows.draft, solver, Role::Solver, problem, said, reward);
                self.rows.draft.plan.records.attempts.push(AttemptRecord {
                    status: verdict.status,
                    correct,
                    ..attempt
                });
                self.tally.solved(solver, correct);
                lessons.push((solver, said.sequence(reward)));
            }
            Ok(lessons)
        })?;
        Ok(answered.into_iter().flatten().collect())
    }
}

fn grading(problems: &[Shown], said: &Said) -> Task {
    Task {
        id: format!("{}/{}", said.sample.request, said.sample.index),
        check: Check::Solve(Solution::Output {
            program: problems[said.sample.request as usize].1.clone(),
            input: "1".to_owned(),
            answer: said.text.clone(),
        }),
    }
}

/// The row of a completion about a problem; a wrong answer unless its fields are changed.
fn attempt(
    draft: &Draft<'_>,
    member: usize,
    role: Role,
    problem: ProblemId,
    said: &Said,
    reward: f32,
) -> AttemptRecord {
    let run = draft.run.run;
    AttemptRecord {
        id: said.sample.attempt(run),
        problem,
        solver: draft.members[member].playing(run),
        role,
        sample: said.sample.index,
        text: said.text.clone(),
        answer: Some(said.text.clone()),
        reading: None,
        well_formed: true,
        status: Status::Ok,
        reason: String::new(),
        correct: false,
        reward,
        reward_parts: serde_json::json!({}),
        tokens: said.sample.tokens,
    }
}
