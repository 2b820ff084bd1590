//! How often a side wins if nobody learns.

use crate::wilson::Interval;

/// The share of matchups that teachers win if no player changes: 1 less the students' predicted win probability.
///
/// A win moves a rating by v(t) and a loss by v(−t), where v(t) = φ(t)/Φ(t) and Φ(t) is the predicted probability p
/// (Herbrich et al. 2006). These moves cancel where students win a share of p, so ratings come to rest there, whoever is
/// stronger: the share tells nothing of strength.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrozenShare {
    /// The share, from 0 to 1.
    pub share: f64,
    /// Half the width of its 95 % interval: the normal approximation of independent matchups, with the correction for
    /// continuity.
    pub margin: f64,
}

impl FrozenShare {
    /// For `matchups` that students were predicted to win with the mean probability `predicted`.
    pub fn of(predicted: f64, matchups: f64) -> Self {
        let (share, matchups) = (1.0 - predicted, matchups.max(1.0));
        Self {
            share,
            margin: Interval::Z_95 * (share * (1.0 - share) / matchups).sqrt() + 0.5 / matchups,
        }
    }
}
