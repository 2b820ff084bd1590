use proptest::prelude::*;

use super::*;
use crate::prompt::Format;
use crate::work::FinishReason::{Length, Stop};

const QUESTION: Field = Field::last("question");
const ANSWER: Field = Field::last("answer");
const SCORE: Field = Field::first("score");

fn reading(fields: &[Field], text: &str) -> Reading {
    read(fields, text, Stop, "")
}

#[test]
fn fields_are_found_in_any_order_in_the_midst_of_other_text() {
    let text = "Well.\n<answer> 4 </answer> because <question>\nWhat is 2 + 2?\n</question> is easy.";
    let reading = reading(&[QUESTION, ANSWER], text);
    assert_eq!(reading.text("question"), Ok("What is 2 + 2?"));
    assert_eq!(reading.text("answer"), Ok("4"));
    assert_eq!((reading.score(), reading.reason()), (1.0, None));
}

#[test]
fn of_drafts_the_last_counts_and_of_verdicts_the_first() {
    let text = "<score>8</score> or <score>2</score>; <answer>1</answer><answer>2</answer>";
    let reading = reading(&[SCORE, ANSWER], text);
    assert_eq!(reading.text("score"), Ok("8"));
    assert_eq!(reading.text("answer"), Ok("2"));
    assert_eq!(reading.score(), 0.5);
    assert_eq!(reading.reason(), Some("2 <score> found, 1 needed"));
}

#[test]
fn the_format_is_exact_redundant_or_broken() {
    for (text, format, found) in [
        ("<answer>1</answer>", Format::Exact, Some("1")),
        ("<answer>1</answer><answer>2</answer>", Format::Redundant, Some("2")),
        ("<answer>1<answer>2</answer></answer>", Format::Redundant, Some("1<answer>2</answer>")),
        ("<answer> or <answer>2</answer>", Format::Broken, Some("2")),
        ("<answer>1</answer></answer>", Format::Broken, Some("1")),
        ("</answer>1<answer>", Format::Broken, None),
        ("<answer>1", Format::Broken, None),
        ("1</answer>", Format::Broken, None),
        ("1", Format::Broken, None),
        // Tags are literal.
        ("<answer id=\"1\">1</answer>", Format::Broken, None),
        ("<Answer>1</Answer>", Format::Broken, None),
        ("<answer/>", Format::Broken, None),
        // An empty field is well-formed, but there is nothing to read.
        ("<answer> </answer>", Format::Exact, None),
    ] {
        let reading = reading(&[ANSWER], text);
        assert_eq!(reading.format("answer"), Some(format), "{text}");
        assert_eq!(reading.text("answer").ok(), found, "{text}");
        assert_eq!(reading.score(), format.score(), "{text}");
        assert_eq!(reading.reason().is_none(), format == Format::Exact, "{text}");
    }
}

#[test]
fn a_field_inside_another_is_part_of_its_text() {
    let leak = "<question>What is 2 + 2? <answer>4</answer></question>";
    let inside = reading(&[QUESTION, ANSWER], leak);
    assert_eq!(inside.text("question"), Ok("What is 2 + 2? <answer>4</answer>"));
    assert_eq!(inside.text("answer"), Err("there is no <answer>".to_owned()));
    assert_eq!(inside.score(), 0.5);
    let crossed = reading(&[QUESTION, ANSWER], "<question>a<answer>b</question>c</answer>");
    assert_eq!(crossed.text("question"), Ok("a<answer>b"));
    assert_eq!(crossed.text("answer"), Err("a </answer> closes nothing".to_owned()));
    let thought = [Field::last("think"), ANSWER];
    let drafted = reading(&thought, "<think>maybe <answer>3</answer></think><answer>4</answer>");
    assert_eq!((drafted.text("answer"), drafted.score()), (Ok("4"), 1.0));
}

#[test]
fn a_completion_that_was_cut_says_so() {
    let cut = read(&[ANSWER], "so <answer>4</answ", Length, "");
    assert_eq!(
        cut.text("answer"),
        Err("a <answer> is not closed: the completion was cut at the token limit".to_owned())
    );
    let whole = read(&[ANSWER], "<answer>4</answer> and so on and", Length, "");
    assert_eq!((whole.text("answer"), whole.score()), (Ok("4"), 1.0));
}

#[test]
fn a_tag_at_the_end_of_the_prompt_opens_the_completion() {
    let fields = [Field::last("think"), ANSWER];
    let opened = read(&fields, "easy</think><answer>4</answer>", Stop, "Assistant: <think>\n");
    assert_eq!((opened.text("think"), opened.score()), (Ok("easy"), 1.0));
    let not_read = read(&[ANSWER], "easy</think><answer>4</answer>", Stop, "Assistant: <think>\n");
    assert_eq!((not_read.text("answer"), not_read.score()), (Ok("4"), 1.0));
}

#[test]
fn empty_completions_get_the_neutral_score_and_have_no_fields() {
    for text in ["", " \n"] {
        let empty = reading(&[ANSWER, SCORE], text);
        assert_eq!(empty.score(), 0.5);
        assert!(empty.text("answer").is_err());
    }
}

#[test]
fn optional_fields_count_only_where_they_occur() {
    let fields = [ANSWER, Field::last("plan").optional()];
    let without = reading(&fields, "<answer>4</answer>");
    assert_eq!((without.score(), without.format("plan")), (1.0, None));
    assert_eq!(without.text("plan"), Err("there is no plan".to_owned()));
    let unclosed = reading(&fields, "<answer>4</answer><plan>");
    assert_eq!((unclosed.score(), unclosed.format("plan")), (0.5, Some(Format::Broken)));
}

#[test]
fn a_field_may_be_wanted_several_times() {
    let inputs = |count: usize| (1..=count).map(|n| format!("<input>{n}</input>")).collect::<String>();
    let read_of = |count| reading(&[Field::times("input", 2)], &inputs(count));
    assert_eq!(read_of(2).texts("input").unwrap(), ["1", "2"]);
    assert_eq!(read_of(3).texts("input").unwrap(), ["2", "3"]);
    assert_eq!((read_of(2).score(), read_of(3).score()), (1.0, 0.5));
    assert_eq!(read_of(1).texts("input"), Err("1 <input> found, 2 needed".to_owned()));
}

#[test]
fn a_box_is_looked_for_outside_of_the_fields_from_the_end() {
    let fields = [QUESTION, Field::boxed("answer")];
    let text = r"<question>Put 3 in a \boxed{}: \boxed{9}</question> \boxed{2}, no, \boxed{\frac{1}{2}}.";
    let whole = reading(&fields, text);
    assert_eq!(whole.text("answer"), Ok(r"\frac{1}{2}"));
    assert_eq!(whole.score(), 1.0);
    let before = reading(&fields, r"\boxed{2} answers <question>1 + 1?</question>");
    assert_eq!(before.text("answer"), Ok("2"));
    let open = reading(&fields, r"<question>1 + 1?</question> \boxed{2");
    assert_eq!(open.text("answer"), Err(r"there is no complete \boxed{}".to_owned()));
    assert_eq!(open.score(), 0.5);
    let across = reading(&fields, r"\boxed{<question>1 + 1?</question>}");
    assert!(across.text("answer").is_err());
}

/// Text with tags of all kinds in it.
fn soup() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("<question>".to_owned()),
        Just("</question>".to_owned()),
        Just("<answer>".to_owned()),
        Just("</answer>".to_owned()),
        Just("<".to_owned()),
        Just("</".to_owned()),
        Just("\\boxed{".to_owned()),
        Just("}".to_owned()),
        ".{0,6}",
    ];
    proptest::collection::vec(part, 0..24).prop_map(|parts| parts.concat())
}

/// Text without the tags of `field`, except for whole fields within it.
fn contents(field: &'static str) -> impl Strategy<Value = String> {
    soup().prop_map(move |text| {
        let plain = text.replace(&format!("<{field}>"), "").replace(&format!("</{field}>"), "");
        // The remaining text may have joined to form a tag.
        if plain.contains(&format!("{field}>")) { String::new() } else { plain }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_text_is_read(text in soup(), opening in prop_oneof![Just(""), Just("<answer>"), Just("<think>")], stopped: bool) {
        let finish = if stopped { Stop } else { Length };
        let fields = [QUESTION, SCORE.optional(), Field::times("answer", 2), Field::boxed("box")];
        let reading = read(&fields, &text, finish, opening);
        prop_assert!((0.0..=1.0).contains(&reading.score()));
        for field in fields {
            match reading.texts(field.name) {
                Ok(found) => {
                    prop_assert_eq!(found.len(), field.count());
                    prop_assert!(found.iter().all(|found| text.contains(found.as_str())));
                }
                Err(reason) => prop_assert!(!reason.is_empty()),
            }
            let is_exact = reading.format(field.name).is_none_or(|format| format == Format::Exact);
            prop_assert!(is_exact || reading.reason().is_some_and(|reason| !reason.is_empty()));
        }
    }

    #[test]
    fn what_is_between_balanced_tags_comes_back(
        question in contents("question"),
        inner in contents("question"),
        answer in contents("answer"),
        is_nested: bool,
    ) {
        let question = if is_nested { format!("{question}<question>{inner}</question>") } else { question };
        let text = format!("So: <question>{question}</question> then <answer>{answer}</answer>.");
        let reading = reading(&[QUESTION, ANSWER], &text);
        prop_assert_eq!(&reading.texts("question").unwrap()[0], question.trim());
        prop_assert_eq!(&reading.texts("answer").unwrap()[0], answer.trim());
        prop_assert_eq!(reading.format("answer"), Some(Format::Exact));
        let format = if is_nested { Format::Redundant } else { Format::Exact };
        prop_assert_eq!(reading.format("question"), Some(format));
    }

    /// With one field the format is that of balanced brackets.
    #[test]
    fn the_format_of_one_field_counts_its_tags(text in soup()) {
        let (mut depth, mut pairs, mut is_balanced) = (0_i32, 0, true);
        for (at, _) in text.match_indices('<') {
            if text[at..].starts_with("<answer>") {
                depth += 1;
            } else if text[at..].starts_with("</answer>") {
                depth -= 1;
                pairs += 1;
            }
            is_balanced &= depth >= 0;
        }
        let expected = match (is_balanced && depth == 0, pairs) {
            (true, 1) => Format::Exact,
            (true, 2..) => Format::Redundant,
            _ => Format::Broken,
        };
        prop_assert_eq!(reading(&[ANSWER], &text).format("answer"), Some(expected));
    }
}

#[test]
fn a_text_of_tags_alone_is_read_once() {
    // With a new search for tags after each one, these would take minutes.
    for part in
        ["<answer>", "</answer>", "<answer></answer>", "<question><answer>", "<", "\\boxed{", "<answer>\\boxed{"]
    {
        let text = part.repeat(100_000);
        let reading = reading(&[QUESTION, ANSWER, Field::boxed("box")], &text);
        assert!(reading.text("question").is_err(), "{part}");
    }
    let nested = format!("{}{}", "<answer>".repeat(100_000), "</answer>".repeat(100_000));
    assert_eq!(reading(&[ANSWER], &nested).format("answer"), Some(Format::Redundant));
}
