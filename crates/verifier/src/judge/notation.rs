//! Rewrites notations that Math-Verify misreads into ones that it knows.

#[cfg(test)]
mod tests;

use num_bigint::BigInt;
use regex::Captures;
use std::borrow::Cow;

use crate::rational::Rational;

/// A text in common notation, as Math-Verify reads it.
pub(super) fn in_common_notation(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Cow::Borrowed(text);
    }
    let text = unmarked(&in_latex(text)).to_owned();
    let text = CURRENCY.replace_all(&text, "$1");
    let text = EMPTY_SET.replace_all(&text, r"\emptyset ");
    let text = DEGREES_OF.replace_all(&text, r"\$1{\left(\frac{$2$3$4\pi}{180}\right)}");
    let text = SCALED.replace_all(&text, |found: &Captures<'_>| scaled(found)).into_owned();
    let text = match COUNTED.captures(&text) {
        Some(found) if Rational::read(&found[1]).is_some() && found[2].split_whitespace().all(is_unit) => {
            found[1].to_owned()
        }
        _ => text,
    };
    let text = rising(&text).unwrap_or(text);
    // Math-Verify reads spaces between digits as products.
    Cow::Owned(match Rational::read(&text) {
        Some(number) if number.value.is_integer() && !number.is_decimal => number.value.to_string(),
        _ => text,
    })
}

// `£20`; a dollar may begin a formula.
pattern!(CURRENCY, r"[£€¥₹]\s*([0-9.])");
pattern!(EMPTY_SET, r"\\varnothing\b|\\\{\s*\\\}");
pattern!(
    DEGREES_OF,
    concat!(
        r"\\(sin|cos|tan|cot|sec|csc)\s*(?:\(\s*([0-9]+(?:\.[0-9]+)?)\s*\^(?:\s*\\circ\b|\{\s*\\circ\s*\})\s*\)",
        r"|\{\s*([0-9]+(?:\.[0-9]+)?)\s*\^(?:\s*\\circ\b|\{\s*\\circ\s*\})\s*\}",
        r"|([0-9]+(?:\.[0-9]+)?)\s*\^(?:\s*\\circ\b|\{\s*\\circ\s*\}))"
    )
);
pattern!(SCALED, r"([0-9][0-9,]*(?:\.[0-9]+)?)\s*(\\text\s*\{)?\s*\b(thousand|million|billion|trillion)\b");
pattern!(COUNTED, r"^([-+]?[0-9][0-9,]*(?:\.[0-9]+)?)\s+([A-Za-z]{2,}(?:\s+[A-Za-z]{2,})*)\.?$");

fn scaled(found: &Captures<'_>) -> String {
    let zeros = match &found[3] {
        "thousand" => 3,
        "million" => 6,
        "billion" => 9,
        _ => 12,
    };
    let Some(number) = Rational::read(&found[1]) else { return found[0].to_owned() };
    let value = number.value * BigInt::from(10).pow(zeros);
    let after = found.get(2).map_or("", |text| text.as_str());
    if value.is_integer() { format!("{value}{after}") } else { found[0].to_owned() }
}

/// Whether a word after a number is what is counted, and no part of the value.
pub(super) fn is_unit(word: &str) -> bool {
    const VALUES: &str = " pi sqrt sin cos tan cot sec csc log ln exp inf infinity factorial over plus minus times squared cubed half \
                          halves hundred dozen mod base percent am pm and or to ";
    !VALUES.contains(&format!(" {} ", word.to_ascii_lowercase()))
}

/// A text without invisible characters, with LaTeX for the characters of mathematics.
fn in_latex(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let letters: Vec<char> = text.chars().collect();
    let mut written = String::with_capacity(text.len() + 16);
    let mut at = 0;
    while let Some(&letter) = letters.get(at) {
        at += 1;
        match letter {
            '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' | '\u{ad}' => {}
            '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => written.push(' '),
            '\u{ff01}'..='\u{ff5e}' => written.extend(char::from_u32(u32::from(letter) - 0xfee0)),
            '√' | '∛' => {
                let length = argument(&letters[at..]);
                let root = if letter == '√' { r"\sqrt" } else { r"\sqrt[3]" };
                let inside: String = letters[at..at + length].iter().collect();
                written.push_str(&format!("{root}{{{inside}}}"));
                at += length;
            }
            _ => match (latex(letter), small_digits(&letters[at - 1..])) {
                (Some(latex), _) => written.push_str(latex),
                (None, Some((mark, digits))) if !follows_unit(&written) => {
                    written.push_str(&format!("{mark}{{{digits}}}"));
                    at += digits.len() - 1;
                }
                _ => written.push(letter),
            },
        }
    }
    Cow::Owned(written)
}

const SMALL: [(char, [char; 10]); 2] = [
    ('^', ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹']),
    ('_', ['₀', '₁', '₂', '₃', '₄', '₅', '₆', '₇', '₈', '₉']),
];

/// The raised or lowered digits at the beginning, after the mark that raises or lowers.
fn small_digits(letters: &[char]) -> Option<(char, String)> {
    SMALL.iter().find_map(|(mark, small)| {
        let digit = |letter: &char| small.iter().position(|known| known == letter).map(|digit| digit.to_string());
        let digits: String = letters.iter().map_while(digit).collect();
        (!digits.is_empty()).then_some((*mark, digits))
    })
}

/// Whether a text ends with a unit of length, whose square Math-Verify drops with it.
fn follows_unit(text: &str) -> bool {
    let unit = text.rsplit(|letter: char| !letter.is_ascii_alphabetic()).next().unwrap_or_default();
    ["m", "mm", "cm", "km", "in", "ft", "yd", "mi"].contains(&unit)
}

/// How many characters are under a root: digits, a letter, or what is in brackets.
fn argument(rest: &[char]) -> usize {
    match rest.first() {
        Some('(') => rest.iter().position(|letter| *letter == ')').map_or(rest.len(), |end| end + 1),
        Some('{') => rest.iter().position(|letter| *letter == '}').map_or(rest.len(), |end| end + 1),
        Some(first) if first.is_ascii_digit() => rest.iter().take_while(|letter| letter.is_ascii_digit()).count(),
        first => usize::from(first.is_some()),
    }
}

fn latex(letter: char) -> Option<&'static str> {
    Some(match letter {
        '½' => r"\frac{1}{2}",
        '⅓' => r"\frac{1}{3}",
        '⅔' => r"\frac{2}{3}",
        '¼' => r"\frac{1}{4}",
        '¾' => r"\frac{3}{4}",
        '⅕' => r"\frac{1}{5}",
        '⅖' => r"\frac{2}{5}",
        '⅗' => r"\frac{3}{5}",
        '⅘' => r"\frac{4}{5}",
        '⅙' => r"\frac{1}{6}",
        '⅚' => r"\frac{5}{6}",
        '⅛' => r"\frac{1}{8}",
        '⅜' => r"\frac{3}{8}",
        '⅝' => r"\frac{5}{8}",
        '⅞' => r"\frac{7}{8}",
        '−' => "-",
        '×' => r"\times ",
        '÷' => r"\div ",
        '·' | '⋅' => r"\cdot ",
        'π' => r"\pi ",
        '∞' => r"\infty ",
        '≤' => r"\le ",
        '≥' => r"\ge ",
        '≠' => r"\ne ",
        '±' => r"\pm ",
        '∪' => r"\cup ",
        '∩' => r"\cap ",
        '∈' => r"\in ",
        '∅' => r"\emptyset ",
        '∠' => r"\angle ",
        '°' => r"^\circ ",
        '′' => "'",
        '″' => "''",
        _ => return None,
    })
}

/// A text without the marks of Markdown around all of it.
fn unmarked(text: &str) -> &str {
    let mut text = text.trim();
    while let Some(inside) = ["**", "__", "`", "*"]
        .iter()
        .find_map(|mark| text.strip_prefix(mark)?.strip_suffix(mark))
        .filter(|inside| !inside.is_empty())
    {
        text = inside.trim();
    }
    text
}

pattern!(FALLING, r"^([^<>=]+)((?:>|\\geq?\b|\\gt\b)[^<>=]+){2,}$");
pattern!(SIGN, r">|\\geq?\b|\\gt\b");

/// `A<B<C` for `C>B>A`.
fn rising(text: &str) -> Option<String> {
    FALLING.is_match(text).then_some(())?;
    let terms: Vec<&str> = SIGN.split(text).map(str::trim).collect();
    let signs = SIGN.find_iter(text).map(|sign| if sign.as_str().starts_with(r"\ge") { r"\le " } else { "<" });
    let signs: Vec<&str> = signs.collect();
    let mut risen = (*terms.last()?).to_owned();
    for (term, sign) in terms.iter().rev().skip(1).zip(signs.iter().rev()) {
        risen.push_str(sign);
        risen.push_str(term);
    }
    Some(risen)
}
