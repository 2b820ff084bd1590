//! The columns of exported tables: name, type and SQL expression.

use super::{Kind, Source};

pub(super) const PROBLEMS: [Source; 24] = [
    ("id", Kind::Text, "x.id::text"),
    ("step", Kind::Int, "x.step::int8"),
    ("index", Kind::Int, "x.index::int8"),
    ("type", Kind::Text, "x.type"),
    ("proposer_id", Kind::Text, "x.proposer_id::text"),
    ("proposer", Kind::Text, "p.name"),
    ("version_id", Kind::Text, "x.version_id::text"),
    ("prompt", Kind::Text, "x.prompt"),
    ("proposal", Kind::Text, "x.proposal"),
    ("valid", Kind::Bool, "x.valid"),
    ("status", Kind::Text, "x.status"),
    ("reason", Kind::Text, "x.reason"),
    ("program", Kind::Text, "x.program"),
    ("values", Kind::Text, "x.\"values\"::text"),
    ("ast_depth", Kind::Float, "x.ast_depth::float8"),
    ("cyclomatic", Kind::Float, "x.cyclomatic::float8"),
    ("loc", Kind::Float, "x.loc::float8"),
    ("variables", Kind::Float, "x.variables::float8"),
    ("cell", Kind::Int, "x.cell::int8"),
    ("solve_rate", Kind::Float, "x.solve_rate::float8"),
    ("attempts", Kind::Int, "x.attempts::int8"),
    ("reward", Kind::Float, "x.reward::float8"),
    ("reward_parts", Kind::Text, "x.reward_parts::text"),
    ("created_at", Kind::Time, "x.created_at"),
];

pub(super) const ATTEMPTS: [Source; 19] = [
    ("id", Kind::Text, "x.id::text"),
    ("step", Kind::Int, "x.step::int8"),
    ("problem_id", Kind::Text, "x.problem_id::text"),
    ("member_id", Kind::Text, "x.member_id::text"),
    ("member", Kind::Text, "p.name"),
    ("version_id", Kind::Text, "x.version_id::text"),
    ("role", Kind::Text, "x.role"),
    ("sample", Kind::Int, "x.sample::int8"),
    ("text", Kind::Text, "x.text"),
    ("answer", Kind::Text, "x.answer"),
    ("well_formed", Kind::Bool, "x.well_formed"),
    ("status", Kind::Text, "x.status"),
    ("reason", Kind::Text, "x.reason"),
    ("correct", Kind::Bool, "x.correct"),
    ("reward", Kind::Float, "x.reward::float8"),
    ("reward_parts", Kind::Text, "x.reward_parts::text"),
    ("tokens", Kind::Int, "x.tokens::int8"),
    ("evaluation_id", Kind::Text, "x.evaluation_id::text"),
    ("reading", Kind::Text, "x.reading"),
];

pub(super) const MATCHUPS: [Source; 13] = [
    ("id", Kind::Text, "x.id::text"),
    ("step", Kind::Int, "x.step::int8"),
    ("teacher_id", Kind::Text, "x.teacher_id::text"),
    ("teacher", Kind::Text, "p.name"),
    ("student_id", Kind::Text, "x.student_id::text"),
    ("student", Kind::Text, "s.name"),
    ("proposed", Kind::Int, "x.proposed::int8"),
    ("valid", Kind::Int, "x.valid::int8"),
    ("solve_rate", Kind::Float, "x.solve_rate::float8"),
    ("predicted", Kind::Float, "x.predicted::float8"),
    ("winner", Kind::Text, "x.winner"),
    ("student_score", Kind::Float, "x.student_score::float8"),
    ("teacher_reward", Kind::Float, "x.teacher_reward::float8"),
];

pub(super) const METRICS: [Source; 3] = [
    ("step", Kind::Int, "x.step::int8"),
    ("member_id", Kind::Text, "x.member_id::text"),
    ("member", Kind::Text, "p.name"),
];

pub(super) const MEMBERS: [Source; 13] = [
    ("id", Kind::Text, "x.id::text"),
    ("name", Kind::Text, "x.name"),
    ("population", Kind::Text, "p.name"),
    ("base_model", Kind::Text, "p.base_model ->> 'name'"),
    ("roles", Kind::Text, "array_to_json(x.roles)::text"),
    ("born_step", Kind::Int, "x.born_step::int8"),
    ("died_step", Kind::Int, "x.died_step::int8"),
    ("cause_of_death", Kind::Text, "x.cause_of_death"),
    ("replaces_id", Kind::Text, "b.replaces_id::text"),
    ("versions", Kind::Int, "(SELECT max(ordinal) + 1 FROM adapter_versions WHERE member_id = x.id)::int8"),
    (
        "children",
        Kind::Int,
        "(SELECT count(DISTINCT c.child_id) FROM adapter_versions v JOIN birth_parents c ON c.version_id = v.id
          WHERE v.member_id = x.id)",
    ),
    ("problems", Kind::Int, "(SELECT count(*) FROM problems WHERE proposer_id = x.id)"),
    (
        "learning_rate",
        Kind::Float,
        "(SELECT learning_rate FROM adapter_versions WHERE member_id = x.id ORDER BY ordinal DESC LIMIT 1)",
    ),
];

pub(super) const RATINGS: [Source; 6] = [
    ("step", Kind::Int, "x.step::int8"),
    ("member_id", Kind::Text, "x.member_id::text"),
    ("member", Kind::Text, "p.name"),
    ("role", Kind::Text, "x.role"),
    ("mu", Kind::Float, "x.mu"),
    ("sigma", Kind::Float, "x.sigma"),
];

pub(super) const BIRTHS: [Source; 13] = [
    ("step", Kind::Int, "x.step::int8"),
    ("child_id", Kind::Text, "x.child_id::text"),
    ("child", Kind::Text, "p.name"),
    ("operator", Kind::Text, "x.operator"),
    ("parameters", Kind::Text, "x.parameters::text"),
    ("seed", Kind::Text, "x.seed::text"),
    ("replaces_id", Kind::Text, "x.replaces_id::text"),
    ("replaces", Kind::Text, "r.name"),
    (
        "parents",
        Kind::Text,
        "(SELECT coalesce(json_agg(json_build_object('member_id', v.member_id, 'version_id', v.id, 'ordinal', v.ordinal,
          'displacement', (SELECT d.distance / nullif(g.norm, 0) FROM geometry_pairs d JOIN geometry g ON g.version_id = d.second_id AND g.step = d.step
                  JOIN adapter_versions c ON c.id = d.first_id WHERE d.second_id = v.id AND d.step = x.step AND c.member_id = b.child_id))
          ORDER BY b.position), '[]') FROM birth_parents b JOIN adapter_versions v ON v.id = b.version_id
          WHERE b.child_id = x.child_id)::text",
    ),
    ("ancestor", Kind::Text, "x.ancestor"),
    ("notes", Kind::Text, "array_to_json(x.notes)::text"),
    ("phase", Kind::Text, "x.phase"),
    (
        "learning_rate",
        Kind::Float,
        "(SELECT learning_rate FROM adapter_versions WHERE member_id = x.child_id AND ordinal = 0)",
    ),
];

pub(super) const GEOMETRY: [Source; 6] = [
    ("step", Kind::Int, "x.step::int8"),
    ("member_id", Kind::Text, "x.member_id::text"),
    ("member", Kind::Text, "p.name"),
    ("version_id", Kind::Text, "x.version_id::text"),
    ("norm", Kind::Float, "x.norm"),
    ("effective_rank", Kind::Float, "x.effective_rank"),
];

pub(super) const GEOMETRY_PAIRS: [Source; 7] = [
    ("step", Kind::Int, "x.step::int8"),
    ("first_id", Kind::Text, "x.first_id::text"),
    ("first", Kind::Text, "p.name"),
    ("second_id", Kind::Text, "x.second_id::text"),
    ("second", Kind::Text, "q.name"),
    ("cosine", Kind::Float, "x.cosine"),
    ("distance", Kind::Float, "x.distance"),
];

pub(super) const DEATHS: [Source; 6] = [
    ("step", Kind::Int, "x.died_step::int8"),
    ("member_id", Kind::Text, "x.id::text"),
    ("member", Kind::Text, "x.name"),
    ("cause", Kind::Text, "x.cause_of_death"),
    ("age", Kind::Int, "(x.died_step - x.born_step)::int8"),
    ("replaced_by_id", Kind::Text, "b.child_id"),
];

pub(super) const EVALUATIONS: [Source; 8] = [
    ("id", Kind::Text, "x.id::text"),
    ("type", Kind::Text, "x.spec ->> 'type'"),
    ("spec", Kind::Text, "x.spec::text"),
    ("state", Kind::Text, "e.state"),
    ("error", Kind::Text, "e.error"),
    ("result", Kind::Text, "x.result::text"),
    ("created_at", Kind::Time, "e.created_at"),
    ("finished_at", Kind::Time, "e.finished_at"),
];

pub(super) const BENCHMARKS: [Source; 27] = [
    ("id", Kind::Text, "x.id::text"),
    ("evaluation_id", Kind::Text, "x.evaluation_id::text"),
    ("suite", Kind::Text, "x.suite"),
    ("subject", Kind::Text, "x.name"),
    ("role", Kind::Text, "x.role"),
    ("member_id", Kind::Text, "x.member_id::text"),
    ("version_id", Kind::Text, "x.version_id::text"),
    ("step", Kind::Int, "x.step::int8"),
    ("base_model", Kind::Text, "x.base_model"),
    ("row_set", Kind::Text, "x.row_set"),
    ("decoding", Kind::Text, "x.decoding"),
    ("n", Kind::Int, "x.n::int8"),
    ("rows", Kind::Int, "x.rows::int8"),
    ("samples", Kind::Text, "array_to_json(x.samples)::text"),
    ("correct", Kind::Text, "array_to_json(x.correct)::text"),
    ("pass_at_1", Kind::Float, "x.pass_at_1"),
    ("standard_error", Kind::Float, "x.standard_error"),
    ("reference", Kind::Float, "x.reference"),
    ("difference_low", Kind::Float, "x.difference_low"),
    ("difference_high", Kind::Float, "x.difference_high"),
    ("completion_tokens", Kind::Int, "x.completion_tokens"),
    ("truncated", Kind::Int, "x.truncated"),
    ("without_solution", Kind::Int, "x.without_solution"),
    ("other_rules", Kind::Int, "x.other_rules"),
    ("entropy", Kind::Float, "x.entropy"),
    ("protocol", Kind::Text, "x.protocol::text"),
    ("created_at", Kind::Time, "x.created_at"),
];

pub(super) const ROW_ANSWERS: [Source; 5] = [
    ("row", Kind::Int, "x.row::int8"),
    ("step", Kind::Int, "x.step::int8"),
    ("problem_id", Kind::Text, "x.problem_id::text"),
    ("answers", Kind::Int, "x.answers::int8"),
    ("correct", Kind::Int, "x.correct::int8"),
];

pub(super) const SAMPLERS: [Source; 6] = [
    ("step", Kind::Int, "x.step::int8"),
    ("member", Kind::Text, "s.member"),
    ("asked", Kind::Int, "(s.state ->> 'asked')::int8"),
    (
        "level",
        Kind::Int,
        "CASE WHEN s.state ?| ARRAY['level', 'recent'] THEN coalesce((s.state ->> 'level')::int8, 0) + 1 END",
    ),
    ("recent", Kind::Text, "s.state ->> 'recent'"),
    ("rows", Kind::Text, "s.state ->> 'rows'"),
];

pub(super) const HELD_OUT: [Source; 7] = [
    ("step", Kind::Int, "x.step::int8"),
    ("member_id", Kind::Text, "x.member_id::text"),
    ("member", Kind::Text, "p.name"),
    ("version_id", Kind::Text, "x.version_id::text"),
    ("first_row", Kind::Int, "x.first_row::int8"),
    ("n", Kind::Int, "x.n::int8"),
    ("correct", Kind::Text, "array_to_json(x.correct)::text"),
];

pub(super) const RESULTS: [Source; 17] = [
    ("run_id", Kind::Text, "x.run_id::text"),
    ("suite", Kind::Text, "x.suite"),
    ("of_suite", Kind::Text, "x.of_suite"),
    ("row_set", Kind::Text, "x.row_set"),
    ("decoding", Kind::Text, "x.decoding"),
    ("step", Kind::Int, "x.step::int8"),
    ("base_model", Kind::Text, "x.base_model"),
    ("temperature", Kind::Float, "x.temperature"),
    ("n", Kind::Int, "x.n::int8"),
    ("rows", Kind::Int, "x.rows::int8"),
    ("members", Kind::Int, "x.members::int8"),
    ("pass_at_1", Kind::Float, "x.pass_at_1"),
    ("standard_error", Kind::Float, "x.standard_error"),
    ("reference", Kind::Float, "x.reference"),
    ("reference_step", Kind::Int, "x.reference_step::int8"),
    ("difference_low", Kind::Float, "x.difference_low"),
    ("difference_high", Kind::Float, "x.difference_high"),
];
