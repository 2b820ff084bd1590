//! A run with something of everything in it, written by the store as a plan would be.

use lyceum_core::artifact::{ArtifactKind, Digest};
use lyceum_core::id::{AttemptId, ExecutionId, MatchupId, MemberId, PopulationId, ProblemId, VersionId, WorkId};
use lyceum_core::recipe::{
    ArchiveInsertionRecord, AttemptRecord, BirthRecord, InsertionStatus, MatchupRecord, MemberRecord, MetricRecord,
    ParentRelation, Plan, PopulationRecord, ProblemOutcomeRecord, ProblemRecord, RatingRecord, Records, Role,
    VersionRecord, Winner, WorkItem,
};
use lyceum_core::verify::{ProblemKind, Status};
use lyceum_core::work::{BaseModel, LoraShape, Payload, Projection, Requirements, VerifyPayload, WorkKey};
use lyceum_store::plan;
use lyceum_store::tokens::Scope;
use serde_json::json;

use crate::harness::{TestServer, config};

/// The run and what is in it.
pub(crate) struct Filled {
    pub(crate) run: ExecutionId,
    pub(crate) teacher: MemberId,
    pub(crate) student: MemberId,
    pub(crate) problems: Vec<ProblemId>,
    pub(crate) work: WorkId,
}

/// Creates a run and carries out a plan with `problems` problems, two attempts at each.
pub(crate) async fn filled(server: &TestServer, problems: u32) -> Filled {
    let writer = server.actor(Scope::Write).await;
    let created = writer.post("/api/v1/runs", &json!({"config": config(), "name": "filled"})).await.expect(201).json();
    let run = ExecutionId(created["id"].as_str().and_then(|id| id.parse().ok()).expect("an id"));
    let artifact = server.artifacts.put(ArtifactKind::Adapter, b"weights".to_vec()).await.expect("an artifact");
    let (records, filled) = records(run, artifact, problems);
    let item = WorkItem {
        key: key(),
        payload: Payload::Verify(VerifyPayload::default()),
        requirements: Requirements::default(),
    };
    let mut tx = server.store.pool().begin().await.expect("a transaction");
    let locked = plan::lock(&mut tx, run).await.expect("a lock").expect("a run that is due");
    let plan = Plan { records, work: vec![item], ..Plan::default() };
    plan::carry_out(&mut tx, &locked, &plan, 0.001).await.expect("a plan");
    tx.commit().await.expect("a commit");
    filled
}

/// A population on the seedling.
pub(crate) fn population_record(id: PopulationId) -> PopulationRecord {
    PopulationRecord {
        id,
        name: "main".to_owned(),
        base_model: BaseModel { name: "seedling".to_owned(), revision: None },
        lora: LoraShape { r: 8, lora_alpha: 16.0, target_modules: vec![Projection::Q], use_rslora: false },
    }
}

fn key() -> WorkKey {
    WorkKey::new(0, "check")
}

/// What such a plan writes in the first step of `run`, with `count` problems.
pub(crate) fn records(run: ExecutionId, artifact: Digest, count: u32) -> (Records, Filled) {
    let population = PopulationId::of(run, "main");
    let (teacher, student) = (MemberId::of(run, "teacher-0"), MemberId::of(run, "student-0"));
    let weights = |member| (member, VersionId::of(member, 0));
    let member = |id, name: &str, role| MemberRecord { id, population, name: name.to_owned(), roles: vec![role] };
    let version = |member| VersionRecord {
        id: VersionId::of(member, 0),
        member,
        ordinal: 0,
        artifact,
        optimizer: None,
        learning_rate: None,
    };
    let birth = |child, parents| BirthRecord {
        child,
        source: WorkKey::new(0, "found"),
        operator: "init".to_owned(),
        parameters: json!({"scale": 0.5}),
        seed: u64::MAX,
        parents,
        replaces: None,
        notes: vec!["a note".to_owned()],
    };
    let work = WorkId::of(run, &key());
    let ids: Vec<ProblemId> = (0..count).map(|index| ProblemId::of(work, "p", index)).collect();
    let mut records = Records {
        populations: vec![population_record(population)],
        members: vec![member(teacher, "teacher-0", Role::Teacher), member(student, "student-0", Role::Student)],
        versions: vec![version(teacher), version(student)],
        births: vec![birth(teacher, vec![]), birth(student, vec![VersionId::of(teacher, 0)])],
        matchups: vec![MatchupRecord {
            id: MatchupId::of(run, 0, teacher, student),
            teacher,
            student,
            proposed: count,
            valid: count / 2,
            solve_rate: Some(0.5),
            student_score: Some(0.75),
            teacher_reward: Some(-0.25),
            predicted: 0.25,
            winner: Winner::Student,
        }],
        ratings: vec![RatingRecord { member: teacher, role: Role::Teacher, mu: 25.0, sigma: 8.0 }],
        metrics: vec![
            MetricRecord { member: None, values: vec![0.5, f64::NAN], ..MetricRecord::default() },
            MetricRecord { member: Some(teacher), values: vec![0.25, 1.0], ..MetricRecord::default() },
        ],
        ..Records::default()
    };
    for (index, id) in (0u32..).zip(&ids) {
        let valid = index % 2 == 0;
        records.problems.push(ProblemRecord {
            id: *id,
            index,
            proposer: Some(weights(teacher)),
            source: Some(key()),
            kind: if index % 3 == 0 { ProblemKind::CodeI } else { ProblemKind::CodeO },
            prompt: "Propose.".to_owned(),
            proposal: "def f(x): ...".to_owned(),
            valid,
            status: if valid { Status::Ok } else { Status::Timeout },
            reason: if valid { String::new() } else { "it took too long".to_owned() },
            program: Some(format!("def f(x):\n    return x + {index}")),
            values: json!({"input": "1", "nul": "\u{0}"}),
            descriptor: Some([3.0, 1.0, 2.0, 1.0]),
            cell: Some(index % 4),
            parents: if index > 0 { vec![(ids[0], ParentRelation::Reference)] } else { vec![] },
        });
        records.outcomes.push(ProblemOutcomeRecord {
            problem: *id,
            solve_rate: valid.then_some(index as f32 / count as f32),
            attempts: 2,
            reward: 0.5,
            reward_parts: json!({"learnability": 0.5}),
        });
        for sample in 0..2 {
            records.attempts.push(AttemptRecord {
                id: AttemptId::of(work, &format!("a{index}"), sample),
                problem: *id,
                solver: weights(student),
                role: Role::Student,
                sample,
                text: "It is \u{0} 2.".to_owned(),
                answer: Some("2".to_owned()),
                reading: None,
                well_formed: true,
                status: Status::Ok,
                reason: String::new(),
                correct: sample == 0,
                reward: 1.0,
                reward_parts: json!({"correct": 1.0}),
                tokens: 12,
            });
        }
    }
    for (cell, id) in (0u32..4).zip(&ids) {
        records.insertions.push(ArchiveInsertionRecord {
            cell,
            problem: *id,
            status: InsertionStatus::New,
            objective: 0.5,
        });
    }
    let filled = Filled { run, teacher, student, problems: ids, work };
    (records, filled)
}
