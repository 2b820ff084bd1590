//! Runs with scripted players.

mod masks;
mod refusals;

use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

use crate::config;
use crate::config::{RunConfig, apply_overrides};
use crate::contract::{Planner as _, ProblemRecord, Recipe as _, Registry};
use crate::diversity::bleu_clusters;
use crate::fault::Faults;
use crate::id::ProblemId;
use crate::kit::watched::Watched;
use crate::problem::Values;
use crate::recipes::RZero;
use crate::simulation::{Order, Players, Simulation, Skill, Step};
use crate::vote::Vote;
use crate::work::{Payload, WorkKey};

/// Two iterations of 2 + 1 + 2 + 1 steps: 6 prompts of 4 proposals, a curriculum of 24, and 4 questions of 3 answers.
fn document() -> Value {
    json!({
        "recipe": "rzero",
        "seed": 4,
        "populations": {"main": {
            "base_model": {"name": "seedling-math"},
            "lora": {"r": 8, "lora_alpha": 16.0, "target_modules": ["q_proj"]},
            "members": [{"roles": ["proposer"], "count": 1}, {"roles": ["solver"], "count": 1}],
        }},
        "parameters": {
            "iterations": 2,
            "prompts": {"set": "seedling-math"},
            "proposer": {"steps": 2, "prompts": 6, "sampling": {"max_tokens": 96}, "learning": {"optimizer": {"minibatches": 1}}},
            "curriculum": {"questions": 24, "sampling": {"max_tokens": 96}},
            "vote": {"sampling": {"max_tokens": 96}},
            "solver": {
                "steps": 2, "questions": 4, "n": 3, "sampling": {"max_tokens": 96}, "learning": {"optimizer": {"minibatches": 1}},
            },
            "items": {"propose": 4, "solve": 5},
        },
    })
}

fn resolved(document: &Value) -> Result<RunConfig, Faults> {
    config::resolve(document, &Registry::default().with(RZero))
}

fn with(overrides: &[(&str, Value)]) -> Value {
    let mut document = document();
    let overrides = overrides.iter().map(|(path, value)| ((*path).to_owned(), value.clone()));
    apply_overrides(&mut document, &overrides.collect()).unwrap();
    document
}

/// A whole run: its steps, the stage of each, and the work.
struct Played {
    steps: Vec<Step>,
    stages: Vec<String>,
    work: BTreeMap<WorkKey, Payload>,
}

fn players() -> Players {
    Players::new(vec![Skill(0.0), Skill(0.0)]).with_invalid(0.2)
}

fn play(document: &Value, players: Players, order: Order) -> Played {
    let config = resolved(document).unwrap();
    let watched = Watched::new(&RZero);
    let mut simulation = Simulation::new(&watched, &config, players, order).unwrap();
    let (mut steps, mut stages) = (Vec::new(), Vec::new());
    for _ in 0..config.steps {
        stages.push(simulation.state.stage.clone());
        steps.push(simulation.step().unwrap());
    }
    assert!(simulation.state.completed);
    drop(simulation);
    let work = watched.work();
    Played { steps, stages, work }
}

fn metric(step: &Step, name: &str) -> f64 {
    let place = RZero.metric_names().iter().position(|known| *known == name).unwrap();
    let run = step.records.metrics.iter().find(|row| row.member.is_none()).unwrap();
    run.values[place]
}

/// Answers by problem, in order of their samples.
fn answers(step: &Step) -> BTreeMap<ProblemId, Vec<Option<String>>> {
    let mut attempts: Vec<_> = step.records.attempts.iter().collect();
    attempts.sort_by_key(|attempt| attempt.sample);
    let mut answers: BTreeMap<ProblemId, Vec<Option<String>>> = BTreeMap::new();
    for attempt in attempts {
        answers.entry(attempt.problem).or_default().push(attempt.answer.clone());
    }
    answers
}

/// The vote on answers that scripted players give: equal texts are equal.
fn vote(answers: &[Option<String>]) -> Option<Vote> {
    let first = |answer: &Option<String>| answers.iter().position(|other| other == answer);
    let clusters: Vec<Option<u32>> =
        answers.iter().map(|answer| answer.as_ref().and(first(answer)).map(|at| at as u32)).collect();
    Vote::of(&clusters)
}

fn question(problem: &ProblemRecord) -> (String, String) {
    match serde_json::from_value(problem.values.clone()).unwrap() {
        Values::Math { question, answer } => (question, answer),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_stages_follow_one_another_and_only_their_members_learn() {
    let Played { steps, stages, .. } = play(&document(), players(), Order::Together);
    let iteration = ["proposer", "proposer", "curriculum", "solver", "solver", "diversity"];
    assert_eq!(stages, [iteration, iteration].concat());
    let names: BTreeMap<_, _> = steps[0].records.members.iter().map(|row| (row.id, row.name.clone())).collect();
    for (step, stage) in steps.iter().zip(&stages) {
        let learned = step.records.versions.iter().filter(|version| version.ordinal > 0);
        let learned: Vec<&str> = learned.map(|version| names[&version.member].as_str()).collect();
        let expected: &[&str] = match stage.as_str() {
            "proposer" => &["proposer-0"],
            "solver" => &["solver-0"],
            _ => &[],
        };
        assert_eq!(learned, expected, "{stage}");
        let proposed = match stage.as_str() {
            "proposer" | "curriculum" => 24,
            _ => 0,
        };
        assert_eq!(step.records.problems.len(), proposed, "{stage}");
        assert_eq!(step.records.outcomes.len(), proposed, "{stage}");
        assert_eq!(step.records.metrics.len(), 3, "one row a member, and the run's");
        let valid = step.records.problems.iter().filter(|problem| problem.valid).count();
        let expected = if stage == "solver" { 4 * 3 } else { 10 * valid };
        assert_eq!(step.records.attempts.len(), expected, "{stage}");
    }
    let vendi: Vec<f64> = steps.iter().map(|step| metric(step, "vendi")).collect();
    assert!(vendi[4].is_nan() && vendi[5] > 0.0 && vendi[11] > 0.0);
    let valid = [2, 8].map(|step| metric(&steps[step], "valid_questions"));
    assert_eq!([vendi[5], vendi[11]], valid);
    assert_eq!(metric(&steps[11], "cumulative_vendi"), valid[0] + valid[1]);
    assert!(metric(&steps[5], "novelty").is_nan(), "there is no earlier iteration");
    assert_eq!(metric(&steps[11], "novelty"), 0.3);
}

#[test]
fn rewards_follow_from_answers_and_wordings() {
    let document = with(&[("parameters.uncertainty.unreadable", json!(-1.0))]);
    let Played { steps, .. } = play(&document, players(), Order::Together);
    let step = &steps[0];
    let answers = answers(step);
    let mut problems: Vec<&ProblemRecord> = step.records.problems.iter().collect();
    problems.sort_by_key(|problem| problem.index);
    let texts: Vec<String> = problems.iter().map(|problem| question(problem).0).collect();
    let clusters = bleu_clusters(&texts, 0.5);
    assert!(clusters.iter().collect::<BTreeSet<_>>().len() < 24, "some wordings repeat others");
    let mut paid = 0;
    for (problem, cluster) in problems.iter().zip(&clusters) {
        let vote = answers.get(&problem.id).and_then(|answers| vote(answers));
        let repetition = -(clusters.iter().filter(|other| *other == cluster).count() as f32) / 24.0;
        let uncertainty = match vote {
            Some(vote) if (3..=7).contains(&vote.count) => vote.count.min(10 - vote.count) as f32 / 10.0,
            _ => 0.0,
        };
        let format = if problem.valid { 0.0 } else { -1.0 };
        let outcome = step.records.outcomes.iter().find(|row| row.problem == problem.id).unwrap();
        assert!((outcome.reward - (uncertainty + repetition + format)).abs() < 1e-6, "{outcome:?}");
        let part = |name: &str| outcome.reward_parts[name].as_f64().unwrap() as f32;
        let parts = part("uncertainty") + part("repetition") + part("format");
        assert!((outcome.reward - parts).abs() < 1e-6);
        paid += u32::from(uncertainty > 0.0);
    }
    assert!(paid > 3 && problems.iter().any(|problem| !problem.valid));
    let penalized = metric(step, "repetition");
    assert!(penalized > 1.0 / 24.0, "some wordings repeat others");
    let plain = with(&[("parameters.uncertainty.repetition.weight", json!(0.0))]);
    let Played { steps, .. } = play(&plain, players(), Order::Together);
    assert!(steps[0].records.outcomes.iter().all(|outcome| outcome.reward >= 0.0));
    assert_eq!(metric(&steps[0], "repetition"), penalized, "it is measured without a penalty, too");
}

#[test]
fn solvers_learn_from_questions_in_the_band() {
    for labels in ["stated", "majority"] {
        let document = with(&[("parameters.labels", json!(labels)), ("parameters.solver.format_weight", json!(0.1))]);
        let Played { steps, .. } = play(&document, players(), Order::Together);
        let generated = &steps[2];
        let votes: BTreeMap<ProblemId, Vote> =
            answers(generated).into_iter().filter_map(|(problem, answers)| Some((problem, vote(&answers)?))).collect();
        let in_band = |vote: &Vote| (3..=7).contains(&vote.count);
        let pool: BTreeSet<ProblemId> = votes.iter().filter(|(_, vote)| in_band(vote)).map(|(id, _)| *id).collect();
        assert_eq!(metric(generated, "accepted_questions"), pool.len() as f64);
        assert!(pool.len() > 4 && pool.len() < votes.len());
        let known: BTreeMap<ProblemId, &ProblemRecord> =
            generated.records.problems.iter().map(|problem| (problem.id, problem)).collect();
        let mut asked = Vec::new();
        for attempt in steps[3].records.attempts.iter().chain(&steps[4].records.attempts) {
            assert!(pool.contains(&attempt.problem));
            asked.push(attempt.problem);
            let (_, label) = question(known[&attempt.problem]);
            assert_eq!(attempt.correct, attempt.answer.as_ref() == Some(&label));
            let expected = 0.9 * f32::from(u8::from(attempt.correct)) + 0.1 * f32::from(u8::from(attempt.well_formed));
            assert!((attempt.reward - expected).abs() < 1e-6);
        }
        asked.sort_unstable();
        asked.dedup();
        assert_eq!(asked.len(), 8.min(pool.len()), "no question twice before all were asked");
        for (problem, record) in &known {
            let Some(vote) = votes.get(problem) else { continue };
            let given = answers(generated)[problem][vote.label].clone();
            let stated = record.proposal.rsplit_once("\\boxed{").unwrap().1.trim_end_matches('}');
            let label = question(record).1;
            match labels {
                "majority" => assert_eq!(Some(label), given),
                _ => assert_eq!(label, stated),
            }
        }
    }
}

#[test]
fn nothing_depends_on_the_order_in_which_work_ends() {
    let rows = |order| -> Vec<Vec<String>> {
        let steps = play(&document(), players(), order).steps;
        let of = |step: &Step| {
            let records = serde_json::to_value(&step.records).unwrap();
            let tables = records.as_object().unwrap().values().filter_map(Value::as_array);
            let mut rows: Vec<String> = tables.flatten().map(Value::to_string).collect();
            rows.sort_unstable();
            rows
        };
        steps.iter().map(of).collect()
    };
    assert_eq!(rows(Order::Together), rows(Order::Shuffled(3)));
}

#[test]
fn a_run_without_a_valid_question_completes_and_says_so() {
    let Played { steps, .. } = play(&document(), players().with_invalid(1.0), Order::Shuffled(1));
    assert_eq!(metric(&steps[0], "valid_share"), 0.0);
    assert_eq!([2, 8].map(|step| metric(&steps[step], "valid_questions")), [0.0, 0.0]);
    assert_eq!(metric(&steps[2], "accepted_questions"), 0.0);
    assert!(metric(&steps[3], "pass_rate").is_nan() && metric(&steps[5], "vendi").is_nan());
    assert!(steps.iter().all(|step| step.records.attempts.is_empty()));
}

/// Questions of several proposers are shared out, and each population keeps to its base.
#[test]
fn two_populations_of_different_bases_play() {
    let mut document = document();
    let population = |base: &str, role: &str, count: u32| {
        json!({
            "base_model": {"name": base},
            "lora": {"r": 8, "lora_alpha": 16.0, "target_modules": ["q_proj"]},
            "members": [{"roles": [role], "count": count}],
        })
    };
    document["populations"] =
        json!({"ask": population("large", "proposer", 2), "try": population("small", "solver", 3)});
    let players = Players::new(vec![Skill(0.0); 5]);
    let Played { steps, work, .. } = play(&document, players, Order::Together);
    for (key, payload) in &work {
        let base = payload.base_model().map(|base| base.name.as_str());
        let proposes = ["propose", "diversity"].contains(&key.phase.as_str());
        match payload {
            Payload::Verify(_) => assert_eq!(base, None),
            _ if proposes => assert_eq!(base, Some("large"), "{key}"),
            Payload::Rollout(_) => assert_eq!(base, Some("small"), "{key}"),
            _ => {}
        }
    }
    let (mut proposers, mut solvers) = (BTreeMap::new(), BTreeSet::new());
    for problem in &steps[0].records.problems {
        *proposers.entry(problem.proposer.unwrap().0).or_insert(0) += 1;
    }
    solvers.extend(steps[0].records.attempts.iter().map(|attempt| attempt.solver.0));
    assert_eq!((proposers.into_values().collect::<Vec<_>>(), solvers.len()), (vec![24, 24], 3));
    let versions = |step: &Step| step.records.versions.iter().filter(|version| version.ordinal > 0).count();
    assert_eq!([versions(&steps[0]), versions(&steps[3])], [2, 3]);
}

/// Too many proposals to compare their wordings.
#[test]
fn repetition_that_is_not_measured_has_no_value() {
    let many = [
        ("parameters.proposer.prompts", json!(82)),
        ("parameters.proposer.n", json!(101)),
        ("parameters.vote.samples", json!(2)),
        ("parameters.uncertainty.repetition.weight", json!(0.0)),
        ("parameters.iterations", json!(1)),
        ("parameters.proposer.steps", json!(1)),
    ];
    let Played { steps, work, .. } = play(&with(&many), players(), Order::Together);
    assert!(work.keys().all(|key| key.phase != "repetition"));
    assert!(metric(&steps[0], "repetition").is_nan());
}

#[test]
fn a_step_of_few_questions_has_minibatches_of_the_same_size() {
    // Questions and minibatches of each solver step.
    let played = |questions: u32, minibatches: u32| -> Vec<(u32, u32)> {
        let document = with(&[
            ("parameters.solver.questions", json!(questions)),
            ("parameters.solver.learning.optimizer.minibatches", json!(minibatches)),
        ]);
        let work = play(&document, players(), Order::Together).work;
        let of_solver = work.iter().filter(|(key, _)| [3, 4, 9, 10].contains(&key.step));
        let updates = of_solver.filter_map(|(_, payload)| match payload {
            Payload::Update(update) => Some(update),
            _ => None,
        });
        updates.map(|update| (update.members[0].sequences.len() as u32 / 3, update.optimizer.minibatches)).collect()
    };
    assert_eq!(played(4, 2), [(4, 2); 4]);
    // Of the 24 proposals of a curriculum fewer are in the band.
    let few = played(4096, 1024);
    assert_eq!(few.len(), 4);
    for (questions, minibatches) in few {
        assert!((5..24).contains(&questions));
        assert_eq!(minibatches, questions.div_ceil(4), "four questions each");
    }
}

#[test]
fn a_single_sample_of_a_prompt_is_no_group_without_signal() {
    let alone = with(&[
        ("parameters.proposer.n", json!(1)),
        ("parameters.solver.n", json!(1)),
        ("parameters.advantages.estimator", json!("reinforce_plus_plus")),
    ]);
    let shares = |document: &Value| -> Vec<bool> {
        let steps = play(document, players(), Order::Together).steps;
        let learning = [0, 1, 3, 4].map(|step| metric(&steps[step], "no_signal_share").is_nan());
        learning.to_vec()
    };
    assert_eq!(shares(&alone), [true; 4]);
    assert_eq!(shares(&document()), [false; 4]);
}

#[test]
fn a_question_that_leaves_no_room_for_an_answer_is_not_valid() {
    // 512 positions: 381 of the template and 96 of an answer leave 35 for the question.
    let template = format!("<solve>{}{{{{ question }}}}<go>", "x".repeat(381 - "<solve><go>".len()));
    let document = with(&[("parameters.prompts.templates.solve", json!(template))]);
    let Played { steps, work, .. } = play(&document, players(), Order::Shuffled(1));
    let problems = || steps.iter().flat_map(|step| &step.records.problems);
    let (valid, invalid): (Vec<_>, Vec<_>) = problems().partition(|problem| problem.valid);
    let long: Vec<_> = invalid.iter().filter(|problem| problem.reason.starts_with("too long: ")).collect();
    assert!(!valid.is_empty() && !long.is_empty(), "{} and {}", valid.len(), long.len());
    assert!(long[0].reason.contains("needs 96 more, beyond the 512 positions of seedling-math"), "{}", long[0].reason);
    for payload in work.values() {
        if let Payload::Rollout(rollout) = payload {
            let prompts = rollout.requests.iter().map(|request| request.prompt.text());
            // Scripted players write two bytes a token.
            assert!(prompts.map(|prompt| prompt.len()).all(|bytes| bytes <= 381 + 2 * 35));
        }
    }
}
