//! The tables with a run's results.

/// How a table's rows are selected and identified.
pub(crate) struct Table {
    /// Its name in SQL.
    pub(crate) name: &'static str,
    /// Name for a row in references from other rows.
    pub(crate) row: &'static str,
    /// The condition on `t` under which a row is the run's, which is `$1`.
    pub(crate) condition: &'static str,
    /// The columns that identify a row within its run.
    pub(crate) key: &'static [&'static str],
    /// Columns that depend on the order of events, in addition to those excluded in every table ([`is_left_out`]).
    pub(crate) without: &'static [&'static str],
}

const fn of_run(name: &'static str, row: &'static str, key: &'static [&'static str]) -> Table {
    Table { name, row, condition: "t.run_id = $1", key, without: &[] }
}

/// All compared tables. Rows are named in this order, so a table comes after those that its key refers to.
pub(crate) const TABLES: [Table; 27] = [
    Table { condition: "t.id = $1", without: &["last_event", "trace_id"], ..of_run("executions", "run", &[]) },
    Table { condition: "t.id = $1", ..of_run("runs", "run", &[]) },
    Table { condition: "t.execution_id = $1", ..of_run("run_states", "state", &["step"]) },
    Table {
        condition: "t.execution_id = $1",
        // The number of plans of a step depends on which items finished together.
        without: &["planned"],
        ..of_run("steps", "step", &["step"])
    },
    Table {
        condition: "t.execution_id = $1",
        // Worker, order of completion, and number of tries.
        without: &["worker_id", "number", "attempts", "fence", "errors", "progress", "progress_note"],
        ..of_run("work", "work", &["step", "phase", "round", "chunk"])
    },
    of_run("populations", "population", &["name"]),
    of_run("members", "member", &["name"]),
    of_run("adapter_versions", "version", &["member_id", "ordinal"]),
    of_run("births", "birth", &["child_id"]),
    Table {
        condition: "t.child_id IN (SELECT child_id FROM births WHERE run_id = $1)",
        ..of_run("birth_parents", "parent", &["child_id", "position"])
    },
    of_run("geometry", "geometry", &["version_id", "step"]),
    of_run("geometry_pairs", "pair", &["first_id", "second_id", "step"]),
    Table {
        // Generated from compared columns.
        without: &["search"],
        ..of_run("problems", "problem", &["step", "index"])
    },
    Table {
        condition: "t.problem_id IN (SELECT id FROM problems WHERE run_id = $1)",
        ..of_run("problem_parents", "parent", &["problem_id", "parent_id", "relation"])
    },
    of_run("attempts", "attempt", &["problem_id", "step", "role", "member_id", "sample"]),
    of_run("matchups", "matchup", &["step", "teacher_id", "student_id"]),
    of_run("ratings", "rating", &["step", "member_id", "role"]),
    of_run("standings", "standing", &["member_id", "role"]),
    of_run("cross_play", "cell", &["step", "teacher_id", "student_id", "type"]),
    of_run("solve_rates", "solve rate", &["step", "solve_rate"]),
    of_run("archive_insertions", "insertion", &["step", "cell", "problem_id"]),
    of_run("row_answers", "answers", &["row", "step"]),
    of_run("row_difficulty", "difficulty", &["step"]),
    of_run("held_out_results", "held-out result", &["step", "member_id"]),
    of_run("metrics", "metrics", &["step", "member_id"]),
    Table {
        // Postgres sums a mean in any order, so its last digits differ between two runs of the same program.
        without: &["mean"],
        ..of_run("metric_levels", "metrics", &["level", "bucket", "member_id"])
    },
    Table { condition: "t.execution_id = $1", ..of_run("artifact_holds", "hold", &["reason", "holder", "digest"]) },
];

/// Tables with rows of runs that are not compared: what repeats other tables or is derived from them, what golden runs do not have
/// (evaluations, sweeps, refusals), alerts, which tell when something was noticed, and plannings, which are empty between two plans.
pub(crate) const NOT_COMPARED: [&str; 16] = [
    "alert_rule_states",
    "alert_rules",
    "alerts",
    "benchmark_results",
    "evaluated_cross_play",
    "evaluations",
    "events",
    "goalpost_counts",
    "latest_results",
    "plannings",
    "recent_metrics",
    "refusals",
    "run_costs",
    "run_outcomes",
    "run_results",
    "sweep_runs",
];

/// Whether a column holds a time or an order of arrival.
pub(crate) fn is_left_out(column: &str) -> bool {
    column == "seq" || column == "lease_until" || column.ends_with("_at") || is_duration(column)
}

/// Whether a column, a field of JSON or a metric is a duration.
pub(crate) fn is_duration(name: &str) -> bool {
    name == "millis" || name == "seconds" || name.ends_with("_seconds")
}
