//! The metrics by name.

use std::sync::LazyLock;

/// A metric: recorded for the run and, where it says something of one member, for each member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Its name in rows, in the API and on pages.
    pub name: &'static str,
    /// What it counts in; empty for a plain number.
    pub unit: &'static str,
    /// What it means, in one sentence.
    pub summary: &'static str,
}

const fn metric(name: &'static str, unit: &'static str, summary: &'static str) -> Metric {
    Metric { name, unit, summary }
}

/// All metrics, in the order of their values.
pub const METRICS: [Metric; 59] = [
    metric("solve_rate", "share", "Attempts that solved their problem."),
    metric("solve_rate_code_i", "share", "The same, of problems of type code_i."),
    metric("solve_rate_code_o", "share", "The same, of problems of type code_o."),
    metric("solve_rate_code_f", "share", "The same, of problems of type code_f."),
    metric(
        "format_rate",
        "share",
        "Attempts that have the form that was asked for.",
    ),
    metric(
        "difficulty",
        "share",
        "1 − solve rate, over the attempts at a teacher's problems.",
    ),
    metric("difficulty_code_i", "share", "The same, of problems of type code_i."),
    metric("difficulty_code_o", "share", "The same, of problems of type code_o."),
    metric("difficulty_code_f", "share", "The same, of problems of type code_f."),
    metric("validity", "share", "Proposals that are valid problems."),
    metric("validity_code_i", "share", "The same, of type code_i."),
    metric("validity_code_o", "share", "The same, of type code_o."),
    metric("validity_code_f", "share", "The same, of type code_f."),
    metric(
        "ast_depth",
        "levels",
        "Mean nesting depth of the syntax trees of valid programs.",
    ),
    metric("cyclomatic", "paths", "Mean cyclomatic complexity of valid programs."),
    metric("loc", "lines", "Mean lines of code of valid programs."),
    metric("variables", "names", "Mean count of variables of valid programs."),
    metric("coverage", "share", "Cells of the archive that hold a problem."),
    metric("qd_score", "", "Sum of the objectives of the archive's elites."),
    metric(
        "near_duplicate_rate",
        "share",
        "Valid proposals that differ from an earlier one in names and constants alone.",
    ),
    metric("unsolved_share", "share", "Valid problems that no sample solved."),
    metric(
        "learnable_share",
        "share",
        "Valid problems that some samples solved and others did not.",
    ),
    metric("mastered_share", "share", "Valid problems that every sample solved."),
    metric("teacher_reward", "", "Mean reward of proposals."),
    metric("student_reward", "", "Mean reward of attempts."),
    metric(
        "no_signal_share",
        "share",
        "Groups of attempts at one problem that all got the same reward.",
    ),
    metric("teacher_wins", "share", "Matchups that the teacher won."),
    metric("teacher_mu", "", "Mean of the rating as a teacher."),
    metric("teacher_sigma", "", "Standard deviation of the rating as a teacher."),
    metric("student_mu", "", "Mean of the rating as a student."),
    metric("student_sigma", "", "Standard deviation of the rating as a student."),
    metric(
        "entropy",
        "nats",
        "Mean entropy of the policy over what it learned from.",
    ),
    metric("policy_loss", "", "Policy loss of the update."),
    metric("grad_norm", "", "Norm of the gradient before it was clipped."),
    metric("clip_share", "share", "Tokens whose ratio was clipped."),
    metric(
        "ratio",
        "",
        "Mean ratio of the learning policy to the one that sampled.",
    ),
    metric(
        "sampler_mismatch",
        "nats",
        "Mean difference of the sampler's and the trainer's log-probabilities.",
    ),
    metric("kl", "nats", "KL divergence to the reference, where one is asked for."),
    metric("response_length", "tokens", "Mean length of everything sampled."),
    metric("proposal_length", "tokens", "Mean length of proposals."),
    metric("answer_length", "tokens", "Mean length of attempts."),
    metric("proposals", "", "Proposals."),
    metric("valid_problems", "", "Valid problems."),
    metric("attempts", "", "Attempts."),
    metric("updates", "", "Adapters that were updated."),
    metric("births", "", "Members that were born."),
    metric("pool_size", "", "Problems in the pool after the step."),
    metric("archive_insertions", "", "Problems that entered the archive."),
    metric(
        "prompt_tokens",
        "tokens",
        "Tokens of prompts, each counted once however many samples.",
    ),
    metric("completion_tokens", "tokens", "Tokens generated."),
    metric("learned_tokens", "tokens", "Tokens learned from."),
    metric("propose_seconds", "s", "Time of workers on proposals."),
    metric(
        "check_seconds",
        "s",
        "Time of the verifier on proposals, over its slots.",
    ),
    metric("solve_seconds", "s", "Time of workers on attempts."),
    metric(
        "grade_seconds",
        "s",
        "Time of the verifier on attempts, over its slots.",
    ),
    metric("update_seconds", "s", "Time of workers on updates."),
    metric("evolve_seconds", "s", "Time of workers on births."),
    metric(
        "sampled_entropy",
        "nats",
        "Mean entropy of the model along everything sampled.",
    ),
    metric(
        "halvings",
        "",
        "Times that memory ran out and a batch was halved; not 0 marks the run not bit-reproducible.",
    ),
];

/// The names of [`METRICS`], in order.
pub fn metric_names() -> &'static [&'static str] {
    static NAMES: LazyLock<Vec<&'static str>> = LazyLock::new(|| METRICS.iter().map(|metric| metric.name).collect());
    &NAMES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogue_in_the_docs_names_every_metric() {
        let docs = include_str!("../../../../../../docs/METRICS.md");
        let missing: Vec<_> = METRICS
            .iter()
            .filter(|metric| !docs.contains(&format!("`{}`", metric.name)))
            .collect();
        assert!(missing.is_empty(), "docs/METRICS.md lacks {missing:?}");
    }

    #[test]
    fn names_are_distinct() {
        let mut names = metric_names().to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), METRICS.len());
    }
}
