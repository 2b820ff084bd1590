//! Problems that a person should look at: those that first show a collapse or reward hacking.

use std::collections::HashMap;
use std::fmt;

use crate::duplicate::fingerprint;

/// The data of an attempted problem.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    /// Its type; lengths are compared within a type.
    pub kind: &'a str,
    pub program: &'a str,
    /// Its cyclomatic complexity.
    pub cyclomatic: Option<f32>,
    /// Share of attempts that solved it.
    pub solve_rate: f32,
    /// Characters in the proposer's completion.
    pub proposal_letters: u32,
    /// Characters in the longest answer that solved it.
    pub answer_letters: Option<u32>,
}

/// Why a problem is suspicious.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Suspicion {
    /// This many other problems are equal except for names, constants and layout.
    NearDuplicate(usize),
    /// Every attempt solved it, though it is among the most complex fifth: its complexity may be superficial.
    ComplexAndMastered,
    /// No attempt solved it, though it is among the simplest fifth: the question may be unclear.
    SimpleAndUnsolved,
    /// Its proposal is this many times as long as the median.
    LongProposal(f32),
    /// An answer that solved it is this many times as long as the median of such answers.
    LongAnswer(f32),
}

impl Suspicion {
    /// Its weight. A sign that is rare in healthy runs weighs about 1; repetition and length weigh more the larger they
    /// are.
    fn weight(self) -> f32 {
        match self {
            Self::NearDuplicate(others) => (1.0 + others as f32).log2(),
            Self::ComplexAndMastered => 1.0,
            Self::SimpleAndUnsolved => 0.75,
            Self::LongProposal(times) | Self::LongAnswer(times) => times.log2(),
        }
    }
}

impl fmt::Display for Suspicion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NearDuplicate(1) => f.write_str("equal to another except for names and constants"),
            Self::NearDuplicate(others) => write!(f, "equal to {others} others except for names and constants"),
            Self::ComplexAndMastered => f.write_str("among the most complex, yet every attempt solved it"),
            Self::SimpleAndUnsolved => f.write_str("among the simplest, yet no attempt solved it"),
            Self::LongProposal(times) => write!(f, "its proposal is {times:.1} times as long as the median"),
            Self::LongAnswer(times) => write!(f, "an answer to it is {times:.1} times as long as the median"),
        }
    }
}

/// Minimum ratio of a length to the median to be reported.
const LONG: f32 = 4.0;

/// The suspicious samples, by index in `samples`, most suspicious first; of near duplicates only the first.
pub fn suspicious(samples: &[Sample]) -> Vec<(usize, Vec<Suspicion>)> {
    let prints: Vec<u32> = samples.iter().map(|sample| fingerprint(sample.program)).collect();
    let mut groups: HashMap<u32, (usize, usize)> = HashMap::new();
    for (place, print) in prints.iter().enumerate() {
        groups.entry(*print).or_insert((place, 0)).1 += 1;
    }
    let complexities = sorted(samples.iter().filter_map(|sample| sample.cyclomatic));
    let quantile = |share: f32| complexities.get((share * (complexities.len().max(1) - 1) as f32).round() as usize);
    // If nearly all are equally complex, none are among the most or least complex.
    let (low, high) = match (quantile(0.2), quantile(0.8)) {
        (Some(low), Some(high)) if low < high => (Some(*low), Some(*high)),
        _ => (None, None),
    };
    let proposals = medians(samples, |sample| Some(sample.proposal_letters));
    let answers = medians(samples, |sample| sample.answer_letters);
    let mut found: Vec<(usize, Vec<Suspicion>)> = Vec::new();
    for (place, sample) in samples.iter().enumerate() {
        let (first, count) = groups.get(&prints[place]).copied().unwrap_or((place, 1));
        if first != place {
            continue;
        }
        let mut reasons = Vec::new();
        if count > 1 {
            reasons.push(Suspicion::NearDuplicate(count - 1));
        }
        if let Some(cyclomatic) = sample.cyclomatic {
            if sample.solve_rate >= 1.0 && high.is_some_and(|high| cyclomatic >= high) {
                reasons.push(Suspicion::ComplexAndMastered);
            }
            if sample.solve_rate <= 0.0 && low.is_some_and(|low| cyclomatic <= low) {
                reasons.push(Suspicion::SimpleAndUnsolved);
            }
        }
        let times = |letters: u32, medians: &HashMap<&str, f32>| {
            let median = medians.get(sample.kind).filter(|median| **median > 0.0)?;
            Some(letters as f32 / median).filter(|times| *times >= LONG)
        };
        reasons.extend(times(sample.proposal_letters, &proposals).map(Suspicion::LongProposal));
        if let Some(letters) = sample.answer_letters {
            reasons.extend(times(letters, &answers).map(Suspicion::LongAnswer));
        }
        if !reasons.is_empty() {
            found.push((place, reasons));
        }
    }
    let weight = |reasons: &[Suspicion]| reasons.iter().map(|reason| reason.weight()).sum::<f32>();
    found.sort_by(|(_, one), (_, other)| weight(other).total_cmp(&weight(one)));
    found
}

fn sorted(values: impl Iterator<Item = f32>) -> Vec<f32> {
    let mut values: Vec<f32> = values.collect();
    values.sort_by(f32::total_cmp);
    values
}

/// The median length by type.
fn medians<'a>(samples: &[Sample<'a>], length: impl Fn(&Sample) -> Option<u32>) -> HashMap<&'a str, f32> {
    let mut lengths: HashMap<&str, Vec<f32>> = HashMap::new();
    for sample in samples {
        if let Some(length) = length(sample) {
            lengths.entry(sample.kind).or_default().push(length as f32);
        }
    }
    let median = |lengths: Vec<f32>| {
        let middle = lengths.len() / 2;
        sorted(lengths.into_iter())[middle]
    };
    lengths.into_iter().map(|(kind, lengths)| (kind, median(lengths))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(program: &str, cyclomatic: f32, solve_rate: f32) -> Sample<'_> {
        Sample {
            kind: "code_o",
            program,
            cyclomatic: Some(cyclomatic),
            solve_rate,
            proposal_letters: 100,
            answer_letters: Some(10),
        }
    }

    #[test]
    fn each_reason_is_found_and_the_heaviest_comes_first() {
        let samples = [
            sample("def f(a):\n return a + 1", 5.0, 0.5),
            sample("def f(b):\n return b + 7", 5.0, 0.5),
            sample("def f(c):\n return c + 9", 6.0, 0.5),
            sample("def f(c):\n return c * 9", 9.0, 1.0),
            sample("def f(c):\n return c - 9", 1.0, 0.0),
            Sample { kind: "code_f", proposal_letters: 1600, ..sample("def f(d):\n return d and 9", 6.0, 0.5) },
            Sample { proposal_letters: 1600, ..sample("def f(c):\n return c ** 9", 6.0, 0.5) },
            sample("def f(c):\n return c % 9", 5.0, 0.5),
        ];
        let found = suspicious(&samples);
        let expected = [
            (6, vec![Suspicion::LongProposal(16.0)]),
            (0, vec![Suspicion::NearDuplicate(2)]),
            (3, vec![Suspicion::ComplexAndMastered]),
            (4, vec![Suspicion::SimpleAndUnsolved]),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn equal_complexities_are_neither_high_nor_low() {
        let samples = [sample("def f(a):\n return a", 1.0, 1.0), sample("def f(a):\n return 1", 1.0, 0.0)];
        assert_eq!(suspicious(&samples), []);
        assert_eq!(suspicious(&[]), []);
    }
}
