//! The seed problems shipped with Lyceum: runs start from them, so each must be valid.

use crate::support::pool;
use lyceum_core::recipe::code::shipped_seeds;
use lyceum_core::verify::{ProblemKind, Proposal, Task};

#[test]
fn every_shipped_seed_is_a_valid_problem() {
    for name in ["azr", "seedling"] {
        for (number, seed) in shipped_seeds(name).expect("seeds").into_iter().enumerate() {
            let proposal = match (seed.input, seed.message) {
                (Some(input), _) => Proposal::Io { problem: ProblemKind::CodeO, program: seed.snippet.clone(), input },
                (None, Some(message)) => {
                    Proposal::Function { program: seed.snippet.clone(), inputs: seed.inputs, message }
                }
                (None, None) => panic!("{name}, line {}: neither `input` nor `message`", number + 1),
            };
            let verdict = pool().judge(Task { id: number.to_string(), check: proposal.into() });
            assert_eq!(verdict.valid, Some(true), "{name}, line {}: {}\n{}", number + 1, verdict.reason, seed.snippet);
        }
    }
}
