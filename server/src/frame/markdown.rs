//! Notes: Markdown that people wrote, as HTML. Nothing in a note is markup but what Markdown says, images are their
//! descriptions, and only links to other sites are links.

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

use super::text::inert;

/// `text` as HTML, for `|safe`.
pub(crate) fn note(text: &str) -> String {
    let text = inert(text);
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    let mut shown = String::new();
    // Whether the link that is open is shown as one. Links are not nested.
    let mut is_link = false;
    let events = Parser::new_ext(&text, options).filter_map(|event| match event {
        Event::Html(markup) | Event::InlineHtml(markup) => Some(Event::Text(markup)),
        Event::Start(Tag::HtmlBlock) => Some(Event::Start(Tag::Paragraph)),
        Event::End(TagEnd::HtmlBlock) => Some(Event::End(TagEnd::Paragraph)),
        // The page has its own outline.
        Event::Start(Tag::Heading { .. }) => Some(Event::Html(CowStr::Borrowed("<p><strong>"))),
        Event::End(TagEnd::Heading(_)) => Some(Event::Html(CowStr::Borrowed("</strong></p>\n"))),
        Event::Start(Tag::Image { .. }) | Event::End(TagEnd::Image) => None,
        Event::Start(Tag::Link { dest_url, .. }) => {
            is_link = leads_out(&dest_url);
            is_link.then(|| Event::InlineHtml(opening(&dest_url).into()))
        }
        Event::End(TagEnd::Link) => is_link.then_some(Event::InlineHtml(CowStr::Borrowed("</a>"))),
        other => Some(other),
    });
    html::push_html(&mut shown, events);
    shown
}

fn leads_out(address: &str) -> bool {
    let address = address.to_ascii_lowercase();
    address.starts_with("https://") || address.starts_with("http://")
}

fn opening(address: &str) -> String {
    let escaped = askama::filters::escape(address, askama::filters::Html);
    let escaped = escaped.map_or_else(|_| String::new(), |escaped| escaped.to_string());
    format!("<a href=\"{escaped}\" rel=\"noopener noreferrer nofollow\">")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_is_shown_as_what_it_means() {
        let shown = note("# Why\n\n*One* **two** `<code>`\n\n- a\n- b\n\n[paper](https://example.org/a?b=1&c=2)");
        for part in [
            "<p><strong>Why</strong></p>",
            "<em>One</em> <strong>two</strong> <code>&lt;code&gt;</code>",
            "<li>a</li>",
            "<a href=\"https://example.org/a?b=1&#38;c=2\" rel=\"noopener noreferrer nofollow\">paper</a>",
        ] {
            assert!(shown.contains(part), "{part} in {shown}");
        }
    }

    #[test]
    fn no_note_has_markup_of_its_own_an_image_or_a_link_that_acts() {
        for hostile in [
            "<script>alert(1)</script>",
            "a <img src=x onerror=alert(1)> b",
            "<!-- --><svg onload=alert(1)>",
            "<div\n onclick=alert(1)>\n\n*a*",
            "![x](https://example.org/pixel.png)",
            "![x](javascript:alert(1))",
            "[x](javascript:alert(1))",
            "[x](JaVaScRiPt:alert(1))",
            "[x](data:text/html,<script>alert(1)</script>)",
            "[x](//evil.example/)",
            "[x](/api/v1/tokens)",
            "[x]: javascript:alert(1)\n\n[x]",
            "<javascript:alert(1)>",
            "[x](https://example.org/\"onmouseover=\"alert(1))",
            "[x](https://example.org/ \"title\" onclick=alert(1))",
            "[a ![b](https://example.org/i.png) c](https://example.org)",
            "```html\" onload=\"x\n<b>\n```",
            "</main></body><base href=//evil.example/>",
        ] {
            let shown = note(hostile);
            let tags: Vec<&str> = shown.split('<').skip(1).map(|rest| rest.split('>').next().unwrap_or(rest)).collect();
            for tag in &tags {
                let name = tag.trim_start_matches('/').split(' ').next().unwrap_or_default();
                assert!(["p", "a", "pre", "code", "em", "strong"].contains(&name.trim()), "{hostile}: {shown}");
                let is_link = tag.starts_with("a ");
                assert!(!is_link || tag.starts_with("a href=\"https://example.org"), "{hostile}: {shown}");
                assert_eq!(
                    tag.matches('"').count(),
                    if is_link { 4 } else { 2 * usize::from(tag.contains("class=")) },
                    "{hostile}: {shown}"
                );
            }
        }
        assert!(note("a\u{202e}b\u{1b}[2J").contains("a⟨U+202E⟩b␛"));
        assert!(note(&"[".repeat(20_000)).len() < 30_000, "nesting costs nothing");
    }
}
