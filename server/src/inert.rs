//! Text that cannot act on what displays it: characters that move, colour, hide or reverse other text are made visible.

use std::fmt::Write as _;

/// `text` with all characters visible: control characters as symbols (ESC is `␛`), bidirectional and zero-width
/// characters by code point (`⟨U+202E⟩`).
pub fn inert(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            _ if !acts(letter) => shown.push(letter),
            '\0'..='\u{1f}' => shown.push(char::from_u32(0x2400 + u32::from(letter)).unwrap_or('\u{fffd}')),
            '\u{7f}' => shown.push('\u{2421}'),
            _ => {
                // Writing to a string never fails.
                let _ = write!(shown, "⟨U+{:04X}⟩", u32::from(letter));
            }
        }
    }
    shown
}

/// JSON in which the same characters are escaped. It means the same: they occur in its strings only.
pub(crate) fn inert_json(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for letter in json.chars() {
        if acts(letter) {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                let _ = write!(shown, "\\u{unit:04x}");
            }
        } else {
            shown.push(letter);
        }
    }
    shown
}

/// Whether a character does more than to stand where it is written. Ends of lines and tabs are wanted.
fn acts(letter: char) -> bool {
    match letter {
        '\n' | '\t' => false,
        _ => matches!(
            letter,
            '\0'..='\u{1f}'
                | '\u{7f}'..='\u{9f}'
                | '\u{ad}'
                | '\u{61c}'
                | '\u{115f}'
                | '\u{1160}'
                | '\u{180e}'
                | '\u{200b}'
                | '\u{200c}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_acts_is_shown_instead() {
        let hostile = "a\u{1b}[31mred\0\r\n\u{202e}evil\u{2066}\u{200b}\u{feff}é👩‍💻";
        assert_eq!(inert(hostile), "a␛[31mred␀␍\n⟨U+202E⟩evil⟨U+2066⟩⟨U+200B⟩⟨U+FEFF⟩é👩‍💻");
    }

    proptest! {
        #[test]
        fn json_means_the_same(text in r"[\x00-\u{ff}\u{2000}-\u{2070}\u{e0000}-\u{e0080}]{0,40}") {
            let json = serde_json::to_string_pretty(&[&text]).unwrap();
            let shown = inert_json(&json);
            prop_assert!(!shown.chars().any(acts), "{shown}");
            prop_assert_eq!(serde_json::from_str::<[String; 1]>(&shown).unwrap(), [text]);
        }
    }
}
