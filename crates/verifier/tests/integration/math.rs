//! Mathematical answers: golds equal themselves in their usual notations, pairs agree with Math-Verify, nothing hangs.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::{data, drawn, pool};
use lyceum_verifier::{
    Check, Interpreter, Limits, MathPair, Status, Task, Tolerance, Verifier, VerifierConfig, Wordings,
};

fn task(gold: &str, answer: &str) -> Task {
    let id = format!("{gold} | {answer}");
    Task { id, check: MathPair { gold: gold.to_owned(), answer: answer.to_owned(), plain: false }.into() }
}

fn disagreements(pairs: impl Iterator<Item = (String, String)>, expected: bool) -> Vec<String> {
    pool()
        .judge_all(pairs.map(|(gold, answer)| task(&gold, &answer)))
        .filter(|verdict| verdict.correct != Some(expected))
        .map(|verdict| format!("{} ({:?} {})", verdict.id.unwrap_or_default(), verdict.status, verdict.reason))
        .collect()
}

/// A number with commas between groups of three digits.
fn grouped(digits: &str) -> String {
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
    groups.join(",")
}

/// Parametric families of equal notations, made so that the answer is known without any library.
fn equal_pairs() -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    for n in 2..12_i64 {
        let d = n + 1;
        for (gold, answer) in [
            (format!("{n}"), format!("{n}.0")),
            (format!("{n}"), format!(r"\boxed{{{n}}}")),
            (format!("{}", n * 1000), format!("{n},000")),
            (format!(r"\frac{{{n}}}{{{d}}}"), format!("{n}/{d}")),
            (format!(r"\frac{{{n}}}{{{d}}}"), format!(r"\dfrac{{{}}}{{{}}}", 2 * n, 2 * d)),
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
            (format!(r"{n}\%"), format!("{}", n as f64 / 100.0)),
            (format!("{n}"), format!(r"\${n}.00")),
            (format!("{n}"), format!(r"{n}\text{{ cm}}")),
            (format!("x>{n}"), format!(r"({n},\infty)")),
            (format!("{n}<x"), format!("x>{n}")),
            (format!("{n}"), format!("a=b={n}")),
            (format!(r"\text{{east}}^{n}"), format!(r"\text{{East}}^{n}")),
            (format!(r"\frac{{{n}}}{{7}}"), format!("{:.7}", n as f64 / 7.0)),
            (format!("[1,{n}]\\cup[20,{}]", 20 + n), format!("[20,{}]\\cup[1,{n}]", 20 + n)),
            (format!("{n}{n},000"), format!("{n}{n}{{,}}000")),
            (format!(r"\log {}", 1_i64 << n), format!(r"{n}\log 2")),
            (format!(r"{n}\sin^2 x+{n}\cos^2 x"), format!("{n}")),
            (format!(r"\binom{{{d}}}{{2}}"), format!("{}", n * d / 2)),
            (format!(r"{n}\pm 1"), format!(r"\{{{},{d}\}}", n - 1)),
            (format!(r"{n}\frac{{1}}{{2}}"), format!("{}/2", 2 * n + 1)),
            (format!(r"\sqrt[3]{{{}}}", n * n * n), format!("{n}")),
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
            (format!(r"\frac{{{n}}}{{13}}"), format!("{:.2}", n as f64 / 13.0)),
            (format!("[1,{n})"), format!("(1,{n}]")),
            (format!("x>{n}"), format!("x<{n}")),
            (format!("x>{n}"), format!(r"[{n},\infty)")),
            (format!("{n}"), format!("x={n}, y={d}")),
            (format!(r"\text{{A}}_{n}"), format!(r"\text{{B}}_{n}")),
            (format!(r"{n}\infty"), format!(r"-{n}\infty")),
            (format!(r"\log {n}"), format!(r"\log {d}")),
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

/// Math-Verify's own verdict, outside of the sandbox, on pairs written by this test.
fn said_by_math_verify(pairs: &[(String, String)]) -> Vec<bool> {
    const SOURCE: &str = "import json, sys\n\
        from math_verify import parse, verify\n\
        boxed = lambda text: text if '\\\\boxed' in text else '\\\\boxed{' + text + '}'\n\
        for gold, answer in json.load(sys.stdin):\n    \
            print(int(verify(parse(boxed(gold)), parse(boxed(answer)))))\n";
    let python = Interpreter::resolve(None).expect("an interpreter");
    let mut child = Command::new(&python.executable)
        .args(["-c", SOURCE])
        .env("PYTHONPATH", std::env::join_paths(&python.packages).expect("paths"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("Python with Math-Verify");
    let input = serde_json::to_vec(pairs).expect("JSON");
    child.stdin.take().expect("a pipe").write_all(&input).expect("written");
    let output = child.wait_with_output().expect("an answer");
    String::from_utf8(output.stdout).expect("digits").lines().map(|line| line == "1").collect()
}

/// The verifier and Math-Verify on its own both give the known verdict for these pairs.
fn all_are(pairs: Vec<(String, String)>, expected: bool) {
    assert!(pairs.len() >= 150);
    let theirs = said_by_math_verify(&pairs);
    assert_eq!(theirs.len(), pairs.len());
    let contrary: Vec<_> = pairs.iter().zip(theirs).filter(|(_, said)| *said != expected).collect();
    assert!(contrary.is_empty(), "Math-Verify: {contrary:?}");
    assert_eq!(disagreements(pairs.into_iter(), expected), Vec::<String>::new());
}

#[test]
fn equal_answers_in_other_spellings_are_right() {
    all_are(equal_pairs(), true);
}

#[test]
fn different_answers_are_wrong() {
    all_are(different_pairs(), false);
}

/// The golds of the seven sets; `None` without the data.
fn golds() -> Option<Vec<String>> {
    let data = data()?;
    let mut golds = Vec::new();
    for name in ["gsm8k", "math500", "amc23", "aime24", "aime25", "minerva_math", "olympiadbench"] {
        let text = fs::read_to_string(data.join(format!("math/{name}.jsonl"))).expect("a set");
        for line in text.lines() {
            let row: serde_json::Value = serde_json::from_str(line).expect("a row");
            golds.push(match (name, &row["answer"]) {
                ("gsm8k", answer) => {
                    answer.as_str().and_then(|text| text.split("####").nth(1)).unwrap_or("").trim().to_owned()
                }
                ("olympiadbench", _) => {
                    row["final_answer"][0].as_str().unwrap_or("").trim_matches('$').trim().to_owned()
                }
                (_, serde_json::Value::String(answer)) => answer.trim().to_owned(),
                (_, serde_json::Value::Number(answer)) => answer.to_string(),
                _ => lyceum_core::answer::last_boxed(row["solution"].as_str().unwrap_or("")).unwrap_or("").to_owned(),
            });
        }
    }
    assert!(golds.len() > 2800, "{}", golds.len());
    assert_eq!(golds.iter().filter(|gold| gold.is_empty()).count(), 0);
    Some(drawn(golds))
}

/// A gold in common notations.
fn spellings(gold: &str) -> Vec<String> {
    let mut answers = vec![
        gold.to_owned(),
        format!(r"\boxed{{{gold}}}"),
        format!("So the answer is $\\boxed{{ {gold} }}$."),
        format!(" {gold}\n"),
    ];
    if gold.contains(r"\frac") {
        answers.extend([gold.replace(r"\frac", r"\dfrac"), gold.replace(r"\frac", r"\tfrac")]);
    }
    if gold.bytes().all(|byte| byte.is_ascii_digit()) {
        answers.extend([format!("{gold}.0"), format!("+{gold}"), grouped(gold), format!("x={gold}")]);
    }
    answers.retain(|answer| !answer.is_empty());
    answers
}

#[test]
fn every_gold_equals_itself_in_its_usual_spellings() {
    let Some(golds) = golds() else { return };
    let pairs = golds.iter().flat_map(|gold| spellings(gold).into_iter().map(|answer| (gold.clone(), answer)));
    assert_eq!(disagreements(pairs, true), Vec::<String>::new());
}

fn clusters(id: &str, answers: &[String]) -> Vec<Option<u32>> {
    let task = Task { id: id.to_owned(), check: Check::Cluster(answers.to_vec()) };
    pool().judge(task).clusters.expect("clusters")
}

/// All spellings of a gold are one cluster. For every fourth one, another value among them is a second; comparing it takes
/// Math-Verify twice.
#[test]
fn the_golds_cluster_by_value() {
    let Some(golds) = golds() else { return };
    let of = |(at, gold): (usize, &String)| {
        let mut answers = spellings(gold);
        let mut expected = vec![Some(0); answers.len()];
        if at.is_multiple_of(4) {
            answers.insert(2, format!("{}", 1_000_003 + at));
            expected.insert(2, Some(1));
        }
        (gold.clone(), answers, expected)
    };
    let cases: Vec<(String, Vec<String>, Vec<Option<u32>>)> = golds.iter().enumerate().map(of).collect();
    let judged = pool().judge_all(
        cases.iter().map(|(gold, answers, _)| Task { id: gold.clone(), check: Check::Cluster(answers.clone()) }),
    );
    let mut wrong = Vec::new();
    for (verdict, (gold, answers, expected)) in judged.zip(&cases) {
        if verdict.clusters.as_ref() != Some(expected) {
            wrong.push(format!("{gold}: {answers:?} {:?}", verdict.clusters));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn clusters_are_greedy_in_the_order_of_answers() {
    let answers = |texts: &[&str]| -> Vec<String> { texts.iter().map(|text| (*text).to_owned()).collect() };
    let half = answers(&["1/2", "0.5", "2", r"\frac{1}{2}", "", "2.0", r"x=\frac12", "1"]);
    assert_eq!(clusters("half", &half), [Some(0), Some(0), Some(1), Some(0), None, Some(1), Some(0), Some(2)]);
    // A gold of `3` accepts `x=3`, whichever comes first.
    assert_eq!(clusters("x first", &answers(&["x=3", "3"])), [Some(0), Some(0)]);
    assert_eq!(clusters("none", &[]), []);
    let unread = answers(&["\0", "1", &"1".repeat(10_001), "1"]);
    assert_eq!(clusters("unread", &unread), [None, Some(0), None, Some(0)]);
}

#[test]
fn repeated_wordings_are_grouped_without_a_sandbox() {
    let texts = ["what is 1 plus 2 ?", "", "what is 1 plus 3 ?", "name a prime", ""].map(str::to_owned);
    let wordings = Wordings { texts: texts.to_vec(), distance: Tolerance::new(0.8).expect("a distance") };
    let task = Task { id: "r".to_owned(), check: wordings.into() };
    let expected = [0, 1, 0, 2, 3].map(Some).to_vec();
    assert_eq!(pool().judge(task).clusters, Some(expected));
    let many = Wordings { texts: vec![String::new(); 8193], distance: Tolerance::default() };
    let verdict = pool().judge(Task { id: "many".to_owned(), check: many.into() });
    assert_eq!(verdict.status, Status::Malformed);
    assert!(verdict.reason.contains("8193 texts; at most 8192"), "{}", verdict.reason);
}

#[test]
fn a_towering_exponent_ends_in_a_timeout() {
    let limits = Limits { cpu: Duration::from_secs(1), ..Limits::default() };
    let pool = Verifier::start(&VerifierConfig { jobs: 1, limits, ..VerifierConfig::default() }).expect("a sandbox");
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

/// What runs and benchmarks hand over of a response.
#[test]
fn joined_boxes_of_a_response_are_one_answer() {
    let response = |text: &str| lyceum_core::benchmark::mathematics_of(text).expect("an answer");
    let right = [
        ("1, 2", r"So $\boxed{1}$ and $\boxed{2}$ are the roots."),
        ("(2, 2), (6, 2)", r"\boxed{(2,2)} and \boxed{(6,2)}"),
        (r"\{1, 2, 3\}", r"$\boxed{1}$, $\boxed{2}$, and $\boxed{3}$"),
        ("2", r"Not \boxed{1}. It is \boxed{2}."),
    ];
    let pairs = right.map(|(gold, text)| (gold.to_owned(), response(text)));
    assert_eq!(disagreements(pairs.into_iter(), true), [] as [String; 0]);
    let wrong = [("1, 3", r"So $\boxed{1}$ and $\boxed{2}$ are the roots."), ("2", r"\boxed{1} and \boxed{2}")];
    let pairs = wrong.map(|(gold, text)| (gold.to_owned(), response(text)));
    assert_eq!(disagreements(pairs.into_iter(), false), [] as [String; 0]);
}

/// Verdicts on pairs of which Math-Verify, with its own settings, misjudges most.
#[test]
fn numbers_are_compared_exactly_or_relatively() {
    let owned = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        let owned = |(gold, answer): &(&str, &str)| ((*gold).to_owned(), (*answer).to_owned());
        pairs.iter().map(owned).collect()
    };
    let right = owned(&[
        ("1/3", "0.333333"),
        ("0.0000001", r"10^{-7}"),
        (r"2.5\times 10^{-8}", "0.000000025"),
        ("3.1415926", r"\pi"),
        ("0.333333x", "x/3"),
        ("123456789.123", r"123456789.124"),
        (r"50\%", "0.5"),
        (r"\sqrt{2}\sqrt{3}", r"\sqrt6"),
        (r"\sqrt{3+2\sqrt2}", r"1+\sqrt2"),
        (r"\{1,0.33333333\}", r"\{1,1/3\}"),
        (r"\frac{2005\cdot 2006}{2006!}", r"\frac{1}{2004!}"),
        (r"2^{-98}", r"\frac{4}{2^{100}}"),
    ]);
    let wrong = owned(&[
        (r"\frac{1}{2004!}", r"\frac{1}{2006!}"),
        ("2^{-98}", "2^{-99}"),
        ("0", "0.0000001"),
        ("0", r"10^{-30}"),
        ("0.0000001", "0.0000002"),
        (r"2.5\times 10^{-8}", r"2.5\times 10^{-9}"),
        ("10^{20}", "10^{20}+1"),
        (r"\sqrt{2}+10^{-30}", r"\sqrt2"),
        (r"e^{-1000}", r"e^{-1001}"),
        (r"\frac{x}{2004!}", r"\frac{x}{2006!}"),
        ("x=10^{-20}", "x=10^{-21}"),
        ("(1, 10^{-20})", "(1, 10^{-21})"),
        ("[0, 10^{-20}]", "[0, 10^{-21}]"),
        (r"\begin{pmatrix}10^{-20}\\1\end{pmatrix}", r"\begin{pmatrix}10^{-21}\\1\end{pmatrix}"),
        (r"\sin(10^{-20})", r"\sin(10^{-21})"),
        ("x<10^{-20}", "x<10^{-21}"),
        ("3.1416", r"\pi"),
    ]);
    let votes: Vec<String> = wrong[..8].iter().flat_map(|(gold, answer)| [gold.clone(), answer.clone()]).collect();
    assert_eq!(disagreements(right.into_iter(), true), [] as [String; 0]);
    assert_eq!(disagreements(wrong.into_iter(), false), [] as [String; 0]);
    for pair in votes.chunks(2) {
        assert_eq!(clusters("votes", pair), [Some(0), Some(1)], "{pair:?}");
    }
}

#[test]
fn what_math_verify_drops_counts_and_other_notations_are_known() {
    let owned = |(gold, answer): (&str, &str)| (gold.to_owned(), answer.to_owned());
    let wrong = [
        ("1101_2", "1101_3"),
        ("Amy", "May"),
        (r"\angle BAC", r"\angle ABC"),
        (r"3:45 \text{ PM}", r"3:45 \text{ AM}"),
        (r"5 \text{ hours } 20 \text{ minutes}", r"5 \text{ hours } 30 \text{ minutes}"),
        (r"5\text{ million}", "5"),
        ("2019-05-06", "2019-06-05"),
        (r"a \equiv 1 \pmod 3", r"a\equiv 2\pmod 3"),
        ("f'(x)", "f(x)"),
        (r"30^\circ", "30'"),
        ("2", "2 2/3"),
        ("2", "2x"),
        ("i^2", "1"),
    ];
    let right = [
        (r"5\text{ million}", "5000000"),
        ("-7/2", "-3 1/2"),
        (r"0.\overline{3}", r"\frac13"),
        ("i^2", "-1"),
        (r"\cos 60^\circ", r"\frac12"),
        (r"\emptyset", r"\varnothing"),
        ("A<B<C", "C>B>A"),
        ("1.5e3", "1500"),
        (r"1\,000\,000", "10^6"),
        ("½", "0.5"),
        ("√2", r"\sqrt{2}"),
        ("５", "5"),
        ("42", "**42**"),
        ("£20", "20"),
        ("2", "\u{200b}2"),
        ("18", "18 eggs"),
        ("3+4i", "4i+3"),
    ];
    assert_eq!(disagreements(right.into_iter().map(owned), true), [] as [String; 0]);
    assert_eq!(disagreements(wrong.into_iter().map(owned), false), [] as [String; 0]);
    let votes = ["1101_2", "1101_3", "18 eggs", "18", "Amy", "May"].map(str::to_owned);
    assert_eq!(clusters("votes", &votes), [0, 1, 2, 2, 3, 4].map(Some));
}

#[test]
fn an_ellipsis_is_part_of_an_answer() {
    let owned = |(gold, answer): (&str, &str)| (gold.to_owned(), answer.to_owned());
    let right = [
        (r"1, 2, \ldots, n", r"1,2,\dots,n"),
        (r"1+2+\cdots+n", r"n+1+\ldots+2"),
        (r"\{1, 2, ..., 10\}", r"\{1,2,\ldots,10\}"),
        (r"\frac13", r"0.333333\ldots"),
    ];
    let wrong = [
        (r"1, 2, \ldots, n", r"1, 3, 5, \ldots, 2n-1"),
        (r"1, 2, 3, \ldots", r"1, 2, 4, \ldots"),
        (r"2, 4, ..., 2n", r"2, 4, ..., n"),
        ("13", r"1+2+\ldots+10"),
        (r"1, 2, \ldots, 10", "1, 2, 10"),
    ];
    assert_eq!(disagreements(right.into_iter().map(owned), true), [] as [String; 0]);
    assert_eq!(disagreements(wrong.into_iter().map(owned), false), [] as [String; 0]);
}

#[test]
fn the_same_text_is_right_whatever_it_is() {
    let long = "x".repeat(20_000);
    let right = [
        (r"No solution : $\oslash$", r"\boxed{No solution: $\oslash$}"),
        ("(x, y)=(1,0)$.", "$(x, y) = (1, 0)$"),
        ("Solution is: $[x=-1, y=-5]$", "Solution is: [x=-1,y=-5]."),
        (&long, &long),
    ];
    let owned = |(gold, answer): (&str, &str)| (gold.to_owned(), answer.to_owned());
    assert_eq!(disagreements(right.into_iter().map(owned), true), [] as [String; 0]);
    let votes = [r"No solution : $\oslash$", r"No solution: \oslash.", "some"].map(str::to_owned);
    assert_eq!(clusters("texts", &votes), [Some(0), Some(0), Some(1)]);
    assert_eq!(pool().judge(task("", "")).correct, Some(false));
}

#[test]
fn plain_notation_is_read_where_it_is_asked_for() {
    let judged = |gold: &str, answer: &str, plain| {
        let (gold, answer) = (gold.to_owned(), answer.to_owned());
        pool().grade("plain", MathPair { gold, answer, plain }).correct
    };
    for (gold, answer) in [
        (r"\frac{\pi}{2}", "pi/2"),
        (r"-2\pi", "-2*pi"),
        ("e^{16}-1", "exp(16)-1"),
        (r"2\sqrt{3}", "2sqrt(3)"),
        ("x^2+2x", "x**2 + 2*x"),
        (r"\ln 2", r"\boxed{log(2)}"),
    ] {
        assert_eq!(judged(gold, answer, true), Some(true), "{gold} {answer}");
    }
    for (gold, answer) in [(r"\frac{\pi}{2}", "pi/3"), ("1", "__import__('os')"), ("12", "3+4")] {
        assert_eq!(judged(gold, answer, true), Some(false), "{gold} {answer}");
    }
    assert_eq!(judged(r"\frac{\pi}{2}", "pi/2", false), Some(false), "letters are variables by default");
}

#[test]
fn several_boxes_and_formulas_among_words_are_read_as_math_verify_reads_them() {
    let pairs = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        pairs.iter().map(|(gold, answer)| ((*gold).to_owned(), (*answer).to_owned())).collect()
    };
    let right = pairs(&[
        ("(2, 2), (6, 2)", r"\boxed{(2,2)} and \boxed{(6,2)}"),
        (r"\{1,2\}", r"So $\boxed{2}$ or $\boxed{1}$."),
        ("1, 2, 3", r"\boxed{1}, \boxed{3}, and \boxed{2}"),
        (
            "3",
            r"First \boxed{1}, no: what remains after all that was said above, and that was a good deal, is \boxed{3}.",
        ),
        ("9", "Answer $9$"),
        (r"\frac12", r"the answer is \( \frac{1}{2} \)."),
        ("255", r"\boxed{7} would be one box, but the final answer is $255$."),
        ("1000", "1 000"),
        ("1000.99", "1000,99"),
        ("1.5", "1,5"),
    ]);
    let wrong = pairs(&[
        ("(2, 2), (6, 2)", r"\boxed{(2,2)} and \boxed{(2,6)}"),
        ("(2, 2), (6, 2)", r"\boxed{(6,2)}"),
        ("1", r"\boxed{1} and \boxed{2}"),
        ("2", r"\boxed{1} and \boxed{2}"),
        ("1", r"\boxed{1}, or what remains after all that was said above, and that was a good deal: \boxed{3}."),
        ("9", "It is $9$, or rather $8$"),
        ("7", r"\boxed{7} would be one box, but the final answer is $255$."),
        ("1000", "1 001"),
        // Math-Verify alone takes the number at the start.
        ("2x", "2"),
        (r"2\sqrt{3}", "2"),
    ]);
    assert_eq!(disagreements(right.into_iter(), true), Vec::<String>::new());
    assert_eq!(disagreements(wrong.into_iter(), false), Vec::<String>::new());
}

/// Prints the pairs of Math-Verify's tests in a folder as lines of JSON: test, number, gold, answer, verdict. Those that
/// need other settings than the default ones are left out.
const MATH_VERIFY_TESTS: &str = r#"
import ast, json, pathlib, sys
for name in ("test_all", "test_numina_cases", "test_boxed", "test_open_thoughts", "test_yujianll"):
    tree = ast.parse((pathlib.Path(sys.argv[1]) / (name + ".py")).read_text())
    for function in tree.body:
        for decorator in getattr(function, "decorator_list", []):
            try:
                names, cases = [ast.literal_eval(argument) for argument in decorator.args]
            except ValueError:
                continue  # computed cases; they need a precision of their own
            names = [part.strip() for part in names.split(",")]
            other = {keyword.arg for node in ast.walk(function) if isinstance(node, ast.Call) for keyword in node.keywords}
            for number, case in enumerate(cases):
                case = dict(zip(names, case))
                if case.get("precision", 6) == 6 and not other & {"strict", "allow_set_relation_comp"} \
                        and not ("precision" in other and "precision" not in case):
                    right = case.get("expected", case.get("result"))
                    print(json.dumps([function.name, number, case["gold"], case["pred"], bool(right)]))
"#;

/// With `LYCEUM_MATH_VERIFY_TESTS` set to the folder `tests` of Math-Verify's repository.
#[test]
fn math_verifys_own_tests_get_the_verdict_that_they_state() {
    let Some(folder) = std::env::var_os("LYCEUM_MATH_VERIFY_TESTS") else {
        eprintln!("skipped: LYCEUM_MATH_VERIFY_TESTS is not set");
        return;
    };
    let python = Interpreter::resolve(None).expect("an interpreter").executable;
    let read = Command::new(python).args(["-c", MATH_VERIFY_TESTS]).arg(folder).output().expect("Python");
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    let cases: Vec<(String, usize, String, String, bool)> = String::from_utf8(read.stdout)
        .expect("text")
        .lines()
        .map(|line| serde_json::from_str(line).expect("a case"))
        .collect();
    let verdicts = pool().judge_all(cases.iter().map(|(_, _, gold, answer, _)| task(gold, answer)));
    let mut other = Vec::new();
    for (verdict, (test, number, _, _, expected)) in verdicts.zip(&cases) {
        if verdict.correct != Some(*expected) {
            eprintln!("{test} {number}: {:?} {}", verdict.status, verdict.reason);
            other.push((test.as_str(), *number));
        }
    }
    println!("{} pairs, {} judged otherwise", cases.len(), other.len());
    // docs/VERIFIER.md says why.
    let known = [
        ("test_latex_notation", 5),
        ("test_latex_notation", 6),
        ("test_numina_cases", 24),
        ("test_string_extraction", 9),
    ];
    assert_eq!(other, known);
}
