//! Data for a page's script: JSON in `<script type="application/json">`, which browsers never run.

use serde::Serialize;

/// `data` as JSON for a script element, with every `<` escaped.
pub(crate) fn island(data: &impl Serialize) -> String {
    let json = serde_json::to_string(data).unwrap_or_else(|_| "null".to_owned());
    json.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_in_it_can_end_the_element() {
        let text = island(&["</script><script>alert(1)</script>", "<!--", "&lt;"]);
        assert!(!text.contains(['<', '>', '&']), "{text}");
    }

    proptest! {
        #[test]
        fn it_reads_back_as_what_it_was(text in ".{0,80}") {
            let read: String = serde_json::from_str(&island(&text)).unwrap();
            prop_assert_eq!(read, text);
        }
    }
}
