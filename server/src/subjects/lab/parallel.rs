//! Parallel coordinates: runs as lines across axes for parameters and outcomes, drawn by `web/src/pages/parallel.ts`.

use serde::Serialize;
use std::collections::BTreeSet;

use super::column::Value;
use crate::frame::format;

/// Lines across axes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Parallel {
    /// Its name on the page.
    pub(crate) id: String,
    /// The axes, from left to right.
    pub(crate) axes: Vec<Axis>,
    /// The runs.
    pub(crate) lines: Vec<Line>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Axis {
    /// The words above it.
    pub(crate) name: String,
    /// The places of an axis of texts, upwards; empty for numbers.
    pub(crate) labels: Vec<String>,
}

/// A run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Line {
    pub(crate) name: String,
    /// The address of its page.
    pub(crate) address: String,
    /// Its place on each axis; none if it has no value there.
    pub(crate) values: Vec<Option<f64>>,
}

/// A run and its values, in the order of the axes.
pub(crate) struct Coordinates {
    pub(crate) name: String,
    pub(crate) address: String,
    pub(crate) values: Vec<Option<Value>>,
}

impl Parallel {
    /// The drawing of `runs`, whose values are named by `titles`. Axes without a value are left out; none if fewer than two
    /// axes or runs are left.
    pub(crate) fn of(id: String, titles: &[String], runs: &[Coordinates]) -> Option<Self> {
        let value = |run: &'_ Coordinates, place: usize| run.values.get(place).cloned().flatten();
        let has_any = |place: &usize| runs.iter().any(|run| value(run, *place).is_some());
        let places: Vec<usize> = (0..titles.len()).filter(has_any).collect();
        if places.len() < 2 || runs.len() < 2 {
            return None;
        }
        let axis = |place: &usize| {
            let all: Vec<Value> = runs.iter().filter_map(|run| value(run, *place)).collect();
            let is_text = all.iter().any(|value| matches!(value, Value::Text(_)));
            let labels: BTreeSet<String> = all.iter().filter(|_| is_text).map(text).collect();
            Axis { name: titles[*place].clone(), labels: labels.into_iter().collect() }
        };
        let axes: Vec<Axis> = places.iter().map(axis).collect();
        let line = |run: &Coordinates| Line {
            name: run.name.clone(),
            address: run.address.clone(),
            values: places.iter().zip(&axes).map(|(place, axis)| axis.place(&value(run, *place)?)).collect(),
        };
        Some(Self { lines: runs.iter().map(line).collect(), id, axes })
    }

    /// A line's values in words, for the table.
    pub(crate) fn texts(&self, line: &Line) -> Vec<String> {
        let text = |(axis, value): (&Axis, &Option<f64>)| match value {
            None => "–".to_owned(),
            Some(number) => match axis.labels.get(*number as usize) {
                Some(label) => crate::inert(label),
                None => format::value(number),
            },
        };
        self.axes.iter().zip(&line.values).map(text).collect()
    }

    /// The data for the script.
    pub(crate) fn island(all: &[&Self]) -> String {
        crate::frame::figure::island(&all)
    }
}

impl Axis {
    fn place(&self, value: &Value) -> Option<f64> {
        match value {
            Value::Number(number) if self.labels.is_empty() => Some(*number),
            other => {
                let own = text(other);
                let place = self.labels.iter().position(|label| *label == own)?;
                Some(place as f64)
            }
        }
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::Number(number) => format::value(number),
        Value::Text(text) => text.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(name: &str, values: &[Option<Value>]) -> Coordinates {
        Coordinates { name: name.to_owned(), address: format!("/runs/{name}"), values: values.to_vec() }
    }

    fn titles(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn numbers_are_where_they_are_and_texts_have_places() {
        let (number, text) = (|number| Some(Value::Number(number)), |text: &str| Some(Value::Text(text.to_owned())));
        let runs = [
            run("a", &[number(8.0), text("grpo"), None, number(0.5)]),
            run("b", &[number(16.0), text("clip"), None, None]),
            run("c", &[None, number(2.0), None, number(0.75)]),
        ];
        let drawn = Parallel::of("p".to_owned(), &titles(&["r", "loss", "nothing", "solve rate"]), &runs).unwrap();
        let axes: Vec<(&str, usize)> = drawn.axes.iter().map(|axis| (axis.name.as_str(), axis.labels.len())).collect();
        assert_eq!(axes, [("r", 0), ("loss", 3), ("solve rate", 0)], "an axis without values is left out");
        assert_eq!(drawn.axes[1].labels, ["2", "clip", "grpo"]);
        let values: Vec<&[Option<f64>]> = drawn.lines.iter().map(|line| &line.values[..]).collect();
        assert_eq!(
            values,
            [
                &[Some(8.0), Some(2.0), Some(0.5)][..],
                &[Some(16.0), Some(1.0), None][..],
                &[None, Some(0.0), Some(0.75)][..]
            ]
        );
        assert_eq!(drawn.texts(&drawn.lines[1]), ["16", "clip", "–"]);
    }

    #[test]
    fn a_single_axis_or_run_is_no_drawing() {
        let one = Some(Value::Number(1.0));
        let runs = [run("a", &[one.clone(), None]), run("b", &[one.clone(), None])];
        assert_eq!(Parallel::of(String::new(), &titles(&["r", "empty"]), &runs), None);
        let alone = [run("a", &[one.clone(), one])];
        assert_eq!(Parallel::of(String::new(), &titles(&["r", "s"]), &alone), None);
    }
}
