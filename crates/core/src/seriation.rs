//! Orders rows so that similar ones are adjacent and a matrix shows its blocks.

/// The leaf order of an average-linkage tree (UPGMA) over `rows`, each a list of values, any of which may be missing.
/// Rows that share no value have the largest distance. The cost is cubic in the number of rows.
pub fn cluster_order(rows: &[Vec<Option<f64>>]) -> Vec<usize> {
    let mut clusters: Vec<Vec<usize>> = (0..rows.len()).map(|row| vec![row]).collect();
    let distances: Vec<Vec<f64>> =
        rows.iter().map(|one| rows.iter().map(|other| distance(one, other)).collect()).collect();
    let between = |one: &[usize], other: &[usize]| {
        let sum: f64 = one.iter().flat_map(|row| other.iter().map(|column| distances[*row][*column])).sum();
        sum / (one.len() * other.len()) as f64
    };
    while clusters.len() > 1 {
        let mut nearest = (0, 1, f64::INFINITY);
        for one in 0..clusters.len() {
            for other in one + 1..clusters.len() {
                let apart = between(&clusters[one], &clusters[other]);
                if apart < nearest.2 {
                    nearest = (one, other, apart);
                }
            }
        }
        let (one, other, _) = nearest;
        let mut right = clusters.remove(other);
        let left = &mut clusters[one];
        // Of the four ways to join them, choose the one with the nearest ends adjacent.
        let ends = |left: &[usize], right: &[usize]| match (left.last(), right.first()) {
            (Some(last), Some(first)) => distances[*last][*first],
            _ => 0.0,
        };
        let reversed = |rows: &[usize]| rows.iter().rev().copied().collect::<Vec<usize>>();
        let ways = [
            (left.clone(), right.clone()),
            (left.clone(), reversed(&right)),
            (reversed(left), right.clone()),
            (reversed(left), reversed(&right)),
        ];
        let best = ways.into_iter().min_by(|(l, r), (m, s)| ends(l, r).total_cmp(&ends(m, s)));
        if let Some((start, end)) = best {
            *left = start;
            right = end;
        }
        left.append(&mut right);
    }
    clusters.into_iter().next().unwrap_or_default()
}

/// Mean absolute difference over the values that both have; 1, the maximum for shares, if they have none in common.
fn distance(one: &[Option<f64>], other: &[Option<f64>]) -> f64 {
    let (mut sum, mut count) = (0.0, 0u32);
    for (a, b) in one.iter().zip(other) {
        if let (Some(a), Some(b)) = (a, b) {
            sum += (a - b).abs();
            count += 1;
        }
    }
    if count == 0 { 1.0 } else { sum / f64::from(count) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn similar_rows_end_up_side_by_side() {
        let rows = [0.1, 0.9, 0.15, 0.85, 0.5].map(|value| vec![Some(value), Some(value)]);
        let order = cluster_order(&rows);
        let line = [0usize, 2, 4, 3, 1];
        let back: Vec<usize> = line.iter().rev().copied().collect();
        assert!(order == line || order == back, "{order:?}");
    }

    #[test]
    fn what_is_missing_does_not_count() {
        assert_eq!(distance(&[Some(0.5), None], &[Some(0.25), Some(1.0)]), 0.25);
        assert_eq!(distance(&[None], &[Some(1.0)]), 1.0);
        assert_eq!(cluster_order(&[]), Vec::<usize>::new());
    }

    proptest! {
        #[test]
        fn every_row_is_there_once(rows in prop::collection::vec(
            prop::collection::vec(prop::option::of(0.0f64..=1.0), 3), 0..12)
        ) {
            let mut order = cluster_order(&rows);
            order.sort_unstable();
            prop_assert_eq!(order, (0..rows.len()).collect::<Vec<_>>());
        }
    }
}
