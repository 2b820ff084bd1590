//! Makes text written by models safe to display: characters that move, colour, hide or reverse other text are made
//! visible. (HTML is escaped by the templates.)

/// Maximum characters of a text on a page; the JSON has all.
pub(crate) const SHOWN: usize = 20_000;
/// The same for texts in lists.
pub(crate) const SHOWN_IN_LIST: usize = 1_000;

/// `text` with all characters visible: control characters as symbols (ESC is `␛`), bidirectional and zero-width
/// characters by code point (`⟨U+202E⟩`).
pub(crate) fn inert(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' | '\t' => shown.push(letter),
            '\0'..='\u{1f}' => shown.push(char::from_u32(0x2400 + u32::from(letter)).unwrap_or('\u{fffd}')),
            '\u{7f}' => shown.push('\u{2421}'),
            '\u{80}'..='\u{9f}'
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
            | '\u{e0000}'..='\u{e007f}' => shown.push_str(&format!("⟨U+{:04X}⟩", u32::from(letter))),
            _ => shown.push(letter),
        }
    }
    shown
}

/// A text, cut for display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Excerpt {
    /// The part shown.
    pub(crate) text: String,
    /// The number of characters cut off.
    pub(crate) more: usize,
}

/// The first `limit` characters of `text`, made inert.
pub(crate) fn excerpt(text: &str, limit: usize) -> Excerpt {
    match text.char_indices().nth(limit) {
        None => Excerpt {
            text: inert(text),
            more: 0,
        },
        Some((end, _)) => Excerpt {
            text: inert(&text[..end]),
            more: text[end..].chars().count(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_is_shown_instead() {
        let hostile = "a\u{1b}[31mred\0\r\n\u{202e}evil\u{2066}\u{200b}\u{feff}é👩‍💻";
        assert_eq!(inert(hostile), "a␛[31mred␀␍\n⟨U+202E⟩evil⟨U+2066⟩⟨U+200B⟩⟨U+FEFF⟩é👩‍💻");
    }

    #[test]
    fn a_long_text_is_cut_between_letters() {
        assert_eq!(
            excerpt("äöü€", 3),
            Excerpt {
                text: "äöü".to_owned(),
                more: 1
            }
        );
        assert_eq!(excerpt("äöü", 3).more, 0);
    }
}
