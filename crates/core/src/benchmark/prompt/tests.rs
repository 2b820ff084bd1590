//! Prompts and solutions of the shipped styles.

use super::*;
use crate::benchmark::{shipped_suites, suite};

fn row(oracle: Question) -> BenchmarkRow {
    BenchmarkRow {
        task_id: "HumanEval/0".to_owned(),
        question: "def add(a, b):\n    \"\"\"Adds {{ both }}.\"\"\"\n".to_owned(),
        canonical: None,
        oracle,
        tags: Default::default(),
    }
}

fn script() -> Question {
    Question::Script { entry_point: "add".to_owned(), test: "def check(candidate): pass".to_owned() }
}

#[test]
fn what_the_function_does_not_need_is_no_solution() {
    let row = row(script());
    let add = "def add(a, b):\n    return a + b\n";
    for (style, text) in [
        ("chat", format!("Here:\n```python\n{add}print(add(1, ")),
        ("chat", format!("```python\n{add}assert add(1, 1) == 3\n```\nIt add")),
        ("evalplus_chat", format!("{add}print(add(1, ")),
    ] {
        let style = PromptStyle::shipped(style).unwrap();
        for finish in [FinishReason::Length, FinishReason::Stop] {
            assert_eq!(style.solution(&row, &text, finish).unwrap().text, add, "{text}");
        }
    }
}

#[test]
fn every_style_puts_the_rows_of_every_suite_that_it_fits() {
    let of = |suite: &Suite| match &suite.format {
        Format::HumanEval {} | Format::EvalPlus {} | Format::Tests { .. } => script(),
        Format::LiveCodeBench {} => Question::LiveCodeBench {
            entry_point: None,
            starter_code: String::new(),
            public_test_cases: None,
            private_test_cases: None,
        },
        Format::Math { .. } | Format::Verl { .. } | Format::Python { .. } => Question::Math { gold: "1".to_owned() },
        Format::SelfPlay {} | Format::CodeO { .. } | Format::CodeI { .. } | Format::CodeF { .. } => {
            Question::CodeO { program: "def f(a):\n return a".to_owned(), input: "1".to_owned() }
        }
    };
    for name in prompt_styles() {
        let style = PromptStyle::shipped(name).unwrap();
        for suite in shipped_suites() {
            let prompt = style.render(&row(of(suite)));
            assert_eq!(prompt.is_ok(), style.misfit(suite).is_none(), "{name} and {}", suite.name);
        }
    }
    assert!(PromptStyle::shipped("rhyme").unwrap_err().to_string().contains("azr, chat"));
}

#[test]
fn a_plain_style_puts_a_text_as_it_is() {
    let text = "Continue {{ this }}:\n\n  <|im_end|>\n\n";
    let own = Question::Python {
        file: crate::artifact::Digest::of(b""),
        source: None,
        timeout: 5,
        packages: Vec::new(),
        row: Default::default(),
    };
    for oracle in [own, Question::Math { gold: "1".to_owned() }, script()] {
        let row = BenchmarkRow { question: text.to_owned(), ..row(oracle) };
        let put = |style: &str| PromptStyle::shipped(style).unwrap().render(&row).unwrap();
        assert_eq!(put("plain"), Prompt::Text(text.to_owned()));
        let Prompt::Messages(messages) = put("plain_chat") else { panic!("{row:?}") };
        assert_eq!((messages.len(), messages[0].content.as_str()), (1, text));
        assert!(PromptStyle::shipped("plain").unwrap().stops_of([&row]).is_empty());
    }
}

#[test]
fn questions_for_the_small_base_for_mathematics_are_put_as_in_its_runs() {
    let question = "What is 3 + 4?";
    let mut asked = row(Question::Math { gold: "7".to_owned() });
    asked.question = question.to_owned();
    let style = PromptStyle::shipped("seedling-math").unwrap();
    let set = PromptSet::shipped("seedling-math").unwrap();
    let in_a_run = set.render("solve", context! { question }).unwrap().prompt;
    assert_eq!(style.render(&asked).unwrap(), in_a_run);
    assert_eq!(style.solution(&asked, r"3+4=7;\boxed{7}", FinishReason::Stop).unwrap().text, "7");
}

#[test]
fn a_question_stands_in_its_prompt_as_it_is() {
    let Prompt::Text(text) = PromptStyle::shipped("completion").unwrap().render(&row(script())).unwrap() else {
        panic!("a text")
    };
    assert_eq!(text, "def add(a, b):\n    \"\"\"Adds {{ both }}.\"\"\"");
    let Prompt::Messages(messages) = PromptStyle::shipped("chat").unwrap().render(&row(script())).unwrap() else {
        panic!("messages")
    };
    assert!(messages[0].content.contains("`add`") && messages[0].content.contains("{{ both }}"));
    let azr = PromptStyle::shipped("azr").unwrap();
    let Prompt::Text(text) = azr.render(&row(script())).unwrap() else { panic!("a text") };
    assert!(text.ends_with("Assistant: <think>"), "{text}");
    assert_ne!(azr.sha256(), PromptStyle::shipped("chat").unwrap().sha256());
}

#[test]
fn answers_are_found_as_the_suite_says() {
    let azr = PromptStyle::shipped("azr").unwrap();
    let said = "It is easy.</think> <answer>```python\ndef add(a, b):\n    return a + b\n```</answer>";
    let program = azr.solution(&row(script()), said, FinishReason::Stop).unwrap().text;
    assert_eq!(program, "def add(a, b):\n    return a + b");
    let math = row(Question::Math { gold: "1".to_owned() });
    assert_eq!(azr.solution(&math, r"so \boxed{7}", FinishReason::Length).unwrap().text, "7");
    let whole = PromptStyle::shipped("azr").unwrap().whole();
    assert!(whole.solution(&math, r"so \boxed{7}", FinishReason::Length).is_err());
    assert_eq!(whole.solution(&math, r"so \boxed{7}", FinishReason::Stop).unwrap().text, "7");
    assert_ne!(whole.sha256_for(std::slice::from_ref(&math)), azr.sha256_for(std::slice::from_ref(&math)));
    assert_eq!(whole.sha256_for(&[row(script())]), azr.sha256_for(&[row(script())]));
    assert!(azr.solution(&math, "I cannot say anything at all about this one", FinishReason::Stop).is_err());
    let held_out = suite("held-out-seedling").unwrap();
    let completion = PromptStyle::shipped("completion").unwrap();
    let misfit = completion.misfit(held_out).unwrap();
    assert!(misfit.contains("self-play") && misfit.contains("`held-out-seedling`"), "{misfit}");
}

#[test]
fn every_style_for_self_play_reads_the_answers_that_its_prompts_want() {
    let trace = row(Question::CodeO { program: "def f(a):\n    return [a]".to_owned(), input: "1".to_owned() });
    for (name, said) in [
        ("azr", "One.</think> <answer>```output\n[1]\n```</answer>"),
        ("chat", "A list.\n```output\n[1]\n```"),
        ("chat", "[1]"),
        ("seedling", "[1]"),
    ] {
        let style = PromptStyle::shipped(name).unwrap();
        let shown = style.render(&trace).unwrap().text();
        assert!(shown.contains("return [a]"), "{name}: {shown}");
        let read = style.solution(&trace, said, FinishReason::Stop);
        assert_eq!(read.unwrap().text, "[1]", "{name}");
    }
    assert!(PromptStyle::shipped("azr").unwrap().solution(&trace, "[1]", FinishReason::Stop).is_err());
}

#[test]
fn an_answer_that_the_prompt_begins_is_read_with_its_beginning() {
    let style = PromptStyle::shipped("evalplus_chat").unwrap();
    let Prompt::Messages(messages) = style.render(&row(script())).unwrap() else { panic!("messages") };
    let roles: Vec<&str> = messages.iter().map(|message| message.role.as_str()).collect();
    assert_eq!(roles, ["user", "assistant"]);
    assert!(messages[0].content.ends_with("both }}.\"\"\"\n```\n"), "{:?}", messages[0].content);
    assert!(messages[1].content.ends_with(":\n```python\n"), "{:?}", messages[1].content);
    let program = "from math import e\n\ndef add(a, b):\n    return a + b";
    assert_eq!(style.solution(&row(script()), program, FinishReason::Stop).unwrap().text, program);
}

#[test]
fn the_question_comes_after_worked_ones() {
    let mut asked = row(Question::Math { gold: "7".to_owned() });
    asked.question = "What is 3 + 4?\n".to_owned();
    let style = PromptStyle::shipped("few_shot").unwrap();
    let shown = style.render(&asked).unwrap().text();
    assert_eq!(shown.matches("#### ").count(), 5);
    assert!(shown.ends_with("\n\nQuestion: What is 3 + 4?\nAnswer:"), "{shown}");
    assert_eq!(style.solution(&asked, " 3 + 4 = <<3+4=7>>7.\n#### 7", FinishReason::Stop).unwrap().text, "7");
}

/// Results are comparable only if their prompts have the same hash.
#[test]
fn the_hashes_of_styles_with_results_do_not_change() {
    let hash = |name| PromptStyle::shipped(name).unwrap().sha256()[..12].to_owned();
    let known = ["de5fa1a3ee99", "dc287fbf7159", "561ba9f873ec", "6a14a1267b57", "0018b7c2c43f"];
    assert_eq!(["azr", "chat", "completion", "seedling", "seedling-math"].map(hash), known);
    // The templates of self-play problems are part of it only where they may change.
    let trace = [row(Question::CodeO { program: "def f(a):\n    return [a]".to_owned(), input: "1".to_owned() })];
    for (name, is_covered) in [("chat", true), ("azr", false), ("seedling", false)] {
        let style = PromptStyle::shipped(name).unwrap();
        assert_eq!(style.sha256_for(&trace) != style.sha256(), is_covered, "{name}");
        assert_eq!(style.sha256_for(&[row(script())]), style.sha256(), "{name}");
    }
}
