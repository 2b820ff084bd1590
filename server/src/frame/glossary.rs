//! What the pages' words mean, shown where they stand (`parts::term`).

use lyceum_core::evolution::{INIT, operator};

/// Words of the pages. `docs/METRICS.md` explains metrics, and the operators' meanings are in their catalogue.
const WORDS: [(&str, &str); 15] = [
    ("Arm", "A hash of the config without its seed: runs of one arm differ by their seeds alone."),
    (
        "Cells filled",
        "Cells of the archive with a problem. A cell stands for programs of similar depth, branching, length and number of \
         variables.",
    ),
    ("Idle share", "The share of the last steps' time during which no worker was working on the run."),
    ("Attempts", "Solvers' answers to problems. A solver answers each problem several times."),
    ("Learning rate", "The member's own: a child has its parents' (the geometric mean of two) times a random factor."),
    (
        "Matchups",
        "A matchup pairs a proposer with a solver for a step. The solver wins if it solves more than their ratings predict.",
    ),
    ("Lower bound", "mu minus a few sigma: a conservative estimate of a member's strength."),
    ("mu", "TrueSkill's estimate of a member's strength; 25 at first."),
    ("sigma", "TrueSkill's uncertainty about mu; 25/3 at first."),
    ("code_i", "Find an input for which a given program has a given output."),
    ("code_o", "Find the output of a given program for a given input."),
    ("code_f", "Write a program from a description and examples of inputs with their outputs."),
    ("math", "A question with a number or a formula for an answer."),
    ("code", "Write a program that passes tests."),
    ("Valid problems", "Proposals that parse, run, give the same result every time and can be shown to a solver."),
];

/// The meaning of a word, of a type of problem, or of an operator.
pub(crate) fn meaning(word: impl AsRef<str>) -> Option<String> {
    let word = word.as_ref();
    if let Some((_, meaning)) = WORDS.iter().find(|(known, _)| *known == word) {
        return Some((*meaning).to_owned());
    }
    if word == INIT {
        return Some("A fresh adapter: random A, and B of zeros, so that it equals the base.".to_owned());
    }
    let operator = operator(word).ok()?;
    Some(format!("{}: {}", operator.title, operator.description))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lyceum_core::evolution::CATALOGUE;
    use lyceum_core::verify::ProblemKind;

    #[test]
    fn every_operator_and_every_type_of_problem_has_a_meaning() {
        let types = ProblemKind::ALL.map(|kind| kind.name());
        let operators = CATALOGUE.iter().map(|operator| operator.name);
        for word in types.into_iter().chain(operators).chain([INIT]) {
            assert!(meaning(word).is_some_and(|meaning| meaning.len() > 20), "{word}");
        }
        assert_eq!(meaning("nonsense"), None);
    }
}
