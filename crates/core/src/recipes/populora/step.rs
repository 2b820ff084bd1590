//! A step of PopuLoRA (section 3.3).

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

use super::Parameters;
use super::finish::Outcome;
use crate::advantage::{Sampled, reinforce_plus_plus_baseline};
use crate::config::RunConfig;
use crate::contract::{MatchupRecord, PlanError, Role, RunState, StepView, Winner};
use crate::evolution::Protection;
use crate::id::MatchupId;
use crate::kit::code::{Ask, Experience, Judged, Scene};
use crate::kit::{Learner, Lesson, Member, Names, Pause, Progress, Sequence, both, founders, join};
use crate::matchmaking::pair;
use crate::rating::{Rating, Ratings, RunRatings, Scores};
use crate::reward::{Solved, teacher_reward};
use crate::seed::stream;
use crate::work::MemberUpdated;

/// The paper's phases, in order.
pub(super) struct Step<'a> {
    pub(super) scene: Scene<'a>,
    pub(super) parameters: &'a Parameters,
    pub(super) memory: Memory,
}

impl<'a> Step<'a> {
    pub(super) fn new(
        run: &'a RunState,
        view: &'a StepView,
        parameters: &'a Parameters,
        mut memory: Memory,
    ) -> Result<Self, PlanError> {
        let mut members = std::mem::take(&mut memory.members);
        let configured = parameters.learning.optimizer.learning_rate;
        for member in &mut members {
            member.learning_rate = parameters.evolution.learning_rate.of(member.learning_rate, configured);
        }
        Ok(Self { scene: Scene::new(run, view, parameters.groups(), members)?, parameters, memory })
    }

    /// Pair → propose → check → solve → grade → rate → update → evolve.
    pub(super) fn play(&mut self) -> Progress<RunState> {
        let matches = self.pair();
        self.begin(&matches)?;
        let asks = self.asks(&matches)?;
        let judged = self.propose_and_solve(&asks)?;
        let matchups = self.rate(&matches, &judged);
        let archive_insertions = self.scene.illuminate(&mut self.memory.experience, &judged);
        let (crossed, updated) = (self.cross_play(&judged), self.update(&judged));
        let ((), updated) = both(crossed, updated)?;
        let players = self.players();
        self.scene.draft.adopt(&updated);
        let births = self.evolve()?;
        self.finish(&Outcome {
            judged: &judged,
            matchups: &matchups,
            players,
            updated: &updated,
            archive_insertions,
            births,
        })
    }

    /// Every proposal with its attempts and its reward (Eq. 2), by index. Chunks are checked and solved while others
    /// are still being proposed.
    fn propose_and_solve(&mut self, asks: &[Ask]) -> Progress<Arc<Vec<(Judged, f32)>>> {
        let Parameters { items, proposals_per_prompt: each, samples_per_problem: samples, .. } = self.parameters;
        let scene = &mut self.scene;
        scene.draft.view.once("judged", || {
            let chunks = (0..).zip(asks.chunks(items.propose as usize));
            let chunks = join(chunks, |(chunk, asks)| {
                let proposed = scene.propose(chunk, asks, *each)?;
                let problems = scene.check(chunk, asks, *each, proposed)?;
                join(scene.parts(chunk, &problems, *each), |part| {
                    let batch = part.batch(*samples, Role::Student, true);
                    let solved = scene.solve(&batch)?;
                    let graded = scene.grade(&batch, solved)?;
                    scene.reward(part, &graded, teacher_reward)
                })
            })?;
            Ok(chunks.iter().flatten().flat_map(|part| part.iter().cloned()).collect())
        })
    }

    /// Updates all adapters (phase 4), each from its own batch.
    fn update(&mut self, judged: &[(Judged, f32)]) -> Progress<Vec<&'a MemberUpdated>> {
        let lesson = Lesson { learning: &self.parameters.learning, items: &self.parameters.items };
        let learners = self.learners(judged);
        self.scene.draft.update(lesson, &learners)
    }

    /// The rating of a member in a role.
    pub(super) fn rating(&self, place: usize, role: Role) -> Rating {
        let draft = &self.scene.draft;
        let member = draft.members[place].id(draft.run.run);
        self.memory.ratings.ratings.get(member, role, &self.parameters.rating)
    }
}

/// The memory of a PopuLoRA run between steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    /// The living members; a child takes the position of the dead one.
    pub(super) members: Vec<Member>,
    pub(super) names: Names,
    #[serde(flatten)]
    pub(super) ratings: RunRatings,
    pub(super) protection: Protection,
    pub(super) experience: Experience,
}

impl Memory {
    pub(super) fn new(config: &RunConfig) -> Self {
        let mut names = Names::default();
        Self { members: founders(config, &mut names), names, ..Self::default() }
    }
}

// Matchups and their prompts (PopuLoRA, section 3.3, phases 1 and 2).

/// A match of a teacher and a student, as positions among the members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Match {
    pub(super) teacher: usize,
    pub(super) student: usize,
}

impl Step<'_> {
    /// The matchups of the step. A member in both roles plays itself.
    fn pair(&self) -> Vec<Match> {
        let run = self.scene.draft.run;
        let playing = |role: Role, ratings: &Ratings| -> (Vec<usize>, Vec<Rating>) {
            let members = self.scene.draft.members.iter().enumerate().filter(|(_, member)| member.plays(role));
            let rating = |member: &Member| ratings.get(member.id(run.run), role, &self.parameters.rating);
            members.map(|(place, member)| (place, rating(member))).unzip()
        };
        let ratings = &self.memory.ratings;
        let (teachers, of_teachers) = playing(Role::Teacher, ratings.to_solve(self.parameters.matchup_score));
        let (students, of_students) = playing(Role::Student, &ratings.ratings);
        let mut random = stream(run.config.seed, "pair", u64::from(run.step));
        let pairs = pair(&of_teachers, &of_students, &self.parameters.rating, &mut random);
        let matches = pairs
            .into_iter()
            .map(|(teacher, student)| Match { teacher: teachers[teacher], student: students[student] });
        matches.collect()
    }

    /// Creates the members' first weights and fills the pool with its first problems, in step 0.
    fn begin(&mut self, matches: &[Match]) -> Progress<()> {
        if self.scene.draft.run.step > 0 {
            return Ok(());
        }
        let born = self.scene.draft.born();
        let first = self.prompts(matches) * self.parameters.proposals_per_prompt;
        let seeded = self.scene.seed_pool(&mut self.memory.experience.pool, first);
        both(born, seeded).map(drop)
    }

    /// The prompts of the step, once the problems they show can be read: grouped by matchup, cycling through the types.
    fn asks(&mut self, matches: &[Match]) -> Progress<Arc<Vec<Ask>>> {
        let view = self.scene.draft.view;
        let asks = view.once("asks", || {
            let ask = |index| self.ask(matches, index);
            Ok::<_, Pause>((0..self.prompts(matches)).map(ask).collect::<Vec<Ask>>())
        })?;
        self.scene.readable(asks.iter().flat_map(|ask| ask.shown.iter().copied()))?;
        Ok(asks)
    }

    fn ask(&self, matches: &[Match], index: u32) -> Ask {
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

    fn prompts(&self, matches: &[Match]) -> u32 {
        self.parameters.prompts_per_matchup * u32::try_from(matches.len()).unwrap_or(u32::MAX)
    }
}

// Winners and the ratings that follow (PopuLoRA, appendix 6).

impl Step<'_> {
    /// Decides every matchup in order, updates the ratings, and writes both.
    fn rate(&mut self, matches: &[Match], judged: &[(Judged, f32)]) -> Vec<(usize, usize, Winner)> {
        let run = self.scene.draft.run;
        let each = (self.parameters.prompts_per_matchup * self.parameters.proposals_per_prompt) as usize;
        let mut decided = Vec::with_capacity(matches.len());
        for (one, proposals) in matches.iter().zip(judged.chunks(each.max(1))) {
            let solved: Vec<Option<Solved>> = proposals.iter().map(|(judged, _)| judged.solved()).collect();
            let [teacher, student] =
                [one.teacher, one.student].map(|place| self.scene.draft.members[place].id(run.run));
            let scores = Scores::of(&solved);
            let decision = self.memory.ratings.decide(
                self.parameters.matchup_score,
                [teacher, student],
                &scores,
                &self.parameters.rating,
            );
            self.scene.draft.plan.records.matchups.push(MatchupRecord {
                id: MatchupId::of(run.run, run.step, teacher, student),
                teacher,
                student,
                proposed: proposals.len() as u32,
                valid: solved.iter().flatten().count() as u32,
                solve_rate: scores.solve_rate.map(|rate| rate as f32),
                student_score: Some(decision.student_score as f32),
                teacher_reward: Some(scores.teacher_reward as f32),
                // The approximated normal distribution function can end slightly outside [0, 1].
                predicted: decision.predicted.clamp(0.0, 1.0) as f32,
                winner: decision.winner,
            });
            decided.push((one.teacher, one.student, decision.winner));
        }
        self.scene.draft.plan.records.ratings.extend(self.memory.ratings.ratings.records());
        decided
    }

    /// Every member that learns, with one mixed batch of all types: a teacher's proposals, a student's attempts, or
    /// both for the baseline. Advantages are REINFORCE++-baseline over the member's own batch in each role, so members
    /// and roles stay independent: pooled, the baseline's proposals, which earn less than its attempts, would get
    /// negative advantages whatever they are.
    fn learners(&self, judged: &[(Judged, f32)]) -> Vec<Learner> {
        let prompts = judged.iter().map(|(judged, _)| judged.sample.request + 1).max().unwrap_or(0);
        let learns = |role: Role| !self.parameters.frozen.contains(&role);
        let mut learners: Vec<Learner> =
            (0..self.scene.draft.members.len()).map(|member| Learner { member, ..Learner::default() }).collect();
        if learns(Role::Teacher) {
            let proposals = judged.iter().map(|(judged, reward)| {
                let sequence = judged.sample.sequence(*reward, judged.sample.request);
                (judged.proposer, sequence)
            });
            self.learn_in_role(&mut learners, Role::Teacher, proposals);
        }
        if learns(Role::Student) {
            let attempts = judged.iter().flat_map(|(judged, _)| {
                judged.attempts.iter().map(move |attempt| {
                    let sequence = attempt.sample.sequence(attempt.reward, prompts + judged.index);
                    (attempt.solver, sequence)
                })
            });
            self.learn_in_role(&mut learners, Role::Student, attempts);
        }
        learners
    }

    /// Gives every learner its sequences in one role, with their advantages.
    fn learn_in_role(&self, learners: &mut [Learner], role: Role, sequences: impl Iterator<Item = (usize, Sequence)>) {
        let Parameters { learning, whitening, .. } = self.parameters;
        let draft = &self.scene.draft;
        let mut by_learner: BTreeMap<usize, Vec<Sequence>> = BTreeMap::new();
        for (learner, sequence) in sequences {
            by_learner.entry(learner).or_default().push(sequence);
        }
        for (learner, sequences) in by_learner {
            let mut batch: Vec<((), Sampled)> = sequences.iter().map(|sequence| ((), sequence.sampled)).collect();
            let path = format!("{}/{}", role.name(), draft.members[learner].name);
            learning.alter(&mut batch, draft.run, &path);
            let batch: Vec<Sampled> = batch.into_iter().map(|(_, sampled)| sampled).collect();
            let advantages = reinforce_plus_plus_baseline(&batch, *whitening);
            learners[learner].sequences.extend(sequences);
            learners[learner].advantages.extend(advantages);
        }
    }
}
