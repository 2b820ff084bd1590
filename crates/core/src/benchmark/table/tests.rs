use super::*;

fn subject(name: &str, role: SubjectRole) -> Subject {
    Subject { name: name.to_owned(), role, member: None }
}

fn table() -> Table {
    let score = |name: &str, role, suite: &str, pass_at_1| {
        let cell = Cell { pass_at_1, standard_error: 0.01 };
        (subject(name, role), suite.to_owned(), cell)
    };
    use SubjectRole::{Base, Student, Teacher};
    Table::of([
        score("s1", Student, "gsm8k", 0.5),
        score("s1", Student, "mbpp_plus", 0.6),
        score("s1", Student, "humaneval", 0.8),
        score("s0", Student, "gsm8k", 0.7),
        score("s0", Student, "mbpp_plus", 0.4),
        score("s0", Student, "humaneval", 0.6),
        score("t0", Teacher, "gsm8k", 0.9),
        score("t0", Teacher, "humaneval", 0.2),
        score("base", Base, "gsm8k", 0.1),
        score("base", Base, "mbpp_plus", 0.1),
        score("base", Base, "humaneval", 0.3),
    ])
}

#[test]
fn columns_are_in_the_order_of_suites_and_averages_are_of_groups() {
    let table = table();
    assert_eq!(table.suites, ["humaneval", "mbpp_plus", "gsm8k"]);
    let names: Vec<&str> = table.rows.iter().map(|row| row.subject.name.as_str()).collect();
    assert_eq!(names, ["base", "s0", "s1", "t0"]);
    let close =
        |value: Option<f64>, wanted: f64| assert!((value.unwrap() - wanted).abs() < 1e-12, "{value:?} {wanted}");
    close(table.rows[2].average.code, 0.7);
    close(table.rows[2].average.math, 0.5);
    close(table.rows[2].average.overall, 0.6);
    assert_eq!(table.rows[3].average.code, None, "a suite without a score leaves no average");
    assert_eq!(table.best_student.as_deref(), Some("s0"), "0.6 both: the first of equals");
    assert_eq!(table.best_teacher.as_deref(), Some("t0"));
}

#[test]
fn summaries_are_over_members_and_leave_base_out() {
    let table = table();
    let over: Vec<&str> = table.summaries.iter().map(|summary| summary.over.as_str()).collect();
    assert_eq!(over, ["population", "students", "teachers"]);
    let gsm8k = table.summaries[0].scores["gsm8k"];
    assert!((gsm8k.mean - 0.7).abs() < 1e-12 && (gsm8k.std - 0.2).abs() < 1e-12);
    assert_eq!((gsm8k.min, gsm8k.max), (0.5, 0.9));
}

#[test]
fn markdown_and_csv_hold_every_score() {
    let table = table();
    let markdown = table.to_markdown();
    assert!(
        markdown.starts_with("|  | role | HumanEval | MBPP+ | GSM8K | Code avg | Math avg | Overall |\n|---|---|---:|")
    );
    assert!(
        markdown.contains("| s1 | student | 80.0 ± 1.0 | 60.0 ± 1.0 | 50.0 ± 1.0 | 70.0 | 50.0 | 60.0 |"),
        "{markdown}"
    );
    assert!(markdown.contains("| population mean ± std |  | 53.3 ± 30.6 |"), "{markdown}");
    assert!(markdown.contains("test set"));
    let csv = table.to_csv();
    assert!(csv.contains("s1,student,humaneval,0.8,0.01\r\n"), "{csv}");
    assert!(csv.contains("population best (test-set selected),summary,gsm8k,0.9,\r\n"), "{csv}");
    let named = Table::of([(
        subject("=a,\"b\"|", SubjectRole::Member),
        "gsm8k".to_owned(),
        Cell { pass_at_1: 1.0, standard_error: 0.0 },
    )]);
    assert!(named.to_csv().contains("\" =a,\"\"b\"\"|\",member"), "{}", named.to_csv());
    assert!(named.to_markdown().contains("=a,\"b\"\\|"));
}
