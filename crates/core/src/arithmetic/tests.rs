use super::*;
use proptest::prelude::*;

fn number(text: &str) -> Rational {
    read_answer(text).unwrap_or_else(|| panic!("{text} is not a number"))
}

/// Questions and their values, worked out by hand from the English.
const VALUES: &[(&str, &str)] = &[
    ("What is 3 + 4 * 5?", "23"),
    ("What is (3 + 4) * 5 - 1?", "34"),
    ("Calculate 20 - 8 - 5.", "7"),
    ("Compute 24 / 4 / 3.", "2"),
    ("How much is 3 plus 4 times 5?", "23"),
    ("Work out 12 divided by 8.", "3/2"),
    ("Find the value of 17 % 5.", "2"),
    ("What do you get for 17 modulo 5?", "2"),
    ("9 - 12 = ?", "-3"),
    ("What is -3 + 5?", "2"),
    ("what is 3 × 4 ÷ 2", "6"),
    ("What is 1.5 + 2.25?", "3.75"),
    ("What is the sum of 3 and 4?", "7"),
    ("What is the sum of the product of 2 and 3 and 4?", "10"),
    ("What is the difference between 9 and 4?", "5"),
    ("What is 5 times the sum of 3 and 4?", "35"),
    ("What is the quotient of 3 and 12?", "1/4"),
    ("What is the remainder of 17 divided by 5?", "2"),
    ("What is the remainder when 3 * 7 is divided by 4?", "1"),
    ("Find the value of the square of 6.", "36"),
    ("What is the total of 3 and 4?", "7"),
    ("What is a quarter of 12?", "3"),
    ("What is two thirds of 12?", "8"),
    ("Add 3 and 4.", "7"),
    ("Leo has 9 balls. He gets 3 from Eva. He sells 2 boxes of 4. How many balls does he have?", "4"),
    ("Leo starts with 8 balls, finds 4 more and keeps three quarters of them. How many balls does he have?", "9"),
    ("What is twice 7?", "14"),
    ("What is half of 9?", "9/2"),
    ("What is a third of 12?", "4"),
    ("What is three quarters of 8?", "6"),
    ("What is 3/4 of 20?", "15"),
    ("What is 25 percent of 80?", "20"),
    ("What is 10% of 5?", "1/2"),
    ("What is 1 + 2/3 of 9?", "7"),
    ("What is 1/2 + 1/3?", "5/6"),
    ("Add 3 to 4.", "7"),
    ("Subtract 4 from 9.", "5"),
    ("Take 4 away from 9.", "5"),
    ("Multiply 3 by 4.", "12"),
    ("Divide 12 by 4.", "3"),
    ("How many times does 4 go into 12?", "3"),
    ("Which number plus 4 is 9?", "5"),
    ("Which number minus 4 is 9?", "13"),
    ("Which number times 4 is 12?", "3"),
    ("Which number divided by 4 is 3?", "12"),
    ("What must be added to 4 to get 9?", "5"),
    ("Let x = 3 * 4. What is x - 5?", "7"),
    ("If n is 3 and k is n + 1, how much is n * k?", "12"),
    ("Start with 7. Add 5. Multiply by 3. What is the result?", "36"),
    ("Take 8, double it, subtract 4 and divide by 3. What do you get?", "4"),
    ("Begin with 9, then halve it and take away 4.", "1/2"),
    ("Ann has 12 apples. She buys 5 more. How many apples does Ann have now?", "17"),
    ("Ben has 3 boxes of 4 eggs and loses 2. How many eggs does he have?", "10"),
    ("Mia has 2 bags with 6 nuts each. Mia gives 3 to Leo. How many nuts does she have now?", "9"),
    (
        "Leo collects 20 coins. He gives 2 to each of 4 friends, and finds 3 bags with 5 each. How many coins does Leo have?",
        "27",
    ),
    (
        "Eva has 12 pens. She gives half of them to Dan. Then she buys 2 boxes of 3. How many pens are there in the end?",
        "12",
    ),
    ("Kim has 12 pens. She keeps a third of them and doubles them. How many pens does Kim have?", "8"),
    ("Kim has 12 pens. She sells 4. She shares them among 4 friends. How many pens does each friend get?", "2"),
];

#[test]
fn questions_have_the_values_of_their_english() {
    for (question, value) in VALUES {
        let found = read_question(question).unwrap_or_else(|reason| panic!("{question}: {reason}"));
        assert_eq!(found.value(), Some(number(value)), "{question}");
        assert_eq!(judge(question, value), Judgement::Right, "{question}");
        assert!(matches!(judge(question, "9999"), Judgement::Wrong { .. }), "{question}");
    }
}

#[test]
fn every_wording_is_in_the_table() {
    let text = VALUES.iter().map(|(question, _)| *question).collect::<Vec<_>>().join(" ").to_lowercase();
    let links = wording::PHRASES.iter().chain(wording::TASKS).chain(wording::CHAIN_LINKS);
    let stories = wording::STORY_CHANGES.iter().map(|(pattern, _)| *pattern);
    for pattern in links.map(|wording| wording.pattern).chain(stories) {
        let mut pieces = pattern.split('{').map(|piece| piece.split('}').next_back().unwrap_or(""));
        assert!(
            pieces.all(|piece| text.contains(piece.trim_end_matches(['.', '?']).to_lowercase().as_str())),
            "{pattern}"
        );
    }
}

#[test]
fn what_is_ambiguous_or_unknown_is_neither_right_nor_wrong() {
    for question in [
        "",
        "Hello",
        "What is?",
        "What is 3 +?",
        "What is 3 + x?",
        "What is 3 4?",
        "What is (3 + 4?",
        "What is 3 / 0?",
        "What is 1/2 % 3?",
        "What is the sum of 3 and 4 times 5?",
        "What is 3/4 of 20 + 1?",
        "What is the difference between 4 and 9?",
        "Let x = 3. Let x = 4. What is x?",
        "Start with 7. What is the result?",
        "Ann has some apples. She buys 5 more. How many apples does Ann have now?",
        "Ann has 12 apples. She buys 5 more. How many pears does Ann have now?",
        "Ann has 12 apples. She buys 5 more. How many apples does Ben have now?",
        "Ann has 12 apples. She gives 15 to Ben. How many apples does Ann have now?",
        "Ann has 12 apples. She gives 5 to Ann. How many apples does Ann have now?",
        "Ann has 11 apples. She gives half of them to Ben. How many apples does Ann have now?",
        "Ann has 12 apples. She shares them among 4 friends. How many apples does Ann have now?",
        "What is 999999999999 * 999999999999?",
        "What is 1234567890123 + 1?",
    ] {
        assert!(matches!(judge(question, "17"), Judgement::Unknown(_)), "{question}");
    }
    for answer in ["", "seven", "7 apples", "1/0", "1/2/3", "0x7", "7.", "1e3", "--7", "\\frac{7}"] {
        let found = judge("What is 3 + 4?", answer);
        assert_eq!(found, Judgement::Unknown("the answer is not a number"), "{answer}");
    }
}

#[test]
fn an_answer_may_be_in_any_terms() {
    for answer in ["1/2", " 2/4 ", "0.5", "\\frac{1}{2}", "\\dfrac{2}{4}", "+1/2"] {
        assert_eq!(judge("What is 1/4 + 1/4?", answer), Judgement::Right, "{answer}");
    }
    for answer in ["-1/2", "−1/2", "-0.50", "-\\frac{1}{2}"] {
        assert_eq!(judge("What is 1/4 - 3/4?", answer), Judgement::Right, "{answer}");
    }
}

#[test]
fn a_form_does_not_depend_on_wording_or_order() {
    let form = |question| read_question(question).unwrap().form();
    let same = ["What is 4 + 3?", "Add 3 to 4.", "Ann has 3 nuts. She finds 4 more. How many nuts does she have?"];
    for question in same {
        assert_eq!(form(question), "(+3+4)", "{question}");
    }
    assert_eq!(form("What is 4 - 3 * 2 + 1?"), form("What is 1 + (4 - 2 * 3)?"));
    assert_eq!(form("What is 6 * 4 / 3?"), form("What is 4 / 3 * 6?"));
    assert_ne!(form("What is 4 - 3?"), form("What is 3 - 4?"));
    assert_ne!(form("What is 4 - (3 - 2)?"), form("What is 4 - 3 - 2?"));
    assert_ne!(form("What is 7 % 4?"), form("What is 4 % 7?"));
}

fn expression() -> impl Strategy<Value = Expression> {
    use Operator::{Add, Divide, Multiply, Remainder, Subtract};
    let operator = prop_oneof![Just(Add), Just(Subtract), Just(Multiply), Just(Divide), Just(Remainder)];
    (0..1000_i64).prop_map(Expression::whole).prop_recursive(5, 32, 2, move |inner| {
        (operator.clone(), inner.clone(), inner)
            .prop_map(|(operator, left, right)| Expression::of(operator, left, right))
    })
}

proptest! {
    #[test]
    fn a_formula_is_read_as_it_is_written(expression in expression()) {
        let text = expression.to_string();
        let read = formula(&text, &[]).expect("a formula");
        prop_assert_eq!(read.to_string(), text.as_str());
        prop_assert_eq!(read.value(), expression.value());
    }

    #[test]
    fn no_text_is_too_strange(text in "\\PC{0,60}|([a-z0-9(+*/%.,? -]|What is |the sum of |half of |Let x = |Ann has ){0,40}") {
        if let Ok(found) = read_question(&text) {
            let _ = found.value();
            let _ = found.form();
        }
        let _ = read_answer(&text);
    }
}
