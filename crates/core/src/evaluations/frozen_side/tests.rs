//! The matrix of players of known skill.

use crate::contract::Planner as _;
use crate::id::ExecutionId;
use rand::seq::SliceRandom as _;
use serde_json::json;
use std::collections::BTreeMap;
use uuid::Uuid;

use super::plan::{Clusters, Posed};
use super::result::along_students;
use super::*;
use crate::artifact::Digest;
use crate::contract::{ProblemRecord, Want, WorkState};
use crate::id::{MemberId, ProblemId, VersionId};
use crate::kit::Pool;
use crate::kit::code::Problem;
use crate::problem::Values;
use crate::recipes::Populora;
use crate::recipes::small_run::small_run;
use crate::seed::stream;
use crate::simulation::{Order, Players, Simulation, Skill};
use crate::verify::ProblemKind;
use crate::work::{AdapterRef, Outcome, Payload, WorkKey};

const EVALUATION: ExecutionId = ExecutionId(Uuid::from_u128(9));

/// A run of one step: its config, problems and pool.
fn played() -> (RunConfig, Vec<ProblemRecord>, Pool) {
    let config = small_run();
    let mut simulation = Simulation::new(&Populora, &config, Players::new(Vec::new()), Order::Together).unwrap();
    let step = simulation.step().unwrap();
    let pool = Pool::of_state(&simulation.state).unwrap();
    (config, step.records.problems, pool)
}

fn version(side: &str, step: u32) -> FrozenVersion {
    let name = format!("{side}-{step}");
    FrozenVersion {
        run: ExecutionId(Uuid::from_u128(1)),
        run_name: None,
        member: MemberId(Uuid::from_u128(2)),
        step,
        adapter: AdapterRef {
            version: VersionId(Uuid::new_v5(&Uuid::nil(), name.as_bytes())),
            artifact: Digest::of(name.as_bytes()),
            optimizer: None,
        },
        name: side.to_owned(),
    }
}

/// Versions after 0, 10, … steps with these skills.
fn side(name: &str, skills: &[f64], players: &mut Players) -> Vec<FrozenVersion> {
    let steps = (0..).step_by(10).zip(skills);
    let versions = steps.map(|(step, skill)| {
        let version = version(name, step);
        players.know(version.adapter.version, Skill(*skill));
        version
    });
    versions.collect()
}

/// An evaluation of these skills.
struct Evaluated {
    config: RunConfig,
    problems: Vec<ProblemRecord>,
    players: Players,
}

impl Evaluated {
    fn new(students: &[f64], teachers: &[f64], invalid: f64) -> Self {
        let (config, problems, pool) = played();
        let mut players = Players::new(Vec::new()).with_invalid(invalid);
        let parameters = FrozenSideParameters {
            run: ExecutionId(Uuid::from_u128(1)),
            problems: 48,
            samples: 2,
            students: side("student", students, &mut players),
            teachers: side("teacher", teachers, &mut players),
            pool,
            samples_per_item: 40,
            play: config.parameters.clone(),
        };
        Self { config: asked(&config, &parameters), problems, players }
    }

    /// Plays it with items that end in an order drawn from `order`; also returns its items.
    fn play(&self, order: u64) -> (FrozenSideResult, BTreeMap<WorkKey, Payload>) {
        let state = FrozenSideEvaluation.begin(EVALUATION, &self.config).unwrap();
        let mut players = self.players.clone();
        let (mut view, mut open, mut items) = (StepView::default(), Vec::new(), BTreeMap::new());
        let mut random = stream(order, "order", 0);
        loop {
            let plan = FrozenSideEvaluation.plan(&state, &view).unwrap();
            for want in &plan.wants {
                let Want::Problem(id) = want else { panic!("{want:?}") };
                let problem = self.problems.iter().find(|problem| problem.id == *id).unwrap();
                assert!(view.problems.insert(*id, problem.clone()).is_none(), "{want:?} again");
            }
            if !plan.wants.is_empty() {
                continue;
            }
            assert!(plan.records.is_empty(), "no row of a run is written");
            for item in plan.work {
                if view.work.insert(item.key.clone(), WorkState::Open).is_none() {
                    items.insert(item.key.clone(), item.payload.clone());
                    open.push(item);
                }
            }
            if let Some(next) = plan.finish {
                assert!(next.completed);
                return (serde_json::from_value(plan.result.unwrap()).unwrap(), items);
            }
            open.shuffle(&mut random);
            let item = open.pop().expect("an open item");
            let outcome: Outcome = players.perform(item.key.chunk, &item.payload).unwrap();
            view.work.insert(item.key, WorkState::Done(outcome));
        }
    }
}

fn asked(config: &RunConfig, parameters: &FrozenSideParameters) -> RunConfig {
    let config = RunConfig {
        recipe: FrozenSideEvaluation.name().to_owned(),
        parameters: serde_json::to_value(parameters).unwrap(),
        ..config.clone()
    };
    FrozenSideEvaluation.resolve(config).unwrap()
}

#[test]
fn sides_that_both_improve_are_an_arms_race_whatever_ends_first() {
    let evaluated = Evaluated::new(&[-2.0, 0.0, 2.0], &[-2.0, 2.0], 0.3);
    let (result, items) = evaluated.play(1);
    for order in 2..5 {
        assert_eq!(evaluated.play(order).0, result);
    }
    let rate = |teacher: usize, student: usize| result.cell(teacher, student).unwrap().solve_rate.unwrap();
    for teacher in 0..2 {
        assert!(rate(teacher, 0) < rate(teacher, 1) && rate(teacher, 1) < rate(teacher, 2), "{result:?}");
    }
    for student in 0..3 {
        assert!(rate(0, student) > rate(1, student), "{result:?}");
    }
    for cell in &result.cells {
        assert_eq!(cell.attempts, 48 * 2);
        assert!(cell.low < cell.solve_rate && cell.solve_rate < cell.high, "{cell:?}");
    }
    assert!(result.teachers.iter().all(|teacher| teacher.problems == 48 && teacher.proposed > 48));
    let (students, teachers) = (result.along_students.unwrap(), result.along_teachers.unwrap());
    assert_eq!((students.from, students.to, teachers.to), (0, 20, 10));
    assert!(students.low > 0.3 && teachers.high < -0.2, "{students:?} {teachers:?}");
    assert_eq!(result.is_arms_race(), Some(true));
    let csv = result.to_csv();
    assert_eq!(csv.lines().count(), 1 + 6, "{csv}");

    let several = items.iter().filter_map(|(key, payload)| match payload {
        Payload::Rollout(rollout) => Some((key.phase.as_str(), rollout.adapters.len())),
        _ => None,
    });
    let most = |phase: &str| several.clone().filter(|(of, _)| *of == phase).map(|(_, count)| count).max();
    assert_eq!((most("propose"), most("solve")), (Some(2), Some(3)), "versions share a batch");
}

#[test]
fn sides_that_stand_still_are_none() {
    let (result, _) = Evaluated::new(&[0.0, 0.0], &[0.0, 0.0], 0.0).play(1);
    assert_eq!(result.is_arms_race(), Some(false), "{result:?}");
    let (result, _) = Evaluated::new(&[0.0], &[-1.0, 1.0], 0.0).play(1);
    assert_eq!((result.along_students, result.is_arms_race()), (None, None));
    assert!(result.along_teachers.unwrap().high < 0.0);
}

#[test]
fn a_teacher_that_proposes_nothing_valid_leaves_an_empty_row() {
    let mut evaluated = Evaluated::new(&[0.0], &[0.0, 1.0], 1.0);
    evaluated.config.parameters["play"]["problems"]["types"] = json!(["code_i", "code_o"]);
    let (result, _) = evaluated.play(1);
    for teacher in &result.teachers {
        assert_eq!((teacher.valid, teacher.problems), (0, 0));
        assert_eq!(teacher.proposed, 48 + 7 * 96, "it is asked again, but not for ever");
    }
    assert!(result.cells.iter().all(|cell| cell.attempts == 0 && cell.solve_rate.is_none()));
    assert_eq!(result.is_arms_race(), None);
}

#[test]
fn what_cannot_be_played_is_refused_with_its_place() {
    let (config, _, pool) = played();
    let good = FrozenSideParameters {
        run: ExecutionId(Uuid::from_u128(1)),
        problems: 4,
        samples: 1,
        students: vec![version("student", 0), version("student", 1)],
        teachers: vec![version("teacher", 0)],
        pool,
        samples_per_item: 8,
        play: config.parameters.clone(),
    };
    let refused = |change: &dyn Fn(&mut FrozenSideParameters)| {
        let mut parameters = good.clone();
        change(&mut parameters);
        let config = RunConfig { parameters: serde_json::to_value(parameters).unwrap(), ..config.clone() };
        FrozenSideEvaluation.resolve(config).unwrap_err().to_string()
    };
    assert!(refused(&|parameters| parameters.students.clear()).contains("/parameters/students: at least one"));
    let said = refused(&|parameters| parameters.students[1] = parameters.students[0].clone());
    assert!(said.contains("/parameters/students/1: student after 0 steps is listed twice"), "{said}");
    assert!(refused(&|parameters| parameters.samples = 0).contains("/parameters/samples"));
    assert!(refused(&|parameters| parameters.play = json!({"batch": 3})).contains("/parameters/play: "));
}

#[test]
fn a_problem_that_several_teachers_pose_counts_once_in_an_interval() {
    let parameters = |teachers: &[f64]| {
        let mut players = Players::new(Vec::new());
        FrozenSideParameters {
            run: ExecutionId(Uuid::from_u128(1)),
            problems: 4,
            samples: 4,
            students: side("student", &[0.0, 0.0], &mut players),
            teachers: side("teacher", teachers, &mut players),
            pool: Pool::empty(),
            samples_per_item: 40,
            play: json!({}),
        }
    };
    let posed = Posed { clusters: vec![0, 1, 2, 3], ..Posed::default() };
    let rates = [[0, 0, 0, 1], [0, 1, 2, 4]].map(|solved| solved.map(|solved| Some((solved, 4))).to_vec());
    let once = along_students(&parameters(&[0.0]), std::slice::from_ref(&posed), &[rates.to_vec()]).unwrap();
    let twice = along_students(&parameters(&[0.0, 0.0]), &[posed.clone(), posed], &[rates.to_vec(), rates.to_vec()]);
    let twice = twice.unwrap();
    for (found, wanted) in [(twice.difference, once.difference), (twice.low, once.low), (twice.high, once.high)] {
        assert!((found - wanted).abs() < 1e-12, "{twice:?} is not {once:?}");
    }
}

#[test]
fn identical_problems_are_one_cluster_whoever_poses_them() {
    let problem = |id: u128, program: &str| Problem {
        id: ProblemId(Uuid::from_u128(id)),
        kind: ProblemKind::CodeO,
        program: program.to_owned(),
        values: Values::Io { input: Some("1".to_owned()), output: Some("2".to_owned()) },
    };
    let mut clusters = Clusters::default();
    let mut of = |id: u128, program: &str| clusters.of(&problem(id, program)).unwrap();
    assert_eq!([of(1, "a"), of(2, "b"), of(3, "a"), of(4, "c")], [0, 1, 0, 2]);
}
