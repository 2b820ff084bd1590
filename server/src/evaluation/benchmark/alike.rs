//! Whether results were measured in the same way.

use lyceum_store::benchmarks::BenchmarkResult;

/// Fields of a protocol that influence scores.
const ASKED: [&str; 6] = [
    "prompts",
    "prompts_sha256",
    "chat_template_sha256",
    "temperature",
    "top_p",
    "max_tokens",
];

/// In what the measurements of two results differ, apart from who was measured.
pub(super) fn differences(one: &BenchmarkResult, other: &BenchmarkResult) -> Vec<&'static str> {
    let asked = ASKED
        .into_iter()
        .map(|field| (field, one.protocol[field] == other.protocol[field]));
    let also = [
        ("suite", one.suite_name() == other.suite_name()),
        ("rows", one.rows != other.rows || one.row_set == other.row_set),
        ("number of rows", one.rows == other.rows),
        ("n", one.n == other.n),
    ];
    let all = asked.chain(also);
    all.filter_map(|(field, same)| (!same).then_some(field)).collect()
}
