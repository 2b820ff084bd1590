//! Plans a cross-play evaluation: exact problems and exact weights, in a single step.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

use super::result::Solves;
use crate::config::RunConfig;
use crate::contract::phase::{GRADE, SOLVE};
use crate::contract::{Plan, PlanError, Role, RunState, StepView};
use crate::evaluations::read;
use crate::fault::{Fault, Faults};
use crate::id::{ExecutionId, MemberId, ProblemId, VersionId};
use crate::kit::code::{Assignment, AttemptBatch, Play, Problem, Scene};
use crate::kit::{Member, Progress, join};
use crate::statistics::Interval;
use crate::work::AdapterRef;

/// The pairs to play, and their problems.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CrossPlayParameters {
    /// The run whose matrix is filled.
    pub run: ExecutionId,
    /// The step the attempts are recorded for.
    pub step: u32,
    /// Attempts at each problem.
    pub samples: u32,
    pub students: Vec<Contestant>,
    /// The cells; each pair of teacher and student occurs once.
    pub cells: Vec<CrossPlayCell>,
    /// The parameters of the run: its prompts, sampling and items.
    pub play: serde_json::Value,
}

/// A student.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contestant {
    pub member: MemberId,
    /// Its name in the run.
    pub name: String,
    /// Its exact weights.
    pub adapter: AdapterRef,
}

/// One teacher's problems given to one student.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CrossPlayCell {
    /// The proposer.
    pub teacher: MemberId,
    /// Its name in the run.
    pub name: String,
    /// The solver: a position among the students.
    pub student: u32,
    /// Valid problems of the teacher.
    pub problems: Vec<ProblemId>,
}

impl CrossPlayParameters {
    /// Reads and checks parameters.
    ///
    /// # Errors
    /// Every fault.
    pub(super) fn read(config: &RunConfig) -> Result<Self, Faults> {
        let parameters: Self = read(config)?;
        let mut faults = Vec::new();
        let mut fault =
            |pointer: &str, detail: String| faults.push(Fault::new(format!("/parameters/{pointer}"), detail));
        if config.populations.len() != 1 {
            let detail = format!("a run with {} populations: 1 is valid", config.populations.len());
            fault("run", detail);
        }
        if let Err(error) = parameters.play() {
            fault("play", error.to_string());
        }
        if parameters.samples == 0 {
            fault("samples", "0 attempts: 1 is the least".to_owned());
        }
        if parameters.cells.is_empty() {
            fault("cells", "there is no cell to fill".to_owned());
        }
        let mut met = BTreeSet::new();
        for (at, cell) in parameters.cells.iter().enumerate() {
            let place = format!("cells/{at}");
            if cell.problems.is_empty() {
                fault(&place, format!("teacher {} has no problem in it", cell.name));
            }
            if parameters.students.get(cell.student as usize).is_none() {
                let detail = format!("student {} of {}", cell.student, parameters.students.len());
                fault(&place, detail);
            }
            if !met.insert((cell.teacher, cell.student)) {
                fault(&place, "this teacher and this student are listed twice".to_owned());
            }
        }
        Faults(faults).or(parameters)
    }

    /// The parameters of the run.
    pub(super) fn play(&self) -> Result<Play, PlanError> {
        Ok(Play::deserialize(&self.play)?)
    }
}

/// The attempts of every student, divided into items.
pub(super) struct CrossPlayStep<'a> {
    scene: Scene<'a>,
    parameters: &'a CrossPlayParameters,
    per_item: usize,
}

impl<'a> CrossPlayStep<'a> {
    pub(super) fn new(
        run: &'a RunState,
        view: &'a StepView,
        parameters: &'a CrossPlayParameters,
        play: &'a Play,
    ) -> Result<Self, PlanError> {
        let contestants = parameters.students.iter().map(|student| Member {
            adapter: Some(student.adapter),
            ..Member::unborn(student.name.clone(), vec![Role::Student], 0)
        });
        Ok(Self {
            scene: Scene::new(run, view, play.groups(), contestants.collect())?,
            parameters,
            per_item: play.groups().items.solve.max(1) as usize,
        })
    }

    /// Everything that should exist by now.
    pub(super) fn plan(mut self) -> Result<Plan, PlanError> {
        let outcome = self.play();
        let weights = weights(self.parameters, self.scene.draft.run);
        let mut plan = self.scene.draft.close(outcome)?;
        for attempt in &mut plan.records.attempts {
            if let Some(exact) = weights.get(&attempt.solver.0) {
                attempt.solver = *exact;
            }
        }
        plan.records.attempts_of = Some((self.parameters.run, self.parameters.step));
        Ok(plan)
    }

    /// Every student attempts the problems of its cells, and the solve rates of the cells are the result.
    fn play(&mut self) -> Progress<RunState> {
        let cells = self.parameters.cells.iter();
        self.scene.readable(cells.flat_map(|cell| cell.problems.iter().copied()))?;
        let students = 0..self.parameters.students.len();
        let asked = students.map(|student| self.asked_of(student)).collect::<Result<Vec<_>, _>>()?;
        let parts = asked.iter().enumerate().flat_map(|(student, asked)| {
            let parts = asked.chunks(self.per_item);
            parts.map(move |part| (student, part))
        });
        let parts: Vec<_> = (0..).zip(parts).collect();
        let graded = join(&parts, |(chunk, (student, part))| {
            let assignments =
                part.iter().map(|asked| Assignment { number: asked.number, problem: &asked.problem, solver: *student });
            let batch = AttemptBatch {
                phases: [SOLVE, GRADE],
                round: 0,
                chunk: *chunk,
                samples: self.parameters.samples,
                role: Role::Student,
                keep_tokens: false,
                assignments: assignments.collect(),
            };
            let solved = self.scene.solve(&batch)?;
            self.scene.grade(&batch, solved)
        })?;
        let mut solves = vec![Vec::new(); self.parameters.cells.len()];
        for ((_, (_, part)), graded) in parts.iter().zip(graded) {
            for (asked, attempts) in part.iter().zip(graded.iter()) {
                let solved = attempts.iter().filter(|attempt| attempt.correct).count() as u64;
                solves[asked.cell].push((solved, attempts.len() as u64));
            }
        }
        self.scene.draft.plan.result = Some(result(self.parameters, &solves));
        Ok(self.scene.draft.run.next("", &())?)
    }

    /// The problems a student attempts, in the order of its cells.
    fn asked_of(&self, student: usize) -> Result<Vec<Asked>, PlanError> {
        let cells = self.parameters.cells.iter().enumerate();
        let own = cells.filter(|(_, cell)| cell.student as usize == student);
        let problems = own.flat_map(|(place, cell)| cell.problems.iter().map(move |id| (place, *id)));
        (0..).zip(problems).map(|(number, (cell, id))| Ok(Asked { number, cell, problem: self.problem(id)? })).collect()
    }

    fn problem(&self, id: ProblemId) -> Result<Problem, PlanError> {
        let problem = self.scene.material.earlier(id);
        problem.ok_or_else(|| PlanError::Other(format!("problem {id} is invalid or of a type that is not played")))
    }
}

/// A problem given to a student.
struct Asked {
    number: u32,
    cell: usize,
    problem: Problem,
}

/// The run's members and versions by the identifiers that the scene uses. The scene derives identifiers from the
/// execution, here an evaluation, and the name; in a fork even the run's own identifiers differ from that.
fn weights(parameters: &CrossPlayParameters, run: &RunState) -> BTreeMap<MemberId, (MemberId, VersionId)> {
    let students = parameters.students.iter();
    students.map(|student| (MemberId::of(run.run, &student.name), (student.member, student.adapter.version))).collect()
}

/// The result, of the solved and all attempts at each problem of each cell.
fn result(parameters: &CrossPlayParameters, solves: &[Vec<(u64, u64)>]) -> serde_json::Value {
    let cell = |(cell, by_problem): (&CrossPlayCell, &Vec<(u64, u64)>)| {
        let student = parameters.students.get(cell.student as usize);
        let interval = Interval::clustered(by_problem, Interval::Z_95);
        let sum = |count: fn(&(u64, u64)) -> u64| by_problem.iter().map(count).sum::<u64>();
        let solves = Solves { attempts: sum(|(_, attempts)| *attempts), solved: sum(|(solved, _)| *solved) };
        serde_json::json!({
            "teacher": cell.teacher,
            "teacher_name": cell.name,
            "student": student.map(|student| student.member),
            "student_name": student.map(|student| student.name.as_str()),
            "problems": cell.problems.len(),
            "attempts": solves.attempts,
            "solved": solves.solved,
            "solve_rate": solves.rate(),
            "low": interval.map(|interval| interval.low),
            "high": interval.map(|interval| interval.high),
        })
    };
    serde_json::json!({ "cells": parameters.cells.iter().zip(solves).map(cell).collect::<Vec<_>>() })
}
