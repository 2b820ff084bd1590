//! The verdict on a run, above its page and on `/`: what its rows show, where the evidence is, and what to do next.

use actix_web::{HttpResponse, get, web};
use askama::Template;
use lyceum_core::config::RunConfig;
use lyceum_core::id::ExecutionId;
use lyceum_core::recipe::Capabilities;
use lyceum_core::verdict::{Evidence, Finding, LostSide, Progress, Readings, SPAN, Sign, Signal, Trend, Verdict};
use lyceum_store::executions::State;
use lyceum_store::metrics;
use lyceum_store::runs::RunDetail;
use lyceum_store::standstill::{self, Reason};
use serde::{Deserialize as _, Serialize};
use uuid::Uuid;

use super::held_out;
use crate::api_error::ApiError;
use crate::frame::charts::chart_of;
use crate::frame::places::Tab;
use crate::frame::run::RunFrame;
use crate::frame::text::inert;
use crate::frame::view::View;
use crate::lab::Lab;

/// A verdict with its links.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct VerdictView {
    /// How it is coloured: `good`, `bad`, `warn` or `open`.
    #[serde(skip)]
    pub(crate) tone: &'static str,
    /// The findings, the most urgent first.
    pub(crate) findings: Vec<Shown>,
    /// What to do next; none for those who may only read.
    pub(crate) next: Option<Action>,
}

/// A finding as it is shown.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Shown {
    #[serde(flatten)]
    finding: Finding,
    /// Its name in two or three words.
    pub(crate) label: &'static str,
    /// It in words.
    pub(crate) sentence: String,
    /// The sentence after the label.
    #[serde(skip)]
    pub(crate) detail: String,
    /// The address of its evidence.
    pub(crate) evidence: String,
}

/// A link to what to do next.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Action {
    pub(crate) label: &'static str,
    pub(crate) address: String,
}

impl Shown {
    /// Whether the label says more than the sentence does.
    pub(crate) fn is_labelled(&self) -> bool {
        !matches!(self.finding, Finding::Wasted { .. })
    }
}

impl VerdictView {
    /// The verdict on `run`. `may_write`: whether to offer what only writers may do.
    pub(crate) async fn load(lab: &Lab, run: &RunDetail, may_write: bool) -> Result<Self, ApiError> {
        let db = lab.store.pool();
        let id = ExecutionId(run.run.id);
        let recipe = lab.registry.get(&run.run.recipe).ok();
        let capabilities = recipe.map_or(Capabilities::ALL, |recipe| recipe.capabilities());
        let config = RunConfig::deserialize(&run.config).ok();
        let compares =
            recipe.zip(config).is_none_or(|(recipe, config)| recipe.compares_answers(&config).unwrap_or(true));
        let known = lab.registry.metrics(&run.run.recipe);
        let signals = Signal::all_in(&known, &run.metrics, compares);
        let places: Vec<usize> = signals.iter().map(|(_, place)| *place).collect();
        let (ends, standstill, latest) = futures::try_join!(
            async { Ok::<_, ApiError>(metrics::ends(db, id, &places, SPAN).await?) },
            async { Ok::<_, ApiError>(standstill::find(db, id).await?) },
            held_out::latest(db, run),
        )?;
        let mut readings = Readings::default();
        for (column, (signal, _)) in signals.iter().enumerate() {
            let values = ends.iter().map(|row| row[column].unwrap_or(f64::NAN));
            readings = readings.with(*signal, Trend::of(values));
        }
        let progress = match run.run.state {
            State::Running if matches!(standstill, Some((_, Reason::Stalled))) => Progress::Stalled,
            State::Running => Progress::Running,
            State::Paused => Progress::Paused,
            State::Completed => Progress::Completed,
            State::Failed => Progress::Failed(run.run.error.clone()),
            State::Cancelled => Progress::Cancelled,
        };
        let chart = |metric: &str| chart_of(&run.metrics, &known, metric);
        let place = Places {
            run: run.run.id,
            capabilities,
            chart: &|signal| chart(signal.metric_in(&known)?.name),
            held_out: match latest.is_of_own_rows {
                true => format!("/metrics{}", chart("held_out_pass_at_1").unwrap_or_default()),
                false => "#held-out".to_owned(),
            },
        };
        let is_open = run.run.state.is_open();
        let verdict = Verdict::of(&Evidence {
            progress,
            readings,
            held_out: latest.held_out,
            since_warm_up: latest.since_warm_up,
        });
        let headline = verdict.headline();
        let shown = |finding: &Finding| Shown {
            evidence: place.evidence(finding),
            label: finding.label(is_open),
            detail: inert(&finding.detail()),
            sentence: finding.sentence(is_open),
            finding: finding.clone(),
        };
        Ok(Self {
            tone: tone(headline),
            next: may_write.then(|| place.next(headline)),
            findings: verdict.findings().iter().map(shown).collect(),
        })
    }
}

pub(crate) fn tone(headline: &Finding) -> &'static str {
    match headline {
        Finding::Failed { .. } | Finding::Collapsing { .. } | Finding::Worse(_) => "bad",
        Finding::Stalled | Finding::LostContact { .. } | Finding::NoSignal { .. } => "warn",
        Finding::Learning(_) => "good",
        Finding::NotDistinguishable(_)
        | Finding::SinceWarmUp(_)
        | Finding::Unmeasured { .. }
        | Finding::Wasted { .. } => "open",
    }
}

/// Where evidence and actions are.
struct Places<'a> {
    run: Uuid,
    capabilities: Capabilities,
    /// The fragment of a signal's chart.
    chart: &'a dyn Fn(Signal) -> Option<String>,
    /// Where held-out accuracy is, on the run's pages.
    held_out: String,
}

impl Places<'_> {
    fn of_run(&self, rest: &str) -> String {
        format!("/runs/{}{rest}", self.run)
    }

    fn chart(&self, signal: Signal) -> String {
        self.of_run(&format!("/metrics{}", (self.chart)(signal).unwrap_or_default()))
    }

    fn evidence(&self, finding: &Finding) -> String {
        match finding {
            Finding::Failed { .. } => format!("/work?run={}&state=failed", self.run),
            Finding::Stalled => format!("/work?run={}", self.run),
            Finding::Collapsing { sign, .. } => self.chart(match sign {
                Sign::Format => Signal::Format,
                Sign::Entropy => Signal::Entropy,
                Sign::Duplicates => Signal::Duplicates,
            }),
            Finding::LostContact { side, .. } => match side {
                LostSide::Invalid => self.of_run("/problems?valid=false"),
                LostSide::Solvers | LostSide::Proposers if self.capabilities.rates => self.of_run("/arms-race"),
                LostSide::Solvers | LostSide::Proposers => self.chart(Signal::Solved),
                LostSide::Band => self.chart(Signal::InBand),
            },
            Finding::NoSignal { .. } | Finding::Wasted { .. } => self.of_run("/learnability"),
            Finding::Learning(_) | Finding::Worse(_) | Finding::NotDistinguishable(_) | Finding::SinceWarmUp(_) => {
                self.of_run(&self.held_out)
            }
            Finding::Unmeasured { awaited: true } => format!("/evaluations?run={}", self.run),
            Finding::Unmeasured { awaited: false } => self.of_run("/benchmarks"),
        }
    }

    /// What to do about the first finding.
    fn next(&self, headline: &Finding) -> Action {
        let (label, address) = match headline {
            Finding::Failed { .. } => ("Fork it before the failure", self.of_run("#fork-step")),
            Finding::Stalled => ("Is a worker running?", "/workers".to_owned()),
            Finding::Collapsing { .. } | Finding::Worse(_) => {
                ("Fork it from an earlier step", self.of_run("#fork-step"))
            }
            Finding::LostContact { .. } | Finding::NoSignal { .. } => {
                ("Start another run with changes", format!("/runs/new?from={}", self.run))
            }
            Finding::Learning(_) => ("Compare with other runs", format!("/compare?runs={}", self.run)),
            Finding::NotDistinguishable(_) | Finding::SinceWarmUp(_) | Finding::Wasted { .. } => {
                ("Measure on more rows", self.of_run("/benchmarks#measure"))
            }
            Finding::Unmeasured { awaited: true } => {
                ("Watch the measurement", format!("/evaluations?run={}", self.run))
            }
            Finding::Unmeasured { awaited: false } => ("Measure it", self.of_run("/benchmarks#measure")),
        };
        Action { label, address }
    }
}

#[derive(Template, Serialize)]
#[template(path = "run/verdict.html")]
struct VerdictPart {
    verdict: VerdictView,
}

/// Only the verdict, which the page's script reloads.
#[get("/runs/{id}/verdict")]
pub(crate) async fn show_verdict(
    view: View,
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
) -> Result<HttpResponse, ApiError> {
    let run = RunFrame::load(&lab, *id, Tab::Result).await?;
    let verdict = VerdictView::load(&lab, &run.detail, view.may_write()).await?;
    view.show(&VerdictPart { verdict })
}
