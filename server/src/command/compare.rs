//! `lyceum compare`.

mod scores;

use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};
use lyceum_core::statistics::{Effect, Pairing, Sample, holm};
use serde::Serialize;
use std::process::ExitCode;
use std::str::FromStr;

use crate::command::ServerArgs;
use crate::command::output::{Table, document, json, remark};
use crate::settings::CommonArgs;

use scores::{Place, Reading, Scores};

/// Compare what was measured on the same problems, with one interval over seeds and problems
///
/// The first arm is the one that others are compared with. An arm is a place, or a name and a
/// place for each of its seeds:
///
///   lyceum compare before.jsonl after.jsonl
///   lyceum compare rlvr=a1.jsonl,a2.jsonl,a3.jsonl,a4.jsonl mine=b1.jsonl,b2.jsonl,b3.jsonl,b4.jsonl
///   lyceum compare base=EVALUATION/seedling rlvr=RUN,RUN,RUN,RUN --suite held-out-outputs
///
/// A place is the id of a run, whose members that solve are averaged at their newest result; a run
/// or a benchmark evaluation with the name of a subject; or a file: samples of lm-eval
/// (--log_samples) and `GET /evaluations/{id}/export?format=lm_eval_samples`, a log of inspect as
/// JSON, or JSON Lines of {"problem": ID, "score": NUMBER}. Several scores of a problem are
/// averaged.
///
/// An arm of one place has no seeds: the interval is then over problems only, and says whether
/// these two models differ, not whether the two methods do. Two or three seeds decide nothing.
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct Compare {
    /// The arms, at least two
    #[arg(required = true, num_args = 2.., value_name = "[NAME=]PLACE[,PLACE…]")]
    arms: Vec<Arm>,
    /// The n-th seeds of the arms belong together, as was decided before they ran
    #[arg(long)]
    paired: bool,
    /// Read this metric, if samples have several [default: the first in `metrics`, or `exact_match`, `acc` and the like]
    #[arg(long, value_name = "NAME")]
    metric: Option<String>,
    /// The suite of runs and evaluations that have several [default: the newest result's]
    #[arg(long, value_name = "SUITE")]
    suite: Option<String>,
    /// The true difference, in points, for which seeds are to be counted
    #[arg(long, default_value_t = 5.0, value_name = "POINTS")]
    difference: f64,
    /// The probability with which a true difference is to be shown
    #[arg(long, default_value_t = 0.8, value_name = "SHARE", value_parser = share)]
    power: f64,
    /// The output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,

    #[command(flatten)]
    server: ServerArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Table,
    Json,
    Markdown,
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.5..1.0).contains(share));
    share.ok_or_else(|| "from 0.5 to less than 1 is valid".to_owned())
}

/// An arm as it is written.
#[derive(Clone, Debug, PartialEq)]
struct Arm {
    name: String,
    places: Vec<String>,
}

impl FromStr for Arm {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let (name, places) = text.split_once('=').unwrap_or((text, text));
        let places: Vec<String> = places.split(',').map(str::to_owned).collect();
        if name.is_empty() || places.iter().any(String::is_empty) {
            bail!("`{text}` lacks a name or a place: NAME=PLACE,PLACE is valid");
        }
        Ok(Self { name: name.to_owned(), places })
    }
}

/// An arm, compared with the first.
#[derive(Debug, Serialize)]
struct Compared {
    name: String,
    /// 0 for an arm of one place.
    seeds: usize,
    problems: usize,
    mean: f64,
    /// How much it exceeds the first arm; none for the first.
    effect: Option<Effect>,
    p_value: Option<f64>,
    /// Whether 0 is excluded, by Holm's procedure over all arms that have a p-value.
    is_shown: Option<bool>,
    /// The least true difference that would have been shown.
    would_have_shown: Option<f64>,
    /// Seeds an arm for the difference that was asked for.
    seeds_needed: Option<usize>,
    /// Why there is no interval.
    undecidable: Option<String>,
}

impl Compare {
    pub(crate) fn run(self, common: CommonArgs) -> anyhow::Result<ExitCode> {
        let reading = Reading { suite: self.suite.as_deref(), metric: self.metric.as_deref() };
        let mut places = self.arms.iter().flat_map(|arm| &arm.places);
        let client =
            places.any(|place| Place::from_str(place).is_ok()).then(|| self.server.client(common)).transpose()?;
        let mut arms = Vec::new();
        for arm in &self.arms {
            let read = |place: &String| {
                let read = match (Place::from_str(place), &client) {
                    (Ok(of_server), Some(client)) => Scores::of_server(client, &of_server, &reading),
                    _ => Scores::of_file(place.as_ref(), reading.metric),
                };
                read.with_context(|| place.clone())
            };
            arms.push((arm, arm.places.iter().map(read).collect::<anyhow::Result<Vec<_>>>()?));
        }
        let (first, of_first) = &arms[0];
        let problems = of_first[0].problems();
        let rows = arms
            .iter()
            .map(|(arm, seeds)| {
                let of_seed = |(place, scores): (&String, &Scores)| {
                    scores.by(&problems).with_context(|| format!("{place}, compared with {}", first.places[0]))
                };
                arm.places.iter().zip(seeds).map(of_seed).collect::<anyhow::Result<Vec<_>>>()
            })
            .collect::<anyhow::Result<Vec<_>>>()?;
        let pairing = if self.paired { Pairing::Paired } else { Pairing::Independent };
        let mut compared: Vec<Compared> = (0..arms.len())
            .map(|place| {
                let mut compared = Compared::of(&arms[place].0.name, &rows[place]);
                if place > 0 {
                    compared.against(&rows[0], &rows[place], pairing, self.power, self.difference / 100.0);
                }
                compared
            })
            .collect();
        let p_values: Vec<f64> = compared.iter().filter_map(|compared| compared.p_value).collect();
        let mut shown = holm(&p_values, 0.05).into_iter();
        for compared in &mut compared {
            compared.is_shown = compared.p_value.and_then(|_| shown.next());
        }
        self.format.print(&compared, self.difference)?;
        Ok(ExitCode::SUCCESS)
    }
}

impl Compared {
    fn of(name: &str, seeds: &[Vec<f64>]) -> Self {
        let all = seeds.iter().flatten();
        Self {
            name: name.to_owned(),
            seeds: if seeds.len() > 1 { seeds.len() } else { 0 },
            problems: seeds[0].len(),
            mean: all.clone().sum::<f64>() / all.count() as f64,
            effect: None,
            p_value: None,
            is_shown: None,
            would_have_shown: None,
            seeds_needed: None,
            undecidable: None,
        }
    }

    fn against(&mut self, first: &[Vec<f64>], own: &[Vec<f64>], pairing: Pairing, power: f64, difference: f64) {
        match Effect::of(sample(own), sample(first), pairing) {
            Ok(effect) => {
                self.p_value = Some(effect.p_value(0.0));
                self.would_have_shown = Some(effect.shows(power));
                self.seeds_needed = (effect.over_seeds > 0.0).then(|| effect.seeds_for(difference, power)).flatten();
                self.effect = Some(effect);
            }
            Err(why) => self.undecidable = Some(why.to_string()),
        }
    }
}

fn sample(seeds: &[Vec<f64>]) -> Sample<'_> {
    match seeds {
        [only] => Sample::Fixed(only),
        seeds => Sample::Seeds(seeds),
    }
}

impl Format {
    fn print(self, compared: &[Compared], difference: f64) -> anyhow::Result<()> {
        if self == Self::Json {
            return json(&compared);
        }
        let headings = [
            "arm".to_owned(),
            "seeds".to_owned(),
            "problems".to_owned(),
            "mean".to_owned(),
            "difference".to_owned(),
            "p".to_owned(),
            "shown".to_owned(),
            "would have shown".to_owned(),
            format!("seeds for {difference}"),
        ];
        let rows = compared.iter().map(Compared::cells);
        match self {
            Self::Markdown => {
                let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
                let rule = format!("|{}\n", "---|".repeat(headings.len()));
                document(&(line(&headings) + &rule + &rows.map(|cells| line(&cells)).collect::<String>()))?;
            }
            _ => {
                let mut table = Table::new(&headings);
                rows.for_each(|cells| table.row(cells));
                table.print()?;
            }
        }
        for arm in compared {
            if let Some(why) = &arm.undecidable {
                remark(format_args!("{}: {why}", arm.name));
            }
            if let Some(correlation) = arm.effect.as_ref().and_then(|effect| effect.correlation) {
                remark(format_args!("{}: its seeds and the first arm's correlate by {correlation:.2}", arm.name));
            }
        }
        if compared.iter().skip(1).any(|arm| arm.effect.as_ref().is_some_and(|effect| effect.over_seeds == 0.0)) {
            remark("without seeds an interval says whether these models differ, not whether their methods do");
        }
        Ok(())
    }
}

impl Compared {
    fn cells(&self) -> Vec<String> {
        let points = |share: f64| format!("{:.1}", 100.0 * share);
        let signed = |share: f64| format!("{:+.1}", 100.0 * share).replace('-', "−");
        let or_none = |cell: Option<String>| cell.unwrap_or_default();
        let effect = self.effect.as_ref();
        vec![
            self.name.clone(),
            if self.seeds == 0 { String::new() } else { self.seeds.to_string() },
            self.problems.to_string(),
            points(self.mean),
            or_none(effect.map(|effect| {
                format!("{} ({} to {})", signed(effect.difference), signed(effect.low), signed(effect.high))
            })),
            or_none(self.p_value.map(|p| format!("{p:.3}"))),
            or_none(self.is_shown.map(|is_shown| if is_shown { "yes" } else { "no" }.to_owned())),
            or_none(self.would_have_shown.map(points)),
            or_none(self.seeds_needed.map(|seeds| seeds.to_string())),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arm_is_a_place_or_a_name_with_its_seeds() {
        let read = |text: &str| text.parse::<Arm>();
        assert_eq!(read("a.jsonl").unwrap(), Arm { name: "a.jsonl".to_owned(), places: vec!["a.jsonl".to_owned()] });
        assert_eq!(read("x=a,b").unwrap().places, ["a", "b"]);
        for wrong in ["=a", "x=", "x=a,,b"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
