//! A step, up to graded attempts.

use super::{Parameters, memory::Memory};
use crate::{
    matchmaking::pair,
    rating::Rating,
    recipe::{
        Plan, PlanError, Role, RunState, StepView,
        selfplay::{Ask, Rules, Scene},
    },
    reward::teacher_reward,
    seed::stream,
};

/// A teacher's meeting with a student: places among the members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Match {
    pub(super) teacher: usize,
    pub(super) student: usize,
}

/// One call for a plan.
pub(super) struct Turn<'a> {
    pub(super) scene: Scene<'a>,
    pub(super) parameters: &'a Parameters,
    pub(super) memory: Memory,
}

impl<'a> Turn<'a> {
    pub(super) fn new(run: &'a RunState, view: &'a StepView, parameters: &'a Parameters) -> Result<Self, PlanError> {
        let mut memory: Memory = run.memory()?;
        let members = std::mem::take(&mut memory.members);
        Ok(Self {
            scene: Scene::new(run, view, parameters.groups(), members)?,
            parameters,
            memory,
        })
    }

    pub(super) fn plan(mut self) -> Result<Plan, PlanError> {
        let matches = self.pairing();
        let prompts = self.parameters.prompts_per_matchup * u32::try_from(matches.len()).unwrap_or(u32::MAX);
        if self.scene.run.step == 0 {
            let is_born = self.scene.born()?;
            let first = prompts * self.parameters.proposals_per_prompt;
            let is_seeded = self.scene.seeded(&mut self.memory.experience.pool, first)?;
            if !(is_born && is_seeded) {
                return Ok(self.scene.plan);
            }
        }
        let asks: Vec<Ask> = (0..prompts).map(|index| self.draw(&matches, index)).collect();
        if !self
            .scene
            .has_problems(asks.iter().flat_map(|ask| ask.shown.iter().copied()))
        {
            return Ok(self.scene.plan);
        }
        let rules = Rules {
            proposals_per_prompt: self.parameters.proposals_per_prompt,
            samples_per_problem: self.parameters.samples_per_problem,
            solver: Role::Student,
            keep_tokens: true,
            reward: teacher_reward,
        };
        match self.scene.play(&asks, rules)? {
            Some(judged) => self.conclude(&matches, judged),
            None => Ok(self.scene.plan),
        }
    }

    /// Who meets whom (PopuLoRA, section 3.3, phase 1). A member in both roles meets itself.
    fn pairing(&self) -> Vec<Match> {
        let playing = |role: Role| -> (Vec<usize>, Vec<Rating>) {
            let members = self
                .scene
                .members
                .iter()
                .enumerate()
                .filter(|(_, member)| member.plays(role));
            members.map(|(place, _)| (place, self.rating(place, role))).unzip()
        };
        let (teachers, of_teachers) = playing(Role::Teacher);
        let (students, of_students) = playing(Role::Student);
        let run = self.scene.run;
        let mut random = stream(run.config.seed, "pair", u64::from(run.step));
        let pairs = pair(&of_teachers, &of_students, &self.parameters.rating, &mut random);
        let matches = pairs.into_iter().map(|(teacher, student)| Match {
            teacher: teachers[teacher],
            student: students[student],
        });
        matches.collect()
    }

    pub(super) fn rating(&self, place: usize, role: Role) -> Rating {
        let member = self.scene.members[place].id(self.scene.run.run);
        self.memory.ratings.get(member, role, &self.parameters.rating)
    }

    /// The prompt at `index`: those of a matchup stand together, and types take turns.
    fn draw(&self, matches: &[Match], index: u32) -> Ask {
        let each = self.parameters.prompts_per_matchup;
        let types = &self.parameters.problems.types;
        let Match { teacher, student } = matches[(index / each) as usize];
        let kind = types[(index % each) as usize % types.len()];
        Ask {
            index,
            kind,
            proposer: teacher,
            solver: student,
            shown: self.scene.draw_shown(&self.memory.experience.pool, kind, index),
        }
    }
}
