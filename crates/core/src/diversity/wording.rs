//! Wordings: texts without their numbers.

use std::collections::HashMap;

use super::numbers::places;

/// A wording, and how many texts have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wording {
    /// The text with `#` for every number and single spaces between words.
    pub text: String,
    /// The place of the first text with it.
    pub first: usize,
    /// Texts with it.
    pub count: usize,
}

/// The wordings of `texts`, the most frequent first; equally frequent ones in the order of their first texts.
pub fn wordings(texts: &[impl AsRef<str>]) -> Vec<Wording> {
    let mut found: Vec<Wording> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for (first, text) in texts.iter().enumerate() {
        let text = wording(text.as_ref());
        match known.get(&text) {
            Some(place) => found[*place].count += 1,
            None => {
                known.insert(text.clone(), found.len());
                found.push(Wording { text, first, count: 1 });
            }
        }
    }
    found.sort_by_key(|wording| (std::cmp::Reverse(wording.count), wording.first));
    found
}

/// `text` with `#` for every number and single spaces between words.
fn wording(text: &str) -> String {
    let mut bare = String::with_capacity(text.len());
    let mut from = 0;
    for place in places(text) {
        bare.push_str(&text[from..place.start]);
        bare.push('#');
        from = place.end;
    }
    bare.push_str(&text[from..]);
    bare.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn texts_that_differ_in_numbers_share_a_wording() {
        let found = wordings(&[
            "A is 12.5.",
            "what  is\n3+4 ?",
            "what is 10 + 4 ?",
            "what is 3+44 ?",
            "x2 1.2.3",
        ]);
        let found: Vec<(&str, usize, usize)> = found
            .iter()
            .map(|wording| (wording.text.as_str(), wording.first, wording.count))
            .collect();
        assert_eq!(
            found,
            [
                ("what is #+# ?", 1, 2),
                ("A is #.", 0, 1),
                ("what is # + # ?", 2, 1),
                ("x# #.#", 4, 1)
            ]
        );
        assert!(wordings(&[""; 0]).is_empty());
    }

    proptest! {
        #[test]
        fn every_text_has_one_wording_without_digits(texts in prop::collection::vec("[a-z0-9. ]{0,12}", 0..20)) {
            let found = wordings(&texts);
            prop_assert_eq!(found.iter().map(|wording| wording.count).sum::<usize>(), texts.len());
            for one in &found {
                prop_assert!(!one.text.contains(|letter: char| letter.is_ascii_digit()));
                prop_assert_eq!(wording(&texts[one.first]), one.text.as_str());
            }
        }
    }
}
