//! What members learn from.

use super::*;
use crate::contract::Role;
use crate::work::MemberUpdate;

impl Played {
    /// The members that learn in a step, in its one update; none if there is nothing to learn.
    fn learners(&self, step: usize) -> Vec<&MemberUpdate> {
        let updates = self.work.iter().filter(|(key, _)| key.step as usize == step);
        let updates = updates.filter_map(|(_, payload)| match payload {
            Payload::Update(update) => Some(&update.members),
            _ => None,
        });
        let updates: Vec<_> = updates.collect();
        assert!(updates.len() <= 1, "one update a stage");
        updates.into_iter().flatten().collect()
    }
}

#[test]
fn each_stage_has_one_update_of_everything_that_was_judged() {
    let played = play(&document());
    for (step, stage) in played.stages.iter().enumerate() {
        let learners = played.learners(step);
        assert_eq!(learners.len(), 1, "step {step}");
        let records = &played.steps[step];
        let sequences = match stage.as_str() {
            "solve" => records.records.attempts.len(),
            _ => candidates(records).len(),
        };
        assert_eq!(learners[0].sequences.len(), sequences);
        let ordinals: Vec<u32> = records.records.versions.iter().map(|version| version.ordinal).collect();
        let wanted = if step == 0 { vec![0, 1] } else { vec![step as u32 + 1] };
        assert_eq!(ordinals, wanted, "step {step}");
        let sum: f32 = learners[0].sequences.iter().map(|sequence| sequence.advantage).sum();
        assert!(sum.abs() < 1e-3, "rewards are whitened: {sum}");
    }
}

#[test]
fn the_teacher_may_learn_from_what_was_accepted_alone() {
    let played = play(&with(&[("parameters.learn_from", json!("accepted"))]));
    for (stage, list) in [("lemma", "lemmas"), ("lift", "lifts")] {
        for step in played.of_stage(stage) {
            let sequences: usize = played.learners(step).iter().map(|learner| learner.sequences.len()).sum();
            assert_eq!(sequences, played.accepted(step, list).len());
        }
    }
}

#[test]
fn estimates_are_not_learned_from() {
    let played = play(&document());
    for step in 0..played.steps.len() {
        assert!(played.rollouts(step, "estimate").all(|rollout| !rollout.keep_tokens));
        assert!(played.rollouts(step, "propose").all(|rollout| rollout.keep_tokens));
        assert!(played.rollouts(step, "solve").all(|rollout| rollout.keep_tokens));
    }
}

/// A teacher and a student, and two steps on real data after each of two iterations.
fn with_real_data() -> Value {
    let members = json!([{"roles": ["teacher"], "count": 1}, {"roles": ["student"], "count": 1}]);
    let real_data = json!({"dataset": {"id": REAL_DATA, "rows": 8}, "prompts": "seedling", "batch": 4, "n": 5});
    with(&[
        ("populations.main.members", members),
        ("parameters.iterations", json!(2)),
        ("parameters.real_data", real_data),
        ("parameters.real_data_steps", json!(2)),
    ])
}

#[test]
fn each_role_learns_in_its_stages() {
    let played = play(&with_real_data());
    let iteration = ["lemma", "lift", "solve", "real_data", "real_data"];
    assert_eq!(played.stages, [iteration; 2].concat());
    let member = |step: usize| played.learners(step)[0].member;
    let (teacher, student) = (member(0), member(2));
    assert_ne!(teacher, student);
    for (step, stage) in played.stages.iter().enumerate() {
        let learns = if ["lemma", "lift"].contains(&stage.as_str()) { teacher } else { student };
        assert_eq!(member(step), learns, "{stage}");
        let records = &played.steps[step].records;
        assert!(records.attempts.iter().all(|attempt| attempt.solver.0 == student));
        assert!(records.attempts.iter().all(|attempt| attempt.role == Role::Student));
        let mut proposers = candidates(&played.steps[step]).into_iter().map(|(problem, _)| problem.proposer.unwrap().0);
        assert!(proposers.all(|proposer| proposer == teacher));
    }
}

#[test]
fn a_judge_scores_answers_to_real_data() {
    let mut config = with_real_data();
    let judge = json!({
        "set": "seedling-math", "grammar": "tagged",
        "templates": {"judge": "<judge>{{ question }}<is>{{ answer }}<go>"},
    });
    config["parameters"]["real_data"]["reward"] = json!({"judge": {"prompts": judge}});
    let played = play(&config);
    let steps = played.of_stage("real_data");
    let attempts = steps.iter().flat_map(|step| &played.steps[*step].records.attempts);
    let scores: Vec<f64> = attempts.map(|attempt| attempt.reward_parts["judge"].as_f64().unwrap()).collect();
    assert_eq!(scores.len(), 4 * 4 * 5);
    assert!(scores.iter().any(|score| *score > 0.0) && scores.iter().all(|score| (0.0..=1.0).contains(score)));
}

#[test]
fn real_data_is_learned_from_as_by_rlvr() {
    let played = play(&with_real_data());
    let steps = played.of_stage("real_data");
    let mut rows = Vec::new();
    for (batch, step) in steps.iter().enumerate() {
        let records = &played.steps[*step].records;
        assert_eq!(records.attempts.len(), 4 * 5);
        assert_eq!(played.learners(*step)[0].sequences.len(), 4 * 5);
        assert!(metric(&played.steps[*step], "real_pass_rate") >= 0.0);
        assert!(metric(&played.steps[*step], "pass_rate").is_nan());
        let counted: u32 = records.row_answers.iter().map(|row| row.answers).sum();
        assert_eq!(counted, 4 * 5);
        rows.extend(records.row_answers.iter().map(|row| row.row));
        if batch % 2 == 1 {
            rows.sort_unstable();
            assert_eq!(rows, (0..8).collect::<Vec<u32>>(), "every row once before any twice");
            rows.clear();
        }
        let work = played.work.keys().filter(|key| key.step as usize == *step);
        let fits = work.filter(|key| key.phase == "fit").count();
        assert_eq!(fits, usize::from(batch == 0), "rows are checked once");
    }
    let entered = |step: usize| played.steps[step].records.problems.iter();
    let real = entered(steps[0]).next().unwrap();
    let mut goalposts = entered(0).filter(|problem| problem.proposer.is_none());
    assert!(goalposts.all(|goalpost| goalpost.id != real.id), "rows of two datasets differ");
}

#[test]
fn real_data_is_asked_in_rounds_and_what_is_dropped_is_recorded() {
    let mut config = with_real_data();
    config["parameters"]["real_data"]["dynamic"] = json!({"max_rounds": 3});
    let played = play(&config);
    for (step, stage) in played.stages.iter().enumerate() {
        let [dropped, rounds] = ["dropped_share", "rounds"].map(|name| metric(&played.steps[step], name));
        if stage != "real_data" {
            assert!(dropped.is_nan() && rounds.is_nan(), "{stage}");
            continue;
        }
        let asked = played.steps[step].records.attempts.len() as f64;
        let learned: usize = played.learners(step).iter().map(|learner| learner.sequences.len()).sum();
        assert_eq!((asked * (1.0 - dropped)).round(), learned as f64);
        assert!(learned == 4 * 5 || rounds == 3.0, "{learned} in {rounds} rounds");
    }
}
