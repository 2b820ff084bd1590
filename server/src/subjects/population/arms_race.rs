//! `/runs/{id}/arms-race`: ratings of every member over steps, outcomes of matchups, and who leads (PopuLoRA, Figure
//! 5).

use actix_web::{HttpResponse, get, web};
use askama::Template;
use lyceum_core::id::ExecutionId;
use lyceum_core::rating::FrozenShare;
use lyceum_core::recipe::Role;
use lyceum_store::matchups::{self, MatchupOutcomes};
use lyceum_store::members::{self, MemberName};
use lyceum_store::ratings::{self, RatingPoint};
use serde::Serialize;
use std::collections::BTreeMap;
use uuid::Uuid;

use crate::api_error::ApiError;
use crate::frame::figure::{Colour, Figure, Series, Style};
use crate::frame::layout::{Layout, Section};
use crate::frame::places::Tab;
use crate::frame::run::RunFrame;
use crate::frame::sides::{SideNames, order};
use crate::frame::steps::{MEMBERS, POINTS, Steps};
use crate::frame::view::{Filters, View};
use crate::lab::Lab;

#[derive(Template, Serialize)]
#[template(path = "population/arms_race.html")]
struct ArmsRacePage {
    #[serde(skip)]
    layout: Layout,
    run: RunFrame,
    /// Steps between two ratings; the last step has one as well.
    stride: u32,
    /// The steps shown.
    steps: Steps,
    members: Vec<MemberName>,
    ratings: Vec<RatingPoint>,
    outcomes: Vec<MatchupOutcomes>,
    lead: Lead,
    /// The request for an evaluation with frozen sides.
    #[serde(skip)]
    frozen_side: Option<String>,
    #[serde(skip)]
    figures: Vec<Figure>,
}

/// The side that wins more matchups than frozen players would, over a sliding window of steps.
#[derive(Debug, Default, PartialEq, Serialize)]
struct Lead {
    /// The name of its role, such as `teacher`; none if neither does.
    now: Option<String>,
    /// The step since which it leads.
    since: Option<i32>,
    /// How often the lead changed.
    changes: u32,
}

/// The arms race of a run.
#[get("/runs/{id}/arms-race")]
pub(crate) async fn show_arms_race(
    view: View,
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
    steps: Filters<Steps>,
) -> Result<HttpResponse, ApiError> {
    let db = lab.store.pool();
    let run = RunFrame::load(&lab, *id, Tab::ArmsRace).await?;
    let stretch = steps.0.of_run(run.run().step, POINTS)?;
    let members = members::names(db, *id, MEMBERS).await?;
    let ratings = ratings::history(db, *id, None, stretch).await?;
    let outcomes = matchups::outcomes(db, *id, stretch).await?;
    let mut figures: Vec<Figure> =
        roles(&ratings).into_iter().map(|role| ratings_of(role, &members, &ratings)).collect();
    let names = SideNames::of(&members);
    figures.push(outcomes_of(&outcomes, &names));
    let frozen_side = crate::subjects::evaluations::frozen_side::body(&lab.registry, &run.detail);
    view.show(&ArmsRacePage {
        frozen_side,
        layout: view.layout(format!("Arms race · {}", run.run().name), Section::Runs),
        run,
        stride: stretch.width,
        steps: steps.0,
        members,
        ratings,
        lead: lead(&outcomes, &names),
        outcomes,
        figures: view.news(figures, stretch.width),
    })
}

/// The rated roles, proposers' first.
fn roles(ratings: &[RatingPoint]) -> Vec<Role> {
    let mut roles: Vec<Role> = ratings.iter().map(|point| point.role).collect();
    roles.sort_unstable();
    roles.dedup();
    roles.sort_by_key(|role| order(*role));
    roles
}

fn ratings_of(role: Role, members: &[MemberName], ratings: &[RatingPoint]) -> Figure {
    let colour = Colour::from(role.side());
    let mut by_member: BTreeMap<Uuid, Vec<&RatingPoint>> = BTreeMap::new();
    let mut by_step: BTreeMap<i32, (f64, u32)> = BTreeMap::new();
    for point in ratings.iter().filter(|point| point.role == role) {
        by_member.entry(point.member_id).or_default().push(point);
        let (sum, count) = by_step.entry(point.step).or_default();
        *sum += point.mu;
        *count += 1;
    }
    let line = |member: &MemberName| {
        let points = by_member.get(&member.id)?;
        let at = |point: &&RatingPoint| (f64::from(point.step), Some(point.mu));
        let spread = |point: &&RatingPoint| (f64::from(point.step), point.mu - point.sigma, point.mu + point.sigma);
        Some(Series {
            name: member.name.clone(),
            style: Style::Faint,
            colour,
            points: points.iter().map(at).collect(),
            band: points.iter().map(spread).collect(),
            ..Series::default()
        })
    };
    let mean = Series {
        name: format!("mean of {role}s"),
        style: Style::Bold,
        colour,
        points: by_step.iter().map(|(step, (sum, count))| (f64::from(*step), Some(sum / f64::from(*count)))).collect(),
        ..Series::default()
    };
    Figure {
        id: format!("ratings-{role}"),
        title: format!("Ratings as {role}"),
        note: "Light: each member with one sigma on either side. Bold: the mean of the living members.".to_owned(),
        x: "step".to_owned(),
        y: "mu (TrueSkill)".to_owned(),
        series: [mean].into_iter().chain(members.iter().filter_map(line)).collect(),
        ..Figure::default()
    }
}

fn outcomes_of(outcomes: &[MatchupOutcomes], names: &SideNames) -> Figure {
    let SideNames { proposer, solver } = names;
    let curve = |name: String, style, colour, value: &dyn Fn(&[MatchupOutcomes]) -> f64| Series {
        name,
        style,
        colour,
        points: (0..outcomes.len())
            .map(|row| (f64::from(outcomes[row].step), Some(value(window(outcomes, row)))))
            .collect(),
        ..Series::default()
    };
    let frozen: Vec<(f64, FrozenShare)> =
        (0..outcomes.len()).map(|row| (f64::from(outcomes[row].step), frozen(window(outcomes, row)))).collect();
    let expected = Series {
        name: format!("{proposer}s, if nobody learned"),
        style: Style::Dashed,
        colour: Colour::Muted,
        points: frozen.iter().map(|(step, frozen)| (*step, Some(frozen.share))).collect(),
        band: frozen
            .iter()
            .map(|(step, FrozenShare { share, margin })| (*step, (share - margin).max(0.0), (share + margin).min(1.0)))
            .collect(),
        ..Series::default()
    };
    Figure {
        id: "outcomes".to_owned(),
        title: "Matchups".to_owned(),
        note: format!(
            "A matchup is won by exceeding what the ratings predict, and ratings adapt until each side wins as often as \
             predicted. So {proposer}s that never learn win this share too, however strong they are. The band holds their \
             share 19 times out of 20. Curves and band are over five points; inside the band, a curve is no evidence of \
             learning."
        ),
        x: "step".to_owned(),
        y: "share won".to_owned(),
        unit: "share",
        range: Some([0.0, 1.0]),
        level: Some(0.5),
        series: vec![
            curve(format!("{proposer}s"), Style::Bold, Colour::Proposing, &won),
            curve(format!("{solver}s"), Style::Line, Colour::Solving, &|rows| 1.0 - won(rows)),
            curve(format!("{solver}s' score"), Style::Dashed, Colour::Next, &|rows| {
                mean(rows, |row| row.student_score)
            }),
            expected,
        ],
        ..Figure::default()
    }
}

/// Rows of outcomes over which curves, band and lead are computed.
const WINDOW: usize = 5;

/// The rows up to `end`, as many as count towards a lead.
fn window(outcomes: &[MatchupOutcomes], end: usize) -> &[MatchupOutcomes] {
    &outcomes[(end + 1).saturating_sub(WINDOW)..=end]
}

/// The mean of a value over all matchups of some rows.
fn mean(outcomes: &[MatchupOutcomes], value: impl Fn(&MatchupOutcomes) -> f64) -> f64 {
    let matchups: f64 = outcomes.iter().map(|row| row.matchups as f64).sum();
    let sum: f64 = outcomes.iter().map(|row| value(row) * row.matchups as f64).sum();
    sum / matchups.max(1.0)
}

/// The share of matchups won by proposers.
fn won(outcomes: &[MatchupOutcomes]) -> f64 {
    let wins: i64 = outcomes.iter().map(|row| row.teacher_wins).sum();
    let matchups: i64 = outcomes.iter().map(|row| row.matchups).sum();
    wins as f64 / matchups.max(1) as f64
}

/// How often proposers would win these matchups if nobody learned.
fn frozen(outcomes: &[MatchupOutcomes]) -> FrozenShare {
    let matchups = outcomes.iter().map(|row| row.matchups as f64).sum();
    FrozenShare::of(mean(outcomes, |row| row.predicted), matchups)
}

fn lead(outcomes: &[MatchupOutcomes], names: &SideNames) -> Lead {
    let mut lead = Lead::default();
    let mut last = None;
    for end in 0..outcomes.len() {
        let window = window(outcomes, end);
        let FrozenShare { share, margin } = frozen(window);
        let ahead = won(window) - share;
        let leads = match () {
            () if ahead > margin => Some(&names.proposer),
            () if ahead < -margin => Some(&names.solver),
            () => None,
        };
        if lead.now.as_ref() != leads {
            lead.since = leads.map(|_| outcomes[end].step);
            lead.now = leads.cloned();
        }
        if leads.is_some() && last != leads {
            lead.changes += u32::from(last.is_some());
            last = leads;
        }
    }
    lead
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcomes(won: &[i64]) -> Vec<MatchupOutcomes> {
        let outcome = |(step, wins): (i32, &i64)| MatchupOutcomes {
            step,
            matchups: 4,
            teacher_wins: *wins,
            solve_rate: None,
            student_score: 0.5,
            predicted: 0.5,
        };
        (0..).zip(won).map(outcome).collect()
    }

    fn names() -> SideNames {
        SideNames { proposer: "challenger".to_owned(), solver: "solver".to_owned() }
    }

    #[test]
    fn the_lead_passes_when_a_window_says_so() {
        let lead = |won: &[i64]| lead(&outcomes(won), &names());
        assert_eq!(lead(&[]), Lead::default());
        let steady = lead(&[4, 4, 0, 4, 4, 4]);
        assert_eq!((steady.now.as_deref(), steady.since, steady.changes), (Some("challenger"), Some(4), 0));
        let passed = lead(&[4, 4, 4, 0, 0, 0, 0, 0]);
        assert_eq!((passed.now.as_deref(), passed.since, passed.changes), (Some("solver"), Some(6), 1));
        assert_eq!(lead(&[2, 2]).now, None, "a tie is nobody's lead");
    }

    #[test]
    fn winning_as_often_as_frozen_players_do_is_no_lead() {
        let mut rows = outcomes(&[3, 3, 3, 2, 4, 3]);
        rows.iter_mut().for_each(|row| row.predicted = 0.25);
        assert_eq!(lead(&rows, &names()), Lead::default());
        rows.iter_mut().for_each(|row| row.predicted = 0.75);
        assert_eq!(lead(&rows, &names()).now.as_deref(), Some("challenger"));
    }

    #[test]
    fn curves_and_band_are_over_the_same_rows() {
        let figure = outcomes_of(&outcomes(&[4, 0, 4, 0, 4, 0, 0]), &names());
        let last = |place: usize| figure.series[place].points.last().and_then(|point| point.1);
        assert_eq!(last(0), Some(8.0 / 20.0), "the last five of seven rows");
        assert_eq!(last(1), Some(12.0 / 20.0));
        assert_eq!(last(2), Some(0.5));
        let band = figure.series[3].band.last().unwrap();
        assert_eq!(band.1, 0.5 - FrozenShare::of(0.5, 20.0).margin);
    }

    #[test]
    fn curves_are_named_for_the_run_s_roles_and_coloured_by_side() {
        let figure = outcomes_of(&outcomes(&[1, 3]), &names());
        let curves: Vec<(&str, Colour)> = figure.series.iter().map(|one| (one.name.as_str(), one.colour)).collect();
        assert_eq!(curves[..2], [("challengers", Colour::Proposing), ("solvers", Colour::Solving)]);
        assert_eq!(curves.len(), 4, "both sides, the score and the band: {curves:?}");
        for (role, colour) in [
            (Role::Teacher, Colour::Proposing),
            (Role::Proposer, Colour::Proposing),
            (Role::Challenger, Colour::Proposing),
            (Role::Student, Colour::Solving),
            (Role::Solver, Colour::Solving),
            (Role::Planner, Colour::Planning),
            (Role::Critic, Colour::Judging),
        ] {
            assert_eq!(Colour::from(role.side()), colour, "{role}");
        }
        let point = |role| RatingPoint { member_id: Uuid::nil(), role, step: 0, mu: 25.0, sigma: 8.0 };
        let rated = roles(&[point(Role::Critic), point(Role::Solver), point(Role::Challenger), point(Role::Solver)]);
        assert_eq!(rated, [Role::Challenger, Role::Solver, Role::Critic]);
    }
}
