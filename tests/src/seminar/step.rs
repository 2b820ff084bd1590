//! A step: one of three stages, then the update of everyone who took part.

use lyceum_core::id::ProblemId;
use lyceum_core::recipe::phase::{GRADE, SOLVE};
use lyceum_core::recipe::rows::{Asking, Draws, RewardConfig, Rows};
use lyceum_core::recipe::{Learner, Lesson, Pause, PlanError, Progress, Role, RunState, Sequence, StepView, both};
use lyceum_core::work::Sampling;

use super::metrics::{Tally, records};
use super::{Memory, Parameters};

/// Samples of a solver per problem.
pub(super) const SAMPLES: u32 = 2;
/// Rows studied in a step.
const ROWS: u32 = 3;

/// A step being planned.
pub(super) struct Step<'a> {
    pub(super) rows: Rows<'a>,
    pub(super) parameters: &'a Parameters,
    pub(super) accepted: Vec<ProblemId>,
    pub(super) tally: Tally,
}

/// Sequences to learn from, each with the position of its member.
pub(super) type Lessons = Vec<(usize, Sequence)>;

impl<'a> Step<'a> {
    pub(super) fn new(
        run: &'a RunState,
        view: &'a StepView,
        parameters: &'a Parameters,
        Memory { members, accepted }: Memory,
    ) -> Result<Self, PlanError> {
        Ok(Self { rows: Rows::new(run, view, "seedling", members)?, parameters, accepted, tally: Tally::default() })
    }

    /// Pose, drill or study → update.
    pub(super) fn play(&mut self) -> Progress<RunState> {
        self.rows.draft.born()?;
        let (run, stages) = (self.rows.draft.run, self.parameters.stages());
        let over = || PlanError::Other(format!("step {} is after the last stage", run.step));
        let stage = stages.at(run.step).ok_or_else(over)?;
        let lessons = match stage.name {
            "pose" => {
                if stage.index == 0 {
                    self.accepted.clear();
                }
                self.pose()?
            }
            "drill" => self.drill()?,
            _ => self.study()?,
        };
        let learners = self.learners(&lessons);
        let Parameters { learning, items, .. } = self.parameters;
        let draft = &mut self.rows.draft;
        let updated = draft.update(Lesson { learning, items }, &learners)?;
        draft.adopt(&updated);
        draft.plan.records.metrics = records(draft, &self.tally);
        let memory =
            Memory { members: std::mem::take(&mut draft.members), accepted: std::mem::take(&mut self.accepted) };
        Ok(run.next(stages.name_at(run.step + 1), &memory)?)
    }

    /// The solvers attempt the problems accepted in this iteration, which earlier steps wrote.
    fn drill(&mut self) -> Progress<Lessons> {
        self.rows.draft.problems(self.accepted.iter().copied())?;
        let known = &self.rows.draft.view.problems;
        let program = |id: &ProblemId| Some((*id, known.get(id)?.program.clone()?));
        let problems: Vec<_> = self.accepted.iter().filter_map(program).collect();
        self.solve(&problems)
    }

    /// The solvers answer rows of the dataset, and the critic judges the questions.
    fn study(&mut self) -> Progress<Lessons> {
        let (dataset, rows) = self.parameters.dataset.settled()?;
        let run = self.rows.draft.run;
        let drawn = Draws::Epochs.draw(0..rows, ROWS.min(rows), run.config.seed, "rows", run.step);
        let solvers = self.playing(Role::Solver);
        let places: Vec<(usize, u32)> =
            solvers.iter().flat_map(|solver| drawn.iter().map(|row| (*solver, *row))).collect();
        let questions = self.rows.questions(dataset, &places, 0)?;
        let asked: Vec<_> = questions[..drawn.len()]
            .iter()
            .map(|question| (question.row.problem, question.row.row.question.clone()))
            .collect();
        let judged = self.critique(&asked);
        let asking = Asking {
            phases: [SOLVE, GRADE],
            n: SAMPLES,
            sampling: &Sampling::default(),
            reward: &RewardConfig::default(),
            draws: None,
            round: 0,
            is_learned: true,
        };
        // An item has the questions of one solver, who has a base of its own.
        let answered = self.rows.answers(asking, &questions, drawn.len() as u32);
        let ((_, mut lessons), answered) = both(judged, answered)?;
        for answer in answered {
            self.tally.solved(answer.member, answer.correct);
            lessons.push((answer.member, answer.sequence.clone()));
        }
        Ok(lessons)
    }

    /// The members that play `role`, whatever their population.
    pub(super) fn playing(&self, role: Role) -> Vec<usize> {
        let members = self.rows.draft.members.iter().enumerate();
        members.filter(|(_, member)| member.plays(role)).map(|(place, _)| place).collect()
    }

    /// The first member that plays `role`.
    pub(super) fn first(&self, role: Role) -> Result<usize, Pause> {
        let first = self.playing(role).first().copied();
        Ok(first.ok_or_else(|| PlanError::Other(format!("nobody plays {}", role.name())))?)
    }

    fn learners(&self, lessons: &Lessons) -> Vec<Learner> {
        let learner = |member: usize| {
            let own = lessons.iter().filter(|(place, _)| *place == member);
            let sequences: Vec<Sequence> = own.map(|(_, sequence)| sequence.clone()).collect();
            Learner {
                member,
                advantages: sequences.iter().map(|sequence| sequence.sampled.reward - 0.5).collect(),
                sequences,
                ..Learner::default()
            }
        };
        (0..self.rows.draft.members.len()).map(learner).collect()
    }
}
