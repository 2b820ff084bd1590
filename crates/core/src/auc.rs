//! How well scores tell two classes apart.

/// The area under the ROC curve: the share of pairs of a right and a wrong one in which the right one has the higher score;
/// ties count half. NaN without both.
#[must_use]
pub fn auc(scores: &[(f32, bool)]) -> f64 {
    let mut sorted = scores.to_vec();
    sorted.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let (mut won, mut right, mut wrong) = (0.0, 0_u64, 0_u64);
    for tied in sorted.chunk_by(|(one, _), (other, _)| one.total_cmp(other).is_eq()) {
        let right_here = tied.iter().filter(|(_, is_right)| *is_right).count() as u64;
        let wrong_here = tied.len() as u64 - right_here;
        won += right_here as f64 * (wrong as f64 + wrong_here as f64 / 2.0);
        right += right_here;
        wrong += wrong_here;
    }
    won / (right as f64 * wrong as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn it_is_the_share_of_pairs_in_order() {
        assert_eq!(auc(&[(0.9, true), (0.1, false)]), 1.0);
        assert_eq!(auc(&[(0.1, true), (0.9, false)]), 0.0);
        assert_eq!(auc(&[(0.5, true), (0.5, false)]), 0.5);
        // scikit-learn: roc_auc_score([1, 0, 1, 0, 1], [0.8, 0.6, 0.6, 0.1, 0.2]) is 0.75.
        let scores = [(0.8, true), (0.6, false), (0.6, true), (0.1, false), (0.2, true)];
        assert_eq!(auc(&scores), 0.75);
        assert!(auc(&[(0.5, true)]).is_nan() && auc(&[]).is_nan());
    }

    /// The definition, pair by pair.
    fn by_pairs(scores: &[(f32, bool)]) -> f64 {
        let of = |class: bool| scores.iter().filter(move |(_, is_right)| *is_right == class);
        let pairs = of(true).flat_map(|(right, _)| of(false).map(move |(wrong, _)| right.total_cmp(wrong)));
        let won = pairs.clone().map(|order| match order {
            std::cmp::Ordering::Greater => 1.0,
            std::cmp::Ordering::Equal => 0.5,
            std::cmp::Ordering::Less => 0.0,
        });
        won.sum::<f64>() / pairs.count() as f64
    }

    proptest! {
        #[test]
        fn sorting_counts_the_same_pairs(scores in prop::collection::vec((0_u8..6, any::<bool>()), 0..40)) {
            let scores: Vec<(f32, bool)> = scores.into_iter().map(|(score, is_right)| (f32::from(score), is_right)).collect();
            let (fast, slow) = (auc(&scores), by_pairs(&scores));
            prop_assert!(fast == slow || (fast.is_nan() && slow.is_nan()), "{fast} is not {slow}");
        }
    }
}
