//! Correct and wrong solutions are graded as such, on every row of every available benchmark.

use anyhow::Result;
use lyceum_core::benchmark::Question;
use serde_json::json;

use crate::grade::command::{FILES, data, drawn, grade, others, rows, solution};

/// Tasks of MBPP+ whose tests take most of the time; the verifier's own tests judge them.
const SLOW: [&str; 8] =
    ["Mbpp/123", "Mbpp/255", "Mbpp/271", "Mbpp/392", "Mbpp/592", "Mbpp/599", "Mbpp/603", "Mbpp/630"];

#[test]
fn canonical_programs_are_right_and_empty_ones_wrong() -> Result<()> {
    let Some(data) = data() else { return Ok(()) };
    for (name, count) in [("humaneval", 164), ("mbpp_plus", 378)] {
        let rows = rows(name, &data)?;
        assert_eq!((rows.rows.len(), rows.notices.len()), (count, 0), "{name}");
        let canonical = rows
            .rows
            .iter()
            .filter(|row| !SLOW.contains(&row.task_id.as_str()))
            .filter_map(|row| Some(solution(&row.task_id, row.canonical.as_deref()?)));
        let canonical: Vec<_> = canonical.collect();
        assert_eq!(canonical.len(), if name == "mbpp_plus" { count - SLOW.len() } else { count });
        let canonical = drawn(canonical);
        let right = grade(name, &data, &canonical)?;
        assert_eq!(others(&right, true), [""; 0], "{name}");
        let judged = canonical.len();
        let share = judged as f64 / count as f64;
        assert!(right["pass@1"].as_f64().is_some_and(|pass| (pass - share).abs() < 1e-12), "{name}");
        assert_eq!((&right["correct"], &right["attempted"]), (&json!(judged), &json!(judged)));
        assert_eq!(right["verdicts"].as_array().map(Vec::len), Some(judged));
        let empty = rows.rows.iter().map(|row| solution(&row.task_id, ""));
        let wrong = grade(name, &data, &drawn(empty.collect()))?;
        assert_eq!(others(&wrong, false), [""; 0], "{name}");
        assert_eq!((&wrong["pass@1"], &wrong["correct"]), (&json!(0.0), &json!(0)));
        if name == "mbpp_plus" {
            assert_eq!((&right["base_pass@1"], &wrong["base_pass@1"]), (&right["pass@1"], &json!(0.0)));
        }
    }
    Ok(())
}

#[test]
fn every_gold_answer_is_right_and_another_one_wrong() -> Result<()> {
    let Some(data) = data() else { return Ok(()) };
    for (name, _, count) in &FILES[2..] {
        let rows = rows(name, &data)?;
        assert_eq!((rows.rows.len(), rows.notices.len()), (*count, 0), "{name}");
        let golds: Vec<(&str, &str)> = rows
            .rows
            .iter()
            .filter_map(|row| match &row.oracle {
                Question::Math { gold } => Some((row.task_id.as_str(), gold.as_str())),
                _ => None,
            })
            .collect();
        let golds = drawn(golds);
        let boxed = |answer: &str| format!("Some words, 17 of them, and then $\\boxed{{{answer}}}$.");
        let right: Vec<_> =
            golds.iter().map(|(task_id, gold)| json!({"task_id": task_id, "completion": boxed(gold)})).collect();
        let result = grade(name, &data, &right)?;
        assert_eq!(others(&result, true), [""; 0], "{name}");
        assert_eq!(result["correct"], golds.len(), "{name}");
        // This number is not a gold answer in any of these sets.
        let wrong: Vec<_> = golds.iter().map(|(task_id, _)| solution(task_id, "-987654321")).collect();
        let result = grade(name, &data, &wrong)?;
        assert_eq!(others(&result, false), [""; 0], "{name}");
        assert_eq!(result["pass@1"], 0.0, "{name}");
    }
    Ok(())
}

#[test]
fn several_samples_a_task_make_a_curve_and_a_task_without_any_is_unsolved() -> Result<()> {
    let Some(data) = data() else { return Ok(()) };
    let rows = rows("humaneval", &data)?;
    let first = &rows.rows[0];
    let canonical = first.canonical.as_deref().unwrap_or_default();
    let samples = [canonical, "", canonical, ""].map(|program| solution(&first.task_id, program));
    let result = grade("humaneval", &data, &samples)?;
    let close = |value: &serde_json::Value, wanted: f64| {
        assert!(value.as_f64().is_some_and(|value| (value - wanted).abs() < 1e-12), "{value} {wanted}");
    };
    close(&result["pass@1"], 0.5 / 164.0);
    close(&result["pass@k"]["2"], (1.0 - 1.0 / 6.0) / 164.0);
    close(&result["pass@k"]["4"], 1.0 / 164.0);
    assert!(result["repeats"].is_null(), "rows without samples make no whole repeat");
    assert_eq!((&result["attempted"], &result["tasks"]), (&json!(1), &json!(164)));
    let samples: Vec<_> =
        result["verdicts"].as_array().into_iter().flatten().map(|verdict| &verdict["sample"]).collect();
    assert_eq!(samples, [0, 1, 2, 3]);
    Ok(())
}
