//! The metrics by name.

use super::{charts::*, scope::Scoped};
use crate::{
    advantage::has_signal,
    recipe::{
        Highlight::{Comparison, Learnability, StepLine},
        Role, Side,
        metric::{
            Measure, TOKENS, UPDATES, check_seconds, evolve_seconds, grade_seconds, halvings, highlighted,
            learned_tokens, mean, measure, of_side, policy, prompt_tokens, propose_seconds, share, solve_seconds,
            update_seconds, updates,
        },
    },
    verify::ProblemKind::{CodeF, CodeI, CodeO},
};

/// All metrics, in the order of their values. Stored rows depend on the order: add new ones at the end.
pub(super) fn measures<'t>() -> Vec<Measure<Scoped<'t>>> {
    let mut measures = of_play();
    measures.extend(policy());
    measures.extend(of_costs());
    measures
}

/// Of problems, attempts and ratings.
fn of_play<'t>() -> Vec<Measure<Scoped<'t>>> {
    vec![
        highlighted(
            &[StepLine, Comparison],
            measure(
                "solve_rate",
                "share",
                "Attempts that solved their problem.",
                &[&SOLVE_RATE],
                |of| of.solve_rate(None),
            ),
        ),
        measure(
            "solve_rate_code_i",
            "share",
            "The same, of problems of type code_i.",
            &[&SOLVE_RATE_BY_TYPE],
            |of| of.solve_rate(Some(CodeI)),
        ),
        measure(
            "solve_rate_code_o",
            "share",
            "The same, of problems of type code_o.",
            &[&SOLVE_RATE_BY_TYPE],
            |of| of.solve_rate(Some(CodeO)),
        ),
        measure(
            "solve_rate_code_f",
            "share",
            "The same, of problems of type code_f.",
            &[&SOLVE_RATE_BY_TYPE],
            |of| of.solve_rate(Some(CodeF)),
        ),
        measure(
            "format_rate",
            "share",
            "Attempts in the required form.",
            &[&FORMAT_RATE],
            |of| mean(of.attempts.iter().map(|attempt| share(attempt.well_formed))),
        ),
        highlighted(
            &[Comparison],
            measure(
                "difficulty",
                "share",
                "1 − solve rate, over the attempts at a teacher's problems.",
                &[&DIFFICULTY],
                |of| of.difficulty(None),
            ),
        ),
        measure(
            "difficulty_code_i",
            "share",
            "The same, of problems of type code_i.",
            &[&DIFFICULTY_BY_TYPE],
            |of| of.difficulty(Some(CodeI)),
        ),
        measure(
            "difficulty_code_o",
            "share",
            "The same, of problems of type code_o.",
            &[&DIFFICULTY_BY_TYPE],
            |of| of.difficulty(Some(CodeO)),
        ),
        measure(
            "difficulty_code_f",
            "share",
            "The same, of problems of type code_f.",
            &[&DIFFICULTY_BY_TYPE],
            |of| of.difficulty(Some(CodeF)),
        ),
        highlighted(
            &[StepLine, Comparison],
            measure(
                "validity",
                "share",
                "Proposals that are valid problems.",
                &[&VALIDITY],
                |of| of.validity(None),
            ),
        ),
        measure(
            "validity_code_i",
            "share",
            "The same, of type code_i.",
            &[&VALIDITY_BY_TYPE],
            |of| of.validity(Some(CodeI)),
        ),
        measure(
            "validity_code_o",
            "share",
            "The same, of type code_o.",
            &[&VALIDITY_BY_TYPE],
            |of| of.validity(Some(CodeO)),
        ),
        measure(
            "validity_code_f",
            "share",
            "The same, of type code_f.",
            &[&VALIDITY_BY_TYPE],
            |of| of.validity(Some(CodeF)),
        ),
        measure(
            "ast_depth",
            "levels",
            "Mean nesting depth of the syntax trees of valid programs proposed.",
            &[&AST_DEPTH],
            |of| of.complexity(0),
        ),
        highlighted(
            &[Comparison],
            measure(
                "cyclomatic",
                "paths",
                "Mean cyclomatic complexity of valid programs proposed.",
                &[&CYCLOMATIC],
                |of| of.complexity(1),
            ),
        ),
        measure(
            "loc",
            "lines",
            "Mean lines of code of valid programs proposed.",
            &[&LOC],
            |of| of.complexity(2),
        ),
        measure(
            "variables",
            "names",
            "Mean count of variables of valid programs proposed.",
            &[&VARIABLES],
            |of| of.complexity(3),
        ),
        highlighted(
            &[StepLine, Comparison],
            measure(
                "coverage",
                "share",
                "Cells of the archive that have a problem.",
                &[&COVERAGE],
                |of| of.run_only(|tally| tally.coverage),
            ),
        ),
        measure(
            "qd_score",
            "",
            "Sum of the objectives of the archive's elites.",
            &[&QD_SCORE],
            |of| of.run_only(|tally| tally.qd_score),
        ),
        highlighted(
            &[Learnability],
            measure(
                "near_duplicate_rate",
                "share",
                "Valid programs proposed that differ from an earlier one only in names and constants.",
                &[&NEAR_DUPLICATES],
                |of| of.near_duplicates(),
            ),
        ),
        measure(
            "unsolved_share",
            "share",
            "Valid problems that no sample solved.",
            &[&LEARNABLE_SHARE],
            |of| of.band(|solved| solved.solved == 0 && solved.solved < solved.attempts),
        ),
        measure(
            "learnable_share",
            "share",
            "Valid problems that some samples solved and others did not.",
            &[&LEARNABLE_SHARE],
            |of| of.band(|solved| (1..solved.attempts).contains(&solved.solved)),
        ),
        measure(
            "mastered_share",
            "share",
            "Valid problems that every sample solved.",
            &[&LEARNABLE_SHARE],
            |of| of.band(|solved| solved.solved > 0 && solved.solved == solved.attempts),
        ),
        of_side(
            Side::Proposes,
            measure(
                "teacher_reward",
                "",
                "Mean reward of proposals.",
                &[&TEACHER_REWARD],
                |of| mean(of.proposals.iter().map(|(_, reward, _)| f64::from(*reward))),
            ),
        ),
        of_side(
            Side::Solves,
            measure(
                "student_reward",
                "",
                "Mean reward of attempts.",
                &[&STUDENT_REWARD],
                |of| mean(of.attempts.iter().map(|attempt| f64::from(attempt.reward))),
            ),
        ),
        highlighted(
            &[Learnability],
            measure(
                "no_signal_share",
                "share",
                "Groups of attempts at one problem that all got the same reward.",
                &[&NO_SIGNAL],
                |of| mean(of.groups().map(|rewards| share(!has_signal(&rewards)))),
            ),
        ),
        measure(
            "teacher_wins",
            "share",
            "Matchups that the teacher won.",
            &[&TEACHER_WINS],
            |of| of.teacher_wins(),
        ),
        highlighted(
            &[StepLine],
            of_side(
                Side::Proposes,
                measure(
                    "teacher_mu",
                    "",
                    "Mean of the rating as a teacher.",
                    &[&RATINGS_BY_ROLE, &TEACHER_RATING],
                    |of| of.rating(Role::Teacher, |rating| rating.mu),
                ),
            ),
        ),
        of_side(
            Side::Proposes,
            measure(
                "teacher_sigma",
                "",
                "Standard deviation of the rating as a teacher.",
                &[&UNCERTAINTY],
                |of| of.rating(Role::Teacher, |rating| rating.sigma),
            ),
        ),
        highlighted(
            &[StepLine],
            of_side(
                Side::Solves,
                measure(
                    "student_mu",
                    "",
                    "Mean of the rating as a student.",
                    &[&RATINGS_BY_ROLE, &STUDENT_RATING],
                    |of| of.rating(Role::Student, |rating| rating.mu),
                ),
            ),
        ),
        of_side(
            Side::Solves,
            measure(
                "student_sigma",
                "",
                "Standard deviation of the rating as a student.",
                &[&UNCERTAINTY],
                |of| of.rating(Role::Student, |rating| rating.sigma),
            ),
        ),
    ]
}

/// Of lengths, counts and costs, and those added later.
fn of_costs<'t>() -> Vec<Measure<Scoped<'t>>> {
    vec![
        highlighted(
            &[Learnability],
            measure(
                "response_length",
                "tokens",
                "Mean length of all samples.",
                &[&LENGTHS, &RESPONSE_LENGTH],
                |of| mean(of.proposal_lengths().chain(of.answer_lengths())),
            ),
        ),
        highlighted(
            &[Learnability],
            measure(
                "proposal_length",
                "tokens",
                "Mean length of proposals.",
                &[&LENGTHS],
                |of| mean(of.proposal_lengths()),
            ),
        ),
        highlighted(
            &[Learnability],
            measure(
                "answer_length",
                "tokens",
                "Mean length of attempts.",
                &[&LENGTHS],
                |of| mean(of.answer_lengths()),
            ),
        ),
        measure("proposals", "", "Proposals.", &[&COUNTS], |of| {
            of.proposals.len() as f64
        }),
        measure("valid_problems", "", "Valid problems.", &[&COUNTS], |of| {
            of.valid().count() as f64
        }),
        measure("attempts", "", "Attempts.", &[&COUNTS], |of| of.attempts.len() as f64),
        updates(),
        highlighted(
            &[StepLine],
            measure("births", "", "Members born.", &[&UPDATES], |of| {
                of.run_only(|tally| tally.births as f64)
            }),
        ),
        measure(
            "pool_size",
            "",
            "Problems in the pool after the step.",
            &[&POOL_SIZE],
            |of| of.run_only(|tally| tally.pool_size as f64),
        ),
        measure(
            "archive_insertions",
            "",
            "Problems that entered the archive.",
            &[&ARCHIVE_INSERTIONS],
            |of| of.run_only(|tally| tally.archive_insertions as f64),
        ),
        prompt_tokens(),
        measure("completion_tokens", "tokens", "Tokens generated.", &[&TOKENS], |of| {
            of.completion_tokens()
        }),
        learned_tokens(),
        propose_seconds(),
        check_seconds(),
        solve_seconds(),
        grade_seconds(),
        update_seconds(),
        evolve_seconds(),
        measure(
            "sampled_entropy",
            "nats",
            "Mean entropy of the model over all samples.",
            &[&SAMPLED_ENTROPY],
            |of| mean(of.entropies()),
        ),
        halvings(),
        measure(
            "cells_per_problem",
            "cells",
            "Cells of the archive with a problem, per valid problem proposed so far.",
            &[&CELLS_PER_PROBLEM],
            |of| of.run_only(|tally| tally.cells_per_problem),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct() {
        let mut names: Vec<_> = measures().iter().map(|measure| measure.metric.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), measures().len());
    }
}
