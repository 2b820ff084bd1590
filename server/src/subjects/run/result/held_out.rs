//! Held-out accuracy over steps, on the page of a run that was measured. The page's script requests this part again while
//! results may come.

mod accuracy;
mod charts;
mod comparison;

use actix_web::{HttpResponse, get, web};
use askama::Template;
use lyceum_core::id::ExecutionId;
use lyceum_store::benchmarks::{self, Measurement};
use lyceum_store::evaluations::{self, EvaluationFilter};
use lyceum_store::executions::State;
use lyceum_store::page::{Order, Window};
use lyceum_store::runs::{Run, RunDetail};
use serde::Serialize;
use sqlx::PgPool;

use self::accuracy::{Answers, HeldOut, Past};
pub(crate) use self::comparison::{compared, latest};
use crate::api_error::ApiError;
use crate::frame::figure::Figure;
use crate::frame::places::Tab;
use crate::frame::run::RunFrame;
use crate::frame::view::View;
use crate::lab::Lab;

/// Maximum measured steps in the charts, evenly spaced.
const STEPS: usize = 60;

/// A run's held-out accuracy.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct HeldOutView {
    /// What was measured; none if the run does not measure itself and never was measured.
    #[serde(rename = "held_out")]
    data: Option<HeldOut>,
    /// Whether results may still come.
    #[serde(skip)]
    pub(crate) is_open: bool,
    #[serde(skip)]
    pub(crate) figures: Vec<Figure>,
    /// The curves to choose from: the address's value, the label, and whether it is drawn. One alone is listed too, so that charts
    /// stay where they are when a second joins it.
    #[serde(skip)]
    pub(crate) choices: Vec<(&'static str, String, bool)>,
}

/// What is drawn over steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Curve {
    /// The share of problems solved by one answer.
    #[default]
    PassAt1,
    /// The chance that one of several answers is correct.
    PassAtK,
}

impl Curve {
    const NAMES: [(Self, &'static str); 2] = [(Self::PassAt1, "pass_at_1"), (Self::PassAtK, "pass_at_k")];

    /// The one in the address. Its other parameters are about charts, and scripts read them.
    ///
    /// # Errors
    /// 400 if there is no such curve.
    pub(crate) fn of(view: &View) -> Result<Self, ApiError> {
        let Some(asked) = view.parameter("curve") else { return Ok(Self::default()) };
        let found = Self::NAMES.iter().find(|(_, name)| *name == asked);
        found.map(|(curve, _)| *curve).ok_or_else(|| {
            let detail = format!("`{asked}` is no curve: pass_at_1 and pass_at_k are valid");
            ApiError::invalid_query(vec![("curve".to_owned(), detail)])
        })
    }
}

impl HeldOutView {
    pub(crate) async fn load(db: &PgPool, run: &RunFrame, curve: Curve) -> Result<Self, ApiError> {
        let id = ExecutionId(run.run().id);
        let ways = benchmarks::measurements(db, id).await?;
        let Some((one, several)) = chosen(&ways) else {
            let is_scheduled = is_scheduled(&run.detail);
            return Ok(Self {
                data: is_scheduled.then(HeldOut::default),
                is_open: is_scheduled && is_measuring(db, run.run()).await?,
                ..Self::default()
            });
        };
        let single = benchmarks::answered(db, id, one, &thinned(&one.steps)).await?;
        let sampled = match several {
            Some(way) => benchmarks::answered(db, id, way, &thinned(&way.steps)).await?,
            None => Vec::new(),
        };
        let data = HeldOut::of(
            Answers { way: one, answered: &single },
            several.map(|way| Answers { way, answered: &sampled }),
            Past::of(run.run()),
        );
        // Without sampled answers there is nothing to choose.
        let curve = if data.has_several() { curve } else { Curve::PassAt1 };
        let choice = |(one, name): (Curve, &'static str)| (name, data.label(one), one == curve);
        Ok(Self {
            choices: Curve::NAMES.into_iter().take(if data.has_several() { 2 } else { 1 }).map(choice).collect(),
            figures: data.figures(curve),
            is_open: is_measuring(db, run.run()).await?,
            data: Some(data),
        })
    }

    /// The charts that are to come: their titles, and what they wait for.
    #[expect(clippy::unused_self, reason = "templates call it on a value")]
    pub(crate) fn awaited(&self) -> [(&'static str, &'static str); 2] {
        [
            (
                "Held-out accuracy over steps",
                "Being measured. The first result is that of the base, before anything is learned; it takes some seconds on a \
                 small model. Members are then measured at regular steps, on problems that nobody learns from.",
            ),
            ("Response length", "Mean tokens of the answers to the same problems."),
        ]
    }

    pub(crate) fn is_shown(&self) -> bool {
        self.data.is_some()
    }
}

/// Whether the config has the run measured.
fn is_scheduled(run: &RunDetail) -> bool {
    run.config.get("benchmarks").is_some_and(|own| !own.is_null())
}

/// Whether the run goes on, or evaluations of it do.
async fn is_measuring(db: &PgPool, run: &Run) -> Result<bool, ApiError> {
    if run.state.is_open() {
        return Ok(true);
    }
    let running =
        EvaluationFilter { run: Some(ExecutionId(run.id)), state: Some(State::Running), ..EvaluationFilter::default() };
    let first = Window { limit: 1, after: None, order: Order::Newest };
    Ok(!evaluations::page(db, &running, &first).await?.items.is_empty())
}

/// The measurement that is shown: the one with single answers that was made at most steps, and with several answers on
/// the same suite. Of equals the first, so that charts do not jump to another suite.
/// The way in which members were measured most often, and the one of several samples that belongs to it.
pub(crate) fn chosen(ways: &[Measurement]) -> Option<(&Measurement, Option<&Measurement>)> {
    let most = |fits: &dyn Fn(&Measurement) -> bool| {
        let fitting = ways.iter().rev().filter(|way| fits(way));
        fitting.max_by_key(|way| way.steps.len())
    };
    let one = most(&|way| way.n == 1).or_else(|| most(&|_| true))?;
    Some((one, most(&|way| way.n > 1 && way.suite == one.suite)))
}

/// At most [`STEPS`] of the steps, evenly spaced, with the last.
fn thinned(steps: &[i32]) -> Vec<i32> {
    let every = steps.len().div_ceil(STEPS).max(1);
    let skipped = steps.len().saturating_sub(1) % every;
    steps.iter().skip(skipped).step_by(every).copied().collect()
}

#[derive(Template, Serialize)]
#[template(path = "run/held_out.html")]
struct HeldOutPart {
    run: RunFrame,
    #[serde(flatten)]
    held_out: HeldOutView,
}

/// Only this part of the page.
#[get("/runs/{id}/held-out")]
pub(crate) async fn show_held_out(
    view: View,
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
) -> Result<HttpResponse, ApiError> {
    let curve = Curve::of(&view)?;
    let run = RunFrame::load(&lab, *id, Tab::Result).await?;
    let held_out = HeldOutView::load(lab.store.pool(), &run, curve).await?;
    view.show(&HeldOutPart { run, held_out })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(suite: &str, n: i32, steps: &[i32]) -> Measurement {
        Measurement {
            suite: suite.to_owned(),
            name: format!("{suite}-{n}"),
            row_set: String::new(),
            decoding: String::new(),
            rows: 64,
            n,
            temperature: 0.0,
            steps: steps.to_vec(),
            has_base: true,
        }
    }

    #[test]
    fn the_chart_is_about_what_was_measured_most_often() {
        let ways = [
            way("math", 1, &[10]),
            way("code", 1, &[10, 20]),
            way("code", 8, &[20]),
            way("code", 1, &[5, 20]),
            way("math", 8, &[10, 20, 30]),
        ];
        assert_eq!(chosen(&ways), Some((&ways[1], Some(&ways[2]))));
        assert_eq!(chosen(&ways[4..]), Some((&ways[4], Some(&ways[4]))), "nobody answered once");
        assert_eq!(chosen(&ways[..1]), Some((&ways[0], None)));
        assert_eq!(chosen(&[]), None);
    }

    #[test]
    fn many_steps_are_thinned_and_the_last_stays() {
        for count in [0, 1, 59, 60, 61, 1000] {
            let steps: Vec<i32> = (1..=count).collect();
            let kept = thinned(&steps);
            assert!(kept.len() <= STEPS && kept.last() == steps.last(), "{count}: {kept:?}");
        }
    }
}
