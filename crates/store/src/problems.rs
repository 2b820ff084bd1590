//! Problems.

mod complexity;
mod learnability;
mod page;
mod row;
mod scored;
mod search;
mod stones;
mod write;

pub use complexity::complexities;
pub use learnability::{Candidate, SolveBand, candidates, solve_bands};
pub use page::{FoundProblem, ProblemFilter, ProblemSort, page, page_of_all_runs};
pub use row::{Ancestor, Problem, ProblemParent, by_ids, chain, find, parents, place, values};
pub use scored::{ScoredProblem, scored};
pub use stones::{StoneCandidate, StoneCounts, stone_candidates, stone_counts};
pub(crate) use write::{write, write_outcomes};
