//! Distributes the rows of the decoding batch over the members.

/// Shares `slots` rows among groups by water-filling: every group gets its demand up to one common level, so equal
/// demands get equal rows. `active` rows are never taken away. If there are more groups than slots, groups with active
/// rows come first, then the others in order, with one row each.
pub(super) fn allot(demand: &[usize], active: &[usize], slots: usize) -> Vec<usize> {
    let groups = demand.iter().filter(|&&demand| demand > 0).count();
    if groups > slots {
        let mut left = slots.saturating_sub(active.iter().filter(|&&active| active > 0).count());
        let share = |(&demand, &active): (&usize, &usize)| {
            if active > 0 {
                return active;
            }
            let share = usize::from(demand > 0 && left > 0);
            left -= share;
            share
        };
        return demand.iter().zip(active).map(share).collect();
    }
    let total = |level: usize| demand.iter().map(|&demand| demand.min(level)).sum::<usize>();
    let (mut level, mut above) = (0, slots + 1);
    while above - level > 1 {
        let middle = level + (above - level) / 2;
        if total(middle) <= slots {
            level = middle
        } else {
            above = middle
        }
    }
    demand
        .iter()
        .zip(active)
        .map(|(&demand, &active)| demand.min(level).max(active))
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::allot;

    #[test]
    fn equal_demands_get_equal_rows_and_small_ones_what_they_ask() {
        assert_eq!(allot(&[10, 10, 10], &[0, 0, 0], 12), [4, 4, 4]);
        assert_eq!(allot(&[10, 1, 10], &[0, 0, 0], 12), [5, 1, 5]);
        assert_eq!(allot(&[2, 3], &[0, 0], 100), [2, 3]);
        assert_eq!(allot(&[5, 5, 5], &[0, 0, 1], 2), [1, 0, 1]);
    }

    proptest! {
        #[test]
        fn rows_stay_within_demand_and_slots(demand in prop::collection::vec(0usize..50, 1..12), slots in 1usize..64) {
            let rows = allot(&demand, &vec![0; demand.len()], slots);
            prop_assert!(rows.iter().zip(&demand).all(|(rows, demand)| rows <= demand));
            prop_assert!(rows.iter().sum::<usize>() <= slots);
            prop_assert!(demand.iter().all(|&demand| demand == 0) || rows.iter().any(|&rows| rows > 0));
        }

        #[test]
        fn rows_in_use_are_kept_while_demand_falls(demand in prop::collection::vec(1usize..50, 1..12), slots in 1usize..64) {
            let first = allot(&demand, &vec![0; demand.len()], slots);
            let fallen: Vec<usize> = first.iter().zip(&demand).map(|(rows, demand)| demand - rows / 2).collect();
            let active: Vec<usize> = first.iter().map(|rows| rows - rows / 2).collect();
            let second = allot(&fallen, &active, slots);
            prop_assert!(second.iter().zip(&active).all(|(rows, active)| rows >= active));
            prop_assert!(second.iter().sum::<usize>() <= slots);
        }
    }
}
