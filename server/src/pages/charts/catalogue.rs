//! The charts that there are, by subject. `docs/METRICS.md` says how each metric is read.

type Row = (&'static str, &'static [&'static str], bool, &'static str);

/// Subjects, whose members they are about, and their charts: title, metrics, whether these are parts of one thing, how it is read.
pub(super) const GROUPS: [(&str, Option<&str>, &[Row]); 7] = [
    (
        "Solving",
        Some("solving"),
        &[
            (
                "Solve rate",
                &["solve_rate"],
                false,
                "Share of attempts that are correct.",
            ),
            (
                "Solve rate by type",
                &["solve_rate_code_i", "solve_rate_code_o", "solve_rate_code_f"],
                true,
                "The same for each type of task.",
            ),
            (
                "Learnable share",
                &["unsolved_share", "learnable_share", "mastered_share"],
                true,
                "Valid problems solved by none, by some and by all samples. Only those solved by some teach anything.",
            ),
            (
                "No signal",
                &["no_signal_share"],
                false,
                "Groups whose attempts all got the same reward.",
            ),
            (
                "Format rate",
                &["format_rate"],
                false,
                "Share of attempts in the form that was asked for.",
            ),
            ("Student reward", &["student_reward"], false, "Mean reward of attempts."),
        ],
    ),
    (
        "Proposing",
        Some("proposing"),
        &[
            (
                "Validity",
                &["validity"],
                false,
                "Share of proposals that parse, run and are deterministic.",
            ),
            (
                "Validity by type",
                &["validity_code_i", "validity_code_o", "validity_code_f"],
                true,
                "The same for each type of task.",
            ),
            (
                "Difficulty",
                &["difficulty"],
                false,
                "1 − solve rate over the attempts at a teacher's problems.",
            ),
            (
                "Difficulty by type",
                &["difficulty_code_i", "difficulty_code_o", "difficulty_code_f"],
                true,
                "The same for each type of task.",
            ),
            (
                "Teacher reward",
                &["teacher_reward"],
                false,
                "Mean reward of proposals, invalid ones included.",
            ),
            (
                "Near-duplicates",
                &["near_duplicate_rate"],
                false,
                "Valid proposals that equal an earlier one in all but names, constants and layout.",
            ),
        ],
    ),
    (
        "Complexity",
        Some("proposing"),
        &[
            (
                "AST depth",
                &["ast_depth"],
                false,
                "Mean depth of the syntax tree of valid programs.",
            ),
            (
                "Cyclomatic complexity",
                &["cyclomatic"],
                false,
                "Mean number of independent paths.",
            ),
            ("Lines of code", &["loc"], false, "Mean over valid programs."),
            ("Variables", &["variables"], false, "Mean over valid programs."),
        ],
    ),
    (
        "Coverage",
        None,
        &[
            (
                "Coverage",
                &["coverage"],
                false,
                "Share of the archive's cells with a problem.",
            ),
            (
                "QD score",
                &["qd_score"],
                false,
                "Sum over cells of the elite's objective.",
            ),
            (
                "Archive insertions",
                &["archive_insertions"],
                false,
                "Problems that took a cell in this step.",
            ),
            (
                "Pool size",
                &["pool_size"],
                false,
                "Problems that references are drawn from.",
            ),
        ],
    ),
    (
        "Ratings",
        None,
        &[
            (
                "Ratings by role",
                &["teacher_mu", "student_mu"],
                true,
                "Means of TrueSkill's mu over the members of a role.",
            ),
            (
                "Teacher rating",
                &["teacher_mu"],
                false,
                "TrueSkill's mu of each teacher.",
            ),
            (
                "Student rating",
                &["student_mu"],
                false,
                "TrueSkill's mu of each student.",
            ),
            (
                "Uncertainty by role",
                &["teacher_sigma", "student_sigma"],
                true,
                "Means of TrueSkill's sigma.",
            ),
            (
                "Teacher wins",
                &["teacher_wins"],
                false,
                "Share of matchups that the teacher won. Swinging around a half is the arms race.",
            ),
        ],
    ),
    (
        "Learning",
        None,
        &[
            (
                "Entropy",
                &["entropy"],
                false,
                "Of the policy over the tokens it learned from, in nats.",
            ),
            (
                "Sampled entropy",
                &["sampled_entropy"],
                false,
                "The same along everything sampled.",
            ),
            (
                "Policy loss",
                &["policy_loss"],
                false,
                "Near 0 on-policy, whatever is learned.",
            ),
            ("Gradient norm", &["grad_norm"], false, "Before clipping."),
            ("Clip share", &["clip_share"], false, "Tokens whose ratio was clipped."),
            (
                "Ratio",
                &["ratio"],
                false,
                "Of the trainer's to the sampler's probabilities.",
            ),
            (
                "Sampler mismatch",
                &["sampler_mismatch"],
                false,
                "Difference of their log-probabilities, in nats.",
            ),
            ("KL", &["kl"], false, "To the reference; 0 where none is asked for."),
            (
                "Lengths",
                &["response_length", "proposal_length", "answer_length"],
                true,
                "Mean tokens of all responses, of proposals, of attempts.",
            ),
            (
                "Response length",
                &["response_length"],
                false,
                "Mean tokens of each member's responses.",
            ),
            (
                "Updates and births",
                &["updates", "births"],
                true,
                "Adapters that learned, and members that were born.",
            ),
        ],
    ),
    (
        "Cost",
        None,
        &[
            (
                "Seconds by phase",
                &[
                    "propose_seconds",
                    "check_seconds",
                    "solve_seconds",
                    "grade_seconds",
                    "update_seconds",
                    "evolve_seconds",
                ],
                true,
                "Workers' time by phase, summed over items.",
            ),
            (
                "Counts",
                &["proposals", "valid_problems", "attempts"],
                true,
                "Of this step.",
            ),
            (
                "Tokens",
                &["prompt_tokens", "completion_tokens", "learned_tokens"],
                true,
                "Of this step.",
            ),
            (
                "Halvings",
                &["halvings"],
                true,
                "Times that memory ran out and a batch was halved.",
            ),
        ],
    ),
];
