//! Learnability: what a problem earns for how often it is solved (section 3.3.1 and appendix A.1).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::fault::Fault;
use crate::kit::Band;
use crate::reward::Solved;

/// The shape of a learnability reward.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Learnability {
    pub(super) band: Band,
    pub(super) a: f64,
    pub(super) b: f64,
}

impl Learnability {
    /// Whether a problem is accepted. Counts are compared, so that 3 of 10 is within a band from 0.3.
    pub(super) fn is_in_band(self, solved: Solved) -> bool {
        self.band.has(solved.solved, solved.attempts)
    }

    /// R(p; a, b) at the pass rate p (Eq. 6), between 0 and 1 if `b` is not negative.
    pub(super) fn at(self, p: f64) -> f64 {
        let Self { a, b, .. } = self;
        (p / a * ((1.0 - p) / (1.0 - a)).powf((1.0 - a) / a)).powf(b)
    }

    /// Refuses a reversed band, and shapes that Eq. 6 does not define; `pointer` is that of the group in the config.
    pub(super) fn faults(self, pointer: &str) -> Vec<Fault> {
        let Self { band, a, b } = self;
        let a_fault = (!(0.0 < a && a < 1.0)).then(|| {
            let detail = format!("{a}: the pass rate with the highest reward is more than 0 and less than 1");
            Fault::new(format!("{pointer}/a"), detail)
        });
        let b_fault = (!(b.is_finite() && b >= 0.0)).then(|| {
            let detail = format!("{b}: 0 or more is valid, where more makes the peak sharper");
            Fault::new(format!("{pointer}/b"), detail)
        });
        let band_fault = band.fault(&format!("{pointer}/band"));
        band_fault.into_iter().chain(a_fault).chain(b_fault).collect()
    }
}

macro_rules! reward {
    ($(#[$doc:meta])* $name:ident: $band:expr, $a:expr, $b:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct $name {
            /// The pass rates with which a problem is accepted and earns R(p; a, b), both bounds included.
            pub band: Band,
            /// The pass rate with the highest reward, 1: more than 0 and less than 1.
            pub a: f64,
            /// How sharp the peak is.
            pub b: f64,
        }

        impl Default for $name {
            fn default() -> Self {
                Self { band: Band($band), a: $a, b: $b }
            }
        }

        impl $name {
            pub(super) fn learnability(self) -> Learnability {
                let Self { band, a, b } = self;
                Learnability { band, a, b }
            }
        }
    };
}

reward! {
    /// Which lemmas are accepted, and what they earn: [4p(1 − p)]⁵ from 0.3 to 0.7 (Eq. 4).
    LemmaReward: [0.3, 0.7], 0.5, 5.0
}

reward! {
    /// Which lifts are accepted, and what they earn: 10p((1 − p)/0.9)⁹ from 0.1 to 0.5 (Eq. 5).
    LiftReward: [0.1, 0.5], 0.1, 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_values(shape: Learnability, values: &[(f64, f64)]) {
        for (p, wanted) in values {
            let found = shape.at(*p);
            assert!((found - wanted).abs() < 5e-4, "R({p}) is {found}, not {wanted}");
        }
    }

    /// Equations 4, 5, 8 and 9 at the papers' pass rates.
    #[test]
    fn rewards_of_the_paper() {
        let lemma = LemmaReward::default().learnability();
        assert_values(lemma, &[(0.3, 0.418), (0.4, 0.815), (0.5, 1.0), (0.6, 0.815), (0.7, 0.418)]);
        let lift = LiftReward::default().learnability();
        assert_values(lift, &[(0.1, 1.0), (0.2, 0.693), (0.3, 0.312), (0.4, 0.104), (0.5, 0.025)]);
        let medium = Learnability { a: 0.3, b: 5.0, ..lift };
        // Python: ((p / .3) * ((1 - p) / .7) ** (7 / 3)) ** 5
        assert_values(medium, &[(0.1, 0.0772), (0.3, 1.0), (0.5, 0.2539)]);
        for p in [0.0, 1.0] {
            assert_eq!(lemma.at(p), 0.0);
        }
    }

    #[test]
    fn bands_are_exact_at_their_edges() {
        let within = |shape: Learnability| -> Vec<u32> {
            let of_ten = |solved| Solved { solved, attempts: 10 };
            (0..=10).filter(|count| shape.is_in_band(of_ten(*count))).collect()
        };
        assert_eq!(within(LemmaReward::default().learnability()), [3, 4, 5, 6, 7]);
        assert_eq!(within(LiftReward::default().learnability()), [1, 2, 3, 4, 5]);
    }

    #[test]
    fn shapes_that_mean_nothing_are_refused() {
        let lemma = LemmaReward::default().learnability();
        assert!(lemma.faults("/l").is_empty());
        for a in [0.0, 1.0, -0.1, f64::NAN] {
            let faults = Learnability { a, ..lemma }.faults("/l");
            assert_eq!(faults.len(), 1, "{a}");
            assert_eq!(faults[0].pointer, "/l/a");
        }
        for b in [-1.0, f64::INFINITY] {
            assert_eq!(Learnability { b, ..lemma }.faults("/l")[0].pointer, "/l/b");
        }
        let band = Band([0.7, 0.3]);
        assert_eq!(Learnability { band, ..lemma }.faults("/l")[0].pointer, "/l/band");
    }
}
