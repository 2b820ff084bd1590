//! What a page says, without how it looks: its text, images, links, buttons and fields, in the order in which they are
//! read. Snapshots guard it.

use insta::Settings;
use serde_json::Value;

/// What differs from run to run and from machine to machine, and what stands for it.
const VARYING: [(&str, &str); 6] = [
    (r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}", "[id]"),
    (r"\b[0-9a-f]{8,64}\b", "[digest]"),
    (r"http://127\.0\.0\.1:\d+", "[origin]"),
    (r"cursor=[^&)\s]+", "cursor=[cursor]"),
    (r"(\d{4}-\d\d-\d\d[ T])?\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?", "[time]"),
    (r"\b\d+(\.\d+)? (ms|s|min|h|d)( \d+ (s|min|h))?\b", "[duration]"),
];

/// Elements that begin a line.
const BLOCKS: [&str; 22] = [
    "article",
    "caption",
    "details",
    "div",
    "dl",
    "fieldset",
    "figcaption",
    "figure",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "label",
    "legend",
    "li",
    "nav",
    "p",
    "pre",
    "section",
    "summary",
    "tr",
];

/// Elements whose content is not read: choices that are not chosen, notes for browsers without scripts, and times.
const SILENT: [&str; 3] = ["noscript", "option", "time"];

/// Compares what a page says with the snapshot `name`.
pub(crate) fn assert_reads_like(name: &str, html: &str) {
    let mut settings = Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    for (pattern, shown) in VARYING {
        settings.add_filter(pattern, shown);
    }
    settings.bind(|| insta::assert_snapshot!(name, outline(html)));
}

/// The values of an attribute, in the order of the page.
pub(crate) fn attributes(html: &str, name: &str) -> Vec<String> {
    let tags = pieces(html).into_iter().filter_map(|piece| match piece {
        Piece::Open(tag) => Some(tag),
        _ => None,
    });
    tags.filter_map(|tag| tag.get(name).map(str::to_owned)).collect()
}

/// The data with this id that a page has for its script.
pub(crate) fn island(html: &str, id: &str) -> Option<Value> {
    let (_, data) = html.split_once(&format!("<script type=\"application/json\" id=\"{id}\">"))?;
    let (data, _) = data.split_once("</script>")?;
    Some(serde_json::from_str(data).expect("JSON"))
}

/// What the main part of a page says, or the whole of a part of a page.
pub(crate) fn outline(html: &str) -> String {
    let main = html.split_once("<main").and_then(|(_, main)| main.split_once("</main>"));
    let main = main.map_or_else(|| html.to_owned(), |(main, _)| format!("<main{main}"));
    let mut said = Outline::default();
    for piece in pieces(&main) {
        match piece {
            Piece::Text(text) => said.text(&text),
            Piece::Open(tag) => said.open(&tag),
            Piece::Close(name) => said.close(name),
        }
    }
    said.end_line();
    said.lines.join("\n")
}

/// A tag that opens, or stands alone.
struct Tag<'h> {
    name: &'h str,
    attributes: Vec<(&'h str, String)>,
}

enum Piece<'h> {
    Open(Tag<'h>),
    Close(&'h str),
    Text(String),
}

/// A page in pieces. It is well-formed, as askama writes it.
fn pieces(html: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = html;
    while let Some((text, tagged)) = rest.split_once('<') {
        pieces.push(Piece::Text(decoded(text)));
        let mut quote = None;
        let end = tagged.find(|letter: char| {
            match quote {
                None if letter == '>' => return true,
                None => quote = Some(letter).filter(|letter| matches!(letter, '"' | '\'')),
                Some(open) if open == letter => quote = None,
                Some(_) => {}
            }
            false
        });
        let (tag, after) = tagged.split_at(end.expect("a tag ends"));
        rest = &after[1..];
        if let Some(name) = tag.strip_prefix('/') {
            pieces.push(Piece::Close(name));
        } else if !tag.starts_with('!') {
            let tag = Tag::parse(tag.trim_end_matches('/'));
            if ["script", "style"].contains(&tag.name) {
                let (_, after) = rest.split_once(&format!("</{}>", tag.name)).expect("an end");
                rest = after;
            }
            pieces.push(Piece::Open(tag));
        }
    }
    pieces.push(Piece::Text(decoded(rest)));
    pieces
}

impl<'h> Tag<'h> {
    fn parse(tag: &'h str) -> Self {
        let (name, mut rest) = tag.split_once(char::is_whitespace).unwrap_or((tag, ""));
        let mut attributes = Vec::new();
        loop {
            rest = rest.trim_start();
            if rest.is_empty() {
                return Self { name, attributes };
            }
            let end = rest.find(|letter: char| letter == '=' || letter.is_whitespace());
            let (key, after) = rest.split_at(end.unwrap_or(rest.len()));
            let (value, after) = match after.strip_prefix('=') {
                None => ("", after),
                Some(given) => match given.chars().next().filter(|quote| matches!(quote, '"' | '\'')) {
                    Some(quote) => given[1..].split_once(quote).expect("a quote ends"),
                    None => given.split_at(given.find(char::is_whitespace).unwrap_or(given.len())),
                },
            };
            attributes.push((key, decoded(value)));
            rest = after;
        }
    }

    fn get(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| value.as_str())
    }
}

fn decoded(text: &str) -> String {
    let entities = [
        ("&#60;", "<"),
        ("&lt;", "<"),
        ("&#62;", ">"),
        ("&gt;", ">"),
        ("&#34;", "\""),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&nbsp;", " "),
        ("&#38;", "&"),
        ("&amp;", "&"),
    ];
    let decode = |text: String, (entity, letter): (&str, &str)| text.replace(entity, letter);
    entities.into_iter().fold(text.to_owned(), decode)
}

#[derive(Default)]
struct Outline {
    lines: Vec<String>,
    line: String,
    /// Elements within a silent one, which are left out with it.
    silent: usize,
    /// What comes after the text of the links and buttons that are open.
    after: Vec<String>,
}

impl Outline {
    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let words: Vec<&str> = line.split_whitespace().collect();
        if !words.is_empty() {
            self.lines.push(words.join(" "));
        }
    }

    fn text(&mut self, text: &str) {
        if self.silent == 0 {
            self.line.push_str(text);
        }
    }

    fn open(&mut self, tag: &Tag<'_>) {
        if SILENT.contains(&tag.name) {
            if tag.name == "time" {
                self.text("[time]");
            }
            self.silent += 1;
        }
        if self.silent > 0 {
            return;
        }
        if BLOCKS.contains(&tag.name) {
            self.end_line();
        }
        let part = |name: &str| tag.get(name).unwrap_or_default();
        match tag.name {
            "h1" | "h2" | "h3" | "h4" => {
                self.text(&format!("{} ", "#".repeat(usize::from(tag.name.as_bytes()[1] - b'0'))))
            }
            "td" | "th" if !self.line.trim().is_empty() => self.text(" | "),
            "dd" => self.text(": "),
            "br" => self.text(" "),
            "a" | "button" => {
                self.text("[");
                let leads = [part("href"), part("data-method"), part("data-action"), part("data-body")];
                let leads: Vec<&str> = leads.into_iter().filter(|part| !part.is_empty()).collect();
                let after = if leads.is_empty() { "]".to_owned() } else { format!("]({})", leads.join(" ")) };
                self.after.push(after);
            }
            "form" => {
                let sent = [part("method"), part("data-method"), part("action"), part("data-action")];
                self.text(&format!("form {} {}", part("aria-label"), sent.join(" ")));
                self.end_line();
            }
            "input" | "select" | "textarea" => {
                let checked = if tag.get("checked").is_some() { "checked" } else { "" };
                let field = [part("name"), part("type"), part("value"), checked];
                self.text(&format!(" {{{}}}", field.join(" ").trim()));
            }
            _ if part("role") == "img" => self.text(&format!(" (image: {})", part("aria-label"))),
            _ => {}
        }
    }

    fn close(&mut self, name: &str) {
        if SILENT.contains(&name) {
            self.silent -= 1;
        } else if self.silent == 0 {
            if BLOCKS.contains(&name) {
                self.end_line();
            }
            if matches!(name, "a" | "button") {
                let after = self.after.pop().expect("it was opened");
                self.text(&after);
            }
        }
    }
}
