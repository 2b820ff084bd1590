//! How much one arm exceeds another, with one interval over seeds and problems.

use serde::Serialize;

use super::{quantile, two_sided};

/// The scores of an arm.
#[derive(Clone, Copy, Debug)]
pub enum Sample<'a> {
    /// One list of scores for each seed, all by the same problems in the same order. A measure that has no problems has lists
    /// of one.
    Seeds(&'a [Vec<f64>]),
    /// The scores of what has no seeds, such as an untrained base.
    Fixed(&'a [f64]),
}

/// Whether seeds of two arms belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Pairing {
    /// They do not (Welch).
    Independent,
    /// The n-th seeds do, as was declared before they ran.
    Paired,
}

/// How much one arm's mean exceeds another's.
///
/// `SE² = SE²(seeds) + SE²(problems)`: over seeds `s²/n` of each arm (Welch 1947), or of the differences of paired seeds; over
/// problems `s²/m` of the differences by problem, which are means over seeds. An arm all of whose scores are 0, or all 1, adds
/// `p (1 − p) / (m + 4)` with `p = (x + 2) / (m + 4)` (Agresti and Coull 1998) instead of an error of 0. Two arms without seeds
/// that differ alike at every problem have the error `1 / (m + 2)`, as if half a problem more had changed either way (Agresti
/// and Min 2005). The degrees of freedom are Satterthwaite's (1946): `(Σ vᵢ)² / Σ (vᵢ² / fᵢ)`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Effect {
    pub difference: f64,
    pub standard_error: f64,
    /// Its part over seeds; 0 if neither arm has any.
    pub over_seeds: f64,
    /// Its part over problems; 0 if the measure has none.
    pub over_problems: f64,
    pub freedom: f64,
    /// Lower end of the interval of 95 %.
    pub low: f64,
    /// Upper end of the interval of 95 %.
    pub high: f64,
    /// Seeds of either arm; 0 for what has none.
    pub seeds: [usize; 2],
    pub problems: usize,
    pub pairing: Pairing,
    /// Pearson's correlation of the n-th seeds of the arms, if there are equally many and they vary.
    pub correlation: Option<f64>,
    /// The parts of the error and their degrees of freedom.
    #[serde(skip)]
    parts: Vec<Part>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Part {
    variance: f64,
    freedom: f64,
    /// Whether more seeds make it smaller.
    is_of_seeds: bool,
}

/// Why an effect has no interval.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Undecidable {
    #[error("an arm has {0} seeds: at least {least} are needed", least = Effect::FEWEST_SEEDS)]
    Seeds(usize),
    #[error("lists of {0} and {1} problems: both arms and all seeds need scores of the same problems")]
    Problems(usize, usize),
    #[error("{0} and {1} seeds cannot be paired")]
    Unpaired(usize, usize),
    #[error(
        "the seeds of an arm are of two kinds and overlap with the other arm: at least {least} are needed",
        least = Effect::SEEDS_OF_TWO_KINDS
    )]
    TwoKinds,
    #[error("the four seeds of one arm vary far less than the other's, which may be chance: at least 5 are needed")]
    Uneven,
    #[error("neither seeds nor differences by problem vary, which leaves no error to judge by")]
    Alike,
    #[error("a score is not a number")]
    NotANumber,
}

/// Variances below this are those of equal values whose sums are not exact.
const ALIKE: f64 = 1e-18;

impl Effect {
    /// With fewer seeds of an arm nothing is decided.
    pub const FEWEST_SEEDS: usize = 4;
    /// Where seeds end in one of two places, more of them are needed: fewer may have met one of the two by chance.
    pub const SEEDS_OF_TWO_KINDS: usize = 10;

    /// How much `ours` exceeds `theirs`.
    ///
    /// # Errors
    /// Why there is no interval.
    pub fn of(ours: Sample<'_>, theirs: Sample<'_>, pairing: Pairing) -> Result<Self, Undecidable> {
        let arms = [Arm::of(ours)?, Arm::of(theirs)?];
        let [a, b] = &arms;
        let problems = a.by_problem.len();
        if problems != b.by_problem.len() {
            return Err(Undecidable::Problems(problems, b.by_problem.len()));
        }
        let counts = [a.seeds.len(), b.seeds.len()];
        let difference = mean(&a.by_problem) - mean(&b.by_problem);
        let mut parts = Vec::new();
        match pairing {
            Pairing::Paired if counts[0] != counts[1] || counts[0] == 0 => {
                return Err(Undecidable::Unpaired(counts[0], counts[1]));
            }
            Pairing::Paired => {
                let pairs: Vec<f64> = a.seeds.iter().zip(&b.seeds).map(|(a, b)| a - b).collect();
                parts.extend(Part::over(&pairs, true));
            }
            Pairing::Independent => parts.extend(arms.iter().filter_map(|arm| Part::over(&arm.seeds, true))),
        }
        if problems > 1 {
            let differences: Vec<f64> = a.by_problem.iter().zip(&b.by_problem).map(|(a, b)| a - b).collect();
            let saturated: f64 = arms.iter().map(|arm| arm.at_a_bound()).sum();
            parts.extend(
                Part::over(&differences, false).map(|part| Part { variance: part.variance.max(saturated), ..part }),
            );
        }
        if let ([part], [0, 0]) = (&mut parts[..], counts)
            && part.variance <= ALIKE
        {
            part.variance = (problems as f64 + 2.0).powi(-2);
        }
        let total: f64 = parts.iter().map(|part| part.variance).sum();
        if total <= ALIKE {
            return Err(Undecidable::Alike);
        }
        let of = |is_of_seeds| {
            let own = parts.iter().filter(|part| part.is_of_seeds == is_of_seeds);
            own.map(|part| part.variance).sum::<f64>().sqrt()
        };
        let (over_seeds, over_problems) = (of(true), of(false));
        let are_few = arms.iter().any(|arm| !arm.seeds.is_empty() && arm.seeds.len() < Self::SEEDS_OF_TWO_KINDS);
        if over_seeds > over_problems {
            if are_few && arms.iter().any(Arm::is_of_two_kinds) && !are_apart(&arms) {
                return Err(Undecidable::TwoKinds);
            }
            if are_uneven(&parts) {
                return Err(Undecidable::Uneven);
            }
        }
        let freedom = satterthwaite(&parts);
        let standard_error = total.sqrt();
        let reach = quantile(freedom, 0.975) * standard_error;
        Ok(Self {
            difference,
            standard_error,
            over_seeds,
            over_problems,
            freedom,
            low: difference - reach,
            high: difference + reach,
            seeds: counts,
            problems,
            pairing,
            correlation: correlation(&a.seeds, &b.seeds),
            parts,
        })
    }

    /// The probability of a difference at least as far from `from`, if that is the true one.
    pub fn p_value(&self, from: f64) -> f64 {
        two_sided((self.difference - from) / self.standard_error, self.freedom)
    }

    /// The least true difference that a study with this error shows with probability `power`.
    pub fn shows(&self, power: f64) -> f64 {
        shown_by(&self.parts, power)
    }

    /// The least number of seeds an arm, as many in both, with which a true `difference` is shown with probability `power`, if
    /// seeds and problems go on to vary as they do; none if the problems leave too much error, or more than 1,000 are needed.
    pub fn seeds_for(&self, difference: f64, power: f64) -> Option<usize> {
        (Self::FEWEST_SEEDS..=1_000).find(|seeds| {
            let parts: Vec<Part> = self
                .parts
                .iter()
                .map(|part| match part.is_of_seeds {
                    false => *part,
                    true => Part {
                        variance: part.variance * (part.freedom + 1.0) / *seeds as f64,
                        freedom: *seeds as f64 - 1.0,
                        ..*part
                    },
                })
                .collect();
            shown_by(&parts, power) <= difference.abs()
        })
    }
}

impl Part {
    /// The variance of the mean of `values`; none of fewer than two.
    fn over(values: &[f64], is_of_seeds: bool) -> Option<Self> {
        let n = values.len() as f64;
        let middle = mean(values);
        let squares: f64 = values.iter().map(|value| (value - middle).powi(2)).sum();
        (values.len() > 1).then(|| Self { variance: squares / (n - 1.0) / n, freedom: n - 1.0, is_of_seeds })
    }
}

/// The means of an arm.
struct Arm {
    /// Of each seed; none for what has no seeds.
    seeds: Vec<f64>,
    by_problem: Vec<f64>,
}

impl Arm {
    fn of(sample: Sample<'_>) -> Result<Self, Undecidable> {
        let arm = match sample {
            Sample::Fixed(scores) => Self { seeds: Vec::new(), by_problem: scores.to_vec() },
            Sample::Seeds(seeds) => {
                if seeds.len() < Effect::FEWEST_SEEDS {
                    return Err(Undecidable::Seeds(seeds.len()));
                }
                let problems = seeds[0].len();
                if let Some(other) = seeds.iter().find(|scores| scores.len() != problems) {
                    return Err(Undecidable::Problems(problems, other.len()));
                }
                let of_problem = |problem: usize| seeds.iter().map(|scores| scores[problem]).sum::<f64>();
                Self {
                    seeds: seeds.iter().map(|scores| mean(scores)).collect(),
                    by_problem: (0..problems).map(|problem| of_problem(problem) / seeds.len() as f64).collect(),
                }
            }
        };
        match arm.by_problem.is_empty() || arm.by_problem.iter().any(|score| !score.is_finite()) {
            true => Err(Undecidable::NotANumber),
            false => Ok(arm),
        }
    }

    /// Whether its seeds fall into two groups whose distance is more than three times the width of either.
    fn is_of_two_kinds(&self) -> bool {
        let mut seeds = self.seeds.clone();
        seeds.sort_by(f64::total_cmp);
        let width = |group: &[f64]| group[group.len() - 1] - group[0];
        (1..seeds.len()).any(|cut| {
            let (low, high) = seeds.split_at(cut);
            high[0] - low[cut - 1] > 3.0 * width(low).max(width(high)).max(1e-9)
        })
    }

    /// The variance that an arm of nothing but zeros or ones hides.
    fn at_a_bound(&self) -> f64 {
        let all = |bound: f64| self.by_problem.iter().all(|score| (score - bound).abs() < 1e-9);
        let n = self.by_problem.len() as f64 + 4.0;
        let share = 2.0 / n;
        if all(0.0) || all(1.0) { share * (1.0 - share) / n } else { 0.0 }
    }
}

/// Whether the seeds of one arm of four vary too little compared with the other's: all may be of one of two kinds by chance.
fn are_uneven(parts: &[Part]) -> bool {
    match parts {
        [a, b, ..] if b.is_of_seeds && a.freedom.min(b.freedom) < 4.0 => {
            16.0 * a.variance.min(b.variance) < a.variance.max(b.variance)
        }
        _ => false,
    }
}

/// Whether every seed of one arm lies beyond every seed of the other, or beyond the value of what has none.
fn are_apart([a, b]: &[Arm; 2]) -> bool {
    let ends = |arm: &Arm| {
        let of_all = [mean(&arm.by_problem)];
        let values = if arm.seeds.is_empty() { &of_all[..] } else { &arm.seeds };
        values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(*value), high.max(*value)))
    };
    let [(a_low, a_high), (b_low, b_high)] = [ends(a), ends(b)];
    // Four seeds on one side of a fixed value are chance once in eight.
    let is_chance = a.seeds.len().max(b.seeds.len()) < 5 && a.seeds.len().min(b.seeds.len()) == 0;
    !is_chance && (a_low > b_high || b_low > a_high)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The least true difference that is shown with probability `power`.
fn shown_by(parts: &[Part], power: f64) -> f64 {
    let freedom = satterthwaite(parts);
    let error = parts.iter().map(|part| part.variance).sum::<f64>().sqrt();
    (quantile(freedom, 0.975) + quantile(freedom, power)) * error
}

fn satterthwaite(parts: &[Part]) -> f64 {
    let total: f64 = parts.iter().map(|part| part.variance).sum();
    total * total / parts.iter().map(|part| part.variance.powi(2) / part.freedom).sum::<f64>()
}

fn correlation(ours: &[f64], theirs: &[f64]) -> Option<f64> {
    if ours.len() != theirs.len() || ours.len() < 2 {
        return None;
    }
    let [a, b] = [mean(ours), mean(theirs)];
    let sum = |term: &dyn Fn(f64, f64) -> f64| ours.iter().zip(theirs).map(|(x, y)| term(x - a, y - b)).sum::<f64>();
    let found = sum(&|x, y| x * y) / (sum(&|x, _| x * x) * sum(&|_, y| y * y)).sqrt();
    Some(found).filter(|found| found.is_finite())
}
