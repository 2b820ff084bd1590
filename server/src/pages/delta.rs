//! Pages that follow something, sent as what differs from the page that the browser has (RFC 3229, with lines as the
//! manipulation): pieces of the old page by their lines, and the lines that are new.
//!
//! Of a page that was sent, its lines' hashes are kept, and not its text. They are forgotten with their first use or when
//! many others came since; then the page is sent whole.

use serde::Serialize;
use std::{
    collections::{HashMap, VecDeque},
    hash::{BuildHasher as _, RandomState},
    sync::{Mutex, PoisonError},
};

/// Pages that are remembered, at most: about one for each tab that follows something.
const KEPT: usize = 256;
/// Lines of a page that is remembered, at most, which bounds what all of them take to 32 MiB.
const LINES: usize = 16_384;
/// Bytes that are sent again rather than named: naming takes about as many.
const SHORT: usize = 16;

/// A piece of the page as it is now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(super) enum Piece {
    /// Lines of the old page: the first, from 0, and how many.
    Old(usize, usize),
    /// New lines.
    New(String),
}

/// Hashes of the lines of pages that browsers have.
#[derive(Debug, Default)]
pub(crate) struct Versions {
    hasher: RandomState,
    kept: Mutex<VecDeque<(String, Vec<u64>)>>,
}

/// How a page is sent.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Sent {
    /// What the browser names it by the next time.
    pub(super) tag: String,
    /// What differs from the page that the browser has, where that one is remembered.
    pub(super) pieces: Option<Vec<Piece>>,
}

impl Versions {
    /// Remembers `page` and compares it with the page called `has`.
    pub(super) fn send(&self, page: &str, has: Option<&str>) -> Sent {
        let lines: Vec<u64> = page.split('\n').map(|line| self.hasher.hash_one(line)).collect();
        let tag = format!("{:016x}", self.hasher.hash_one(page));
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let place = kept.iter().position(|(tag, _)| has == Some(tag));
        let old = place.and_then(|place| kept.remove(place));
        if lines.len() <= LINES {
            kept.push_back((tag.clone(), lines.clone()));
        }
        if kept.len() > KEPT {
            kept.pop_front();
        }
        drop(kept);
        Sent {
            tag,
            pieces: old.map(|(_, old)| pieces(&old, &lines, page)),
        }
    }
}

/// `page`, whose lines have the hashes `now`, out of lines with the hashes `old`.
fn pieces(old: &[u64], now: &[u64], page: &str) -> Vec<Piece> {
    let mut places: HashMap<u64, usize> = HashMap::with_capacity(old.len());
    for (place, line) in old.iter().enumerate().rev() {
        places.insert(*line, place);
    }
    let lines: Vec<&str> = page.split('\n').collect();
    let mut pieces = Vec::new();
    let mut new: Vec<&str> = Vec::new();
    let (mut line, mut expected) = (0, 0);
    while line < lines.len() {
        let goes_on = (old.get(expected) == Some(&now[line])).then_some(expected);
        let from = goes_on.or_else(|| places.get(&now[line]).copied());
        let shared = from.map_or(0, |from| {
            old[from..]
                .iter()
                .zip(&now[line..])
                .take_while(|(old, now)| old == now)
                .count()
        });
        let bytes: usize = lines[line..line + shared].iter().map(|line| line.len() + 1).sum();
        match from {
            Some(from) if bytes >= SHORT => {
                if !new.is_empty() {
                    pieces.push(Piece::New(new.join("\n")));
                    new.clear();
                }
                pieces.push(Piece::Old(from, shared));
                line += shared;
                expected = from + shared;
            }
            _ => {
                new.push(lines[line]);
                line += 1;
                expected += 1;
            }
        }
    }
    if !new.is_empty() {
        pieces.push(Piece::New(new.join("\n")));
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*};

    /// What a browser does: `web/src/page.ts`.
    fn put_together(old: &str, pieces: &[Piece]) -> String {
        let lines: Vec<&str> = old.split('\n').collect();
        let text = |piece: &Piece| match piece {
            Piece::Old(from, count) => lines[*from..from + count].join("\n"),
            Piece::New(text) => text.clone(),
        };
        pieces.iter().map(text).collect::<Vec<_>>().join("\n")
    }

    fn page() -> impl Strategy<Value = String> {
        let line = prop_oneof![
            Just(""),
            Just("</tr>"),
            "[a-c]{1,3}".prop_map(|row| -> &'static str {
                // Rows long enough to be named, of which few differ.
                [
                    "<tr id=row-a>a long row</tr>",
                    "<tr id=row-b>a long row</tr>",
                    "<tr id=row-c>another</tr>",
                ][row.len() - 1]
            })
        ];
        vec(line, 1..40).prop_map(|lines| lines.join("\n"))
    }

    proptest! {
        #[test]
        fn the_pieces_make_the_page(before in page(), now in page()) {
            let versions = Versions::default();
            let first = versions.send(&before, None);
            prop_assert_eq!(&first.pieces, &None);
            let second = versions.send(&now, Some(&first.tag));
            let pieces = second.pieces.expect("a difference");
            prop_assert_eq!(put_together(&before, &pieces), now);
        }
    }

    #[test]
    fn only_the_row_that_differs_is_sent() {
        let versions = Versions::default();
        let page = |mu: u32| {
            format!("<table>\n<tr id=a>the first row</tr>\n<tr id=b>{mu}</tr>\n<tr id=c>the last row</tr>\n</table>")
        };
        let first = versions.send(&page(1), None);
        let second = versions.send(&page(2), Some(&first.tag));
        let row = Piece::New("<tr id=b>2</tr>".to_owned());
        assert_eq!(second.pieces, Some(vec![Piece::Old(0, 2), row, Piece::Old(3, 2)]));
        let third = versions.send(&page(2), Some(&second.tag));
        assert_eq!(third.pieces, Some(vec![Piece::Old(0, 5)]));
        assert_eq!(versions.send(&page(3), Some("unknown")).pieces, None);
        assert_eq!(versions.send(&page(3), Some(&first.tag)).pieces, None, "it was used");
    }

    #[test]
    fn few_pages_are_remembered() {
        let versions = Versions::default();
        let first = versions.send("the first", None);
        for page in 0..KEPT {
            versions.send(&page.to_string(), None);
        }
        assert_eq!(versions.send("the first", Some(&first.tag)).pieces, None);
        let long = "\n".repeat(LINES);
        let tag = versions.send(&long, None).tag;
        assert_eq!(versions.send(&long, Some(&tag)).pieces, None);
    }
}
