//! The message of a `code_f` problem: what a program does, in a few words.

/// Code fragments and the word for each. Of two that begin at the same position, the longer one counts.
const SIGNS: &[(&str, &str)] = &[
    ("[::-1]", "reverse"),
    (".upper()", "upper"),
    (".title()", "title"),
    (".swapcase()", "swap"),
    (".replace(", "replace"),
    (".strip(", "strip"),
    (".count(", "count"),
    (".find(", "find"),
    (".get(", "get"),
    (".join(", "join"),
    (".append(", "append"),
    (".values(", "values"),
    (".items(", "items"),
    ("sorted(", "sort"),
    ("sum(", "sum"),
    ("max(", "max"),
    ("min(", "min"),
    ("len(", "length"),
    ("abs(", "distance"),
    ("set(", "unique"),
    ("str(", "text"),
    ("list(", "list"),
    ("zip(", "pair"),
    ("range(", "range"),
    ("enumerate(", "index"),
    ("while ", "while"),
    (" for ", "each"),
    ("if ", "if"),
    ("else", "else"),
    ("break", "stop"),
    ("continue", "skip"),
    ("+=", "add"),
    ("-=", "subtract"),
    ("+", "add"),
    ("-", "subtract"),
    ("**", "merge"),
    ("*", "multiply"),
    ("%", "modulo"),
    ("//", "divide"),
    ("[1:]", "rest"),
    ("[2:]", "rest"),
    ("[:-1]", "start"),
    ("[:2]", "start"),
    ("[::2]", "every"),
    ("[-2:]", "end"),
    ("[0]", "first"),
    ("[1]", "second"),
    ("[-1]", "last"),
];

/// Maximum number of words in a message.
const LONGEST: usize = 6;

/// Words for the constructs in a program's body, in order, separated by spaces; `value` if there are none.
#[must_use]
pub fn message(source: &str) -> String {
    let body = source.split_once('\n').map_or(source, |(_, body)| body);
    let mut words: Vec<&str> = Vec::new();
    let mut quoted = false;
    let mut skip = 0;
    for (at, character) in body.char_indices() {
        if at < skip {
            continue;
        }
        if character == '\'' {
            quoted = !quoted;
        }
        if quoted {
            continue;
        }
        let rest = &body[at..];
        let sign = SIGNS.iter().filter(|(sign, _)| rest.starts_with(sign)).max_by_key(|(sign, _)| sign.len());
        if let Some((sign, word)) = sign {
            skip = at + sign.len();
            if words.len() < LONGEST && words.last() != Some(word) {
                words.push(word);
            }
        }
    }
    if words.is_empty() { "value".to_owned() } else { words.join(" ") }
}

/// Every word that can occur in a message.
pub fn vocabulary() -> impl Iterator<Item = &'static str> {
    SIGNS.iter().map(|(_, word)| *word).chain(["value"])
}

#[cfg(test)]
mod tests {
    use super::message;

    #[test]
    fn words_follow_the_program() {
        assert_eq!(message("def f(s,a):\n return s[::-1]+'-'*a"), "reverse add multiply");
        assert_eq!(message("def f(x):\n r=0\n for v in x:\n  if v%2==0:\n   r+=v\n return r"), "each if modulo add");
        assert_eq!(message("def f(a):\n return a"), "value");
    }
}
