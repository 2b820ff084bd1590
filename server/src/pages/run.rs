//! `/runs/{id}`: progress, times and curves of a run.

use actix_web::{HttpResponse, get, http::header, web};
use askama::Template;
use lyceum_core::id::ExecutionId;
use lyceum_store::{
    evaluations,
    executions::State,
    members::{self, Member, MemberFilter},
    metrics::{self, MetricRow, MetricsQuery},
    page::{Order, Window},
    runs::Run,
};
use serde::Serialize;
use serde_json::json;

use super::{held_out::HeldOutView, run_now::RunNow, verdict::VerdictView};
use crate::{
    api_error::ApiError,
    frame::{
        charts::{Chart, ChartGroup, charts_of},
        figure::island,
        layout::{Layout, Section, Tab},
        run::RunFrame,
        sides::sides_of,
        view::View,
    },
    lab::Lab,
    subjects::runs::metrics::level_for,
};

/// Points of a curve in the page; the script loads finer ones for a zoomed range.
const POINTS: u32 = 250;
/// Rows of a chart's table, evenly spaced over the run.
const TABLE_ROWS: usize = 12;
/// Members whose curves are drawn.
const MEMBERS: u32 = 500;

#[derive(Template, Serialize)]
#[template(path = "run/overview.html")]
struct RunPage {
    #[serde(skip)]
    layout: Layout,
    run: RunFrame,
    verdict: VerdictView,
    #[serde(flatten)]
    now: RunNow,
    #[serde(flatten)]
    held_out: HeldOutView,
    #[serde(skip)]
    groups: Vec<ChartGroup>,
    #[serde(skip)]
    members: Vec<Member>,
    #[serde(skip)]
    level: u8,
    metrics: Vec<MetricRow>,
}

impl RunPage {
    /// The script's data.
    fn data(&self) -> String {
        let several = self
            .members
            .iter()
            .any(|member| member.population != self.members[0].population);
        let members = self.members.iter().map(|member| {
            json!({"id": member.id, "name": member.name, "sides": sides_of(&member.roles), "group": group(member, several)})
        });
        island(&json!({
            "run": self.run.run().id,
            "state": self.run.run().state,
            "step": self.run.run().step,
            "last_event": self.run.run().last_event,
            "forked_at_step": self.run.run().forked_at_step,
            "metrics": self.run.detail.metrics,
            "groups": self.groups,
            "members": members.collect::<Vec<_>>(),
            "level": self.level,
            "rows": self.metrics.iter().map(brief).collect::<Vec<_>>(),
        }))
    }

    /// Rows of a chart's table: the step and a value for each metric, evenly spaced, with the last step.
    fn table(&self, chart: &Chart) -> Vec<(i32, Vec<String>)> {
        let known = &self.run.detail.metrics;
        let places: Vec<Option<usize>> = chart
            .metrics
            .iter()
            .map(|metric| known.iter().position(|one| one == metric))
            .collect();
        evenly(&self.metrics, TABLE_ROWS)
            .map(|row| {
                let value = |place: &Option<usize>| {
                    place.and_then(|place| row.mean.get(place)).map_or_else(
                        || "–".to_owned(),
                        |value| crate::frame::format::of_unit(value, chart.unit),
                    )
                };
                (row.step, places.iter().map(value).collect())
            })
            .collect()
    }

    /// Steps per row.
    fn width(&self) -> i32 {
        4_i32.pow(u32::from(self.level))
    }

    /// Shell commands equivalent to the page's buttons and forms.
    fn commands(&self) -> String {
        let run = self.run.run();
        let line = |method: &str, path: &str, body: &str| {
            let body = if body.is_empty() {
                String::new()
            } else {
                format!(" -H 'Content-Type: application/json' -d '{body}'")
            };
            format!(
                "curl -X {method} -H \"Authorization: Bearer $TOKEN\"{body} '{}/api/v1/runs/{}{path}'",
                self.layout.origin, run.id
            )
        };
        let mut lines = Vec::new();
        match run.state {
            State::Running => lines.push(line("POST", "/pause", "")),
            State::Paused => lines.push(line("POST", "/resume", "")),
            _ => {}
        }
        if self.run.is_open() {
            lines.push(line("POST", "/cancel", ""));
        }
        let fork = format!("{{\"step\": {}}}", self.run.fork_step());
        lines.push(line("POST", "/fork", &fork));
        lines.push(line("PATCH", "", r#"{"name": "…", "tags": ["…"], "note": "…"}"#));
        lines.join("\n")
    }

    fn config_text(&self) -> String {
        serde_json::to_string_pretty(&self.run.detail.config).unwrap_or_default()
    }
}

/// The members that `member` is averaged with: those of its roles, and of its population if the run has `several`.
fn group(member: &Member, several: bool) -> String {
    let roles: Vec<String> = member.roles.iter().map(|role| format!("{role}s")).collect();
    let roles = roles.join(" and ");
    match several {
        true => format!("{roles} of {}", member.population),
        false => roles,
    }
}

/// The title of the tab: how far a run is while it goes on, and its name.
fn title(run: &Run) -> String {
    match run.state.is_open() {
        true => format!("{}/{} · {}", run.step, run.steps, run.name),
        false => run.name.clone(),
    }
}

/// Whether `metric` has the same value in all of these rows, of which there are several.
fn is_constant(names: &[String], rows: &[MetricRow], metric: &str) -> bool {
    let Some(place) = names.iter().position(|name| name == metric) else {
        return true;
    };
    let mut values = rows
        .iter()
        .filter_map(|row| row.mean.get(place))
        .filter(|value| value.is_finite());
    let first = values.next();
    rows.len() > 1 && values.all(|value| Some(value) == first)
}

/// A row as a chart needs it: means, to six digits.
fn brief(row: &MetricRow) -> serde_json::Value {
    let rounded = |value: &f64| format!("{value:.5e}").parse().unwrap_or(*value);
    let mean: Vec<f64> = row.mean.iter().map(rounded).collect();
    json!({"step": row.step, "width": row.width, "member_id": row.member_id, "mean": mean})
}

/// At most `count` of `rows`, evenly spaced, with the last one.
fn evenly<T>(rows: &[T], count: usize) -> impl Iterator<Item = &T> {
    let every = rows.len().div_ceil(count).max(1);
    let skipped = rows.len().saturating_sub(1) % every;
    rows.iter().skip(skipped).step_by(every)
}

/// The overview of a run.
#[get("/runs/{id}")]
pub(crate) async fn show_run(
    view: View,
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
) -> Result<HttpResponse, ApiError> {
    let db = lab.store.pool();
    let run = match RunFrame::load(&lab, *id, Tab::Overview).await {
        // Work items link to evaluations as if they were runs.
        Err(_) if evaluations::find(db, *id).await.is_ok() => {
            let there = (header::LOCATION, format!("/evaluations/{id}"));
            return Ok(HttpResponse::SeeOther().insert_header(there).finish());
        }
        loaded => loaded?,
    };
    let level = level_for(run.run().step.cast_unsigned() + 1, POINTS);
    let asked = MetricsQuery {
        run_alone: true,
        level,
        limit: 2 * POINTS,
        ..MetricsQuery::default()
    };
    let (everyone, newest) = (
        MemberFilter::default(),
        Window {
            limit: MEMBERS,
            after: None,
            order: Order::Newest,
        },
    );
    let (metrics, members) = futures::try_join!(
        metrics::rows(db, *id, &asked),
        members::page(db, *id, &everyone, &newest)
    )?;
    let known = lab.registry.metrics(&run.run().recipe);
    let groups = charts_of(&run.detail.metrics, &known).into_iter();
    let groups = groups.map(|group| group.fold(|metric| is_constant(&run.detail.metrics, &metrics.rows, metric)));
    view.show(&RunPage {
        layout: view.layout(title(run.run()), Section::Runs),
        verdict: VerdictView::load(&lab, &run.detail, view.may_write()).await?,
        now: RunNow::load(db, run.run()).await?,
        held_out: HeldOutView::load(db, &run).await?,
        groups: groups.collect(),
        level,
        metrics: metrics.rows,
        members: members.items,
        run,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use lyceum_core::recipe::Role;

    #[test]
    fn members_are_averaged_by_role_and_by_population_if_there_are_several() {
        let member = Member {
            id: uuid::Uuid::nil(),
            seq: 0,
            population: "big".to_owned(),
            name: "m".to_owned(),
            roles: vec![Role::Proposer, Role::Critic],
            born_step: 0,
            died_step: None,
            cause_of_death: None,
            ratings: sqlx::types::Json(Vec::new()),
            version: None,
        };
        assert_eq!(group(&member, false), "proposers and critics");
        assert_eq!(group(&member, true), "proposers and critics of big");
    }

    #[test]
    fn a_metric_is_constant_once_it_had_the_chance_to_change() {
        let names = ["kl", "entropy"].map(str::to_owned);
        let rows = |values: &[[f64; 2]]| -> Vec<MetricRow> {
            let row = |(step, values): (i32, &[f64; 2])| MetricRow {
                step,
                width: 1,
                member_id: None,
                mean: values.to_vec(),
                min: None,
                max: None,
            };
            (0..).zip(values).map(row).collect()
        };
        let several = rows(&[[0.0, 0.5], [0.0, f64::NAN], [0.0, 0.4]]);
        assert!(is_constant(&names, &several, "kl"));
        assert!(!is_constant(&names, &several, "entropy"));
        assert!(
            is_constant(&names, &several[..2], "entropy"),
            "a missing value is not a change"
        );
        assert!(!is_constant(&names, &several[..1], "kl"), "a run that has just begun");
        assert!(!is_constant(&names, &[], "kl"));
        assert!(is_constant(&names, &several, "unknown"));
    }

    #[test]
    fn a_table_ends_with_the_last_row_and_keeps_to_its_length() {
        for length in [0_usize, 1, 11, 12, 13, 100, 251] {
            let rows: Vec<usize> = (0..length).collect();
            let kept: Vec<usize> = evenly(&rows, 12).copied().collect();
            assert!(kept.len() <= 12, "{length}: {kept:?}");
            assert_eq!(kept.last(), rows.last(), "{length}");
        }
    }
}
