//! How rows are drawn.

use rand::seq::SliceRandom as _;
use rand_distr::{Beta, Distribution as _};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;

use crate::contract::RowTags;
use crate::fault::Fault;
use crate::seed::stream;

/// How problems are drawn where nothing is known of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Draws {
    /// Each independently (GASP, section 3.1), so a problem may occur twice in a step.
    Uniform,
    /// In an order reshuffled for each pass, so that every problem is used once before any is used twice.
    #[default]
    Epochs,
}

impl Draws {
    /// The problems of a step's batch, out of `range`. `path` names the batch. The same arguments give the same problems, so no
    /// state of the draws needs to be kept.
    pub fn draw(self, range: Range<u32>, batch: u32, seed: u64, path: &str, step: u32) -> Vec<u32> {
        match self {
            Self::Uniform => {
                let mut random = stream(seed, &format!("{path}/uniform"), u64::from(step));
                uniformly(&range, batch, &mut random)
            }
            Self::Epochs => in_epochs(u64::from(step) * u64::from(batch), range, batch, seed, path),
        }
    }
}

fn uniformly(range: &Range<u32>, count: u32, random: &mut impl rand::Rng) -> Vec<u32> {
    (0..if range.is_empty() { 0 } else { count }).map(|_| random.random_range(range.clone())).collect()
}

/// How rows are drawn: `"uniform"`, `"epochs"`, or an object with the name of one of the others, such as
/// `{"band": {"target": 0.5}}`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sampler {
    /// Each independently (GASP, section 3.1), so a row may occur twice in a step.
    Uniform,
    /// In an order reshuffled for each pass, so that every row is used once before any is used twice.
    #[default]
    Epochs,
    /// By the value of a tag.
    Weighted(Weighted),
    /// From one level at a time, higher once it is solved.
    Staircase(Staircase),
    /// Those that the member is likely to solve some of the time.
    Band(Band),
}

/// A value v of a tag with probability `w(v) / Σ w`, over the values that have rows, then one of its rows uniformly: mixing by
/// rate, as tasks are mixed for T5 (arXiv 1910.10683, section 3.5.2).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Weighted {
    /// The tag, which every row needs.
    #[schemars(length(min = 1, max = 200))]
    pub tag: String,
    /// Weights by value, at least 0. Rows with another value are not drawn.
    #[schemars(length(min = 1, max = 1000))]
    pub weights: BTreeMap<String, f64>,
}

/// Rows of one level, uniformly. After a step whose pass rate over the last `batches` batches is above `up`, the next level is
/// asked, and below `down` the previous one; the window then begins anew. An up-down staircase of psychophysics (Levitt 1971),
/// with two bounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Staircase {
    /// The tag whose values are the levels; every row needs it.
    #[serde(default = "defaults::tag")]
    #[schemars(length(min = 1, max = 200))]
    pub tag: String,
    /// The levels, the easiest first; left out, all values: in the order of numbers if all are numbers, else alphabetically.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1000))]
    pub levels: Vec<String>,
    /// The pass rate above which the next level is asked.
    #[serde(default = "defaults::up")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub up: f64,
    /// The pass rate below which the previous level is asked.
    #[serde(default = "defaults::down")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub down: f64,
    /// Batches over which the pass rate is taken.
    #[serde(default = "defaults::batches")]
    #[schemars(range(min = 1, max = 1000))]
    pub batches: u32,
}

/// Thompson sampling of difficulty (MoPPS, arXiv 2507.04632): of `candidates · batch` rows drawn uniformly, each with a pass rate
/// drawn from its own `Beta(1 + a, 1 + b)`, those nearest to `target`. After a step with s right and f wrong answers to a row,
/// `a ← decay · a + s` and `b ← decay · b + f`. Both numbers of every row that was asked are in the run's state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Band {
    /// The pass rate that is sought.
    #[serde(default = "defaults::target")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub target: f64,
    /// How much of what was known of a row is left when it is asked again: 1 forgets nothing.
    #[serde(default = "defaults::decay")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub decay: f64,
    /// Candidates for each row that is asked.
    #[serde(default = "defaults::candidates")]
    #[schemars(range(min = 1, max = 1000))]
    pub candidates: u32,
}

mod defaults {
    pub(super) fn tag() -> String {
        "level".to_owned()
    }

    pub(super) fn up() -> f64 {
        0.8
    }

    pub(super) fn down() -> f64 {
        0.3
    }

    pub(super) fn batches() -> u32 {
        4
    }

    pub(super) fn target() -> f64 {
        0.5
    }

    pub(super) fn decay() -> f64 {
        0.9
    }

    pub(super) fn candidates() -> u32 {
        8
    }
}

/// What a sampler knows of a member.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sampled {
    /// Rows that it was asked, where that does not follow from the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<u64>,
    /// The place of its level among a staircase's.
    #[serde(default, skip_serializing_if = "is_first")]
    pub level: usize,
    /// Pass rates of its last batches on that level, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recent: Vec<f64>,
    /// Of rows in a band, how many right and wrong answers are remembered.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rows: BTreeMap<u32, [f64; 2]>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_first(level: &usize) -> bool {
    *level == 0
}

/// A batch to be drawn. The same batch is the same rows each time.
#[derive(Clone, Debug)]
pub struct Batch<'a> {
    /// The rows that may be drawn.
    pub rows: Range<u32>,
    /// How many are.
    pub count: u32,
    /// Rows drawn before it.
    pub before: u64,
    pub seed: u64,
    /// Names the member.
    pub path: &'a str,
    pub step: u32,
    /// Of the step's rounds of asking.
    pub round: u32,
    /// The values of the sampler's tag.
    pub tags: Option<&'a RowTags>,
}

impl Sampler {
    /// The draws that do not depend on tags and answers.
    pub fn plain(&self) -> Option<Draws> {
        match self {
            Self::Uniform => Some(Draws::Uniform),
            Self::Epochs => Some(Draws::Epochs),
            Self::Weighted(_) | Self::Staircase(_) | Self::Band(_) => None,
        }
    }

    /// The tag by which it chooses.
    pub fn tag(&self) -> Option<&str> {
        match self {
            Self::Weighted(of) => Some(&of.tag),
            Self::Staircase(of) => Some(&of.tag),
            Self::Uniform | Self::Epochs | Self::Band(_) => None,
        }
    }

    /// Values of its tag that rows need to have.
    pub fn values(&self) -> Vec<String> {
        match self {
            Self::Weighted(of) => {
                of.weights.iter().filter(|(_, weight)| **weight > 0.0).map(|(v, _)| v.clone()).collect()
            }
            Self::Staircase(of) => of.levels.clone(),
            Self::Uniform | Self::Epochs | Self::Band(_) => Vec::new(),
        }
    }

    /// The rows of a batch for a member of which it knows this.
    pub fn draw(&self, batch: &Batch<'_>, known: &Sampled) -> Vec<u32> {
        let Batch { rows, count, before, seed, path, step, round, tags } = batch;
        if rows.is_empty() {
            return Vec::new();
        }
        let name = match self {
            Self::Uniform => "uniform",
            Self::Epochs => return in_epochs(*before, rows.clone(), *count, *seed, path),
            Self::Weighted(_) => "weighted",
            Self::Staircase(_) => "staircase",
            Self::Band(_) => "band",
        };
        let path = if *round == 0 { (*path).to_owned() } else { format!("{path}/round-{round}") };
        let mut random = stream(*seed, &format!("{path}/{name}"), u64::from(*step));
        match (self, tags) {
            (Self::Weighted(of), Some(tags)) => {
                let weights = tags.values.iter().map(|value| of.weights.get(value).copied().unwrap_or(0.0)).collect();
                by_weight(tags, rows, weights, *count, &mut random)
            }
            (Self::Staircase(of), Some(tags)) => {
                let level = of.level(tags, known);
                let weights = tags.values.iter().map(|value| if Some(value) == level { 1.0 } else { 0.0 }).collect();
                by_weight(tags, rows, weights, *count, &mut random)
            }
            (Self::Band(of), _) => of.draw(rows, *count, known, &mut random),
            _ => uniformly(rows, *count, &mut random),
        }
    }

    /// Takes note of a step's answers to a member: rows, with how many were right and how many wrong.
    pub fn note(&self, answers: &[(u32, [u32; 2])], tags: Option<&RowTags>, known: &mut Sampled) {
        match self {
            Self::Staircase(of) => of.note(answers, tags, known),
            Self::Band(of) => {
                for (row, counts) in answers {
                    let of_row = known.rows.entry(*row).or_default();
                    for (remembered, new) in of_row.iter_mut().zip(counts) {
                        *remembered = of.decay * *remembered + f64::from(*new);
                    }
                }
            }
            Self::Uniform | Self::Epochs | Self::Weighted(_) => {}
        }
    }

    /// Faults of a sampler that the config has at `pointer`.
    pub(crate) fn faults(&self, pointer: &str) -> Vec<Fault> {
        match self {
            Self::Weighted(of) => {
                let wrong = of.weights.iter().find(|(_, weight)| !(weight.is_finite() && **weight >= 0.0));
                let none = of.weights.values().all(|weight| *weight <= 0.0);
                let detail = match wrong {
                    Some((value, weight)) => format!("{weight} for `{value}`: a finite number of at least 0 is valid"),
                    None if none => "no value has a weight: at least one above 0 is valid".to_owned(),
                    None => return Vec::new(),
                };
                vec![Fault::new(format!("{pointer}/weighted/weights"), detail)]
            }
            Self::Staircase(of) => {
                let mut faults = Vec::new();
                if of.down >= of.up {
                    let detail = format!("{} is not below `up`, which is {}: a smaller one is valid", of.down, of.up);
                    faults.push(Fault::new(format!("{pointer}/staircase/down"), detail));
                }
                let twice = (1..of.levels.len()).find(|at| of.levels[..*at].contains(&of.levels[*at]));
                if let Some(at) = twice {
                    let detail = format!("`{}` is a level already: each is valid once", of.levels[at]);
                    faults.push(Fault::new(format!("{pointer}/staircase/levels/{at}"), detail));
                }
                faults
            }
            Self::Uniform | Self::Epochs | Self::Band(_) => Vec::new(),
        }
    }
}

/// `count` rows after the first `before` of passes over `rows`, each in an order of its own.
pub fn in_epochs(before: u64, rows: Range<u32>, count: u32, seed: u64, path: &str) -> Vec<u32> {
    let size = rows.len() as u64;
    if size == 0 || count == 0 {
        return Vec::new();
    }
    let places = before..before + u64::from(count);
    let mut drawn = Vec::with_capacity(count as usize);
    for epoch in places.start / size..=(places.end - 1) / size {
        let mut order: Vec<u32> = rows.clone().collect();
        order.shuffle(&mut stream(seed, &format!("{path}/epoch"), epoch));
        let start = places.start.saturating_sub(epoch * size).min(size);
        let end = places.end.saturating_sub(epoch * size).min(size);
        drawn.extend_from_slice(&order[start as usize..end as usize]);
    }
    drawn
}

/// Draws values by their weights, then rows of each. One pass counts the rows of a value, and one finds those drawn.
fn by_weight(
    tags: &RowTags,
    rows: &Range<u32>,
    weights: Vec<f64>,
    count: u32,
    random: &mut impl rand::Rng,
) -> Vec<u32> {
    let of_rows =
        &tags.of_row[(rows.start as usize).min(tags.of_row.len())..(rows.end as usize).min(tags.of_row.len())];
    let mut sizes = vec![0_u32; weights.len()];
    for value in of_rows {
        if let Some(size) = sizes.get_mut(*value as usize) {
            *size += 1;
        }
    }
    let there: Vec<f64> =
        weights.iter().zip(&sizes).map(|(weight, size)| if *size > 0 { *weight } else { 0.0 }).collect();
    let all: f64 = there.iter().sum();
    if all <= 0.0 {
        return Vec::new();
    }
    let mut ranks: BTreeMap<(u32, u32), Vec<usize>> = BTreeMap::new();
    for place in 0..count as usize {
        let mut left = random.random::<f64>() * all;
        let last = there.iter().rposition(|weight| *weight > 0.0).unwrap_or(0);
        let value = there.iter().position(|weight| {
            left -= weight;
            left < 0.0
        });
        let value = value.unwrap_or(last);
        ranks.entry((value as u32, random.random_range(0..sizes[value]))).or_default().push(place);
    }
    let mut drawn = vec![rows.start; count as usize];
    let mut seen = vec![0_u32; weights.len()];
    for (row, value) in rows.clone().zip(of_rows) {
        let Some(rank) = seen.get_mut(*value as usize) else { continue };
        for place in ranks.get(&(*value, *rank)).into_iter().flatten() {
            drawn[*place] = row;
        }
        *rank += 1;
    }
    drawn
}

impl Staircase {
    fn levels(&self, tags: &RowTags) -> Vec<String> {
        if !self.levels.is_empty() {
            return self.levels.clone();
        }
        let mut levels = tags.values.clone();
        let numbers: Option<Vec<f64>> = levels.iter().map(|level| level.parse().ok()).collect();
        match numbers {
            Some(_) => levels.sort_by(|a, b| {
                let [a, b] = [a, b].map(|level| level.parse::<f64>().unwrap_or(f64::NAN));
                a.total_cmp(&b)
            }),
            None => levels.sort(),
        }
        levels
    }

    /// The value of the tag that a member is asked.
    fn level<'t>(&self, tags: &'t RowTags, known: &Sampled) -> Option<&'t String> {
        let levels = self.levels(tags);
        let level = levels.get(known.level.min(levels.len().saturating_sub(1)))?;
        tags.values.iter().find(|value| *value == level)
    }

    fn note(&self, answers: &[(u32, [u32; 2])], tags: Option<&RowTags>, known: &mut Sampled) {
        let [right, wrong] = answers.iter().fold([0, 0], |[right, wrong], (_, [r, w])| [right + r, wrong + w]);
        let Some(tags) = tags.filter(|_| right + wrong > 0) else { return };
        known.recent.push(f64::from(right) / f64::from(right + wrong));
        let window = self.batches as usize;
        if known.recent.len() > window {
            known.recent.drain(..known.recent.len() - window);
        }
        if known.recent.len() < window {
            return;
        }
        let rate = known.recent.iter().sum::<f64>() / window as f64;
        let last = self.levels(tags).len().saturating_sub(1);
        let level = match known.level.min(last) {
            level if rate > self.up => (level + 1).min(last),
            level if rate < self.down => level.saturating_sub(1),
            level => level,
        };
        if level != known.level {
            known.level = level;
            known.recent.clear();
        }
    }
}

impl Band {
    fn draw(&self, rows: &Range<u32>, count: u32, known: &Sampled, random: &mut impl rand::Rng) -> Vec<u32> {
        let asked = (count as usize).saturating_mul(self.candidates as usize).min(rows.len());
        let candidates = rand::seq::index::sample(random, rows.len(), asked);
        let mut distances: Vec<(f64, u32)> = candidates
            .into_iter()
            .map(|place| {
                let row = rows.start + place as u32;
                let [right, wrong] = known.rows.get(&row).copied().unwrap_or_default();
                let rate = Beta::new(1.0 + right, 1.0 + wrong).map_or(0.5, |beta| beta.sample(random));
                ((rate - self.target).abs(), row)
            })
            .collect();
        distances.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        // More than there are rows: they come again.
        distances.iter().cycle().take(count as usize).map(|(_, row)| *row).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn drawn(rows: Range<u32>, count: u32, step: u32) -> Batch<'static> {
        let before = u64::from(step) * u64::from(count);
        Batch { rows, count, before, seed: 1, path: "member", step, round: 0, tags: None }
    }

    proptest! {
        #[test]
        fn every_row_comes_once_before_any_comes_twice(count in 1_u32..40, batch in 1_u32..50, steps in 1_u32..12) {
            let all: Vec<u32> = (0..steps)
                .flat_map(|step| Sampler::Epochs.draw(&drawn(5..5 + count, batch, step), &Sampled::default()))
                .collect();
            prop_assert_eq!(all.len() as u32, batch * steps);
            let mut times: BTreeMap<u32, u32> = (5..5 + count).map(|row| (row, 0)).collect();
            for (place, row) in all.iter().enumerate() {
                let passes = times.get_mut(row);
                prop_assert!(passes.is_some(), "row {} is not in the slice", row);
                if let Some(passes) = passes {
                    prop_assert_eq!(*passes, place as u32 / count);
                    *passes += 1;
                }
            }
        }

        #[test]
        fn uniform_draws_stay_in_the_slice(count in 1_u32..40, batch in 1_u32..50) {
            let drawn = Sampler::Uniform.draw(&drawn(3..3 + count, batch, 7), &Sampled::default());
            prop_assert_eq!(drawn.len() as u32, batch);
            prop_assert!(drawn.iter().all(|row| (3..3 + count).contains(row)));
        }
    }

    #[test]
    fn each_pass_has_an_order_of_its_own() {
        let pass = |before, seed, path| in_epochs(before, 0..32, 32, seed, path);
        assert_ne!(pass(0, 1, "member"), pass(32, 1, "member"));
        assert_ne!(pass(0, 1, "member"), pass(0, 2, "member"), "the seed counts");
        assert_ne!(pass(0, 1, "member"), pass(0, 1, "other"), "members differ");
        assert_eq!(pass(32, 1, "member"), pass(32, 1, "member"));
    }

    /// Ten rows of level 2, then one of level 10, then nine of level 1.
    fn levels() -> RowTags {
        let level = |row: u32| match row {
            0..10 => "2",
            10 => "10",
            _ => "1",
        };
        (0..20).map(|row| Some(level(row).to_owned())).collect()
    }

    #[test]
    fn values_are_drawn_by_their_weights_however_many_rows_they_have() {
        let weights = [("2", 1.0), ("10", 3.0), ("1", 0.0), ("elsewhere", 96.0)];
        let weights = weights.into_iter().map(|(value, weight)| (value.to_owned(), weight)).collect();
        let sampler = Sampler::Weighted(Weighted { tag: "level".to_owned(), weights });
        let tags = levels();
        let batch = |rows| Batch { tags: Some(&tags), ..drawn(rows, 4000, 0) };
        let rows = sampler.draw(&batch(0..20), &Sampled::default());
        assert_eq!(rows.len(), 4000);
        assert!(rows.iter().all(|row| *row <= 10));
        // Three in four, with a standard deviation of √(4000 · 3/16) = 27.4.
        let of_ten = rows.iter().filter(|row| **row == 10).count();
        assert!((2860..3140).contains(&of_ten), "{of_ten}");
        for row in 0..10 {
            let times = rows.iter().filter(|drawn| **drawn == row).count();
            assert!((50..150).contains(&times), "row {row} {times} times");
        }
        let of_a_slice = sampler.draw(&batch(3..9), &Sampled::default());
        assert!(of_a_slice.len() == 4000 && of_a_slice.iter().all(|row| (3..9).contains(row)));
        assert!(sampler.draw(&batch(11..20), &Sampled::default()).is_empty(), "none of them has a weight");
    }

    #[test]
    fn a_staircase_goes_up_and_down_by_the_mean_of_its_window() {
        let of = Staircase { tag: "level".to_owned(), levels: Vec::new(), up: 0.8, down: 0.3, batches: 2 };
        let (sampler, tags, mut known) = (Sampler::Staircase(of), levels(), Sampled::default());
        // Pass rates in per cent, and the level that is asked next: 1, 2 and 10 in the order of numbers.
        for (right, level) in [
            (90, "1"),
            (90, "2"),
            (85, "2"),
            (70, "2"),  // (85 + 70) / 2 is not above 80
            (91, "10"), // (70 + 91) / 2 is
            (100, "10"),
            (100, "10"),
            (0, "10"),
            (40, "2"), // (0 + 40) / 2 is below 30
            (30, "2"),
            (30, "2"),
            (29, "1"),
            (0, "1"),
            (0, "1"),
        ] {
            sampler.note(&[(0, [right, 100 - right])], Some(&tags), &mut known);
            let rows = sampler.draw(&Batch { tags: Some(&tags), ..drawn(0..20, 50, 3) }, &known);
            let asked: Vec<&str> =
                rows.iter().map(|row| tags.values[tags.of_row[*row as usize] as usize].as_str()).collect();
            assert!(
                asked.len() == 50 && asked.iter().all(|asked| *asked == level),
                "{right}: {level} is not {asked:?}"
            );
        }
    }

    #[test]
    fn a_band_asks_what_is_solved_some_of_the_time() {
        let of = Band { target: 0.5, decay: 0.5, candidates: 10 };
        let (sampler, mut known) = (Sampler::Band(of), Sampled::default());
        sampler.note(&[(3, [2, 1])], None, &mut known);
        sampler.note(&[(3, [0, 4])], None, &mut known);
        assert_eq!(known.rows[&3], [1.0, 4.5], "2 / 2 + 0 right, and 1 / 2 + 4 wrong");
        // Of twenty rows all but 7 and 8 are known to be solved always, or never; the deviation of Beta(1001, 1001) is 0.011.
        known.rows = (0..20).map(|row| (row, if row % 2 == 0 { [1000.0, 0.0] } else { [0.0, 1000.0] })).collect();
        known.rows.extend([(7, [1000.0, 1000.0]), (8, [1000.0, 1000.0])]);
        for step in 0..20 {
            let mut rows = sampler.draw(&drawn(0..20, 2, step), &known);
            rows.sort_unstable();
            assert_eq!(rows, [7, 8]);
        }
        let unknown = |step| sampler.draw(&drawn(0..1000, 4, step), &Sampled::default());
        assert_ne!(unknown(0), unknown(1));
        assert_eq!(unknown(0), unknown(0));
    }

    #[test]
    fn bounds_and_weights_that_cannot_work_are_refused() {
        let faults = |sampler: serde_json::Value| {
            let sampler: Sampler = serde_json::from_value(sampler).unwrap();
            let faults = sampler.faults("/s");
            faults.iter().map(|fault| fault.pointer.clone()).collect::<Vec<_>>()
        };
        assert!(faults(serde_json::json!({"staircase": {}})).is_empty());
        assert_eq!(faults(serde_json::json!({"staircase": {"up": 0.3}})), ["/s/staircase/down"]);
        assert_eq!(faults(serde_json::json!({"staircase": {"levels": ["1", "2", "1"]}})), ["/s/staircase/levels/2"]);
        assert_eq!(
            faults(serde_json::json!({"weighted": {"tag": "t", "weights": {"a": -1.0}}})),
            ["/s/weighted/weights"]
        );
        assert_eq!(
            faults(serde_json::json!({"weighted": {"tag": "t", "weights": {"a": 0.0}}})),
            ["/s/weighted/weights"]
        );
    }
}
