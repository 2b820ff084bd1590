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

/// In what the measurements of two results differ, apart from who was measured. Nobody knows any more whether results whose
/// rows were deleted are about the same ones; they do not differ in that.
pub(super) fn differences(one: &BenchmarkResult, other: &BenchmarkResult) -> Vec<&'static str> {
    let asked = ASKED
        .into_iter()
        .map(|field| (field, one.protocol[field] == other.protocol[field]));
    let also = [
        ("suite", one.suite_name() == other.suite_name()),
        ("imported rows", one.dataset_id == other.dataset_id),
        ("number of rows", one.rows == other.rows),
        ("n", one.n == other.n),
    ];
    let all = asked.chain(also);
    all.filter_map(|(field, same)| (!same).then_some(field)).collect()
}

/// Whether both are known to be answers to the same rows, asked in the same way: only these can be compared row by row.
pub(crate) fn are_alike(one: &BenchmarkResult, other: &BenchmarkResult) -> bool {
    one.dataset_id.is_some() && differences(one, other).is_empty()
}
