//! Mathematical answers: golds equal themselves in their usual spellings, pairs agree with Math-Verify, nothing hangs.

mod support;

use std::fs;
use std::time::Duration;

use lyceum_verifier::{Limits, MathPair, Status, Task, Verifier, VerifierConfig};
use support::{data, pool};

fn task(gold: &str, answer: &str) -> Task {
    let id = format!("{gold} | {answer}");
    Task {
        id,
        check: MathPair {
            gold: gold.to_owned(),
            answer: answer.to_owned(),
        }
        .into(),
    }
}

fn disagreements(pairs: impl Iterator<Item = (String, String)>, expected: bool) -> Vec<String> {
    pool()
        .judge_all(pairs.map(|(gold, answer)| task(&gold, &answer)))
        .filter(|verdict| verdict.correct != Some(expected))
        .map(|verdict| {
            format!(
                "{} ({:?} {})",
                verdict.id.unwrap_or_default(),
                verdict.status,
                verdict.reason
            )
        })
        .collect()
}

/// Families with a parameter: equal spellings, made so that the answer is known without any library.
fn equal_pairs() -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    for n in 2..12_i64 {
        let d = n + 1;
        for (gold, answer) in [
            (format!("{n}"), format!("{n}.0")),
            (format!("{n}"), format!(r"\boxed{{{n}}}")),
            (format!("{}", n * 1000), format!("{n},000")),
            (format!(r"\frac{{{n}}}{{{d}}}"), format!("{n}/{d}")),
            (
                format!(r"\frac{{{n}}}{{{d}}}"),
                format!(r"\dfrac{{{}}}{{{}}}", 2 * n, 2 * d),
            ),
            (format!(r"-\frac{{{n}}}{{{d}}}"), format!(r"\frac{{-{n}}}{{{d}}}")),
            (format!(r"{n}\sqrt{{2}}"), format!(r"\sqrt{{{}}}", 2 * n * n)),
            (format!("2^{{{n}}}"), format!("{}", 1_i64 << n)),
            (format!("x^2+{n}x"), format!("x(x+{n})")),
            (format!("(x+{n})^2"), format!("x^2+{}x+{}", 2 * n, n * n)),
            (format!("({n},{d})"), format!(r"\left({n}, {d}\right)")),
            (format!(r"\{{{n},{d}\}}"), format!("{d}, {n}")),
            (format!(r"\frac{{\pi}}{{{n}}}"), format!(r"\pi/{n}")),
            (format!("x={n}"), format!("{n}")),
            (format!(r"{n}^\circ"), format!("{n}")),
            (
                format!(r"\begin{{pmatrix}}{n}\\{d}\end{{pmatrix}}"),
                format!(r"\begin{{pmatrix}} {n} \\ {d} \end{{pmatrix}}"),
            ),
        ] {
            pairs.push((gold, answer));
        }
    }
    pairs
}

fn different_pairs() -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    for n in 2..12_i64 {
        let d = n + 1;
        for (gold, answer) in [
            (format!("{n}"), format!("{d}")),
            (format!("{n}"), format!("-{n}")),
            (format!("{n}.5"), format!("{n}")),
            (format!(r"\frac{{{n}}}{{{d}}}"), format!("{d}/{n}")),
            (format!(r"\frac{{{n}}}{{{d}}}"), format!(r"\frac{{{n}}}{{{}}}", d + 1)),
            (format!(r"{n}\sqrt{{2}}"), format!(r"{n}\sqrt{{3}}")),
            (format!("2^{{{n}}}"), format!("{}", (1_i64 << n) + 1)),
            (format!("x^2+{n}x"), format!("x(x+{d})")),
            (format!("(x+{n})^2"), format!("x^2+{}", n * n)),
            (format!("({n},{d})"), format!("({d},{n})")),
            (format!(r"\{{{n},{d}\}}"), format!(r"\{{{n},{}\}}", d + 1)),
            (format!(r"\frac{{\pi}}{{{n}}}"), format!(r"\frac{{\pi}}{{{d}}}")),
            (format!("x={n}"), format!("x={d}")),
            (format!("[{n},{d}]"), format!("({n},{d})")),
            (format!(r"{n}\pi"), format!("{n}")),
            (
                format!(r"\begin{{pmatrix}}{n}\\{d}\end{{pmatrix}}"),
                format!(r"\begin{{pmatrix}}{d}\\{n}\end{{pmatrix}}"),
            ),
        ] {
            pairs.push((gold, answer));
        }
    }
    pairs
}

#[test]
fn equal_answers_in_other_spellings_are_right() {
    let pairs = equal_pairs();
    assert!(pairs.len() >= 150);
    assert_eq!(disagreements(pairs.into_iter(), true), Vec::<String>::new());
}

#[test]
fn different_answers_are_wrong() {
    let pairs = different_pairs();
    assert!(pairs.len() >= 150);
    assert_eq!(disagreements(pairs.into_iter(), false), Vec::<String>::new());
}

#[test]
fn every_gold_equals_itself_in_its_usual_spellings() {
    let Some(data) = data() else { return };
    let mut golds = Vec::new();
    for name in [
        "gsm8k",
        "math500",
        "amc23",
        "aime24",
        "aime25",
        "minerva_math",
        "olympiadbench",
    ] {
        let text = fs::read_to_string(data.join(format!("math/{name}.jsonl"))).expect("a set");
        for line in text.lines() {
            let row: serde_json::Value = serde_json::from_str(line).expect("a row");
            golds.push(match (name, &row["answer"]) {
                ("gsm8k", answer) => answer
                    .as_str()
                    .and_then(|text| text.split("####").nth(1))
                    .unwrap_or("")
                    .trim()
                    .to_owned(),
                ("olympiadbench", _) => row["final_answer"][0]
                    .as_str()
                    .unwrap_or("")
                    .trim_matches('$')
                    .trim()
                    .to_owned(),
                (_, serde_json::Value::String(answer)) => answer.trim().to_owned(),
                (_, serde_json::Value::Number(answer)) => answer.to_string(),
                _ => lyceum_core::answer::last_boxed(row["solution"].as_str().unwrap_or(""))
                    .unwrap_or("")
                    .to_owned(),
            });
        }
    }
    assert!(golds.len() > 2800, "{}", golds.len());
    assert_eq!(golds.iter().filter(|gold| gold.is_empty()).count(), 0);
    let spellings = golds.iter().flat_map(|gold| {
        [
            gold.clone(),
            format!(r"\boxed{{{gold}}}"),
            format!("So the answer is $\\boxed{{ {gold} }}$."),
            format!(" {gold}\n"),
        ]
        .map(|answer| (gold.clone(), answer))
    });
    assert_eq!(disagreements(spellings, true), Vec::<String>::new());
}

#[test]
fn a_towering_exponent_ends_in_a_timeout() {
    let limits = Limits {
        cpu: Duration::from_secs(1),
        ..Limits::default()
    };
    let pool = Verifier::start(&VerifierConfig {
        jobs: 1,
        limits,
        ..VerifierConfig::default()
    })
    .expect("a sandbox");
    for answer in ["9^{9^{9^{9^9}}}", "10^{10^{10}}"] {
        let verdict = pool.judge(task("1", answer));
        assert_ne!(verdict.correct, Some(true), "{answer}");
        assert!(
            matches!(verdict.status, Status::Timeout | Status::Memory | Status::Ok),
            "{answer}: {:?}",
            verdict.status
        );
    }
    assert_eq!(pool.judge(task("9^{9^{9^{9^9}}}", "2")).status, Status::Timeout);
    assert_eq!(pool.judge(task(r"\sqrt{4}", "2")).correct, Some(true));
}
