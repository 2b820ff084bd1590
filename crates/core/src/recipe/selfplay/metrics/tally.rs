//! Values of the metrics.

use super::metric_names;
use crate::{
    advantage::has_signal,
    rating::Rating,
    recipe::{
        MetricRecord, Role, StepView, Winner, WorkState,
        selfplay::{Attempt, Judged},
    },
    verify::ProblemKind,
    work::{MemberUpdated, Outcome},
};

/// Everything that a step's metrics are made of.
pub(crate) struct Tally<'a> {
    pub(crate) view: &'a StepView,
    /// All proposals with their attempts and rewards, by index.
    pub(crate) judged: &'a [(Judged, f32)],
    /// Which of them are near duplicates.
    pub(crate) duplicates: &'a [bool],
    /// Attempts that no proposal of the step is behind.
    pub(crate) practice: &'a [Attempt],
    /// Who taught whom, and who won.
    pub(crate) matchups: &'a [(usize, usize, Winner)],
    /// Ratings by member and role.
    pub(crate) ratings: &'a [(usize, Role, Rating)],
    /// What updates said, by member.
    pub(crate) updated: &'a [(usize, &'a MemberUpdated)],
    pub(crate) coverage: f64,
    pub(crate) qd_score: f64,
    pub(crate) births: usize,
    pub(crate) pool_size: usize,
    pub(crate) archive_insertions: usize,
}

/// Whose values they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    Run,
    /// A member that proposes and may solve, too: attempts at its problems count as well.
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

impl Tally<'_> {
    /// The run's row. One for a member is made by [`Self::member`].
    pub(crate) fn run(&self) -> MetricRecord {
        self.record(Scope::Run, None)
    }

    /// The row of the member at a place, who plays `role` (its first, if it plays several).
    pub(crate) fn member(&self, place: usize, role: Role, id: crate::id::MemberId) -> MetricRecord {
        let scope = match role {
            Role::Student | Role::Solver => Scope::Student(place),
            _ => Scope::Teacher(place),
        };
        self.record(scope, Some(id))
    }

    fn record(&self, scope: Scope, member: Option<crate::id::MemberId>) -> MetricRecord {
        let named = self.values(scope);
        debug_assert!(named.iter().map(|(name, _)| *name).eq(metric_names().iter().copied()));
        MetricRecord {
            member,
            values: named.into_iter().map(|(_, value)| value).collect(),
        }
    }

    fn values(&self, scope: Scope) -> Vec<(&'static str, f64)> {
        let proposals: Vec<(&(Judged, f32), bool)> = self
            .judged
            .iter()
            .zip(self.duplicates.iter().copied())
            .filter(|((judged, _), _)| scope.proposes(judged))
            .collect();
        let of_problems = self.judged.iter().flat_map(|(judged, _)| {
            judged
                .attempts
                .iter()
                .map(move |attempt| (attempt, Some(judged.proposer)))
        });
        let attempts: Vec<&Attempt> = of_problems
            .chain(self.practice.iter().map(|attempt| (attempt, None)))
            .filter(|(attempt, proposer)| scope.solves(attempt, *proposer))
            .map(|(attempt, _)| attempt)
            .collect();
        let valid: Vec<&Judged> = proposals
            .iter()
            .map(|((judged, _), _)| judged)
            .filter(|j| j.problem.is_some())
            .collect();
        let solve = |kind: Option<ProblemKind>| {
            let taken = attempts
                .iter()
                .filter(|attempt| kind.is_none_or(|kind| attempt.kind == kind));
            mean(taken.map(|attempt| of(attempt.correct)))
        };
        let difficulty = |kind: Option<ProblemKind>| {
            let taken = valid
                .iter()
                .filter(|judged| kind.is_none_or(|kind| judged.kind == kind));
            1.0 - mean(taken.flat_map(|judged| judged.attempts.iter().map(|attempt| of(attempt.correct))))
        };
        let validity = |kind: Option<ProblemKind>| {
            let taken = proposals
                .iter()
                .filter(|((judged, _), _)| kind.is_none_or(|kind| judged.kind == kind));
            mean(taken.map(|((judged, _), _)| of(judged.problem.is_some())))
        };
        let complexity = |axis: usize| {
            mean(
                valid
                    .iter()
                    .filter_map(|judged| Some(f64::from(judged.descriptor?[axis]))),
            )
        };
        let attempted: Vec<&&Judged> = valid.iter().filter(|judged| !judged.attempts.is_empty()).collect();
        let band = |low: bool, high: bool| {
            mean(
                attempted
                    .iter()
                    .filter_map(|judged| judged.solved())
                    .map(|solved| of((solved.solved == 0) == low && (solved.solved == solved.attempts) == high)),
            )
        };
        let groups = self.judged.iter().filter(|(judged, _)| judged.attempts.len() > 1);
        let groups = groups
            .filter(|(judged, _)| scope.proposes(judged) || scope.solves(&judged.attempts[0], Some(judged.proposer)));
        let no_signal = mean(groups.map(|(judged, _)| {
            of(!has_signal(
                &judged.attempts.iter().map(|attempt| attempt.reward).collect::<Vec<_>>(),
            ))
        }));
        let met = self
            .matchups
            .iter()
            .filter(|(teacher, student, _)| scope.is(*teacher) || scope.is(*student));
        let wins = mean(met.map(|(.., winner)| of(*winner == Winner::Teacher)));
        let rating = |role: Role, value: fn(&Rating) -> f64| {
            let own = self
                .ratings
                .iter()
                .filter(|(member, played, _)| *played == role && scope.is(*member));
            mean(own.map(|(.., rating)| value(rating)))
        };
        let updated: Vec<&MemberUpdated> = self
            .updated
            .iter()
            .filter(|(member, _)| scope.is(*member))
            .map(|(_, new)| *new)
            .collect();
        let learned = |value: fn(&MemberUpdated) -> f64| mean(updated.iter().map(|new| value(new)));
        let proposal_lengths = || proposals.iter().map(|((judged, _), _)| f64::from(judged.tokens));
        let own_attempts = || {
            let own = attempts.iter().filter(|attempt| scope.is(attempt.solver));
            own.map(|attempt| f64::from(attempt.tokens))
        };
        let entropies = proposals.iter().filter_map(|((judged, _), _)| judged.entropy);
        let entropies = entropies.chain(attempts.iter().filter(|a| scope.is(a.solver)).filter_map(|a| a.entropy));
        let run_only = |value: f64| if scope == Scope::Run { value } else { f64::NAN };
        let costs = if scope == Scope::Run {
            Costs::of(self.view)
        } else {
            Costs::none()
        };
        let [code_i, code_o, code_f] = [ProblemKind::CodeI, ProblemKind::CodeO, ProblemKind::CodeF].map(Some);
        vec![
            ("solve_rate", solve(None)),
            ("solve_rate_code_i", solve(code_i)),
            ("solve_rate_code_o", solve(code_o)),
            ("solve_rate_code_f", solve(code_f)),
            (
                "format_rate",
                mean(attempts.iter().map(|attempt| of(attempt.well_formed))),
            ),
            ("difficulty", difficulty(None)),
            ("difficulty_code_i", difficulty(code_i)),
            ("difficulty_code_o", difficulty(code_o)),
            ("difficulty_code_f", difficulty(code_f)),
            ("validity", validity(None)),
            ("validity_code_i", validity(code_i)),
            ("validity_code_o", validity(code_o)),
            ("validity_code_f", validity(code_f)),
            ("ast_depth", complexity(0)),
            ("cyclomatic", complexity(1)),
            ("loc", complexity(2)),
            ("variables", complexity(3)),
            ("coverage", run_only(self.coverage)),
            ("qd_score", run_only(self.qd_score)),
            (
                "near_duplicate_rate",
                mean(
                    proposals
                        .iter()
                        .filter(|((judged, _), _)| judged.problem.is_some())
                        .map(|(_, twin)| of(*twin)),
                ),
            ),
            ("unsolved_share", band(true, false)),
            ("learnable_share", band(false, false)),
            ("mastered_share", band(false, true)),
            (
                "teacher_reward",
                mean(proposals.iter().map(|((_, reward), _)| f64::from(*reward))),
            ),
            (
                "student_reward",
                mean(attempts.iter().map(|attempt| f64::from(attempt.reward))),
            ),
            ("no_signal_share", no_signal),
            ("teacher_wins", wins),
            ("teacher_mu", rating(Role::Teacher, |rating| rating.mu)),
            ("teacher_sigma", rating(Role::Teacher, |rating| rating.sigma)),
            ("student_mu", rating(Role::Student, |rating| rating.mu)),
            ("student_sigma", rating(Role::Student, |rating| rating.sigma)),
            ("entropy", learned(|new| new.diagnostics.entropy)),
            ("policy_loss", learned(|new| new.diagnostics.policy_loss)),
            ("grad_norm", learned(|new| new.diagnostics.grad_norm)),
            ("clip_share", learned(|new| new.diagnostics.clip_share)),
            ("ratio", learned(|new| new.diagnostics.ratio)),
            ("sampler_mismatch", learned(|new| new.diagnostics.sampler_mismatch)),
            ("kl", learned(|new| new.diagnostics.kl)),
            ("response_length", mean(proposal_lengths().chain(own_attempts()))),
            ("proposal_length", mean(proposal_lengths())),
            ("answer_length", mean(own_attempts())),
            ("proposals", proposals.len() as f64),
            ("valid_problems", valid.len() as f64),
            ("attempts", attempts.len() as f64),
            ("updates", updated.len() as f64),
            ("births", run_only(self.births as f64)),
            ("pool_size", run_only(self.pool_size as f64)),
            ("archive_insertions", run_only(self.archive_insertions as f64)),
            ("prompt_tokens", costs.prompt_tokens),
            (
                "completion_tokens",
                match scope {
                    Scope::Run => costs.completion_tokens,
                    _ => proposal_lengths().chain(own_attempts()).sum(),
                },
            ),
            (
                "learned_tokens",
                updated.iter().map(|new| new.diagnostics.tokens as f64).sum(),
            ),
            ("propose_seconds", costs.propose),
            ("check_seconds", costs.check),
            ("solve_seconds", costs.solve),
            ("grade_seconds", costs.grade),
            ("update_seconds", costs.update),
            ("evolve_seconds", costs.evolve),
            ("sampled_entropy", mean(entropies.map(f64::from))),
            ("halvings", costs.halvings),
        ]
    }
}

/// What a step's items took, by phase.
struct Costs {
    prompt_tokens: f64,
    completion_tokens: f64,
    propose: f64,
    check: f64,
    solve: f64,
    grade: f64,
    update: f64,
    evolve: f64,
    halvings: f64,
}

impl Costs {
    fn all(value: f64) -> Self {
        Self {
            prompt_tokens: value,
            completion_tokens: value,
            propose: value,
            check: value,
            solve: value,
            grade: value,
            update: value,
            evolve: value,
            halvings: value,
        }
    }

    fn none() -> Self {
        Self::all(f64::NAN)
    }

    fn of(view: &StepView) -> Self {
        let mut costs = Self::all(0.0);
        for (key, state) in &view.work {
            let WorkState::Done(outcome) = state else { continue };
            match outcome {
                Outcome::Rollout(result) => {
                    costs.prompt_tokens += result.usage.prompt_tokens as f64;
                    costs.completion_tokens += result.usage.completion_tokens as f64;
                    costs.halvings += f64::from(result.usage.halvings);
                    match key.phase.as_str() {
                        "propose" => costs.propose += result.usage.seconds,
                        _ => costs.solve += result.usage.seconds,
                    }
                }
                Outcome::Verify(result) => {
                    let seconds = result.verdicts.iter().map(|verdict| verdict.millis / 1e3).sum::<f64>();
                    match key.phase.as_str() {
                        "check" | "seed" => costs.check += seconds,
                        _ => costs.grade += seconds,
                    }
                }
                Outcome::Update(result) => {
                    costs.update += result.seconds;
                    // The item that sums pieces of a gradient tells theirs again.
                    if result.gradient.is_none() {
                        costs.halvings += f64::from(result.halvings);
                    }
                }
                Outcome::Evolve(result) => costs.evolve += result.seconds,
                Outcome::Benchmark(_) => {}
            }
        }
        costs
    }
}

fn of(is_so: bool) -> f64 {
    f64::from(u8::from(is_so))
}

/// The mean; NaN, which stands for no value, where there is nothing.
fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
    sum / f64::from(count)
}
