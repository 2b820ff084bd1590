//! The problem that stands for a step in PopuLoRA's Figure 8.

use crate::archive::Descriptor;

/// Programs with more lines than this are not picked. The paper has "a loose line-count bound so snippets fit the
/// figure".
pub const MOST_LINES: f32 = 30.0;

/// The picks of a step, as positions among its problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Picks {
    /// The problem of median complexity; of an even number, the simpler of the two in the middle.
    pub median: usize,
    /// The least complex one.
    pub simplest: usize,
    /// Problems that could be picked.
    pub candidates: usize,
}

/// Picks problems by the complexity of their programs: AST depth, then cyclomatic complexity, then lines, then
/// variables, each compared only if those before it are equal; then their order. `None` if no program is short enough.
///
/// The paper names these four measures and takes the median, but not of what; it shows the first three of a pick.
pub fn pick(problems: &[Descriptor]) -> Option<Picks> {
    let mut order: Vec<usize> = (0..problems.len()).filter(|place| problems[*place][2] <= MOST_LINES).collect();
    order.sort_by(|one, other| {
        let pairs = problems[*one].iter().zip(&problems[*other]);
        pairs.map(|(one, other)| one.total_cmp(other)).find(|order| order.is_ne()).unwrap_or(one.cmp(other))
    });
    let last = order.len().checked_sub(1)?;
    Some(Picks { median: order[last / 2], simplest: order[0], candidates: order.len() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_median_is_by_depth_then_branches_then_lines() {
        let problems = [[8.0, 3.0, 6.0, 2.0], [5.0, 1.0, 2.0, 1.0], [8.0, 2.0, 9.0, 4.0]];
        let picks = pick(&problems).unwrap();
        assert_eq!((picks.median, picks.simplest, picks.candidates), (2, 1, 3));
        assert_eq!(pick(&problems[..2]).unwrap().median, 1, "the simpler of two");
        assert_eq!(pick(&[[1.0, 1.0, 31.0, 1.0]]), None, "too long for the figure");
        assert_eq!(pick(&[]), None);
    }

    proptest! {
        #[test]
        fn half_are_no_simpler(problems in prop::collection::vec(prop::array::uniform4(0_u8..4), 1..30)) {
            let problems: Vec<Descriptor> = problems.iter().map(|one| one.map(f32::from)).collect();
            let picks = pick(&problems).unwrap();
            let simpler = problems.iter().filter(|one| **one < problems[picks.median]).count();
            let harder = problems.iter().filter(|one| **one > problems[picks.median]).count();
            prop_assert!(2 * simpler <= problems.len() && 2 * harder <= problems.len());
            prop_assert!(problems.iter().all(|one| *one >= problems[picks.simplest]));
        }
    }
}
