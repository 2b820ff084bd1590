//! `/runs/{id}/metrics`: every metric of a run as a curve.

use actix_web::{HttpResponse, get, web};
use askama::Template;
use lyceum_core::id::ExecutionId;
use lyceum_store::members::{self, Member, MemberFilter};
use lyceum_store::metrics::{self, MetricRow, MetricsQuery};
use lyceum_store::page::{Order, Window};
use serde::Serialize;
use serde_json::json;
use sqlx::PgPool;

use crate::api_error::ApiError;
use crate::frame::charts::{Chart, ChartGroup, charts_of};
use crate::frame::figure::island;
use crate::frame::format::of_unit;
use crate::frame::layout::{Layout, Section};
use crate::frame::places::Tab;
use crate::frame::run::RunFrame;
use crate::frame::sides::sides_of;
use crate::frame::view::View;
use crate::lab::Lab;
use crate::subjects::runs::metrics::level_for;

/// Points of a curve in the page; the script loads finer ones for a zoomed range.
const POINTS: u32 = 250;
/// Rows of a chart's table, evenly spaced over the run.
const TABLE_ROWS: usize = 12;
/// Members whose curves are drawn.
const MEMBERS: u32 = 500;

#[derive(Template, Serialize)]
#[template(path = "run/metrics.html")]
struct MetricsPage {
    #[serde(skip)]
    layout: Layout,
    run: RunFrame,
    #[serde(skip)]
    groups: Vec<ChartGroup>,
    #[serde(skip)]
    members: Vec<Member>,
    #[serde(skip)]
    level: u8,
    metrics: Vec<MetricRow>,
}

impl MetricsPage {
    /// The script's data.
    fn data(&self) -> String {
        let several = self.members.iter().any(|member| member.population != self.members[0].population);
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
        let places: Vec<Option<usize>> =
            chart.metrics.iter().map(|metric| known.iter().position(|one| one == metric)).collect();
        evenly(&self.metrics, TABLE_ROWS)
            .map(|row| {
                let value = |place: &Option<usize>| {
                    let value = place.and_then(|place| row.mean.get(place));
                    value.map_or_else(|| "–".to_owned(), |value| of_unit(value, chart.unit))
                };
                (row.step, places.iter().map(value).collect())
            })
            .collect()
    }

    /// Steps per row.
    fn width(&self) -> i32 {
        4_i32.pow(u32::from(self.level))
    }

    /// The titles of charts without a value.
    fn empty(&self) -> Vec<&str> {
        let charts = self.groups.iter().flat_map(|group| &group.empty);
        charts.map(|chart| chart.title.as_str()).collect()
    }
}

/// The members that `member` is averaged with: those of its roles, and of its population if the run has `several`.
fn group(member: &Member, several: bool) -> String {
    let roles: Vec<String> = member.roles.iter().map(|role| format!("{role}s")).collect();
    let roles = roles.join(" and ");
    if several { format!("{roles} of {}", member.population) } else { roles }
}

/// The finite values of `metric` in these rows.
fn values<'r>(names: &[String], rows: &'r [MetricRow], metric: &str) -> impl Iterator<Item = f64> + use<'r> {
    let place = names.iter().position(|name| name == metric);
    let of_row = move |row: &'r MetricRow| row.mean.get(place?).copied();
    rows.iter().filter_map(of_row).filter(|value| value.is_finite())
}

/// Whether `metric` has the same value in all of these rows, of which there are several.
fn is_constant(names: &[String], rows: &[MetricRow], metric: &str) -> bool {
    let mut values = values(names, rows, metric);
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

/// The run's own metrics, downsampled to what a page's curves need, and the level of downsampling.
pub(super) async fn rows(db: &PgPool, run: &RunFrame) -> Result<(Vec<MetricRow>, u8), ApiError> {
    let level = level_for(run.run().step.cast_unsigned() + 1, POINTS);
    let query = MetricsQuery { run_alone: true, level, limit: 2 * POINTS, ..MetricsQuery::default() };
    Ok((metrics::rows(db, ExecutionId(run.run().id), &query).await?.rows, level))
}

#[get("/runs/{id}/metrics")]
pub(crate) async fn show_metrics(
    view: View,
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
) -> Result<HttpResponse, ApiError> {
    let db = lab.store.pool();
    let run = RunFrame::load(&lab, *id, Tab::Metrics).await?;
    let newest = Window { limit: MEMBERS, after: None, order: Order::Newest };
    let everyone = MemberFilter::default();
    let ((metrics, level), members) = futures::try_join!(rows(db, &run), async {
        Ok::<_, ApiError>(members::page(db, *id, &everyone, &newest).await?)
    })?;
    let names = &run.detail.metrics;
    let groups = charts_of(names, &lab.registry.metrics(&run.run().recipe));
    let fold = |group: ChartGroup| {
        group.fold(
            |metric| is_constant(names, &metrics, metric),
            |metric| values(names, &metrics, metric).next().is_none(),
        )
    };
    view.show(&MetricsPage {
        layout: view.layout(format!("Metrics · {}", run.run().name), Section::Runs),
        groups: groups.into_iter().map(fold).collect(),
        level,
        members: members.items,
        metrics,
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
        assert!(is_constant(&names, &several[..2], "entropy"), "a missing value is not a change");
        assert!(!is_constant(&names, &several[..1], "kl"), "a run that has just begun");
        assert!(!is_constant(&names, &[], "kl"));
        assert!(is_constant(&names, &several, "unknown"));
        assert_eq!(values(&names, &several, "entropy").collect::<Vec<_>>(), [0.5, 0.4]);
        assert_eq!(values(&names, &several, "unknown").next(), None);
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
