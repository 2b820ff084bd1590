//! The update, and the end of a step.

use lyceum_core::id::{MatchupId, VersionId, WorkId};
use lyceum_core::recipe::{
    MatchupRecord, MetricRecord, PlanError, RatingRecord, Role, VersionRecord, Winner, WorkItem,
};
use lyceum_core::work::{
    Compute, Loss, MemberUpdate, Optimizer, Payload, PolicyLoss, Requirements, SequenceRef, UpdatePayload,
};

use super::Leg;

impl Leg<'_> {
    pub(super) fn update(&mut self) -> Result<(), PlanError> {
        let (_, population) = self.population()?;
        let key = self.key("update", 0);
        let mut members = Vec::new();
        for (index, (member, version, ordinal)) in self.memory.members.iter().enumerate() {
            let Some(from) = *version else { continue };
            let mut sequences = Vec::new();
            for chunk in 0..self.parameters.chunks {
                let rollout_key = self.key("propose", chunk);
                let Some(tokens) = self.step.rollout(&rollout_key)?.and_then(|rollout| rollout.tokens) else {
                    continue;
                };
                sequences.push(SequenceRef {
                    rollout: WorkId::of(self.run.run, &rollout_key),
                    tokens,
                    request: (index % self.parameters.problems as usize).to_string(),
                    sample: 0,
                    advantage: 0.5,
                });
            }
            members.push(MemberUpdate {
                member: *member,
                from,
                to: VersionId::of(*member, ordinal + 1),
                kl_reference: None,
                learning_rate: None,
                masked_share: 0.0,
                sequences,
            });
        }
        self.plan.work.push(WorkItem {
            key: key.clone(),
            requirements: Requirements::default(),
            payload: Payload::Update(UpdatePayload {
                compute: Compute::default(),
                base_model: population.base_model.clone(),
                members,
                loss: Loss::PolicyGradient(PolicyLoss::default()),
                optimizer: Optimizer::default(),
                micro_batch_tokens: 1024,
                recompute: true,
                piece: None,
                measure: false,
            }),
        });
        let Some(updated) = self.step.update(&key)? else { return Ok(()) };
        for (slot, member) in self.memory.members.iter_mut().zip(&updated.members) {
            slot.1 = Some(member.version);
            slot.2 += 1;
            self.plan.records.versions.push(VersionRecord {
                id: member.version.version,
                member: slot.0,
                ordinal: slot.2,
                artifact: member.version.artifact,
                optimizer: member.version.optimizer,
                learning_rate: None,
            });
            self.plan.records.ratings.push(RatingRecord {
                member: slot.0,
                role: Role::Solver,
                mu: 25.0 + f64::from(slot.2),
                sigma: 8.0,
            });
            self.plan.records.metrics.push(MetricRecord {
                member: Some(slot.0),
                values: vec![f64::NAN, f64::from(slot.2)],
                ..MetricRecord::default()
            });
        }
        let valid = self.plan.records.problems.iter().filter(|problem| problem.valid).count();
        let share = valid as f64 / self.plan.records.problems.len().max(1) as f64;
        self.plan.records.metrics.push(MetricRecord {
            member: None,
            values: vec![share, f64::NAN],
            ..MetricRecord::default()
        });
        if let [(teacher, ..), (student, ..), ..] = self.memory.members[..] {
            self.plan.records.matchups.push(MatchupRecord {
                id: MatchupId::of(self.run.run, self.run.step, teacher, student),
                teacher,
                student,
                proposed: self.parameters.problems,
                valid: 0,
                solve_rate: None,
                student_score: Some(1.0),
                teacher_reward: Some(-1.0),
                predicted: 0.5,
                winner: Winner::Student,
            });
        }
        self.memory.last_problem = self.plan.records.problems.last().map(|problem| problem.id);
        self.plan.finish = Some(self.run.next("", &self.memory)?);
        Ok(())
    }
}
