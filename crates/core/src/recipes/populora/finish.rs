//! The end of a step: full cross-evaluation where it is due, pool, metrics and the run's memory.

use super::Parameters;
use super::step::Step;
use crate::contract::phase::{CHECK, GRADE, PROPOSE, SOLVE};
use crate::contract::{CostClass, Phase, PlanError, Role, RunState, WARM_UP, Winner};
use crate::id::MemberId;
use crate::kit::code::{Assignment, AttemptBatch, Judged, SEED, Tally, WarmUp};
use crate::kit::measures::Costs;
use crate::kit::{Progress, join};
use crate::rating::Rating;
use crate::work::MemberUpdated;

/// The lowest possible objective of a valid problem (Eq. 2), the zero point of qd_score.
const LOWEST_OBJECTIVE: f32 = 0.0;

const PHASES: [Phase; 7] = [SEED, PROPOSE, CHECK, SOLVE, GRADE, CROSS_PLAY, GRADE_CROSS_PLAY];

/// The members that played the step, by position: identifier, and rating in each role. Evolution gives some positions
/// to others.
pub(super) struct Players {
    members: Vec<(MemberId, Role)>,
    ratings: Vec<(usize, Role, Rating)>,
}

pub(super) struct Outcome<'o> {
    pub(super) judged: &'o [(Judged, f32)],
    pub(super) matchups: &'o [(usize, usize, Winner)],
    pub(super) players: Players,
    pub(super) updated: &'o [&'o MemberUpdated],
    pub(super) archive_insertions: usize,
    pub(super) births: usize,
}

impl Step<'_> {
    /// The members as they play this step.
    pub(super) fn players(&self) -> Players {
        let draft = &self.scene.draft;
        let ratings = draft.members.iter().enumerate().flat_map(|(place, member)| {
            let roles = member.roles.iter();
            roles.map(move |&role| (place, role, self.rating(place, role)))
        });
        let members = draft.members.iter().map(|member| {
            // A member in both roles counts as a teacher.
            let role = if member.plays(Role::Teacher) { Role::Teacher } else { Role::Student };
            (member.id(draft.run.run), role)
        });
        Players { ratings: ratings.collect(), members: members.collect() }
    }

    /// Adds the step's problems to the pool, writes its metrics, and returns the state before the next step.
    pub(super) fn finish(&mut self, outcome: &Outcome<'_>) -> Progress<RunState> {
        let run = self.scene.draft.run;
        let Parameters { problems, proposals_per_prompt: samples, .. } = self.parameters;
        let experience = &mut self.memory.experience;
        let duplicates = experience.remember(run.run, outcome.judged, problems, *samples);
        self.measure(outcome, &duplicates)?;
        self.memory.members = std::mem::take(&mut self.scene.draft.members);
        let stage = WarmUp::next_stage(self.parameters.warm_up, run, outcome.judged, &[]);
        Ok(run.next(stage, &self.memory)?)
    }

    /// Writes the step's metrics.
    fn measure(&mut self, outcome: &Outcome<'_>, duplicates: &[bool]) -> Result<(), PlanError> {
        let players = &outcome.players;
        let place = |new: &MemberUpdated| players.members.iter().position(|(id, _)| *id == new.member);
        let updated: Vec<(usize, &MemberUpdated)> =
            outcome.updated.iter().filter_map(|new| Some((place(new)?, *new))).collect();
        let experience = &self.memory.experience;
        let tally = Tally {
            costs: Costs::of(self.scene.draft.view, &PHASES)?,
            judged: outcome.judged,
            duplicates,
            practice: &[],
            matchups: outcome.matchups,
            ratings: &players.ratings,
            updated: &updated,
            coverage: experience.archive.coverage(self.parameters.archive.cells),
            cells_per_problem: experience.cells_per_problem(),
            qd_score: experience.archive.qd_score(LOWEST_OBJECTIVE),
            births: outcome.births,
            pool_size: experience.pool.len(&self.parameters.problems.types),
            archive_insertions: outcome.archive_insertions,
            warms_up: self.scene.draft.run.stage == WARM_UP,
        };
        let members = (0..).zip(&players.members).map(|(place, (id, role))| (place, *role, *id));
        let records = tally.records(members);
        self.scene.draft.plan.records.metrics.extend(records);
        Ok(())
    }
}

// Full cross-evaluation: every teacher's problems given to every student (PopuLoRA, appendix 13).

const CROSS_PLAY: Phase = Phase::new("cross-play", CostClass::Solve);
const GRADE_CROSS_PLAY: Phase = Phase::new("grade-cross-play", CostClass::Grade);

impl Step<'_> {
    /// In steps where it is due, also lets the students that were not matched with a teacher attempt its valid
    /// problems. The attempts are ordinary rows, so the matrix fills in; they affect no reward, rating or update.
    pub(super) fn cross_play(&mut self, judged: &[(Judged, f32)]) -> Progress<()> {
        let every = self.parameters.cross_play_every;
        if every == 0 || !(self.scene.draft.run.step + 1).is_multiple_of(every) {
            return Ok(());
        }
        let batches = self.cross_batches(judged);
        join(batches, |batch| {
            let solved = self.scene.solve(&batch)?;
            self.scene.grade(&batch, solved)
        })
        .map(drop)
    }

    fn cross_batches<'j>(&self, judged: &'j [(Judged, f32)]) -> Vec<AttemptBatch<'j>> {
        let members = self.scene.draft.members.iter().enumerate();
        let students = members.filter(|(_, member)| member.plays(Role::Student));
        let mut batches = Vec::new();
        for (student, _) in students {
            let others = judged.iter().filter(|(judged, _)| judged.solver != student);
            let assignments = others.filter_map(|(judged, _)| {
                Some(Assignment { number: judged.index, problem: judged.problem.as_ref()?, solver: student })
            });
            for part in assignments.collect::<Vec<_>>().chunks(self.parameters.items.solve as usize) {
                batches.push(AttemptBatch {
                    phases: [CROSS_PLAY, GRADE_CROSS_PLAY],
                    round: 0,
                    chunk: u32::try_from(batches.len()).unwrap_or(u32::MAX),
                    samples: self.parameters.cross_play_samples,
                    role: Role::Student,
                    keep_tokens: false,
                    assignments: part.to_vec(),
                });
            }
        }
        batches
    }
}
