//! How well scores tell two classes apart.

/// The area under the ROC curve: the share of pairs of a right and a wrong one in which the right one has the higher score;
/// ties count half. NaN without both.
pub(super) fn auc(scores: &[(f32, bool)]) -> f64 {
    let of = |class: bool| scores.iter().filter(move |(_, is_right)| *is_right == class);
    let (mut won, mut pairs) = (0.0, 0_u64);
    for (right, _) in of(true) {
        for (wrong, _) in of(false) {
            pairs += 1;
            won += match right.total_cmp(wrong) {
                std::cmp::Ordering::Greater => 1.0,
                std::cmp::Ordering::Equal => 0.5,
                std::cmp::Ordering::Less => 0.0,
            };
        }
    }
    won / pairs as f64
}

#[cfg(test)]
mod tests {
    use super::auc;

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
}
