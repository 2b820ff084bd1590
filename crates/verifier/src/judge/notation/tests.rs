use super::{in_common_notation, seen};

#[test]
fn other_ways_to_write_a_value_become_one_that_is_known() {
    for (text, written) in [
        ("\u{200b}2", "2"),
        ("５", "5"),
        ("**42**", "42"),
        ("£20", "20"),
        ("18 eggs", "18"),
        ("1,200 people.", "1200"),
        ("2 pi", "2 pi"),
        ("2x", "2x"),
        ("3 or 4", "3 or 4"),
        (r"5\text{ million}", "5000000"),
        ("2.5 million", "2500000"),
        (r"1\,000\,000", "1000000"),
        ("½", r"\frac{1}{2}"),
        ("2√3", r"2\sqrt{3}"),
        ("√(x+1)", r"\sqrt{(x+1)}"),
        ("x²≤4", r"x^{2}\le 4"),
        ("y¹²-a₁", "y^{12}-a_{1}"),
        ("it is 5 m²", "it is 5 m²"),
        (r"\varnothing", r"\emptyset "),
        (r"\cos 60^\circ", r"\cos{\left(\frac{60\pi}{180}\right)}"),
        ("C>B>A", "A<B<C"),
        (r"3\ge x>1", r"1<x\le 3"),
        ("3>1", "3>1"),
    ] {
        assert_eq!(in_common_notation(text), written, "{text}");
    }
}

#[test]
fn what_math_verify_does_not_see_is_compared() {
    for (gold, answer, is_equal) in [
        ("1101_2", "1101_3", Some(false)),
        (r"120_{\text{five}}", r"120_{\text{six}}", Some(false)),
        (r"120_{\text{five}}", "120_5", None),
        ("1101_2", "1101", None),
        ("x_1", "x_2", None),
        ("Amy", "May", Some(false)),
        ("BDAC", "CADB", Some(false)),
        (r"\text{Amy}", "amy", None),
        ("abc", "bca", None),
        (r"\angle ABC", r"\angle CBA", None),
        (r"\angle BAC", r"\angle ABC", Some(false)),
        (r"\triangle ABC", r"\triangle BCA", None),
        (r"3:45 \text{ PM}", r"3:45 \text{ AM}", Some(false)),
        (r"3:45 \text{ PM}", "3:45", None),
        (r"5 \text{ hours } 20 \text{ minutes}", r"5 \text{ hours } 30 \text{ minutes}", Some(false)),
        ("2 apples and 3 pears", "3 pears, 2 apples", None),
        ("5 hours 20 minutes", "5", Some(false)),
        ("2 and 3", "2 and 4", None),
        ("2019-05-06", "2019-06-05", Some(false)),
        ("2019-05-06", "2019-5-6", None),
        ("2019-05-06", "2008", Some(false)),
        (r"a \equiv 1 \pmod 3", r"a\equiv 2\pmod 3", Some(false)),
        (r"a \equiv 1 \pmod 3", r"a\equiv 4\pmod{3}", Some(true)),
        (r"a \equiv 1 \pmod 3", r"a\equiv 1\pmod{4}", Some(false)),
        ("f'(x)", "f(x)", Some(false)),
        ("f'(x)=2x", "2x", None),
        ("it's 2", "2", None),
        (r"30^\circ", "30'", Some(false)),
        (r"30^\circ", "30", None),
    ] {
        assert_eq!(seen(gold, answer), is_equal, "{gold} {answer}");
        assert_eq!(seen(answer, gold), is_equal, "{answer} {gold}");
    }
}
