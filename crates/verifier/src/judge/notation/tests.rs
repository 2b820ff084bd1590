use super::in_common_notation;

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
        (r"5\text{ million}", r"5000000\text{}"),
        (r"5\text{ million dollars}", r"5000000\text{ dollars}"),
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
        (r"\frac{\sin 30^\circ}{2}", r"\frac{\sin{\left(\frac{30\pi}{180}\right)}}{2}"),
        (r"2\tan(45^{\circ})", r"2\tan{\left(\frac{45\pi}{180}\right)}"),
        ("√{x}", r"\sqrt{{x}}"),
        ("7 dozen", "7 dozen"),
        ("C>B>A", "A<B<C"),
        (r"3\ge x>1", r"1<x\le 3"),
        ("3>1", "3>1"),
    ] {
        assert_eq!(in_common_notation(text), written, "{text}");
    }
}
