//! Questions that are written as a conversation.

use serde::Deserialize;

use super::line::Line;

/// A message, as chat templates and ShareGPT name its parts.
#[derive(Deserialize)]
struct Message {
    #[serde(alias = "from")]
    role: String,
    #[serde(alias = "value")]
    content: Content,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

/// A part of a message; a picture has no text.
#[derive(Deserialize)]
struct Part {
    #[serde(default)]
    text: String,
}

/// The question in a column: a text, or the last message of the user in a conversation, which may also be written as JSON
/// in a text. A system message is no question, and only some rows of a file may have one.
pub(super) fn question(line: &Line, name: &str) -> Result<String, String> {
    if let Some(message) = name.strip_suffix(".content")
        && let Ok(role) = line.text(&format!("{message}.role"))
        && !is_user(&role)
    {
        let list = message.rsplit_once('.').map_or(message, |(list, _)| list);
        return Err(format!(
            "field `{name}` is the message of the {role}, not the user's: name the column `{list}`, of which the user's last \
             message is taken"
        ));
    }
    let raw = line.raw(name).ok_or_else(|| line.missing(name))?;
    let messages = match raw.as_bytes().first() {
        Some(b'[') => {
            serde_json::from_str(&raw).map_err(|error| format!("field `{name}` is no conversation: {error}"))?
        }
        _ => {
            let text = line.filled(name)?;
            let conversation = text
                .trim_start()
                .starts_with('[')
                .then(|| serde_json::from_str(&text).ok());
            match conversation.flatten() {
                Some(messages) => messages,
                None => return Ok(text),
            }
        }
    };
    last_of_user(messages)
        .filter(|text| !text.trim().is_empty())
        .ok_or_else(|| format!("field `{name}` has no message of the user"))
}

fn is_user(role: &str) -> bool {
    matches!(role, "user" | "human")
}

fn last_of_user(messages: Vec<Message>) -> Option<String> {
    let last = messages.into_iter().rfind(|message| is_user(&message.role))?;
    Some(match last.content {
        Content::Text(text) => text,
        Content::Parts(parts) => parts.into_iter().map(|part| part.text).collect(),
    })
}
