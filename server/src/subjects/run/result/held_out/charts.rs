//! The two charts: accuracy, and the length of answers.

use super::Curve;
use super::accuracy::{HeldOut, Interval, Point};
use crate::frame::figure::{Colour, Figure, Series, Style};
use crate::frame::format;

/// Maximum members with lines of their own.
const LINES: usize = 24;

/// A figure of a point.
type Of<'f> = &'f dyn Fn(&Point) -> Option<f64>;

impl HeldOut {
    /// Whether the same problems were also answered several times.
    pub(super) fn has_several(&self) -> bool {
        self.k.is_some_and(|k| k > 1)
    }

    /// What `curve` is called.
    pub(super) fn label(&self, curve: Curve) -> String {
        match (curve, self.k) {
            (Curve::PassAtK, Some(k)) => format!("pass@{k}"),
            _ if self.greedy => "greedy".to_owned(),
            _ => "pass@1".to_owned(),
        }
    }

    /// The charts; none before anything was measured.
    pub(super) fn figures(&self, drawn: Curve) -> Vec<Figure> {
        if self.points.is_empty() {
            return Vec::new();
        }
        let of: fn(&Point) -> Option<Interval> = match drawn {
            Curve::PassAt1 => |point| point.pass_at_1,
            Curve::PassAtK => |point| point.pass_at_k,
        };
        let mut accuracy = self.means(&self.label(drawn), Colour::Solving, Style::Bold, of);
        if drawn == Curve::PassAt1 {
            accuracy.extend(self.lines(&|point| of(point).map(|interval| 100.0 * interval.mean)));
        }
        let tokens: Of<'_> = &|point| point.tokens;
        let mut lengths = self.own_and_inherited(Series {
            name: "mean".to_owned(),
            style: Style::Bold,
            colour: Colour::Solving,
            points: curve(&self.points, tokens),
            ..Series::default()
        });
        lengths.extend(self.level("base", Colour::Muted, tokens, &|_| None));
        lengths.extend(self.lines(tokens));
        let over_steps = |id: &str, title: &str| Figure {
            id: id.to_owned(),
            title: title.to_owned(),
            x: "step".to_owned(),
            width: 1,
            exact: true,
            ..Figure::default()
        };
        vec![
            Figure {
                note: self.note(drawn),
                y: "per cent solved".to_owned(),
                range: Some([0.0, 100.0]),
                series: accuracy,
                ..over_steps("held-out-accuracy", "Held-out accuracy over steps")
            },
            Figure {
                note: format!("Mean tokens of the {} answers to the same problems.", self.label(Curve::PassAt1)),
                y: "tokens".to_owned(),
                series: lengths,
                ..over_steps("held-out-length", "Response length")
            },
        ]
    }

    fn note(&self, curve: Curve) -> String {
        let (answers, members) = match curve {
            Curve::PassAt1 => (format!("{} answers", self.label(curve)), " Thin lines: members."),
            Curve::PassAtK => (format!("{} of sampled answers", self.label(curve)), ""),
        };
        format!(
            "{} problems of {} that nobody learns from: {answers}. Wide line: mean of the members that solve, with its interval \
             of 95 % over problems.{members} Dashed: the base, with its interval.",
            self.rows,
            format::suite_title(&self.suite)
        )
    }

    /// The mean over members with its interval, and the base's level.
    fn means(&self, kind: &str, colour: Colour, style: Style, of: fn(&Point) -> Option<Interval>) -> Vec<Series> {
        let mean: Of<'_> = &|point| of(point).map(|interval| 100.0 * interval.mean);
        let bands = self.points.iter().filter_map(|point| {
            let interval = of(point)?;
            Some((f64::from(point.step), 100.0 * interval.low, 100.0 * interval.high))
        });
        let means = Series {
            name: kind.to_owned(),
            style,
            colour,
            points: curve(&self.points, mean),
            band: bands.collect(),
            ..Series::default()
        };
        self.own_and_inherited(means)
            .into_iter()
            .chain(self.level(&format!("base, {kind}"), colour, mean, &of))
            .collect()
    }

    /// A curve; its part before a fork is a dashed curve of its own, up to the first point after it.
    fn own_and_inherited(&self, whole: Series) -> Vec<Series> {
        let Some(fork) = self.inherited_to.map(f64::from) else { return vec![whole] };
        let first = whole.points.partition_point(|(step, _)| *step <= fork);
        let past = Series {
            name: format!("{}, before the fork", whole.name),
            style: Style::Dashed,
            points: whole.points.iter().take(first + 1).copied().collect(),
            ..whole.clone()
        };
        let own = Series { points: whole.points[first..].to_vec(), ..whole };
        vec![own, Series { band: Vec::new(), ..past }]
    }

    /// The base's figure at every step, with its interval.
    fn level(
        &self,
        name: &str,
        colour: Colour,
        of: Of<'_>,
        interval: &dyn Fn(&Point) -> Option<Interval>,
    ) -> Option<Series> {
        let base = self.base.as_ref()?;
        let level = of(base)?;
        let band = interval(base).map(|interval| {
            let at = |point: &Point| (f64::from(point.step), 100.0 * interval.low, 100.0 * interval.high);
            self.points.iter().map(at).collect()
        });
        Some(Series {
            band: band.unwrap_or_default(),
            name: name.to_owned(),
            style: Style::Dashed,
            colour,
            points: curve(&self.points, &|_| Some(level)),
            ..Series::default()
        })
    }

    /// A thin line for each member, unless they are too many.
    fn lines(&self, of: Of<'_>) -> Vec<Series> {
        let members = self.members.iter().filter(|_| self.members.len() <= LINES);
        let line = members.map(|member| Series {
            name: member.name.clone(),
            style: Style::Faint,
            colour: Colour::Solving,
            points: curve(&member.points, of),
            ..Series::default()
        });
        line.collect()
    }
}

fn curve(points: &[Point], of: Of<'_>) -> Vec<(f64, Option<f64>)> {
    points.iter().map(|point| (f64::from(point.step), of(point))).collect()
}
