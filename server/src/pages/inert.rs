//! Text written by models, as pages show it: cut, and with every character visible. (HTML is escaped by the templates.)

pub(crate) use crate::inert::inert;

/// Maximum characters of a text on a page; the JSON has all.
pub(crate) const SHOWN: usize = 20_000;
/// The same for texts in lists.
pub(crate) const SHOWN_IN_LIST: usize = 1_000;

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
