//! The data behind metrics, and the run or member they are about.

use crate::contract::metric::{mean, share};
use crate::contract::{Role, Winner};
use crate::kit::code::{Attempt, Judged};
use crate::kit::measures::{Costs, HasCosts, HasUpdates};
use crate::rating::Rating;
use crate::reward::Solved;
use crate::verify::ProblemKind;
use crate::work::MemberUpdated;

/// All data behind a step's metrics.
pub(crate) struct Tally<'a> {
    pub(crate) costs: Costs,
    /// All proposals with their attempts and rewards, by index.
    pub(crate) judged: &'a [(Judged, f32)],
    /// Whether each of them is a near duplicate.
    pub(crate) duplicates: &'a [bool],
    /// Attempts at problems of earlier steps.
    pub(crate) practice: &'a [Attempt],
    /// Teacher, student and winner of each matchup.
    pub(crate) matchups: &'a [(usize, usize, Winner)],
    /// Ratings by member and role.
    pub(crate) ratings: &'a [(usize, Role, Rating)],
    /// Results of updates, by member.
    pub(crate) updated: &'a [(usize, &'a MemberUpdated)],
    pub(crate) coverage: f64,
    pub(crate) cells_per_problem: f64,
    pub(crate) qd_score: f64,
    pub(crate) births: usize,
    pub(crate) pool_size: usize,
    pub(crate) archive_insertions: usize,
    /// Whether the step rewards only form.
    pub(crate) warms_up: bool,
}

/// The run or member that values are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    Run,
    /// A member that proposes and may also solve: attempts at its problems count too.
    Teacher(usize),
    Student(usize),
}

impl Scope {
    fn proposes(self, judged: &Judged) -> bool {
        match self {
            Self::Run => true,
            Self::Teacher(member) => judged.proposer == member,
            Self::Student(_) => false,
        }
    }

    fn solves(self, attempt: &Attempt, proposer: Option<usize>) -> bool {
        match self {
            Self::Run => true,
            Self::Teacher(member) => proposer == Some(member) || (proposer.is_none() && attempt.solver == member),
            Self::Student(member) => attempt.solver == member,
        }
    }

    fn is(self, member: usize) -> bool {
        match self {
            Self::Run => true,
            Self::Teacher(own) | Self::Student(own) => own == member,
        }
    }
}

/// A tally restricted to a scope.
pub(super) struct Scoped<'t> {
    tally: &'t Tally<'t>,
    scope: Scope,
    /// Proposals with their rewards, and whether each is a near duplicate.
    pub(super) proposals: Vec<(&'t Judged, f32, bool)>,
    pub(super) attempts: Vec<&'t Attempt>,
    pub(super) updated: Vec<&'t MemberUpdated>,
    costs: Costs,
}

impl<'t> Scoped<'t> {
    pub(super) fn new(tally: &'t Tally<'t>, scope: Scope) -> Self {
        let proposals = tally.judged.iter().zip(tally.duplicates);
        let proposals = proposals.map(|((judged, reward), twin)| (judged, *reward, *twin));
        let at_problems = tally.judged.iter().flat_map(|(judged, _)| {
            let attempts = judged.attempts.iter();
            attempts.map(move |attempt| (attempt, Some(judged.proposer)))
        });
        let practice = tally.practice.iter().map(|attempt| (attempt, None));
        let attempts = at_problems.chain(practice);
        let updated = tally.updated.iter().filter(|(member, _)| scope.is(*member));
        Self {
            tally,
            scope,
            proposals: proposals.filter(|(judged, ..)| scope.proposes(judged)).collect(),
            attempts: attempts
                .filter(|(attempt, proposer)| scope.solves(attempt, *proposer))
                .map(|(attempt, _)| attempt)
                .collect(),
            updated: updated.map(|(_, new)| *new).collect(),
            costs: if scope == Scope::Run { tally.costs } else { Costs::none() },
        }
    }

    /// A value that exists for the run but not for members.
    pub(super) fn run_only(&self, value: fn(&Tally<'_>) -> f64) -> f64 {
        match self.scope {
            Scope::Run => value(self.tally),
            _ => f64::NAN,
        }
    }

    pub(super) fn valid(&self) -> impl Iterator<Item = &'t Judged> + use<'t, '_> {
        let proposals = self.proposals.iter().map(|(judged, ..)| *judged);
        proposals.filter(|judged| judged.problem.is_some())
    }

    pub(super) fn solve_rate(&self, kind: Option<ProblemKind>) -> f64 {
        let taken = self.attempts.iter().filter(|attempt| is_of(attempt.kind, kind));
        mean(taken.map(|attempt| share(attempt.correct)))
    }

    pub(super) fn difficulty(&self, kind: Option<ProblemKind>) -> f64 {
        let taken = self.valid().filter(|judged| is_of(judged.kind, kind));
        1.0 - mean(taken.flat_map(|judged| judged.attempts.iter().map(|attempt| share(attempt.correct))))
    }

    pub(super) fn validity(&self, kind: Option<ProblemKind>) -> f64 {
        let taken = self.proposals.iter().filter(|(judged, ..)| is_of(judged.kind, kind));
        mean(taken.map(|(judged, ..)| share(judged.problem.is_some())))
    }

    /// Over programs that were proposed (PopuLoRA, section 4.4); those of `code_f` problems are copies from the pool.
    pub(super) fn complexity(&self, axis: usize) -> f64 {
        let written = self.valid().filter(|judged| judged.kind != ProblemKind::CodeF);
        mean(written.filter_map(|judged| Some(f64::from(judged.descriptor?[axis]))))
    }

    /// Over programs that were proposed, as [`Self::complexity`].
    pub(super) fn near_duplicates(&self) -> f64 {
        let written = self.proposals.iter().filter(|(judged, ..)| judged.fingerprint.is_some());
        mean(written.map(|(.., twin)| share(*twin)))
    }

    /// Share of the attempted problems for which `fared` holds.
    pub(super) fn band(&self, fared: fn(&Solved) -> bool) -> f64 {
        let attempted = self.valid().filter(|judged| !judged.attempts.is_empty());
        mean(attempted.filter_map(Judged::solved).map(|solved| share(fared(&solved))))
    }

    /// Rewards of the attempts at each problem attempted more than once.
    pub(super) fn groups(&self) -> impl Iterator<Item = Vec<f32>> {
        let scope = self.scope;
        let groups = self.tally.judged.iter().map(|(judged, _)| judged).filter(|judged| judged.attempts.len() > 1);
        let own = groups
            .filter(move |judged| scope.proposes(judged) || scope.solves(&judged.attempts[0], Some(judged.proposer)));
        own.map(|judged| judged.attempts.iter().map(|attempt| attempt.reward).collect())
    }

    pub(super) fn teacher_wins(&self) -> f64 {
        let matchups = self.tally.matchups.iter();
        let met = matchups.filter(|(teacher, student, _)| self.scope.is(*teacher) || self.scope.is(*student));
        mean(met.map(|(.., winner)| share(*winner == Winner::Teacher)))
    }

    pub(super) fn rating(&self, role: Role, value: fn(&Rating) -> f64) -> f64 {
        let ratings = self.tally.ratings.iter();
        let own = ratings.filter(|(member, played, _)| *played == role && self.scope.is(*member));
        mean(own.map(|(.., rating)| value(rating)))
    }

    pub(super) fn proposal_lengths(&self) -> impl Iterator<Item = f64> {
        self.proposals.iter().map(|(judged, ..)| f64::from(judged.sample.tokens))
    }

    pub(super) fn answer_lengths(&self) -> impl Iterator<Item = f64> {
        self.own_attempts().map(|attempt| f64::from(attempt.sample.tokens))
    }

    /// Mean entropies of all samples.
    pub(super) fn entropies(&self) -> impl Iterator<Item = f64> {
        let proposals = self.proposals.iter().filter_map(|(judged, ..)| judged.sample.entropy);
        let attempts = self.own_attempts().filter_map(|attempt| attempt.sample.entropy);
        proposals.chain(attempts).map(f64::from)
    }

    pub(super) fn steps_share(&self) -> f64 {
        mean(self.own_attempts().map(|attempt| share(attempt.sample.has_steps)))
    }

    pub(super) fn own_attempts(&self) -> impl Iterator<Item = &'t Attempt> {
        let attempts = self.attempts.iter().copied();
        attempts.filter(|attempt| self.scope.is(attempt.solver))
    }
}

fn is_of(kind: ProblemKind, wanted: Option<ProblemKind>) -> bool {
    wanted.is_none_or(|wanted| kind == wanted)
}

impl HasUpdates for Scoped<'_> {
    fn updated(&self) -> Vec<&MemberUpdated> {
        self.updated.clone()
    }
}

impl HasCosts for Scoped<'_> {
    fn costs(&self) -> &Costs {
        &self.costs
    }

    /// For the run, counted by item, including discarded ones; for a member, those of its samples.
    fn completion_tokens(&self) -> f64 {
        match self.scope {
            Scope::Run => self.costs.completion_tokens,
            _ => self.proposal_lengths().chain(self.answer_lengths()).sum(),
        }
    }
}
