use crate::contract::Planner as _;
use crate::id::ExecutionId;
use rand::seq::SliceRandom as _;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};
use uuid::Uuid;

use super::*;
use crate::contract::{AttemptRecord, Records, Role, Want, WorkState};
use crate::id::{MemberId, ProblemId};
use crate::recipes::small_run::small_run;
use crate::recipes::{Populora, azr};
use crate::seed::stream;
use crate::simulation::{Order, Players, Simulation, Skill};
use crate::work::{AdapterRef, Outcome};

const RUN: ExecutionId = ExecutionId(Uuid::from_u128(6));
const EVALUATION: ExecutionId = ExecutionId(Uuid::from_u128(9));

/// A run of one step with two teachers and two students, and its records.
fn played() -> (RunConfig, Players, Records) {
    let config = small_run();
    let players = Players::new([0.0, 0.0, -2.0, 4.0].map(Skill).to_vec());
    let mut simulation = Simulation::new(&Populora, &config, players, Order::Together).unwrap();
    assert_eq!(simulation.state.run, RUN);
    let step = simulation.step().unwrap();
    (config, simulation.players, step.records)
}

/// Every cell of the run, with each teacher's first three problems.
fn parameters(config: &RunConfig, records: &Records) -> CrossPlayParameters {
    let of_role = |role| records.members.iter().filter(move |member| member.roles.contains(&role));
    let weights = |member: MemberId| {
        let own = records.versions.iter().filter(|version| version.member == member);
        let newest = own.max_by_key(|version| version.ordinal).unwrap();
        AdapterRef { version: newest.id, artifact: newest.artifact, optimizer: None }
    };
    let students: Vec<Contestant> = of_role(Role::Student)
        .map(|member| Contestant { member: member.id, name: member.name.clone(), adapter: weights(member.id) })
        .collect();
    let problems = |teacher: MemberId| -> Vec<ProblemId> {
        let valid = records.problems.iter().filter(|problem| problem.valid);
        let own = valid.filter(|problem| problem.proposer.is_some_and(|(member, _)| member == teacher));
        own.map(|problem| problem.id).take(3).collect()
    };
    let cells = of_role(Role::Teacher).flat_map(|teacher| {
        (0..2).map(move |student| CrossPlayCell {
            teacher: teacher.id,
            name: teacher.name.clone(),
            student,
            problems: problems(teacher.id),
        })
    });
    CrossPlayParameters {
        run: RUN,
        step: 1,
        samples: 2,
        cells: cells.collect(),
        students,
        play: config.parameters.clone(),
    }
}

fn asked(config: &RunConfig, parameters: &CrossPlayParameters) -> RunConfig {
    RunConfig {
        recipe: CrossPlayEvaluation.name().to_owned(),
        parameters: serde_json::to_value(parameters).unwrap(),
        ..config.clone()
    }
}

/// Plays an evaluation whose items end in an order drawn from `order`; returns its result and the attempts it wrote.
fn play(
    config: &RunConfig,
    players: &Players,
    records: &Records,
    order: u64,
) -> (Value, BTreeMap<Uuid, AttemptRecord>) {
    let state = CrossPlayEvaluation.begin(EVALUATION, config).unwrap();
    let mut players = players.clone();
    let (mut view, mut open) = (StepView::default(), Vec::new());
    let mut seen = HashSet::new();
    let mut attempts = BTreeMap::new();
    let mut random = stream(order, "order", 0);
    loop {
        let mut plan = CrossPlayEvaluation.plan(&state, &view).unwrap();
        for want in &plan.wants {
            let Want::Problem(id) = want else { panic!("{want:?}") };
            let problem = records.problems.iter().find(|problem| problem.id == *id).unwrap();
            assert!(view.problems.insert(*id, problem.clone()).is_none(), "{want:?} again");
        }
        if !plan.wants.is_empty() {
            continue;
        }
        plan.records.retain_new(&mut seen);
        assert_eq!(plan.records.attempts_of, Some((RUN, 1)));
        for attempt in std::mem::take(&mut plan.records.attempts) {
            assert!(attempts.insert(attempt.id.0, attempt).is_none(), "an attempt again");
        }
        plan.records.attempts_of = None;
        assert!(plan.records.is_empty(), "nothing else of a run is touched");
        for item in plan.work {
            if view.work.insert(item.key.clone(), WorkState::Open).is_none() {
                open.push(item);
            }
        }
        if let Some(next) = plan.finish {
            assert!(next.completed);
            return (plan.result.unwrap(), attempts);
        }
        open.shuffle(&mut random);
        let item = open.pop().expect("an open item");
        let outcome: Outcome = players.perform(item.key.chunk, &item.payload).unwrap();
        view.work.insert(item.key, WorkState::Done(outcome));
    }
}

#[test]
fn the_parameters_of_any_recipe_with_programs_are_read() {
    let (config, _, records) = played();
    let mut parameters = parameters(&config, &records);
    parameters.play = serde_json::to_value(azr::Parameters::default()).unwrap();
    CrossPlayEvaluation.resolve(asked(&config, &parameters)).unwrap();
    parameters.play = serde_json::json!({"batch": 64});
    let refused = CrossPlayEvaluation.resolve(asked(&config, &parameters)).unwrap_err();
    assert_eq!(refused.0[0].pointer, "/parameters/play");
}

#[test]
fn every_cell_is_filled_by_exact_weights_whatever_ends_first() {
    let (config, players, records) = played();
    let parameters = parameters(&config, &records);
    let asked = CrossPlayEvaluation.resolve(asked(&config, &parameters)).unwrap();
    assert_eq!(asked.steps, 1);
    let (result, attempts) = play(&asked, &players, &records, 1);
    for order in 2..6 {
        assert_eq!(play(&asked, &players, &records, order), (result.clone(), attempts.clone()));
    }
    assert_eq!(attempts.len(), 4 * 3 * 2);
    let exact: Vec<_> = parameters.students.iter().map(|student| (student.member, student.adapter.version)).collect();
    assert!(attempts.values().all(|attempt| exact.contains(&attempt.solver)));
    let cells = result["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 4);
    for (cell, filled) in parameters.cells.iter().zip(cells) {
        let solver = exact[cell.student as usize].0;
        let own = || attempts.values().filter(|one| one.solver.0 == solver && cell.problems.contains(&one.problem));
        let solved = own().filter(|attempt| attempt.correct).count();
        assert_eq!((own().count(), &filled["attempts"]), (6, &json!(6)));
        assert_eq!(filled["solved"], json!(solved));
        assert!(filled["low"].as_f64() < filled["solve_rate"].as_f64() || solved == 0);
    }
    let of_student = |place: usize| -> u64 {
        let own = cells.iter().filter(|cell| cell["student"] == json!(exact[place].0));
        own.filter_map(|cell| cell["solved"].as_u64()).sum()
    };
    assert!(of_student(0) < of_student(1), "the abler student solves more: {result}");
    let ids: HashSet<Uuid> = records.attempts.iter().map(|attempt| attempt.id.0).collect();
    assert!(attempts.keys().all(|id| !ids.contains(id)), "no attempt of the run is taken for another");
}

#[test]
fn what_cannot_be_played_is_refused_with_its_place() {
    let (config, _, records) = played();
    let good = parameters(&config, &records);
    let refused = |change: &dyn Fn(&mut CrossPlayParameters)| {
        let mut parameters = good.clone();
        change(&mut parameters);
        CrossPlayEvaluation.resolve(asked(&config, &parameters)).unwrap_err().to_string()
    };
    assert!(refused(&|parameters| parameters.cells.clear()).contains("/parameters/cells: there is no cell"));
    let said = refused(&|parameters| parameters.cells[1] = parameters.cells[0].clone());
    assert!(said.contains("/parameters/cells/1: this teacher and this student"), "{said}");
    let said = refused(&|parameters| parameters.cells[0].problems.clear());
    assert!(said.contains("/parameters/cells/0: teacher teacher-0 has no problem"), "{said}");
    assert!(refused(&|parameters| parameters.cells[0].student = 2).contains("/parameters/cells/0: student 2 of 2"));
    assert!(refused(&|parameters| parameters.samples = 0).contains("/parameters/samples"));
    assert!(refused(&|parameters| parameters.play = json!({"batch": 3})).contains("/parameters/play: "));
}
