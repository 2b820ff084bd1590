use super::*;

fn refused(line: &str) -> String {
    read_line(line.as_bytes()).unwrap_err().reason
}

#[test]
fn every_kind_survives_a_round_trip() {
    for line in [
        r#"{"id":"1","kind":"propose","type":"code_i","program":"def f(a): return a","input":"1"}"#,
        r#"{"id":"1","kind":"propose","type":"code_o","program":"def f(a): return a","input":"1"}"#,
        r#"{"id":"1","kind":"propose","type":"code_f","program":"p","inputs":["1","2"],"message":"m"}"#,
        r#"{"id":"1","kind":"solve","type":"code_o","program":"p","input":"1","answer":"2"}"#,
        r#"{"id":"1","kind":"solve","type":"code_i","program":"p","output":"1","answer":"2"}"#,
        r#"{"id":"1","kind":"solve","type":"code_f","pairs":[["1","2"]],"answer":"p"}"#,
        r#"{"id":"1","kind":"tests","program":"p","entry_point":"f","test":"t","prompt":"q"}"#,
        r#"{"id":"Mbpp/2","kind":"tests","program":"p","entry_point":"f","inputs":[[1,123456789012345678901234567890],"1, 2"],"reference":"r","atol":0.5,"task_id":"Mbpp/2"}"#,
        r#"{"id":"1","kind":"tests","program":"p","pairs":[["in","out"]]}"#,
        r#"{"id":"1","kind":"tests","program":"p","entry_point":"f","public_test_cases":"[]","private_test_cases":"eJw="}"#,
        r#"{"id":"1","kind":"math","gold":"1","answer":"\\boxed{1}"}"#,
        r#"{"id":"1","kind":"cluster","answers":["1","1/2"]}"#,
        r#"{"id":"1","kind":"repetition","texts":["what is 1+1","what is 1+2"],"distance":0.5}"#,
    ] {
        let task = read_line(line.as_bytes()).unwrap();
        assert_eq!(serde_json::to_string(&task).unwrap(), line);
    }
}

#[test]
fn a_refusal_names_the_field() {
    assert_eq!(refused(r#"{"id":"1","kind":"math","gold":"1"}"#), "missing field `answer`");
    assert!(refused(r#"{"id":"1","kind":"math","gold":"1","answer":"1","x":2}"#).starts_with("unknown field `x`"));
    assert!(
        refused(r#"{"id":"1","kind":"solve","type":"code_o","program":"p","input":"1","answer":"2","pairs":[]}"#)
            .starts_with("unknown field `pairs`")
    );
    assert!(refused(r#"{"id":"1","kind":"other"}"#).contains("unknown variant `other`, expected one of"));
    assert!(refused(r#"{"id":1,"kind":"math","gold":"1","answer":"1"}"#).starts_with("field `id`: invalid type"));
    assert!(refused("[1]").contains("invalid type: sequence"));
    assert!(refused("{").starts_with("the line is not JSON"));
    assert!(
        refused(r#"{"id":"1","kind":"tests","program":"p","inputs":[],"reference":"r"}"#).contains("`entry_point`")
    );
    assert!(
        refused(r#"{"id":"1","kind":"tests","program":"p","entry_point":"f","inputs":[],"reference":"r","atol":-1}"#)
            .contains("`atol`")
    );
}

#[test]
fn a_refusal_keeps_the_id_if_it_can() {
    assert_eq!(read_line(br#"{"id":"seven","kind":"math"}"#).unwrap_err().id.as_deref(), Some("seven"));
    assert_eq!(read_line(b"\xff").unwrap_err().id, None);
}

#[test]
fn python_spells_infinity_its_own_way() {
    let line = br#"{"id":"1","kind":"tests","program":"p","entry_point":"f","inputs":[[Infinity]],"reference":"r"}"#;
    let Check::Tests(Tests { oracle: Oracle::Reference { inputs, .. }, .. }) = read_line(line).unwrap().check else {
        panic!("not a reference oracle");
    };
    assert_eq!(inputs[0].as_str(), "[1e999]");
}

#[test]
fn a_verdict_shows_only_the_fields_of_its_kind() {
    let verdict = Verdict { correct: Some(true), ..Verdict::bare(Some("a".into()), Status::Ok, "") };
    let line = r#"{"id":"a","status":"ok","reason":"","millis":0.0,"correct":true}"#;
    assert_eq!(serde_json::to_string(&verdict).unwrap(), line);
    assert_eq!(serde_json::from_str::<Verdict>(line).unwrap(), verdict);
}
