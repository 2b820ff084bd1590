//! pass@k over k, one chart per suite.

use lyceum_core::benchmark::{CurvePoint, SubjectRole};
use lyceum_store::benchmarks::BenchmarkResult;
use serde::Serialize;
use std::collections::BTreeSet;

use super::evaluations::title;
use crate::frame::figure::{Colour, Figure, Series, Style};

/// pass@k of one subject on one suite.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Curve {
    suite: String,
    name: String,
    role: SubjectRole,
    /// Samples per row.
    n: i32,
    points: Vec<CurvePoint>,
}

/// The curves of results with more than one sample per row.
pub(super) fn curves(results: &[BenchmarkResult]) -> Vec<Curve> {
    let several = results.iter().filter(|result| result.n > 1);
    several
        .map(|result| Curve {
            suite: result.suite.clone(),
            name: result.name.clone(),
            role: result.role,
            n: result.n,
            points: result.score().curve(),
        })
        .collect()
}

/// One chart per suite. Bases, with which the others are compared, are dashed.
pub(super) fn figures(curves: &[Curve]) -> Vec<Figure> {
    let suites: BTreeSet<&str> = curves.iter().map(|curve| curve.suite.as_str()).collect();
    let line = |curve: &Curve| {
        let is_base = curve.role == SubjectRole::Base;
        Series {
            name: curve.name.clone(),
            style: if is_base { Style::Dashed } else { Style::Line },
            colour: if is_base { Colour::Muted } else { Colour::Next },
            points: curve
                .points
                .iter()
                .map(|point| (f64::from(point.k), Some(point.pass_at_k)))
                .collect(),
            ..Series::default()
        }
    };
    let figure = |name: &str| Figure {
        id: format!("pass-at-k-{name}"),
        title: format!("{}: pass@k", title(name)),
        note: "The share of tasks solved by at least one of k samples (unbiased estimate from all samples).".to_owned(),
        x: "k".to_owned(),
        y: "pass@k".to_owned(),
        unit: "share",
        range: Some([0.0, 1.0]),
        series: curves.iter().filter(|curve| curve.suite == name).map(line).collect(),
        ..Figure::default()
    };
    suites.into_iter().map(figure).collect()
}
