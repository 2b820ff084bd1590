//! The single step of a frozen-side evaluation: propose → check, in rounds, then solve → grade.

use std::sync::Arc;

use super::{
    posed::{Clusters, Posed},
    result::Rates,
};
use crate::{
    contract::{
        Plan, PlanError, Records, Role, RunState, StepView,
        phase::{GRADE, SOLVE},
    },
    evaluations::{FrozenSideParameters, FrozenSideResult, FrozenVersion},
    kit::{
        Living, Pause, Progress,
        code::{Ask, Exam, Play, Scene, Sitting},
        join,
    },
};

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
        let member = |version: &FrozenVersion, role: Role| Living {
            adapter: Some(version.adapter),
            ..Living::unborn(version.name.clone(), vec![role], 0)
        };
        let students = parameters.students.iter().map(|version| member(version, Role::Student));
        let teachers = parameters.teachers.iter().map(|version| member(version, Role::Teacher));
        Ok(Self {
            scene: Scene::new(run, view, play.groups(), students.chain(teachers).collect())?,
            parameters,
            play,
        })
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
        let mut rates: Vec<Vec<Rates>> = posed
            .iter()
            .map(|posed| vec![vec![None; posed.problems.len()]; self.parameters.students.len()])
            .collect();
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
            self.scene
                .readable(asks.iter().flat_map(|ask| ask.shown.iter().copied()))?;
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
                    parts.push(Part {
                        teacher,
                        problems: problems.to_vec(),
                        students: students.to_vec(),
                    });
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
        let sitting = |(problem, student): &(usize, usize)| Sitting {
            number: u32::try_from(problem * columns + student).unwrap_or(u32::MAX),
            problem: &posed.problems[*problem],
            solver: *student,
        };
        let exam = Exam {
            phases: [SOLVE, GRADE],
            round: 0,
            chunk,
            samples: self.parameters.samples,
            role: Role::Student,
            keep_tokens: false,
            sittings: pairs.iter().map(sitting).collect(),
        };
        let view = self.scene.draft.view;
        view.once(&format!("solves/{chunk}"), || {
            let solved = self.scene.solve(&exam)?;
            let graded = self.scene.grade(&exam, solved)?;
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
