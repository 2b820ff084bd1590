//! Posing problems: propose → check → critique and solve → accept.

use lyceum_core::id::ProblemId;
use lyceum_core::recipe::{ProblemOutcomeRecord, ProblemRecord, Progress, Role, both};
use lyceum_core::verify::{Check, ProblemKind, Proposal, Task};
use serde_json::json;

use super::ask::{Said, Shown};
use super::step::{Lessons, Step};

/// Proposals per step.
const PROPOSALS: usize = 6;

/// A valid proposal.
struct Posed {
    problem: ProblemId,
    program: String,
    said: Said,
}

impl Step<'_> {
    /// A problem is accepted if the critic likes it and some, but not all, answers solve it.
    pub(super) fn pose(&mut self) -> Progress<Lessons> {
        let proposer = self.first(Role::Proposer)?;
        let posed = self.propose(proposer)?;
        let problems: Vec<Shown> = posed.iter().map(|one| (one.problem, one.program.clone())).collect();
        let (critique, solved) = (self.critique(&problems), self.solve(&problems));
        let ((scores, judged), solved) = both(critique, solved)?;
        let mut lessons = judged;
        for (index, one) in posed.iter().enumerate() {
            let answers = solved.iter().filter(|(_, answer)| answer.request as usize == index);
            let rewards: Vec<f32> = answers.map(|(_, answer)| answer.sampled.reward).collect();
            let rate = rewards.iter().sum::<f32>() / rewards.len() as f32;
            let likes = scores.get(&one.problem).copied().unwrap_or(0.5);
            let accepted = likes >= 0.5 && rate > 0.0 && rate < 1.0;
            let reward = if accepted { 4.0 * rate * (1.0 - rate) } else { 0.0 };
            if accepted {
                self.accepted.push(one.problem);
            }
            self.rows.draft.plan.records.outcomes.push(ProblemOutcomeRecord {
                problem: one.problem,
                solve_rate: Some(rate),
                attempts: rewards.len() as u32,
                reward,
                reward_parts: json!({"critic": likes}),
            });
            self.tally.posed(accepted);
            lessons.push((proposer, one.said.sequence(reward)));
        }
        lessons.extend(solved);
        Ok(lessons)
    }

    fn propose(&mut self, proposer: usize) -> Progress<Vec<Posed>> {
        let prompts = vec!["<po>".to_owned(); PROPOSALS];
        let said = self.ask(("propose", 0), proposer, &prompts, 1)?;
        let draft = &mut self.rows.draft;
        let tasks = || said.iter().map(check).collect();
        let verdicts = draft.verify(&draft.key("check", 0), said.len(), tasks)?;
        let run = draft.run.run;
        let mut posed = Vec::new();
        for (said, verdict) in said.into_iter().zip(verdicts) {
            let problem = said.sample.problem(run);
            let valid = verdict.valid == Some(true);
            let program = program(&said).to_owned();
            draft.plan.records.problems.push(ProblemRecord {
                proposer: Some(draft.members[proposer].playing(run)),
                source: Some(said.sample.source.clone()),
                prompt: "<po>".to_owned(),
                proposal: said.text.clone(),
                valid,
                status: verdict.status,
                reason: verdict.reason.clone(),
                program: valid.then(|| program.clone()),
                values: json!({"input": "1", "output": verdict.output}),
                ..ProblemRecord::new(problem, said.sample.request, ProblemKind::CodeO)
            });
            if valid {
                posed.push(Posed { problem, program, said });
            }
        }
        Ok(posed)
    }
}

fn program(said: &Said) -> &str {
    said.text.split_once("<in>").map_or(said.text.as_str(), |(program, _)| program)
}

fn check(said: &Said) -> Task {
    Task {
        id: said.sample.request.to_string(),
        check: Check::Propose(Proposal::Io {
            problem: ProblemKind::CodeO,
            program: program(said).to_owned(),
            input: "1".to_owned(),
        }),
    }
}
