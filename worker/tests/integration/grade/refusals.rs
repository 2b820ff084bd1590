//! Errors name the invalid line, and nothing is written.

use std::path::PathBuf;

use anyhow::Result;

use crate::grade::command::run;

const ROWS: [&str; 2] = [
    r#"{"question":"One and one?","answer":"1+1=2\n#### 2","idx":0}"#,
    r#"{"question":"Two and two?","answer":"2+2=4\n#### 4","idx":1}"#,
];
const RIGHT: &str = r#"{"task_id":"gsm8k/0","solution":"2"}"#;

struct Folder(tempfile::TempDir);

impl Folder {
    fn write(&self, name: &str, bytes: &[u8]) -> Result<PathBuf> {
        let path = self.0.path().join(name);
        std::fs::write(&path, bytes)?;
        Ok(path)
    }
}

/// The command's error for this data and these samples.
fn told(name: &str, data: &[u8], samples: &[u8], options: &[&str]) -> Result<(bool, String)> {
    let folder = Folder(tempfile::tempdir()?);
    let out = folder.0.path().join("result.json");
    let said = run(name, &folder.write("data.jsonl", data)?, &folder.write("samples.jsonl", samples)?, &out, options)?;
    assert_eq!(said.status.success(), out.exists(), "a result is there if and only if all went well");
    Ok((said.status.success(), String::from_utf8(said.stderr)?))
}

#[test]
fn bad_files_are_refused_by_line() -> Result<()> {
    let data = ROWS.join("\n");
    let doubled = format!("{}\n{}", data, ROWS[0]);
    let broken = [ROWS[0].as_bytes(), b"\n{\"question\":\"\xff\xfe\"}"].concat();
    let humaneval = r#"{"task_id":"HumanEval/0","prompt":"def f():\n","entry_point":"f","canonical_solution":"    pass","test":"def check(c): pass"}"#;
    let cases: [(&[u8], &str, &[&str], &str); 11] = [
        (
            data.as_bytes(),
            r#"{"task_id":"gsm8k/7","solution":""}"#,
            &[],
            "samples.jsonl: line 1: `gsm8k/7` is not a task",
        ),
        (data.as_bytes(), r#"{"solution":"2"}"#, &[], "samples.jsonl: line 1: missing field `task_id`"),
        (data.as_bytes(), "\n\nnonsense", &[], "samples.jsonl: line 3: it is not JSON"),
        (
            data.as_bytes(),
            &format!("{RIGHT}\n{RIGHT}"),
            &["--n", "1"],
            "samples.jsonl: line 2: it is sample 2 of `gsm8k/0`",
        ),
        (data.as_bytes(), "", &[], "samples.jsonl: line 1: the file has no samples"),
        (humaneval.as_bytes(), RIGHT, &[], "looks like a row of `humaneval`, not of `gsm8k`"),
        (doubled.as_bytes(), RIGHT, &[], "line 3: task_id `gsm8k/0` is already on line 1"),
        (&broken, RIGHT, &[], "line 2: it is not UTF-8"),
        (br#"{"question":"One?"}"#, RIGHT, &[], "line 1: missing field `answer`"),
        (b"", RIGHT, &[], "the file is empty"),
        (&[0x1f, 0x8b, 0, 0], RIGHT, &[], "data.jsonl is damaged"),
    ];
    for (data, samples, options, said) in cases {
        let (is_good, told) = told("gsm8k", data, samples.as_bytes(), options)?;
        assert!(!is_good && told.contains(said), "wanted `{said}`, got `{told}`");
    }
    let (is_good, told) = told("gsm8k", data.as_bytes(), RIGHT.as_bytes(), &["--n", "1"])?;
    assert!(is_good, "{told}");
    assert!(told.contains("1319 rows and this file 2"), "{told}");
    Ok(())
}

#[test]
fn wrong_names_and_places_are_told_before_anything_is_graded() -> Result<()> {
    let data = ROWS.join("\n");
    let (_, told_name) = told("gms8k", data.as_bytes(), RIGHT.as_bytes(), &[])?;
    assert!(told_name.contains("did you mean `gsm8k`?"), "{told_name}");
    let (_, told_day) = told("gsm8k", data.as_bytes(), RIGHT.as_bytes(), &["--from", "soon"])?;
    assert!(told_day.contains("`soon` is not a date"), "{told_day}");
    let folder = Folder(tempfile::tempdir()?);
    let (rows, samples) = (folder.write("data", data.as_bytes())?, folder.write("samples", RIGHT.as_bytes())?);
    let said = run("gsm8k", &rows, &samples, &folder.0.path().join("nowhere/result.json"), &[])?;
    assert!(String::from_utf8_lossy(&said.stderr).contains("cannot write"), "{said:?}");
    let said = run("gsm8k", &folder.0.path().join("none"), &samples, &folder.0.path().join("result.json"), &[])?;
    assert!(String::from_utf8_lossy(&said.stderr).contains("cannot read"), "{said:?}");
    Ok(())
}
