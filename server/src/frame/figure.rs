//! The data of a chart, drawn by `web/src/pages/figures.ts` and also shown as a table.

use lyceum_core::recipe::Side;
use serde::ser::SerializeSeq as _;
use serde::{Serialize, Serializer};

use crate::frame::format::{of_unit, value};
use crate::frame::text::inert;

/// Maximum rows, evenly spaced, and columns of a table. The page's JSON and the export have everything.
const TABLE: (usize, usize) = (60, 24);

/// A chart.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Figure {
    /// Its name on the page and in file names.
    pub(crate) id: String,
    #[serde(skip)]
    pub(crate) title: String,
    /// How to read it; may be empty.
    #[serde(skip)]
    pub(crate) note: String,
    /// The label of the x axis.
    pub(crate) x: String,
    /// The names of x = 0, 1, …, if x is not a number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) labels: Vec<String>,
    /// The label of the y axis.
    pub(crate) y: String,
    /// The unit of what the y axis shows, if it has one. Shares, from 0 to 1, are shown in per cent.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) unit: &'static str,
    /// The label of the y axis on the right, which bars are measured by; empty if there is none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) right: String,
    /// The ends of the y axis, if fixed.
    pub(crate) range: Option<[f64; 2]>,
    /// The position of a horizontal line.
    pub(crate) level: Option<f64>,
    /// Whether x has fractions, as hours have.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) continuous: bool,
    /// Whether its points are measurements with an uncertainty of their own, which are never smoothed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) exact: bool,
    /// The curves.
    pub(crate) series: Vec<Series>,
    /// The first x sent; by default all points are. The browser keeps the earlier ones.
    pub(crate) from: Option<f64>,
    /// Steps per point; if more than one, finer data can be requested with `from` and `to`.
    pub(crate) width: u32,
}

/// How a curve is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Style {
    #[default]
    Line,
    /// One line of many.
    Faint,
    /// The main line.
    Bold,
    /// An expectation.
    Dashed,
    /// A part of a whole, stacked on the parts before it.
    Stacked,
    /// Bars behind the curves, measured by the axis on the right.
    Bars,
}

/// Colours by meaning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Colour {
    /// The next free colour.
    #[default]
    Next,
    /// The proposers'.
    Proposing,
    /// The solvers'.
    Solving,
    /// The planners'.
    Planning,
    /// The critics'.
    Judging,
    /// Background information.
    Muted,
    /// A desired outcome.
    Good,
}

impl From<Side> for Colour {
    fn from(side: Side) -> Self {
        match side {
            Side::Proposes => Self::Proposing,
            Side::Solves => Self::Solving,
            Side::Plans => Self::Planning,
            Side::Judges => Self::Judging,
        }
    }
}

/// A curve.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Series {
    pub(crate) name: String,
    /// Its line style.
    pub(crate) style: Style,
    pub(crate) colour: Colour,
    /// The index of its free colour; by default the next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) place: Option<usize>,
    /// Stacked parts only: the strength of the colour, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) strength: Option<f64>,
    /// x and y; no y is a gap.
    #[serde(serialize_with = "points")]
    pub(crate) points: Vec<(f64, Option<f64>)>,
    /// x, lower and upper end of the uncertainty.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "band")]
    pub(crate) band: Vec<(f64, f64, f64)>,
}

/// Rounds to six digits; more are invisible in a chart.
fn points<S: Serializer>(points: &[(f64, Option<f64>)], serializer: S) -> Result<S::Ok, S::Error> {
    let mut all = serializer.serialize_seq(Some(points.len()))?;
    for (x, y) in points {
        all.serialize_element(&(x, y.map(six_digits)))?;
    }
    all.end()
}

fn band<S: Serializer>(band: &[(f64, f64, f64)], serializer: S) -> Result<S::Ok, S::Error> {
    let mut all = serializer.serialize_seq(Some(band.len()))?;
    for (x, low, high) in band {
        all.serialize_element(&(x, six_digits(*low), six_digits(*high)))?;
    }
    all.end()
}

fn six_digits(number: f64) -> f64 {
    if number == 0.0 || !number.is_finite() {
        return number;
    }
    let places = 5 - number.abs().log10().floor() as i32;
    let power = 10f64.powi(places.abs());
    let rounded = if places >= 0 { (number * power).round() / power } else { (number / power).round() * power };
    if rounded.is_finite() { rounded } else { number }
}

/// A row of the table.
pub(crate) struct Row {
    pub(crate) x: String,
    /// The value of each curve.
    pub(crate) values: Vec<String>,
}

impl Figure {
    /// Whether there is nothing to draw.
    pub(crate) fn is_empty(&self) -> bool {
        self.series.iter().all(|series| series.points.is_empty())
    }

    /// The data for the page's script, which draws no empty ones.
    pub(crate) fn island(figures: &[Self]) -> String {
        let drawn = figures.iter().filter(|figure| !figure.is_empty());
        let sent: Vec<Self> = drawn.map(Self::sent).collect();
        crate::frame::figure::island(&sent)
    }

    /// A copy without the points already sent.
    fn sent(&self) -> Self {
        let from = self.from.unwrap_or(f64::NEG_INFINITY);
        let sent = |series: &Series| Series {
            points: series.points.iter().filter(|(x, _)| *x >= from).copied().collect(),
            band: series.band.iter().filter(|(x, _, _)| *x >= from).copied().collect(),
            name: inert(&series.name),
            ..series.clone()
        };
        Self { series: self.series.iter().map(sent).collect(), ..self.clone() }
    }

    /// The curves in the table.
    pub(crate) fn columns(&self) -> &[Series] {
        &self.series[..self.series.len().min(TABLE.1)]
    }

    /// A description of what the table leaves out; empty if it is complete.
    pub(crate) fn left_out(&self) -> String {
        let mut parts = Vec::new();
        let every = self.every();
        if every > 1 {
            parts.push(format!("one row of {every} is shown"));
        }
        if self.series.len() > TABLE.1 {
            parts.push(format!("{} of {} curves are shown", TABLE.1, self.series.len()));
        }
        parts.join(", ")
    }

    /// Points per row of the table.
    fn every(&self) -> usize {
        if self.labels.is_empty() { self.places().len().div_ceil(TABLE.0).max(1) } else { 1 }
    }

    /// All x of any curve.
    fn places(&self) -> Vec<f64> {
        let from = self.from.unwrap_or(f64::NEG_INFINITY);
        let points = self.series.iter().flat_map(|series| &series.points);
        let mut places: Vec<f64> = points.map(|(x, _)| *x).filter(|x| *x >= from).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        places
    }

    /// The rows of the table, with the last one.
    pub(crate) fn rows(&self) -> Vec<Row> {
        let (places, every) = (self.places(), self.every());
        let skipped = places.len().saturating_sub(1) % every;
        let row = |x: f64| Row {
            x: match self.labels.get(x as usize) {
                Some(label) => label.clone(),
                None => value(&x),
            },
            values: self.columns().iter().map(|series| series.at(x, self.unit)).collect(),
        };
        places.into_iter().skip(skipped).step_by(every).map(row).collect()
    }
}

impl Series {
    fn at(&self, x: f64, unit: &str) -> String {
        let Ok(place) = self.points.binary_search_by(|(other, _)| other.total_cmp(&x)) else { return String::new() };
        let text = self.points[place].1.as_ref().map(|y| of_unit(y, unit)).unwrap_or_default();
        match self.band.binary_search_by(|(other, _, _)| other.total_cmp(&x)) {
            Ok(place) if !text.is_empty() => {
                let (_, low, high) = self.band[place];
                format!("{text} ({} to {})", of_unit(&low, unit), of_unit(&high, unit))
            }
            _ => text,
        }
    }
}

/// `data` as JSON for a script element, with every `<` escaped.
pub(crate) fn island(data: &impl Serialize) -> String {
    let json = serde_json::to_string(data).unwrap_or_else(|_| "null".to_owned());
    json.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

/// Width of a sparkline, in its own units.
const WIDTH: f64 = 96.0;
/// Height of a sparkline.
const HEIGHT: f64 = 20.0;

/// A sparkline: the points of a `<polyline>` over `values`, scaled to `low` and `high`.
pub(crate) fn sparkline(values: &[f64], (low, high): (f64, f64)) -> String {
    let span = if high > low { high - low } else { 1.0 };
    let last = values.len().saturating_sub(1).max(1) as f64;
    let point = |(place, value): (usize, &f64)| {
        let x = place as f64 / last * (WIDTH - 4.0) + 2.0;
        let y = HEIGHT - 2.0 - ((value - low) / span).clamp(0.0, 1.0) * (HEIGHT - 4.0);
        format!("{x:.1},{y:.1}")
    };
    values.iter().enumerate().map(point).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_table_is_no_longer_and_no_wider_than_can_be_read_and_says_so() {
        let series =
            Series { points: (0..401).map(|step| (f64::from(step), Some(1.0))).collect(), ..Series::default() };
        let figure = Figure { series: vec![series; 30], ..Figure::default() };
        let rows = figure.rows();
        assert_eq!((rows.len(), rows[0].values.len(), figure.columns().len()), (58, 24, 24));
        assert_eq!(rows.last().map(|row| row.x.as_str()), Some("400"));
        assert_eq!(figure.left_out(), "one row of 7 is shown, 24 of 30 curves are shown");
    }

    #[test]
    fn numbers_are_drawn_to_six_digits() {
        let numbers = [0.0, 1.0, 0.123_456_78, -27.839_457_23, 123_456_789.0, 1e-300, f64::MAX];
        let drawn = [0.0, 1.0, 0.123_457, -27.8395, 123_457_000.0];
        assert_eq!(numbers.map(six_digits)[..5], drawn);
        assert!((six_digits(1e300) / 1e300 - 1.0).abs() < 1e-12);
        assert!(numbers.map(six_digits).iter().all(|number| number.is_finite()));
        let series = Series {
            points: vec![(0.5, Some(1.0 / 3.0)), (1.5, None)],
            band: vec![(0.5, 0.1 + 0.2, 1.0)],
            ..Series::default()
        };
        let text = serde_json::to_value(&series).unwrap();
        assert_eq!(text["points"], serde_json::json!([[0.5, 0.333_333], [1.5, null]]));
        assert_eq!(text["band"], serde_json::json!([[0.5, 0.3, 1.0]]));
    }

    #[test]
    fn the_table_has_a_row_for_every_place_of_any_curve() {
        let series = |points: &[(f64, Option<f64>)], band: &[(f64, f64, f64)]| Series {
            points: points.to_vec(),
            band: band.to_vec(),
            ..Series::default()
        };
        let figure = Figure {
            series: vec![
                series(&[(0.0, Some(1.0)), (2.0, None)], &[(0.0, 0.5, 1.5)]),
                series(&[(1.0, Some(3.0))], &[]),
            ],
            ..Figure::default()
        };
        let rows: Vec<(String, Vec<String>)> = figure.rows().into_iter().map(|row| (row.x, row.values)).collect();
        let row = |x: &str, values: [&str; 2]| (x.to_owned(), values.map(str::to_owned).to_vec());
        assert_eq!(rows, [row("0", ["1 (0.5 to 1.5)", ""]), row("1", ["", "3"]), row("2", ["", ""])]);
        let news = Figure { from: Some(2.0), ..figure };
        assert_eq!(news.rows().len(), 1, "earlier rows are not sent again");
        assert!(!news.is_empty(), "a chart that has points stays a chart");
        let sent = Figure::island(&[news]);
        assert!(sent.contains(r#""points":[[2.0,null]]"#) && sent.contains(r#""points":[]"#), "{sent}");
        assert_eq!(Figure::island(&[Figure::default()]), "[]", "there is nothing to draw");
    }

    #[test]
    fn nothing_in_it_can_end_the_element() {
        let text = island(&["</script><script>alert(1)</script>", "<!--", "&lt;"]);
        assert!(!text.contains(['<', '>', '&']), "{text}");
    }

    proptest! {
        #[test]
        fn it_reads_back_as_what_it_was(text in ".{0,80}") {
            let read: String = serde_json::from_str(&island(&text)).unwrap();
            prop_assert_eq!(read, text);
        }
    }

    #[test]
    fn values_run_from_left_to_right_and_upwards() {
        assert_eq!(sparkline(&[0.0, 10.0, 5.0], (0.0, 10.0)), "2.0,18.0 48.0,2.0 94.0,10.0");
        assert_eq!(sparkline(&[3.0], (3.0, 3.0)), "2.0,18.0");
        assert_eq!(sparkline(&[], (0.0, 1.0)), "");
    }
}
