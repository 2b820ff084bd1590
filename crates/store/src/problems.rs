//! Problems.

mod learnability;
mod page;
mod row;
mod stones;

pub use learnability::{Candidate, ScoredProblem, SolveBand, candidates, complexities, scored, solve_bands};
pub use page::{FoundProblem, ProblemFilter, ProblemSort, page, page_of_all_runs};
pub use row::{Ancestor, Problem, ProblemParent, by_ids, chain, find, parents, place, values};
pub(crate) use row::{write, write_outcomes};
pub use stones::{StoneCandidate, StoneCounts, stone_candidates, stone_counts};
