//! Runs with scripted players.

mod ancestors;
mod config_faults;
mod geometry;
mod learning;
mod learning_rates;

use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

use crate::config;
use crate::config::RunConfig;
use crate::contract::{Planner as _, Recipe as _, Records, Registry, Role, StepView, Winner, WorkItem, WorkState};
use crate::fault::Faults;
use crate::footprint::{BaseShape, UpdateShape};
use crate::id::{ExecutionId, ProblemId};
use crate::recipes::Populora;
use crate::reward::{Solved, teacher_reward};
use crate::simulation::{Order, Players, Simulation, Skill, Step};
use crate::work::{Dtype, Outcome, Payload, Piece, Prompt, Trainer, WorkKey};

fn document(teachers: u32, students: u32) -> Value {
    let members = match (teachers, students) {
        (0, 0) => json!([{"roles": ["teacher", "student"], "count": 1}]),
        _ => json!([{"roles": ["teacher"], "count": teachers}, {"roles": ["student"], "count": students}]),
    };
    json!({
        "recipe": "populora",
        "seed": 5,
        "steps": 40,
        "populations": {"main": {
            "base_model": {"name": "seedling"},
            "lora": {"r": 8, "lora_alpha": 16.0, "target_modules": ["q_proj"]},
            "members": members,
        }},
        "parameters": {
            "prompts": {"set": "seedling"},
            "problems": {"references": 2, "num_inputs": 6, "pool_size": 64, "max_prompt_bytes": 400, "seeds": "seedling"},
            "prompts_per_matchup": 6,
            "proposals_per_prompt": 1,
            "samples_per_problem": 4,
            "sampling": {"propose": {"max_tokens": 100}, "solve": {"max_tokens": 100}},
            "evolution": {"every": 4},
            "archive": {"cells": 64, "loc": [1.0, 16.0], "ast_depth": [3.0, 12.0], "cyclomatic": [1.0, 6.0], "variables": [0.0, 6.0]},
            "items": {"propose": 6, "solve": 4, "update": 3},
        },
    })
}

fn resolved(document: &Value) -> Result<RunConfig, Faults> {
    config::resolve(document, &Registry::default().with(Populora))
}

fn skills(teachers: u32, students: u32) -> Players {
    Players::new((0..teachers + students).map(|index| Skill(f64::from(index % 4) - 1.5)).collect())
}

fn steps(document: &Value, players: Players, order: Order, count: u32) -> Vec<Step> {
    let config = resolved(document).unwrap();
    let mut simulation = Simulation::new(&Populora, &config, players, order).unwrap();
    (0..count).map(|_| simulation.step().unwrap()).collect()
}

/// Rows by table and identifier, as in a database.
fn sorted(records: &Records) -> Records {
    let mut sorted = records.clone();
    sorted.members.sort_by_key(|row| row.id);
    sorted.versions.sort_by_key(|row| row.id);
    sorted.problems.sort_by_key(|row| row.index);
    sorted.outcomes.sort_by_key(|row| row.problem);
    sorted.attempts.sort_by_key(|row| row.id);
    sorted.matchups.sort_by_key(|row| row.id);
    sorted.ratings.sort_by_key(|row| (row.member, row.role));
    sorted.births.sort_by_key(|row| row.child);
    sorted.deaths.sort_by_key(|row| row.member);
    sorted.geometry.sort_by_key(|row| row.of.version);
    for row in &mut sorted.metrics {
        // NaN means no value, and would not equal itself.
        row.values.iter_mut().filter(|value| value.is_nan()).for_each(|value| *value = -99.0);
    }
    sorted.metrics.sort_by_key(|row| row.member);
    sorted
}

fn value(step: &Step, name: &str) -> f64 {
    let place = Populora.metrics().iter().position(|metric| metric.name == name).unwrap();
    step.records.metrics.iter().find(|row| row.member.is_none()).unwrap().values[place]
}

#[test]
fn a_population_plays_learns_and_evolves() {
    let all = steps(&document(4, 4), skills(4, 4), Order::Together, 8);
    for (number, step) in all.iter().enumerate() {
        let records = &step.records;
        let seeds = records.problems.iter().filter(|problem| problem.proposer.is_none()).count();
        assert_eq!(seeds > 0, number == 0, "seeds are entered once");
        let proposals: Vec<_> = records.problems.iter().filter(|problem| problem.proposer.is_some()).collect();
        assert_eq!(proposals.len(), 24);
        let valid = proposals.iter().filter(|problem| problem.valid).count();
        assert_eq!(records.attempts.len(), valid * 4);
        assert_eq!(records.outcomes.len(), 24);
        assert_eq!(records.matchups.len(), 4);
        assert_eq!(records.versions.iter().filter(|version| version.ordinal > 0).count(), 8);
        assert_eq!(records.metrics.len(), 9);
        assert!(records.metrics.iter().all(|row| row.values.len() == Populora.metrics().len()));
        let students: Vec<_> = records.matchups.iter().map(|matchup| matchup.student).collect();
        assert!((0..4).all(|at| !students[at + 1..].contains(&students[at])), "a permutation");
        assert_eq!(
            records.births.len(),
            match number {
                0 => 8,
                3 | 7 => 2,
                _ => 0,
            }
        );
    }
    assert_eq!(all[3].records.deaths.len(), 2);
    assert!(value(&all[7], "coverage") > value(&all[0], "coverage"));
    assert!(all[7].records.ratings.iter().any(|rating| (rating.mu - 25.0).abs() > 1.0));
    let references = all[1].records.problems.iter().filter(|problem| problem.parents.len() == 2).count();
    assert_eq!(references, 16, "two references for code_i and code_o, one program for code_f");
}

#[test]
fn rewards_are_those_of_the_equations() {
    let step = &steps(&document(2, 2), skills(2, 2), Order::Together, 1)[0];
    let mut solved: BTreeMap<ProblemId, Solved> = BTreeMap::new();
    for attempt in &step.records.attempts {
        let of = solved.entry(attempt.problem).or_default();
        of.attempts += 1;
        of.solved += u32::from(attempt.correct);
        assert_eq!(attempt.reward, if attempt.correct { 1.0 } else { -0.5 });
    }
    for outcome in &step.records.outcomes {
        assert_eq!(outcome.reward, teacher_reward(solved.get(&outcome.problem).copied()));
    }
    let matchup = &step.records.matchups[0];
    let of_teacher = |problem: &ProblemId| {
        step.records
            .problems
            .iter()
            .any(|row| row.id == *problem && row.proposer.is_some_and(|by| by.0 == matchup.teacher))
    };
    let rates: Vec<f32> = solved.iter().filter(|(id, _)| of_teacher(id)).map(|(_, solved)| solved.rate()).collect();
    let mean = rates.iter().sum::<f32>() / rates.len() as f32;
    assert!((matchup.solve_rate.unwrap() - mean).abs() < 1e-6);
    assert_eq!(matchup.winner == Winner::Student, mean > matchup.predicted);
}

#[test]
fn rows_do_not_depend_on_the_order_in_which_work_ends() {
    let document = document(3, 2);
    let together = steps(&document, skills(3, 2), Order::Together, 5);
    for seed in 0..3 {
        let shuffled = steps(&document, skills(3, 2), Order::Shuffled(seed), 5);
        for (one, other) in together.iter().zip(&shuffled) {
            assert!(one.plans < other.plans);
            assert_eq!(sorted(&one.records), sorted(&other.records));
        }
    }
}

#[test]
fn sizes_are_only_a_config() {
    for (teachers, students) in [(1, 1), (8, 8), (1, 4), (5, 2)] {
        let step = steps(&document(teachers, students), skills(teachers, students), Order::Together, 5).pop().unwrap();
        assert_eq!(step.records.matchups.len(), teachers as usize);
        let met: std::collections::BTreeSet<_> = step.records.matchups.iter().map(|matchup| matchup.student).collect();
        assert_eq!(met.len(), teachers.min(students) as usize, "those whom nobody drew sit out");
        assert_eq!(value(&step, "updates"), f64::from(teachers + teachers.min(students)));
    }
}

#[test]
fn the_baseline_is_one_member_in_both_roles() {
    let all = steps(&document(0, 0), skills(1, 0), Order::Together, 5);
    let step = &all[4];
    let matchup = &step.records.matchups[0];
    assert_eq!(matchup.teacher, matchup.student);
    assert_eq!(step.records.ratings.iter().map(|row| row.role).collect::<Vec<_>>(), [Role::Teacher, Role::Student]);
    assert_eq!(value(step, "updates"), 1.0);
    assert!(all.iter().skip(1).all(|step| step.records.births.is_empty()), "the last of a role is never replaced");
}

#[test]
fn a_step_without_a_valid_proposal_completes_and_says_so() {
    let players = skills(2, 2).with_invalid(1.0);
    let mut document = document(2, 2);
    document["parameters"]["problems"]["types"] = json!(["code_o", "code_i"]);
    let step = steps(&document, players, Order::Together, 2).pop().unwrap();
    assert_eq!((value(&step, "validity"), value(&step, "attempts")), (0.0, 0.0));
    assert!(step.records.matchups.iter().all(|matchup| matchup.winner == Winner::Student && matchup.valid == 0));
    assert!(step.records.outcomes.iter().all(|outcome| outcome.reward == -1.0 && outcome.solve_rate.is_none()));
    assert!(step.records.problems.iter().all(|problem| !problem.reason.is_empty()));
    assert_eq!(value(&step, "updates"), 2.0, "teachers learn from −1, students have nothing to learn from");
}

#[test]
fn any_completion_ends_as_a_recorded_and_scored_attempt() {
    for order in [Order::Together, Order::Shuffled(2)] {
        let all = steps(&document(2, 2), skills(2, 2).with_babble(0.6), order, 4);
        for step in &all {
            let proposals: Vec<_> = step.records.problems.iter().filter(|problem| problem.proposer.is_some()).collect();
            assert_eq!(proposals.len(), 12);
            assert_eq!(step.records.outcomes.len(), 12);
            let valid = proposals.iter().filter(|problem| problem.valid).count();
            assert_eq!(step.records.attempts.len(), valid * 4);
            for attempt in &step.records.attempts {
                let scored = match (attempt.well_formed, attempt.correct) {
                    (true, true) => 1.0,
                    (true, false) => -0.5,
                    (false, _) => -1.0,
                };
                assert_eq!(attempt.reward, scored);
            }
            assert!(proposals.iter().all(|problem| problem.valid || !problem.reason.is_empty()));
        }
        assert!(all.iter().flat_map(|step| &step.records.attempts).any(|attempt| !attempt.well_formed));
    }
}

#[test]
fn a_cross_evaluation_puts_every_student_in_front_of_every_teacher() {
    let mut document = document(3, 3);
    document["parameters"]["cross_play_every"] = json!(2);
    document["parameters"]["cross_play_samples"] = json!(2);
    let without = steps(&self::document(3, 3), skills(3, 3), Order::Together, 3);
    for order in [Order::Together, Order::Shuffled(7)] {
        let all = steps(&document, skills(3, 3), order, 3);
        let valid = all[1].records.problems.iter().filter(|problem| problem.valid).count();
        assert_eq!(all[1].records.attempts.len(), valid * (4 + 2 * 2));
        assert_eq!(all[0].records.attempts.len(), without[0].records.attempts.len());
        let mut met: Vec<_> = all[1].records.attempts.iter().map(|attempt| attempt.solver.0).collect();
        met.sort_unstable();
        met.dedup();
        assert_eq!(met.len(), 3);
        assert_eq!(all[1].records.matchups, without[1].records.matchups, "nothing follows from it");
        assert_eq!(value(&all[2], "solve_rate"), value(&without[2], "solve_rate"));
        let tokens = |step: &Step| {
            let proposals = step.records.problems.iter().map(|problem| problem.proposal.len().div_ceil(2) as f64);
            proposals.chain(step.records.attempts.iter().map(|attempt| f64::from(attempt.tokens))).sum::<f64>()
        };
        assert_eq!(value(&all[1], "completion_tokens"), tokens(&all[1]), "everything that was generated");
    }
}

#[test]
fn a_seed_that_is_no_problem_has_no_cell_and_is_in_no_pool() {
    let mut document = document(1, 1);
    document["parameters"]["problems"]["types"] = json!(["code_o"]);
    let config = resolved(&document).unwrap();
    let mut players = skills(1, 1);
    let state = Populora.begin(ExecutionId(Uuid::from_u128(1)), &config).unwrap();
    let mut view = StepView::default();
    for item in Populora.plan(&state, &view).unwrap().work {
        let mut outcome = players.perform(item.key.chunk, &item.payload).unwrap();
        if let Outcome::Verify(result) = &mut outcome {
            for (index, verdict) in result.verdicts.iter_mut().enumerate() {
                match index % 2 {
                    // A verdict that says there is an output, but not which.
                    0 => verdict.output = None,
                    _ => verdict.valid = Some(false),
                }
            }
        }
        view.work.insert(item.key, WorkState::Done(outcome));
    }
    let plan = Populora.plan(&state, &view).unwrap();
    let seeds = &plan.records.problems;
    assert!(!seeds.is_empty());
    for (index, seed) in (0..).zip(seeds) {
        assert_eq!(seed.index, 6 + index, "after the step's proposals, in their order");
        assert!(!seed.valid && seed.cell.is_none() && seed.descriptor.is_some(), "{seed:?}");
        assert_eq!(seed.reason.is_empty(), index % 2 == 1, "{seed:?}");
    }
    let Payload::Rollout(asked) = &plan.work[0].payload else { panic!("proposals come next") };
    assert!(asked.requests.iter().all(|request| request.prompt == Prompt::Text("<po><prog>".to_owned())));
}

#[test]
fn nobody_is_born_at_the_end_of_a_run() {
    let mut document = document(2, 2);
    document["steps"] = json!(8);
    let all = steps(&document, skills(2, 2), Order::Together, 8);
    let births: Vec<_> = all.iter().map(|step| step.records.births.len()).collect();
    assert_eq!(births, [4, 0, 0, 2, 0, 0, 0, 0]);
}

#[test]
fn frozen_roles_play_and_do_not_learn() {
    let mut document = document(2, 2);
    document["parameters"]["frozen"] = json!(["teacher"]);
    let step = steps(&document, skills(2, 2), Order::Together, 1).pop().unwrap();
    let names: BTreeMap<_, _> = step.records.members.iter().map(|member| (member.id, member.name.as_str())).collect();
    let updated = step.records.versions.iter().filter(|version| version.ordinal == 1);
    assert_eq!(updated.map(|version| names[&version.member]).collect::<Vec<_>>(), ["student-0", "student-1"]);
}

#[test]
fn a_gradient_in_pieces_leaves_the_same_rows() {
    let whole = steps(&document(3, 2), skills(3, 2), Order::Together, 5);
    let mut document = document(3, 2);
    document["parameters"]["items"]["gradient_pieces"] = json!(4);
    for order in [Order::Together, Order::Shuffled(3)] {
        let cut = steps(&document, skills(3, 2), order, 5);
        for (one, other) in whole.iter().zip(&cut) {
            assert_eq!(sorted(&one.records), sorted(&other.records));
            // Three members per update: two updates, each in four pieces and a sum.
            assert_eq!(other.items, one.items + 2 * 4);
        }
    }
}

#[test]
fn pieces_are_summed_in_their_order_and_none_is_of_nothing() {
    let mut document = document(1, 1);
    document["parameters"]["items"]["gradient_pieces"] = json!(1000);
    let config = resolved(&document).unwrap();
    let mut players = skills(1, 1);
    let state = Populora.begin(ExecutionId(Uuid::from_u128(1)), &config).unwrap();
    let mut view = StepView::default();
    let (mut pieces, mut longest) = (Vec::new(), 0);
    let gradients = 'summed: loop {
        let mut items = Populora.plan(&state, &view).unwrap().work;
        // The last piece ends first.
        items.reverse();
        for item in items {
            if let Payload::Update(update) = &item.payload {
                match &update.piece {
                    Some(Piece::Gradient { index, of }) => {
                        longest = update.members.iter().map(|member| member.sequences.len()).max().unwrap();
                        pieces.push((*index, *of, item.key.chunk));
                    }
                    Some(Piece::Apply { gradients }) => {
                        assert!(update.members.iter().all(|member| member.sequences.is_empty()));
                        break 'summed gradients.clone();
                    }
                    None => panic!("an update that is not cut"),
                }
            }
            let outcome = players.perform(item.key.chunk, &item.payload).unwrap();
            view.work.insert(item.key, WorkState::Done(outcome));
        }
    };
    pieces.sort_unstable();
    let of = u32::try_from(longest).unwrap();
    assert_eq!(pieces, (0..of).map(|index| (index, of, index)).collect::<Vec<_>>());
    let made = |index| view.update(&WorkKey::new(0, "gradient").chunk(index)).unwrap().unwrap().gradient;
    assert_eq!(gradients, (0..of).filter_map(made).collect::<Vec<_>>());
}

#[test]
fn an_update_asks_for_its_trainer_and_for_the_memory_of_its_peak_where_the_base_is_known() {
    let required = |base: &str, trainer: Trainer| -> Vec<u64> {
        let mut document = document(2, 2);
        document["populations"]["main"]["base_model"]["name"] = json!(base);
        document["compute"]["trainer"] = json!(trainer);
        let config = resolved(&document).unwrap();
        let mut players = skills(2, 2);
        let state = Populora.begin(ExecutionId(Uuid::from_u128(1)), &config).unwrap();
        let mut view = StepView::default();
        loop {
            let items = Populora.plan(&state, &view).unwrap().work;
            let of_update = |item: &WorkItem| matches!(item.payload, Payload::Update(_));
            if items.iter().any(of_update) {
                assert!(items.iter().all(|item| item.requirements.trainer == trainer));
                return items.iter().map(|item| item.requirements.memory_bytes).collect();
            }
            for item in items {
                assert_eq!(item.requirements.trainer, Trainer::Engine, "{} is no update", item.key);
                let weights = BaseShape::of_name(base).map_or(0, |base| 4 * base.parameters());
                let needed = match item.payload {
                    Payload::Rollout(_) => weights,
                    _ => 0,
                };
                assert_eq!(item.requirements.memory_bytes, needed, "{} needs its base", item.key);
                assert_eq!(item.requirements.device, None);
                let outcome = players.perform(item.key.chunk, &item.payload).unwrap();
                view.work.insert(item.key, WorkState::Done(outcome));
            }
        }
    };
    let config = resolved(&document(2, 2)).unwrap();
    let lora = &config.populations["main"].lora;
    let peak = |members| {
        UpdateShape::largest(members, 16384, Dtype::Fp32, true)
            .with_any_lengths(true)
            .peak(&BaseShape::SEEDLING, lora)
            .total()
    };
    let on_engine = |base| required(base, Trainer::Engine);
    assert_eq!(on_engine("seedling"), [peak(3), peak(1)], "three members an item");
    assert_eq!(on_engine("someone/unknown"), [0, 0]);
    // A group shares its memory in a way that only its worker knows.
    assert_eq!(required("seedling", Trainer::Torchrun), [0, 0]);
}

#[test]
fn an_item_of_several_matchups_has_the_members_of_all() {
    let mut document = document(4, 4);
    document["parameters"]["items"] = json!({"propose": 12, "solve": 12, "update": 8});
    let config = resolved(&document).unwrap();
    let mut players = skills(4, 4);
    let state = Populora.begin(ExecutionId(Uuid::from_u128(1)), &config).unwrap();
    let mut view = StepView::default();
    let mut members: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    // Births, proposals, checks and solutions, and what is planned between them.
    for _ in 0..8 {
        for item in Populora.plan(&state, &view).unwrap().work {
            if let Payload::Rollout(payload) = &item.payload {
                let named: BTreeSet<_> = payload.requests.iter().map(|request| request.adapter).collect();
                assert_eq!(named.len(), payload.adapters.len(), "{}", item.key);
                members.entry(item.key.phase.clone()).or_default().push(named.len());
            }
            let outcome = players.perform(item.key.chunk, &item.payload).unwrap();
            view.work.insert(item.key, WorkState::Done(outcome));
        }
    }
    assert_eq!(members["propose"], [2, 2]);
    assert_eq!(members["solve"], [2, 2]);
}

#[test]
fn several_proposals_a_prompt_are_problems_of_their_own() {
    let mut document = document(1, 1);
    document["parameters"]["proposals_per_prompt"] = json!(3);
    let all = steps(&document, skills(1, 1), Order::Shuffled(4), 3);
    for step in &all {
        let proposals = step.records.problems.iter().filter(|problem| problem.proposer.is_some()).count();
        assert_eq!((proposals, step.records.outcomes.len()), (18, 18));
    }
    assert!(all[2].records.problems.iter().any(|problem| !problem.parents.is_empty()));
}

#[test]
fn every_item_is_named_for_its_place() {
    let document = document(2, 2);
    let config = resolved(&document).unwrap();
    let mut simulation = Simulation::new(&Populora, &config, skills(2, 2), Order::Together).unwrap();
    simulation.step().unwrap();
    let state = simulation.state.clone();
    let plan = Populora.plan(&state, &StepView::default()).unwrap();
    assert!(plan.work.is_empty() && !plan.wants.is_empty(), "references are wanted before anything is asked");
    assert_eq!(WorkKey::new(1, "propose").to_string(), "1/propose/0/0");
    assert!(serde_json::to_string(&state.memory).unwrap().len() < 40_000, "memory stays small");
}

#[test]
fn a_member_in_both_roles_counts_as_a_teacher_whichever_is_named_first() {
    let rows = |roles: [&str; 2]| {
        let mut document = document(0, 0);
        document["populations"]["main"]["members"] = json!([{"roles": roles, "count": 1}]);
        let steps = steps(&document, skills(1, 0), Order::Together, 2);
        steps.iter().map(|step| sorted(&step.records).metrics).collect::<Vec<_>>()
    };
    let named = rows(["teacher", "student"]);
    assert_eq!(rows(["student", "teacher"]), named);
    let place = Populora.metric_names().iter().position(|name| *name == "validity").unwrap();
    let of_member = named[1].iter().find(|row| row.member.is_some()).unwrap();
    assert!(of_member.values[place] >= 0.0, "a teacher's row is about its proposals");
}
