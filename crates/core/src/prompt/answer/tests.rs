use super::*;
use crate::prompt::PromptConfig;

fn set(reading: AnswerReading) -> PromptSet {
    let config = PromptConfig { set: "instruct".to_owned(), reading, ..PromptConfig::default() };
    PromptSet::compile(&config.resolve("", &ProblemKind::TRIPLES).unwrap()).unwrap()
}

const OUTPUT: Statement<'_> = Statement::Output { program: "def f(a, b):\n return a + [b]", input: "[1, 2], 7" };

const INPUT: Statement<'_> = Statement::Input { program: "def f(a, b):\n return a + [b]", output: "[1, 2, 7]" };

#[test]
fn the_form_comes_first_then_a_line_a_box_and_a_literal_of_its_own() {
    use ReadingRule::{Boxed, Form, Line, Literal};
    let set = set(AnswerReading::Flexible);
    for (statement, text, rule, answer) in [
        (OUTPUT, "Answer: [9]\n```output\n[1, 2, 7]\n```", Form, "[1, 2, 7]"),
        (OUTPUT, "[1, 2, 7]", Form, "[1, 2, 7]"),
        (OUTPUT, r"So \boxed{[9]}. **Answer:** `[1, 2, 7]`.", Line, "[1, 2, 7]"),
        (OUTPUT, "The answer is [1, 2, 7].\nThat is it.", Line, "[1, 2, 7]"),
        (OUTPUT, "Answer: -3.5", Line, "-3.5"),
        (OUTPUT, "Answer: see below. It is `[3]`, I would say: \\boxed{[1, 2, 7]}", Boxed, "[1, 2, 7]"),
        (OUTPUT, "`a` is `[1, 2]`, so the value is `[1, 2, 7]`", Literal, "[1, 2, 7]"),
        (OUTPUT, "It gives ```\n[1, 2, 7]\n``` as `f` adds it", Form, "[1, 2, 7]"),
        (OUTPUT, "```python\na + [b]\n```\nwhich is `{'k': (None, True)}`", Literal, "{'k': (None, True)}"),
        (INPUT, "```input\n[1, 2], 7\n```", Form, "[1, 2], 7"),
        (INPUT, "Answer: f([1, 2], 7)", Line, "[1, 2], 7"),
    ] {
        let found = set.answer(&statement, text, FinishReason::Stop);
        assert_eq!(found, Ok(FoundAnswer { text: answer.to_owned(), rule }), "{text}");
    }
}

#[test]
fn what_is_no_value_or_is_copied_from_the_prompt_is_not_read() {
    let set = set(AnswerReading::Flexible);
    for text in [
        "",
        "I do not know.",
        "Answer: the value",
        "The input is `[1,2]`.",
        "It becomes `[1, 2, 9]` first, and then it adds `b`.",
        "Answer: a + [b]",
        "```output\nthe value\n```",
        "`__import__('os')`",
        "Answer: [1, 2",
    ] {
        assert!(set.answer(&OUTPUT, text, FinishReason::Stop).is_err(), "{text}");
    }
    for text in ["Answer: [1, 2]", "Answer: [1], 2, 7", "One may call `f([3], 7)` for it"] {
        assert!(
            set.answer(&INPUT, text, FinishReason::Stop).is_err(),
            "not two arguments, or no line and no box: {text}"
        );
    }
    let deep = format!("Answer: {}1{}", "[".repeat(8_000), "]".repeat(8_000));
    assert!(set.answer(&OUTPUT, &deep, FinishReason::Stop).is_ok_and(|found| found.rule == ReadingRule::Line));
    assert!(set.answer(&INPUT, &deep, FinishReason::Stop).is_err());
    let long = format!("Answer: [{}]", "1,".repeat(9_000));
    assert!(set.answer(&OUTPUT, &long, FinishReason::Stop).is_err());
}

#[test]
fn strict_reads_the_form_alone_and_nothing_is_read_from_a_cut_answer() {
    let strict = set(AnswerReading::Strict);
    let line = "It is so.\n`x`\nAnswer: [1, 2, 7]";
    // Without a block the whole text is the answer, which the verifier refuses.
    assert_eq!(strict.answer(&OUTPUT, line, FinishReason::Stop).unwrap().text, line);
    for set in [strict, set(AnswerReading::Flexible)] {
        let block = "```output\n[1, 2, 7]\n```\nand then";
        assert_eq!(set.answer(&OUTPUT, block, FinishReason::Stop).unwrap().text, "[1, 2, 7]");
        assert!(set.answer(&OUTPUT, block, FinishReason::Length).unwrap_err().contains("cut"));
        let function = Statement::Function { message: "adds", pairs: vec![("1", "2")] };
        assert!(set.answer(&function, "Answer: 5", FinishReason::Stop).unwrap_err().contains("```python"));
    }
}

proptest::proptest! {
    #[test]
    fn any_text_is_read_or_refused_with_a_reason(text in "(```|`|Answer: |answer is|\\\\boxed\\{|\\}|\\[|\\]|1|,|'|é|\n|output\n){0,24}") {
        for statement in [OUTPUT, INPUT] {
            match set(AnswerReading::Flexible).answer(&statement, &text, FinishReason::Stop) {
                Ok(found) => proptest::prop_assert!(is_value(&found.text)),
                Err(reason) => proptest::prop_assert!(!reason.is_empty()),
            }
        }
    }
}
