//! Which candidates are accepted, and what they earn.

use super::*;
use crate::contract::AttemptRecord;
use crate::verify::Status;

/// The attempts at a candidate in its own step.
fn attempts<'s>(step: &'s Step, problem: &ProblemRecord) -> Vec<&'s AttemptRecord> {
    let attempts = step.records.attempts.iter();
    attempts.filter(|attempt| attempt.problem == problem.id).collect()
}

/// What a candidate that was solved `solved` times of 10 earns, by the paper's equations.
fn paper(stage: &str, solved: usize) -> f32 {
    let p = solved as f64 / 10.0;
    let reward = match stage {
        "lemma" if (3..=7).contains(&solved) => (4.0 * p * (1.0 - p)).powi(5),
        "lift" if (1..=5).contains(&solved) => 10.0 * p * ((1.0 - p) / 0.9).powi(9),
        _ => -0.5,
    };
    reward as f32
}

#[test]
fn rewards_are_those_of_the_paper_at_every_pass_rate() {
    let members = json!([{"roles": ["teacher"], "count": 1}, {"roles": ["student"], "count": 1}]);
    let document = with(&[("parameters.iterations", json!(8)), ("populations.main.members", members)]);
    // Problems of the first teacher are hard for the student.
    let runs = [1.0, 0.0].map(|teacher| {
        let players = Players::new(vec![Skill(teacher), Skill(0.0)]).with_invalid(0.2);
        play_as(&document, players, Order::Together)
    });
    for stage in ["lemma", "lift"] {
        let mut seen = Vec::new();
        let steps =
            runs.iter().flat_map(|played| played.of_stage(stage).into_iter().map(move |step| &played.steps[step]));
        for step in steps {
            for (problem, outcome) in candidates(step) {
                let tried = attempts(step, problem);
                if !problem.valid {
                    let flaw = if problem.status == Status::Ok { -0.5 } else { -1.0 };
                    assert_eq!((tried.len(), outcome.attempts, outcome.reward), (0, 0, flaw));
                    continue;
                }
                assert_eq!((tried.len(), outcome.attempts), (10, 10));
                let solved = tried.iter().filter(|attempt| attempt.correct).count();
                let wanted = paper(stage, solved);
                assert!((outcome.reward - wanted).abs() < 1e-5, "{solved} of 10: {outcome:?}");
                let part = if wanted < 0.0 { "out_of_band" } else { "learnability" };
                assert_eq!(outcome.reward_parts, json!({ part: outcome.reward }));
                seen.push(solved);
            }
        }
        for edge in [1, 3, 5, 7] {
            assert!(seen.contains(&edge), "no {stage} was solved {edge} times: {seen:?}");
        }
    }
}

#[test]
fn accepted_are_the_lowest_indices_whatever_the_order_of_completion() {
    for order in [Order::Together, Order::Shuffled(1), Order::Shuffled(9)] {
        let played = play_as(&document(), players(), order);
        for (stage, list) in [("lemma", "lemmas"), ("lift", "lifts")] {
            for step in played.of_stage(stage) {
                let all = candidates(&played.steps[step]);
                let in_band = all.iter().filter(|(_, outcome)| outcome.reward_parts.get("learnability").is_some());
                let ids: Vec<ProblemId> = in_band.map(|(problem, _)| problem.id).collect();
                let first = &ids[..ids.len().min(TARGET)];
                assert_eq!(played.accepted(step, list), first, "{stage} of step {step}");
                // A round is whole: there are as many candidates as rounds have.
                let rounds = metric(&played.steps[step], &format!("{stage}_rounds")) as usize;
                assert_eq!(all.len(), 9 * rounds);
                let before: Vec<_> = all[..9 * rounds.saturating_sub(1)].iter().collect();
                let enough = before.iter().filter(|(_, outcome)| outcome.reward_parts.get("learnability").is_some());
                assert!(enough.count() < TARGET, "the round before was not enough");
            }
        }
    }
}

#[test]
fn a_stage_whose_rounds_are_spent_goes_on_with_what_it_has_and_says_so() {
    let few = with(&[("parameters.rounds", json!({"target": 30, "candidates": 5, "max": 2}))]);
    let played = play(&few);
    let step = &played.steps[0];
    assert_eq!(candidates(step).len(), 10);
    let accepted = played.accepted(0, "lemmas").len();
    assert!((1..10).contains(&accepted), "{accepted}");
    assert_eq!(metric(step, "lemma_rounds"), 2.0);
    assert_eq!(metric(step, "lemma_accepted"), accepted as f64);
    assert_eq!(metric(step, "lemma_shortfall"), (30 - accepted) as f64);
    assert!(metric(step, "lift_shortfall").is_nan(), "this stage makes no lifts");
}

#[test]
fn a_run_without_a_valid_candidate_completes() {
    let nobody = players().with_invalid(1.0);
    let played = play_as(&document(), nobody, Order::Shuffled(1));
    for step in played.of_stage("lemma") {
        let step = &played.steps[step];
        assert_eq!(candidates(step).len(), 6 * 9);
        assert!(candidates(step).iter().all(|(_, outcome)| outcome.reward == -1.0));
        assert_eq!(metric(step, "lemma_shortfall"), TARGET as f64);
        assert_eq!(metric(step, "valid_share"), 0.0);
    }
    for step in played.of_stage("lift") {
        assert_eq!(played.steps[step].items, 0, "there is nothing to lift");
        assert_eq!(metric(&played.steps[step], "lift_rounds"), 0.0);
        assert_eq!(metric(&played.steps[step], "lift_shortfall"), TARGET as f64);
    }
    for step in played.of_stage("solve") {
        assert_eq!(played.steps[step].items, 0, "there is nothing to solve");
    }
}

#[test]
fn what_is_too_similar_is_rejected_with_its_neighbour_named() {
    let played = play(&with(&[("parameters.novelty.threshold", json!(0.9))]));
    let mut rejected = 0;
    for (step, records) in played.steps.iter().enumerate() {
        for (problem, outcome) in candidates(records) {
            let similarity = problem.values["similarity"].as_f64();
            let is_rejected = !problem.valid && problem.status == Status::Ok;
            assert_eq!(is_rejected, similarity.is_some_and(|value| value > 0.9), "{problem:?}");
            if !is_rejected {
                continue;
            }
            rejected += 1;
            assert_eq!(outcome.reward_parts, json!({"duplicate": -0.5}));
            let nearest: ProblemId = serde_json::from_value(problem.values["nearest"].clone()).unwrap();
            assert!(problem.reason.contains(&nearest.to_string()), "{}", problem.reason);
            let (earlier, neighbour) = played.problem(nearest);
            assert!(neighbour.valid, "only what is not rejected counts");
            assert!(earlier < step || (earlier == step && neighbour.index < problem.index));
            let kept = |list| (0..step).any(|before| played.accepted(before, list).contains(&nearest));
            assert!(earlier == step || kept("lemmas") || kept("lifts"), "it was accepted");
        }
    }
    assert!(rejected > 5, "{rejected}");
    let lenient =
        play(&with(&[("parameters.novelty.threshold", json!(0.5)), ("parameters.novelty.rejects", json!(false))]));
    let all = lenient.steps.iter().flat_map(candidates);
    for (problem, _) in all {
        assert!(problem.valid || problem.status != Status::Ok, "nothing is rejected");
    }
}

#[test]
fn candidates_are_compared_with_all_that_were_accepted_before() {
    let document = with(&[("parameters.novelty.centred", json!(true))]);
    let played = play(&document);
    let mut reference = None;
    let mut counted = 0;
    for step in 0..played.steps.len() {
        let mut of_stage = 0;
        for rollout in played.rollouts(step, "embed") {
            let batch = rollout.embedding.as_ref().unwrap();
            assert!(batch.centred && rollout.adapters.is_empty());
            let rows: usize = batch.against.iter().map(|(_, rows)| rows.len()).sum();
            assert!(rows >= counted + of_stage, "earlier rounds count as well");
            of_stage = rows - counted;
            match (&reference, batch.against.first()) {
                (None, None) => {}
                (None, Some((first, rows))) => {
                    assert!(rows.is_empty(), "it is there for its mean");
                    reference = Some(*first);
                }
                (Some(known), first) => assert_eq!(first.map(|(first, _)| first), Some(known)),
            }
        }
        counted += match played.stages[step].as_str() {
            "lemma" => played.accepted(step, "lemmas").len(),
            "lift" => played.accepted(step, "lifts").len(),
            _ => 0,
        };
        assert_eq!(metric(&played.steps[step], "buffer_size"), counted as f64);
    }
    assert!(metric(&played.steps[0], "lemma_dissimilarity").is_nan(), "the buffer was empty");
    let later = metric(&played.steps[3], "lemma_dissimilarity");
    assert!(later > 0.0 && later < 1.0, "{later}");
}
