//! Rows in the shapes of public sets, which were written for this purpose.

use super::*;

fn said(role: &str, content: &str) -> Value {
    json!({"role": role, "content": content})
}

fn verl(prompt: &Value, truth: &Value) -> Value {
    json!({
        "data_source": "math_dapo", "prompt": prompt, "ability": "MATH",
        "reward_model": {"style": "rule", "ground_truth": truth}, "extra_info": {"index": 0},
    })
}

#[test]
fn the_question_of_a_conversation_is_the_last_message_of_the_user() {
    let conversation =
        json!([said("system", "Think."), said("user", "One?"), said("assistant", "1"), said("user", "Two?")]);
    let parts = json!([{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "Two?"}]}]);
    let share = json!([{"from": "human", "value": "Two?"}, {"from": "gpt", "value": "2"}]);
    for prompt in [conversation.clone(), json!(conversation.to_string()), parts, share] {
        let row = verl(&prompt, &json!("2"));
        for read_as in [
            format("verl"),
            format("skywork"),
            map(OracleKind::Math, &[("question", "prompt"), ("gold", "reward_model.ground_truth")]),
        ] {
            let read = stored(read_as, &row);
            assert_eq!((read.question.as_str(), gold(&read)), ("Two?", "2"), "{prompt}");
        }
    }
    let by_place = |place: &str| map(OracleKind::Math, &[("question", place), ("gold", "reward_model.ground_truth")]);
    let row = verl(&conversation, &json!("2"));
    assert_eq!(stored(by_place("prompt.1.content"), &row).question, "One?");
    let detail = refused(by_place("prompt.0.content"), &row);
    assert!(detail.contains("message of the system") && detail.contains("`prompt`"), "{detail}");
    let silent = verl(&json!([said("system", "Think.")]), &json!("2"));
    assert!(refused(format("verl"), &silent).contains("no message of the user"));
    let bracket = json!({"q": "[1, 2] is what?", "a": "an interval"});
    assert_eq!(
        stored(map(OracleKind::Math, &[("question", "q"), ("gold", "a")]), &bracket).question,
        "[1, 2] is what?"
    );
}

#[test]
fn an_answer_may_be_a_list_in_a_text() {
    let of = |truth: Value| stored(format("verl"), &verl(&json!([said("user", "?")]), &truth));
    for (truth, answer) in [
        (json!("[\"3\"]"), "3"),
        (json!("[\"8\", \"8.0\"]"), "8"),
        (json!(["8", "8.0"]), "8"),
        (json!("[1, 2]"), "[1, 2]"),
        (json!("{1, 2}"), "{1, 2}"),
        (json!(7), "7"),
        (json!("$x$"), "x"),
    ] {
        assert_eq!(gold(&of(truth.clone())), answer, "{truth}");
    }
    let plain = |extra: &[(&str, &str)]| map(OracleKind::Math, &[&[("question", "q"), ("gold", "a")], extra].concat());
    let row = |answer: &str| json!({"q": "?", "a": answer});
    assert_eq!(gold(&stored(plain(&[]), &row("[\"3\"]"))), "3");
    let detail = refused(plain(&[]), &row("[\"8\", \"8.0\"]"));
    assert!(detail.contains("2 answers") && detail.contains("`gold_first`"), "{detail}");
    assert_eq!(gold(&stored(plain(&[("gold_first", "true")]), &row("[\"8\", \"8.0\"]"))), "8");
}

#[test]
fn a_path_leads_into_json_in_a_text() {
    let row = json!({
        "problem_id": "p1", "prompt": "What is 7+8?",
        "verification_info": "{\"ground_truth\": \"15\", \"tests\": [{\"n\": 1}]}", "metadata": "{}",
    });
    let of = |path: &str| map(OracleKind::Math, &[("question", "prompt"), ("gold", path), ("task_id", "problem_id")]);
    assert_eq!(gold(&stored(of("verification_info.ground_truth"), &row)), "15");
    assert_eq!(gold(&stored(of("verification_info.tests.0.n"), &row)), "1");
    assert!(refused(of("verification_info.answer"), &row).contains("missing field `verification_info.answer`"));
    assert!(refused(of("prompt.answer"), &row).contains("missing field `prompt.answer`"));
}

#[test]
fn pairs_of_standard_input_are_tests() {
    let tests = |truth: Value| stored(format("eurus"), &verl(&json!([said("user", "Add.")]), &truth));
    let truth = json!({"inputs": ["1 2\n", ["3", "4"]], "outputs": ["3\n", "7"]});
    for truth in [truth.clone(), json!(truth.to_string())] {
        let Question::LiveCodeBench { public_test_cases: Some(cases), entry_point: None, .. } = tests(truth).oracle
        else {
            panic!("another oracle")
        };
        let cases: Value = serde_json::from_str(&cases).unwrap();
        let case = |input: &str, output: &str| json!({"input": input, "output": output, "testtype": "stdin"});
        assert_eq!(cases, json!([case("1 2\n", "3\n"), case("3\n4", "7")]));
    }
    let detail = |truth: Value| refused(format("verl"), &verl(&json!([said("user", "Add.")]), &truth));
    assert!(detail(json!({"inputs": ["1"], "outputs": []})).contains("1 inputs and 0 outputs"));
    assert!(detail(json!({"inputs": [[1]], "outputs": [[2]], "fn_name": "add"})).contains("function `add`"));
    assert!(detail(json!({"functional": "def check(f): pass"})).contains("`functional`"));
    assert!(detail(json!({"inputs": [1], "outputs": ["2"]})).contains("neither a text"));
}

#[test]
fn the_named_sets_are_read_by_their_columns() {
    let row = json!({"problem": "1+1?", "solution": "\\boxed{2}", "answer": "2", "question_type": "math-word-problem", "uuid": "u"});
    for name in ["openr1", "numina"] {
        assert_eq!(gold(&stored(format(name), &row)), "2");
        for word in ["proof", "notfound"] {
            let mut unanswered = row.clone();
            unanswered["answer"] = json!(word);
            assert!(refused(format(name), &unanswered).contains(word));
        }
    }
    let older = json!({"problem": "1+1?", "solution": "It is $\\boxed{2}$.", "source": "aops_forum"});
    assert_eq!(gold(&stored(format("numina"), &older)), "2");

    let mut row = json!({
        "question_id": "Prefill_1_I", "question": "Add two numbers.", "solution": "def add(a, b):\n    return a + b",
        "test": "from solution import add\n\ndef test_add():\n    assert add(1, 2) == 3", "style": "instruct",
        "test_info": [{"function_name": "add", "parameter_list": "(a, b)"}],
    });
    let entry_point = |row: &Value| match stored(format("kodcode"), row) {
        BenchmarkRow { oracle: Question::Script { entry_point, .. }, task_id, .. } => (entry_point, task_id),
        other => panic!("{other:?}"),
    };
    let expected = ("add".to_owned(), "kodcode/Prefill_1_I".to_owned());
    assert_eq!(entry_point(&row), expected);
    row.as_object_mut().unwrap().remove("test_info");
    assert_eq!(entry_point(&row), expected);
}

#[test]
fn numbers_that_json_does_not_have_may_be_in_columns_that_nobody_reads() {
    let take = |read_as: ReadAs, text: &str| intake(read_as).take(1, text.as_bytes());
    let row = |rate: &str, answer: &str| {
        format!("{{\"problem\": \"NaN and -Infinity?\", \"answer\": {answer}, \"llama8b_solve_rate\": {rate}}}")
    };
    for rate in ["NaN", "Infinity", "-Infinity", "[NaN, -Infinity]"] {
        let kept = take(format("deepscaler"), &row(rate, "\"2\"")).unwrap().unwrap();
        assert_eq!(kept["question"], "NaN and -Infinity?", "{rate}");
    }
    assert!(
        matches!(take(format("deepscaler"), &row("1", "NaN")), Err(RowFault::Row(detail)) if detail.contains("`answer`"))
    );
    let mut seeds = Intake::new(Purpose::Seeds, None, ReadAs::Lyceum, Filters::default());
    let seed = "{\"snippet\": \"def f(a):\\n return a\", \"input\": \"1\", \"score\": NaN}";
    assert!(seeds.take(1, seed.as_bytes()).unwrap().is_some());
}

#[test]
fn a_gold_is_a_finite_number_or_a_text_of_characters() {
    let take = |text: &str| intake(format("deepscaler")).take(1, text.as_bytes());
    let refused = |text: &str| match take(text) {
        Err(RowFault::Row(detail)) => detail,
        other => panic!("{text}: {other:?}"),
    };
    let kept = take(r#"{"problem": "1+1?", "answer": [2]}"#).unwrap().unwrap();
    assert_eq!(kept["oracle"]["gold"], "2");
    for (answer, said) in [("-Infinity", "`answer` is infinite"), ("[1, 2]", "interval"), ("[{}]", "neither texts nor")]
    {
        let detail = refused(&format!(r#"{{"problem": "1+1?", "answer": {answer}}}"#));
        assert!(detail.contains(said), "{answer}: {detail}");
    }
    for (text, half) in
        [(r"a \ud83d \ude00 \ud83d", r"\ud83d"), (r"\\ud83d \udc00", r"\udc00"), (r"\ud83d\ud83d\ude00", r"\ud83d")]
    {
        let row = format!(r#"{{"problem": "{text}", "answer": "2"}}"#);
        for read_as in [format("deepscaler"), ReadAs::Lyceum] {
            let mut intake = Intake::new(Purpose::Training, None, read_as, Filters::default());
            let detail = intake.take(1, row.as_bytes()).map_err(|fault| format!("{fault:?}")).unwrap_err();
            assert!(detail.contains("half of a pair") && detail.contains(&half[1..]), "{text}: {detail}");
        }
    }
    assert!(take(r#"{"problem": "\ud83d\ude00 \\ud83d", "answer": "2"}"#).unwrap().is_some());
}

#[test]
fn columns_are_told_from_rows() {
    let refused = |text: &str| format!("{:?}", intake(format("deepscaler")).take(1, text.as_bytes()).unwrap_err());
    for columns in [
        r#"{"problem": ["a?", "b?"], "answer": ["2", "3"]}"#,
        r#"{"problem": {"0": "a?", "1": "b?"}, "answer": {"0": "2", "1": "3"}}"#,
    ] {
        let said = refused(columns);
        assert!(said.contains("columns (`problem`, `answer`) of 2 values each"), "{said}");
    }
    for row in [r#"{"problem": ["a?", "b?"], "answer": ["2"]}"#, r#"{"problem": ["a?", "b?"], "answer": 2}"#] {
        assert!(!refused(row).contains("columns ("), "{row}");
    }
}

#[test]
fn bad_rows_are_left_out_and_counted_up_to_a_share() {
    let filters = |skip_bad| Filters { skip_bad, ..Filters::default() };
    let row = |at: u32| json!({"task_id": at.to_string(), "question": format!("{at}?"), "oracle": {"type": "math", "gold": "1"}});
    let read = |skip_bad, rows: &[String]| {
        let mut intake = Intake::new(Purpose::Training, None, ReadAs::Lyceum, filters(skip_bad));
        for (at, text) in rows.iter().enumerate() {
            if let Err(fault) = intake.take(at + 1, text.as_bytes()) {
                assert_eq!(intake.leave_out(at + 1, &fault), skip_bad.is_some());
            }
        }
        intake
    };
    let mut rows: Vec<String> = (0..8).map(|at| row(at).to_string()).collect();
    rows.insert(1, "not JSON".to_owned());
    let mut repeated = row(0);
    repeated["question"] = json!("another");
    rows.push(repeated.to_string());
    let intake = read(Some(20), &rows);
    let report = intake.report();
    assert_eq!((report.read, report.kept, report.bad), (10, 8, 2));
    let lines: Vec<(u64, u64)> = report.reasons.iter().map(|reason| (reason.line, reason.rows)).collect();
    assert_eq!(lines, [(2, 1), (10, 1)]);
    assert_eq!(intake.too_bad(), None);
    assert!(read(Some(19), &rows).too_bad().unwrap().contains("2 of 10"));
    assert_eq!(read(None, &rows).too_bad(), None);
    assert_eq!(read(Some(0), &rows[2..8]).too_bad(), None);
}
