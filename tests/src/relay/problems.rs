//! Proposals, and the checks of each chunk as soon as it is generated.

use lyceum_core::id::{AttemptId, ProblemId, VersionId, WorkId};
use lyceum_core::recipe::{
    ArchiveInsertionRecord, AttemptRecord, InsertionStatus, ParentRelation, PlanError, ProblemOutcomeRecord,
    ProblemRecord, Role, WorkItem,
};
use lyceum_core::seed::derive;
use lyceum_core::verify::{Check, MathPair, ProblemKind, Task};
use lyceum_core::work::{
    BaseModel, Compute, Payload, Prompt, Requirements, RolloutPayload, RolloutRequest, Sampling, VerifyPayload,
};

use super::Leg;

impl Leg<'_> {
    pub(super) fn propose(&mut self, chunk: u32) {
        let members = self.memory.members.len() as u32;
        let requests = (0..self.parameters.problems).map(|index| RolloutRequest {
            adapter: Some((chunk + index) % members),
            ..RolloutRequest::new(
                index.to_string(),
                Prompt::Text(format!("step {} chunk {chunk} problem {index}", self.run.step)),
                1,
                derive(self.run.config.seed, &self.key("propose", chunk).to_string(), u64::from(index)),
            )
        });
        let payload = RolloutPayload {
            adapters: self.adapters(),
            requests: requests.collect(),
            keep_tokens: true,
            ..RolloutPayload::new(
                BaseModel { name: "tiny".to_owned(), revision: None },
                Compute::default(),
                Sampling::default(),
            )
        };
        self.plan.work.push(WorkItem {
            key: self.key("propose", chunk),
            requirements: Requirements { base_model: Some("tiny".to_owned()), ..Requirements::default() },
            payload: Payload::Rollout(payload),
        });
    }

    /// Requests the checks of a chunk as soon as it is generated, and records their results. Returns whether they are
    /// done.
    pub(super) fn check(&mut self, chunk: u32) -> Result<bool, PlanError> {
        let Some(written) = self.step.rollout(&self.key("propose", chunk))? else { return Ok(false) };
        let task = |(index, text): (usize, &String)| Task {
            id: index.to_string(),
            check: Check::Math(MathPair { gold: "1".to_owned(), answer: text.clone(), plain: false }),
        };
        let texts: Vec<&String> = written.generated.iter().map(|generated| &generated.completions[0].text).collect();
        self.plan.work.push(WorkItem {
            key: self.key("check", chunk),
            requirements: Requirements::default(),
            payload: Payload::Verify(VerifyPayload {
                tasks: texts.iter().copied().enumerate().map(task).collect(),
                ..VerifyPayload::default()
            }),
        });
        let Some(checked) = self.step.verify(&self.key("check", chunk))? else { return Ok(false) };
        let source = WorkId::of(self.run.run, &self.key("propose", chunk));
        for (index, verdict) in (0..).zip(&checked.verdicts) {
            let valid = verdict.correct == Some(true);
            let (member, version, _) =
                self.memory.members[((chunk + index) % self.memory.members.len() as u32) as usize];
            let by = (member, version.map_or(VersionId::of(member, 0), |version| version.version));
            let problem = ProblemId::of(source, &index.to_string(), 0);
            let parents = self.memory.last_problem.map(|parent| (parent, ParentRelation::Reference));
            self.plan.records.problems.push(ProblemRecord {
                id: problem,
                index: chunk * self.parameters.problems + index,
                proposer: Some(by),
                source: Some(self.key("propose", chunk)),
                kind: ProblemKind::CodeO,
                prompt: "propose".to_owned(),
                proposal: texts[index as usize].clone(),
                valid,
                status: verdict.status,
                reason: verdict.reason.clone(),
                program: valid.then(|| "def f(x):\n    return x".to_owned()),
                values: serde_json::json!({ "input": "1", "output": "1" }),
                descriptor: valid.then_some([4.0, 1.0, 2.0, 1.0]),
                cell: valid.then_some(index),
                parents: parents.into_iter().collect(),
            });
            self.plan.records.attempts.push(AttemptRecord {
                id: AttemptId::of(source, &index.to_string(), 0),
                problem,
                solver: by,
                role: Role::Solver,
                sample: 0,
                text: "NUL \0 and \u{202e}".to_owned(),
                answer: Some("1".to_owned()),
                reading: None,
                well_formed: true,
                status: verdict.status,
                reason: String::new(),
                correct: valid,
                reward: if valid { 1.0 } else { -0.5 },
                reward_parts: serde_json::json!({}),
                tokens: 3,
            });
            self.plan.records.outcomes.push(ProblemOutcomeRecord {
                problem,
                solve_rate: valid.then_some(0.5),
                attempts: 1,
                reward: 0.5,
                reward_parts: serde_json::json!({}),
            });
            if valid {
                self.plan.records.insertions.push(ArchiveInsertionRecord {
                    cell: index,
                    problem,
                    status: InsertionStatus::New,
                    objective: 0.5,
                });
            }
        }
        Ok(true)
    }
}
