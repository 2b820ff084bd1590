//! Plans a frozen-side evaluation: exact weights on both sides, in a single step.

use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::result::Rates;
use crate::config::RunConfig;
use crate::contract::phase::{GRADE, SOLVE};
use crate::contract::{Plan, PlanError, Records, Role, RunState, StepView};
use crate::evaluations::{FrozenSideResult, read};
use crate::fault::{Fault, Faults};
use crate::id::{ExecutionId, MemberId};
use crate::kit::code::{Ask, Assignment, AttemptBatch, Judged, Play, Problem, Scene};
use crate::kit::{Member, Pause, Pool, Progress, join};
use crate::work::AdapterRef;

/// The versions of both sides, and how they play.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrozenSideParameters {
    /// The run whose prompts, sampling and pool are used.
    pub run: ExecutionId,
    /// Valid problems of each teacher version.
    pub problems: u32,
    /// Attempts of each student version at each problem.
    pub samples: u32,
    /// The versions that solve: columns of the matrix.
    pub students: Vec<FrozenVersion>,
    /// The versions that propose: rows of the matrix.
    pub teachers: Vec<FrozenVersion>,
    /// The earlier problems shown to proposers, the same for all.
    pub pool: Pool,
    /// The most samples of one work item.
    pub samples_per_item: u32,
    /// The parameters of the run.
    pub play: serde_json::Value,
}

/// A member with its weights at a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrozenVersion {
    pub run: ExecutionId,
    /// The run's name, if it is not the evaluation's run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_name: Option<String>,
    pub member: MemberId,
    /// Its name in the run.
    pub name: String,
    /// Finished steps when it had these weights.
    pub step: u32,
    /// The exact weights.
    pub adapter: AdapterRef,
}

impl FrozenSideParameters {
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
        for (name, count) in [
            ("problems", parameters.problems),
            ("samples", parameters.samples),
            ("samples_per_item", parameters.samples_per_item),
        ] {
            if count == 0 {
                fault(name, "0 is too small: at least 1 is valid".to_owned());
            }
        }
        for (name, versions) in [("students", &parameters.students), ("teachers", &parameters.teachers)] {
            if versions.is_empty() {
                fault(name, "at least one version is needed".to_owned());
            }
            let repeated = versions.iter().enumerate().find(|(at, version)| {
                let mut earlier = versions[..*at].iter();
                earlier.any(|other| other.adapter.version == version.adapter.version)
            });
            if let Some((at, version)) = repeated {
                let detail = format!("{} after {} steps is listed twice", version.name, version.step);
                fault(&format!("{name}/{at}"), detail);
            }
        }
        Faults(faults).or(parameters)
    }

    /// The parameters of the run.
    pub(super) fn play(&self) -> Result<Play, PlanError> {
        Ok(Play::deserialize(&self.play)?)
    }
}

// The single step of a frozen-side evaluation: propose → check, in rounds, then solve → grade.

/// Rounds of proposals after which a teacher makes do with the valid problems it has.
const ROUNDS: u32 = 8;
/// Space for the prompts of one teacher among the indices of all prompts.
const PROMPTS: u32 = 1 << 16;
/// Student versions in one work item: their adapters are in memory together.
const ADAPTERS: usize = 16;

/// The matrix being filled.
pub(super) struct Matrix<'a> {
    scene: Scene<'a>,
    parameters: &'a FrozenSideParameters,
    play: &'a Play,
}

impl<'a> Matrix<'a> {
    pub(super) fn new(
        run: &'a RunState,
        view: &'a StepView,
        parameters: &'a FrozenSideParameters,
        play: &'a Play,
    ) -> Result<Self, PlanError> {
        let member = |version: &FrozenVersion, role: Role| Member {
            adapter: Some(version.adapter),
            ..Member::unborn(version.name.clone(), vec![role], 0)
        };
        let students = parameters.students.iter().map(|version| member(version, Role::Student));
        let teachers = parameters.teachers.iter().map(|version| member(version, Role::Teacher));
        Ok(Self { scene: Scene::new(run, view, play.groups(), students.chain(teachers).collect())?, parameters, play })
    }

    /// Everything that should exist by now.
    pub(super) fn plan(mut self) -> Result<Plan, PlanError> {
        let outcome = self.fill();
        let mut plan = self.scene.draft.close(outcome)?;
        // Versions of any run play here, so their problems and attempts are rows of none.
        plan.records = Records::default();
        Ok(plan)
    }

    /// Every student attempts the problems of every teacher. The result so far is written with every plan.
    fn fill(&mut self) -> Progress<RunState> {
        let view = self.scene.draft.view;
        let posed = view.once("posed", || self.pose())?;
        let mut rates: Vec<Vec<Rates>> =
            posed.iter().map(|posed| vec![vec![None; posed.problems.len()]; self.parameters.students.len()]).collect();
        let mut is_waiting = false;
        for (chunk, part) in (0..).zip(self.parts(&posed)) {
            match self.attempts(chunk, &part, &posed[part.teacher]) {
                Ok(solved) => {
                    for (problem, student, solves) in solved.iter() {
                        rates[part.teacher][*student][*problem] = Some(*solves);
                    }
                }
                Err(Pause::Waiting) => is_waiting = true,
                Err(failed) => return Err(failed),
            }
        }
        let result = FrozenSideResult::new(self.parameters, &posed, &rates);
        self.scene.draft.plan.result = Some(serde_json::to_value(result)?);
        if is_waiting {
            return Err(Pause::Waiting);
        }
        Ok(self.scene.draft.run.next("", &())?)
    }

    /// The fresh problems of every teacher. Teachers propose together, in rounds until all have enough valid problems.
    fn pose(&mut self) -> Progress<Vec<Posed>> {
        let mut posed = vec![Posed::default(); self.parameters.teachers.len()];
        let wanted = self.parameters.problems;
        let (mut clusters, mut chunk) = (Clusters::default(), 0);
        for round in 0..ROUNDS {
            let asks = self.asks(round, &mut posed);
            if asks.is_empty() {
                break;
            }
            self.scene.readable(asks.iter().flat_map(|ask| ask.shown.iter().copied()))?;
            let chunks = (chunk..).zip(asks.chunks(self.parameters.samples_per_item as usize));
            let judged = join(chunks, |(chunk, asks)| {
                let proposed = self.scene.propose(chunk, asks, 1)?;
                self.scene.check(chunk, asks, 1, proposed)
            })?;
            chunk += u32::try_from(judged.len()).unwrap_or(u32::MAX);
            for judged in judged.iter().flat_map(|judged| judged.iter()) {
                let teacher = judged.proposer - self.parameters.students.len();
                posed[teacher].add(judged, wanted, &mut clusters)?;
            }
        }
        Ok(posed)
    }

    /// The prompts of a round: as many as problems are wanted, then twice as many as are missing. The prompts of all
    /// teachers are the same.
    fn asks(&self, round: u32, posed: &mut [Posed]) -> Vec<Ask> {
        let types = &self.play.problems.types;
        let mut asks = Vec::new();
        for (teacher, posed) in posed.iter_mut().enumerate() {
            let missing = self.parameters.problems.saturating_sub(posed.valid);
            let count = if round == 0 { missing } else { 2 * missing };
            for index in posed.asked..posed.asked + count {
                let kind = types[index as usize % types.len()];
                asks.push(Ask {
                    index: teacher as u32 * PROMPTS + index,
                    kind,
                    proposer: self.parameters.students.len() + teacher,
                    solver: 0,
                    shown: self.scene.draw_shown(&self.parameters.pool, kind, index),
                });
            }
            posed.asked += count;
        }
        asks
    }

    /// The attempts, divided into items: some problems of one teacher, for several students at once.
    fn parts(&self, posed: &[Posed]) -> Vec<Part> {
        let students: Vec<usize> = (0..self.parameters.students.len()).collect();
        let mut parts = Vec::new();
        for (teacher, posed) in posed.iter().enumerate() {
            for students in students.chunks(ADAPTERS) {
                let each = students.len() * self.parameters.samples as usize;
                let size = (self.parameters.samples_per_item as usize / each).max(1);
                let problems: Vec<usize> = (0..posed.problems.len()).collect();
                for problems in problems.chunks(size) {
                    parts.push(Part { teacher, problems: problems.to_vec(), students: students.to_vec() });
                }
            }
        }
        parts
    }

    /// The graded attempts of a part.
    fn attempts(&mut self, chunk: u32, part: &Part, posed: &Posed) -> Progress<Arc<Vec<Counted>>> {
        let pairs: Vec<(usize, usize)> = part
            .problems
            .iter()
            .flat_map(|problem| part.students.iter().map(move |student| (*problem, *student)))
            .collect();
        let columns = self.parameters.students.len();
        let assignment = |(problem, student): &(usize, usize)| Assignment {
            number: u32::try_from(problem * columns + student).unwrap_or(u32::MAX),
            problem: &posed.problems[*problem],
            solver: *student,
        };
        let batch = AttemptBatch {
            phases: [SOLVE, GRADE],
            round: 0,
            chunk,
            samples: self.parameters.samples,
            role: Role::Student,
            keep_tokens: false,
            assignments: pairs.iter().map(assignment).collect(),
        };
        let view = self.scene.draft.view;
        view.once(&format!("solves/{chunk}"), || {
            let solved = self.scene.solve(&batch)?;
            let graded = self.scene.grade(&batch, solved)?;
            let counted = pairs.iter().zip(graded.iter()).map(|((problem, student), attempts)| {
                let solved = attempts.iter().filter(|attempt| attempt.correct).count() as u64;
                (*problem, *student, (solved, attempts.len() as u64))
            });
            Ok(counted.collect())
        })
    }
}

/// A problem, a student, and (solved, attempts).
type Counted = (usize, usize, (u64, u64));

/// The attempts of one work item.
struct Part {
    teacher: usize,
    problems: Vec<usize>,
    students: Vec<usize>,
}

/// The proposals of a teacher version.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Posed {
    /// Prompts so far, with one proposal each.
    pub(super) asked: u32,
    /// Valid proposals.
    pub(super) valid: u32,
    /// The first valid problems, in the order of their prompts.
    pub(super) problems: Vec<Problem>,
    /// The cluster of each of `problems`.
    pub(super) clusters: Vec<usize>,
}

/// Clusters of identical problems, whichever teachers posed them.
#[derive(Clone, Debug, Default)]
pub(super) struct Clusters(HashMap<String, usize>);

impl Clusters {
    /// The cluster of a problem.
    pub(super) fn of(&mut self, problem: &Problem) -> Result<usize, PlanError> {
        let content = serde_json::to_string(&(problem.kind, &problem.program, &problem.values))?;
        let next = self.0.len();
        Ok(*self.0.entry(content).or_insert(next))
    }
}

impl Posed {
    /// Counts a proposal, and keeps its problem if it is one of the first `wanted` valid ones.
    fn add(&mut self, judged: &Judged, wanted: u32, clusters: &mut Clusters) -> Result<(), PlanError> {
        let Some(problem) = &judged.problem else { return Ok(()) };
        self.valid += 1;
        if self.problems.len() < wanted as usize {
            self.clusters.push(clusters.of(problem)?);
            self.problems.push(problem.clone());
        }
        Ok(())
    }

    /// Different problems among those kept.
    pub(super) fn distinct(&self) -> u32 {
        let distinct: HashSet<&usize> = self.clusters.iter().collect();
        u32::try_from(distinct.len()).unwrap_or(u32::MAX)
    }
}
