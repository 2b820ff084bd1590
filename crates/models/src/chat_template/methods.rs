//! The methods of Python's texts, lists and dicts that do not change them, as transformers' sandbox allows them.

use minijinja::formatting::{FormatStyle, format};
use minijinja::value::{Kwargs, Tuple, ValueKind};
use minijinja::{Error, ErrorKind, Value};
use unicode_general_category::{GeneralCategory as Category, get_general_category};

use super::text::{is_printable, printed, represented};

/// Letters that a method may pad a text to.
const MAX_WIDTH: usize = 1 << 20;

pub(super) fn call(value: &Value, method: &str, args: &[Value]) -> Result<Value, Error> {
    let args = Args::of(method, args)?;
    match value.kind() {
        ValueKind::String => of_text(value.as_str().unwrap_or_default(), method, &args),
        ValueKind::Map => of_dict(value, method, &args),
        ValueKind::Seq => of_list(value, method, &args),
        _ => Err(Error::from(ErrorKind::UnknownMethod)),
    }
}

/// `format % args`. The engine prints numbers and texts as Python does; the rest is printed before.
pub(super) fn printf(text: &str, args: &[Value]) -> Result<String, Error> {
    let mut given = args.iter();
    let (mut placed, mut values) = (String::new(), Vec::new());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        placed.push_str(before);
        placed.push('%');
        let (named, after) = match (after.strip_prefix('(').and_then(|named| named.split_once(')')), args) {
            (Some((name, after)), [values]) => (Some(values.get_item(&Value::from(name))?), after),
            _ => (None, after),
        };
        let end = after.find(|letter: char| letter.is_alphabetic() || letter == '%').unwrap_or(after.len());
        let (flags, after) = after.split_at(end);
        let conversion = after.chars().next();
        placed.push_str(flags);
        // A width or precision that is an argument.
        values.extend(given.by_ref().take(flags.matches('*').count()).cloned());
        if conversion != Some('%')
            && let Some(value) = named.or_else(|| given.next().cloned())
        {
            values.push(match (conversion, value.kind()) {
                (Some('r'), _) => Value::from(represented(&value)?),
                (_, ValueKind::Seq | ValueKind::Map) => Value::from(printed(&value)?),
                _ => value,
            });
        }
        placed.extend(conversion.map(|conversion| if conversion == 'r' { 's' } else { conversion }));
        rest = &after[conversion.map_or(0, char::len_utf8)..];
    }
    placed.push_str(rest);
    format(FormatStyle::Printf, &placed, &values)
}

/// The arguments of a call.
struct Args<'a> {
    method: &'a str,
    by_place: &'a [Value],
    by_name: Option<Kwargs>,
    all: &'a [Value],
}

impl<'a> Args<'a> {
    fn of(method: &'a str, all: &'a [Value]) -> Result<Self, Error> {
        let (by_place, by_name) = match all.split_last() {
            Some((last, before)) if last.is_kwargs() => (before, Some(Kwargs::try_from(last.clone())?)),
            _ => (all, None),
        };
        Ok(Self { method, by_place, by_name, all })
    }

    fn wrong(&self, detail: &str) -> Error {
        Error::new(ErrorKind::InvalidOperation, format!("{}(): {detail}", self.method))
    }

    /// Refuses more than `most` arguments.
    fn at_most(&self, most: usize) -> Result<(), Error> {
        if self.by_place.len() > most { Err(Error::from(ErrorKind::TooManyArguments)) } else { Ok(()) }
    }

    /// The argument at a place, or by a name; nothing if it is none.
    fn get(&self, at: usize, name: &str) -> Result<Option<Value>, Error> {
        let given = match (self.by_place.get(at), &self.by_name) {
            (Some(value), _) => Some(value.clone()),
            (None, Some(names)) if names.has(name) => Some(names.get::<Value>(name)?),
            _ => None,
        };
        Ok(given.filter(|value| !value.is_none()))
    }

    fn text(&self, at: usize, name: &str) -> Result<Option<String>, Error> {
        let Some(value) = self.get(at, name)? else { return Ok(None) };
        match value.as_str() {
            Some(text) => Ok(Some(text.to_owned())),
            None => Err(self.wrong("a text is expected")),
        }
    }

    fn required(&self, at: usize, name: &str) -> Result<String, Error> {
        self.text(at, name)?.ok_or_else(|| self.wrong("a text is missing"))
    }

    fn number(&self, at: usize, name: &str) -> Result<Option<i64>, Error> {
        let Some(value) = self.get(at, name)? else { return Ok(None) };
        value.as_i64().map(Some).ok_or_else(|| self.wrong("a whole number is expected"))
    }

    /// A limit of splits or replacements; nothing if there is none.
    fn limit(&self, at: usize, name: &str) -> Result<Option<usize>, Error> {
        Ok(self.number(at, name)?.and_then(|limit| usize::try_from(limit).ok()))
    }

    /// The part of a text from `start` to `end`, as in a slice, and the letters before it.
    fn part<'t>(&self, text: &'t str, first: usize) -> Result<Option<(&'t str, usize)>, Error> {
        let (start, end) = (self.number(first, "start")?, self.number(first + 1, "end")?);
        if start.is_none() && end.is_none() {
            return Ok(Some((text, 0)));
        }
        let length = text.chars().count() as i64;
        let bound = |place: i64| if place < 0 { (place + length).max(0) } else { place };
        let (start, end) = (start.map_or(0, bound), end.map_or(length, bound).min(length));
        if start > end {
            return Ok(None);
        }
        let offset = |place: i64| text.char_indices().nth(place as usize).map_or(text.len(), |(at, _)| at);
        Ok(Some((&text[offset(start)..offset(end)], start as usize)))
    }
}

fn of_text(text: &str, method: &str, args: &Args<'_>) -> Result<Value, Error> {
    let made = |text: String| Ok(Value::from(text));
    match method {
        "upper" => made(text.to_uppercase()),
        "lower" | "casefold" => made(text.to_lowercase()),
        "swapcase" => made(text.chars().flat_map(swapped).collect()),
        "capitalize" => {
            let mut letters = text.chars();
            let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
            made(first + &letters.as_str().to_lowercase())
        }
        "title" => made(title(text)),
        "strip" | "lstrip" | "rstrip" => {
            args.at_most(1)?;
            let chars = args.text(0, "chars")?;
            let is_stripped = |letter: char| chars.as_ref().map_or(is_space(letter), |chars| chars.contains(letter));
            made(
                match method {
                    "strip" => text.trim_matches(is_stripped),
                    "lstrip" => text.trim_start_matches(is_stripped),
                    _ => text.trim_end_matches(is_stripped),
                }
                .to_owned(),
            )
        }
        "removeprefix" => made(text.strip_prefix(args.required(0, "prefix")?.as_str()).unwrap_or(text).to_owned()),
        "removesuffix" => made(text.strip_suffix(args.required(0, "suffix")?.as_str()).unwrap_or(text).to_owned()),
        "replace" => {
            args.at_most(3)?;
            let (old, new) = (args.required(0, "old")?, args.required(1, "new")?);
            made(match args.limit(2, "count")? {
                Some(limit) => text.replacen(&old, &new, limit),
                None => text.replace(&old, &new),
            })
        }
        "split" | "rsplit" => split(text, method == "rsplit", args),
        "splitlines" => Ok(lines(text, args.get(0, "keepends")?.is_some_and(|keeps| keeps.is_true()))),
        "partition" | "rpartition" => {
            let mark = args.required(0, "sep")?;
            if mark.is_empty() {
                return Err(args.wrong("the separator is empty"));
            }
            let parts = match method {
                "partition" => text.split_once(&mark).map_or([text, "", ""], |(a, b)| [a, &mark, b]),
                _ => text.rsplit_once(&mark).map_or(["", "", text], |(a, b)| [a, &mark, b]),
            };
            Ok(Value::from(Tuple::new(parts.map(Value::from).to_vec())))
        }
        "startswith" | "endswith" => {
            let wanted = args.get(0, "prefix")?.ok_or_else(|| args.wrong("a text is missing"))?;
            let wanted: Vec<Value> = match wanted.kind() {
                ValueKind::Seq => wanted.try_iter()?.collect(),
                _ => vec![wanted],
            };
            let part = args.part(text, 1)?;
            let mut found = false;
            for one in wanted {
                let one = one.as_str().ok_or_else(|| args.wrong("a text or a tuple of texts is expected"))?;
                let has = |(part, _): (&str, usize)| {
                    if method == "startswith" { part.starts_with(one) } else { part.ends_with(one) }
                };
                found |= part.is_some_and(has);
            }
            Ok(Value::from(found))
        }
        "find" | "rfind" | "index" | "rindex" => {
            let wanted = args.required(0, "sub")?;
            let found = args.part(text, 1)?.and_then(|(part, before)| {
                let at = if method.starts_with('r') { part.rfind(&wanted) } else { part.find(&wanted) }?;
                Some((before + part[..at].chars().count()) as i64)
            });
            match found {
                Some(at) => Ok(Value::from(at)),
                None if method.ends_with("find") => Ok(Value::from(-1)),
                None => Err(args.wrong("substring not found")),
            }
        }
        "count" => {
            let wanted = args.required(0, "sub")?;
            let part = args.part(text, 1)?.map(|(part, _)| part);
            Ok(Value::from(part.map_or(0, |part| part.matches(&wanted).count())))
        }
        "join" => {
            let items = args.get(0, "iterable")?.ok_or_else(|| args.wrong("a list is missing"))?;
            let texts = items.try_iter()?.map(|item| {
                let text = item.as_str().map(str::to_owned);
                text.ok_or_else(|| args.wrong(&format!("a text is expected, not a {}", item.kind())))
            });
            made(texts.collect::<Result<Vec<_>, _>>()?.join(text))
        }
        "format" => format(FormatStyle::StrFormat, text, args.all).map(Value::from),
        "center" | "ljust" | "rjust" | "zfill" => padded(text, method, args).map(Value::from),
        "expandtabs" => made(expanded(text, args.limit(0, "tabsize")?.unwrap_or(8).min(100))),
        _ => is(text, method).map(Value::from).ok_or_else(|| Error::from(ErrorKind::UnknownMethod)),
    }
}

/// The methods that ask what all letters of a text are.
fn is(text: &str, method: &str) -> Option<bool> {
    let all = |is: fn(char) -> bool| !text.is_empty() && text.chars().all(is);
    let has_case = || text.chars().any(|letter| letter.is_lowercase() || letter.is_uppercase());
    let is_decimal = |letter| get_general_category(letter) == Category::DecimalNumber;
    Some(match method {
        "islower" => has_case() && !text.chars().any(char::is_uppercase),
        "isupper" => has_case() && !text.chars().any(char::is_lowercase),
        "istitle" => has_case() && title(text) == text,
        "isspace" => all(is_space),
        "isdecimal" => all(is_decimal),
        // Superscripts and circled numbers are digits, too.
        "isdigit" => all(|letter| {
            get_general_category(letter) == Category::DecimalNumber
                || matches!(letter, '²' | '³' | '¹' | '⁰' | '⁴'..='⁹' | '₀'..='₉')
        }),
        "isnumeric" => all(char::is_numeric),
        "isalpha" => all(is_letter),
        "isalnum" => all(|letter| is_letter(letter) || letter.is_numeric()),
        "isascii" => text.is_ascii(),
        "isprintable" => text.chars().all(is_printable),
        "isidentifier" => {
            let mut letters = text.chars();
            letters.next().is_some_and(|first| is_letter(first) || first == '_')
                && letters.all(|letter| is_letter(letter) || is_decimal(letter) || letter == '_')
        }
        _ => return None,
    })
}

fn is_letter(letter: char) -> bool {
    matches!(
        get_general_category(letter),
        Category::UppercaseLetter
            | Category::LowercaseLetter
            | Category::TitlecaseLetter
            | Category::ModifierLetter
            | Category::OtherLetter
    )
}

/// White space as Python sees it.
fn is_space(letter: char) -> bool {
    letter.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&letter)
}

fn swapped(letter: char) -> Vec<char> {
    if letter.is_uppercase() { letter.to_lowercase().collect() } else { letter.to_uppercase().collect() }
}

/// Every word with a capital and small letters; a word is a run of letters with case.
fn title(text: &str) -> String {
    let mut made = String::with_capacity(text.len());
    let mut is_inside = false;
    for letter in text.chars() {
        if is_inside {
            made.extend(letter.to_lowercase())
        } else {
            made.extend(letter.to_uppercase())
        }
        is_inside = letter.is_lowercase() || letter.is_uppercase();
    }
    made
}

fn split(text: &str, from_end: bool, args: &Args<'_>) -> Result<Value, Error> {
    args.at_most(2)?;
    let limit = args.limit(1, "maxsplit")?.map_or(usize::MAX, |limit| limit.saturating_add(1));
    let parts: Vec<&str> = match args.text(0, "sep")? {
        Some(mark) if mark.is_empty() => return Err(args.wrong("the separator is empty")),
        Some(mark) if from_end => {
            let mut parts: Vec<&str> = text.rsplitn(limit, mark.as_str()).collect();
            parts.reverse();
            parts
        }
        Some(mark) => text.splitn(limit, mark.as_str()).collect(),
        None => words(text, from_end, limit),
    };
    Ok(parts.into_iter().map(Value::from).collect())
}

/// The words between white space, at most `limit`; the last one (or the first, from the end) is the rest.
fn words(text: &str, from_end: bool, limit: usize) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = if from_end { text.trim_end_matches(is_space) } else { text.trim_start_matches(is_space) };
    while !rest.is_empty() {
        let cut = match (words.len() + 1 == limit, from_end) {
            (true, _) => None,
            (false, false) => rest.find(is_space),
            (false, true) => {
                rest.char_indices().rfind(|(_, letter)| is_space(*letter)).map(|(at, letter)| at + letter.len_utf8())
            }
        };
        let (word, after) = match (cut, from_end) {
            (None, _) => (rest, ""),
            (Some(cut), false) => (&rest[..cut], rest[cut..].trim_start_matches(is_space)),
            (Some(cut), true) => (&rest[cut..], rest[..cut].trim_end_matches(is_space)),
        };
        words.push(word);
        rest = after;
    }
    if from_end {
        words.reverse();
    }
    words
}

fn lines(text: &str, keeps_ends: bool) -> Value {
    let is_break = |letter: char| {
        matches!(letter, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}')
    };
    let mut lines = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(is_break).unwrap_or(rest.len());
        let after =
            if rest[end..].starts_with("\r\n") { 2 } else { rest[end..].chars().next().map_or(0, char::len_utf8) };
        lines.push(Value::from(&rest[..if keeps_ends { end + after } else { end }]));
        rest = &rest[end + after..];
    }
    Value::from(lines)
}

fn padded(text: &str, method: &str, args: &Args<'_>) -> Result<String, Error> {
    let width = args.number(0, "width")?.ok_or_else(|| args.wrong("a width is missing"))?;
    let width = usize::try_from(width).unwrap_or_default();
    if width > MAX_WIDTH {
        return Err(args.wrong(&format!("a width of {width}; at most {MAX_WIDTH} is valid")));
    }
    let fill = args.text(1, "fillchar")?.unwrap_or_else(|| if method == "zfill" { "0" } else { " " }.to_owned());
    if fill.chars().count() != 1 {
        return Err(args.wrong("the fill character is one character"));
    }
    let length = text.chars().count();
    let missing = width.saturating_sub(length);
    let (left, right) = match method {
        "ljust" => (0, missing),
        "rjust" => (missing, 0),
        // Python puts the odd one to the left if the width is odd.
        "center" => {
            let left = missing / 2 + (missing & width & 1);
            (left, missing - left)
        }
        _ => {
            let sign = if text.starts_with(['+', '-']) { &text[..1] } else { "" };
            return Ok(format!("{sign}{}{}", fill.repeat(missing), &text[sign.len()..]));
        }
    };
    Ok(format!("{}{text}{}", fill.repeat(left), fill.repeat(right)))
}

fn expanded(text: &str, size: usize) -> String {
    let (mut made, mut column) = (String::new(), 0);
    for letter in text.chars() {
        match letter {
            '\t' => {
                let spaces = if size == 0 { 0 } else { size - column % size };
                made.extend(std::iter::repeat_n(' ', spaces));
                column += spaces;
            }
            _ => {
                made.push(letter);
                column = if matches!(letter, '\n' | '\r') { 0 } else { column + 1 };
            }
        }
    }
    made
}

fn of_dict(dict: &Value, method: &str, args: &Args<'_>) -> Result<Value, Error> {
    let keys = || dict.try_iter();
    match method {
        "get" => {
            let key = args.by_place.first().ok_or_else(|| args.wrong("a key is missing"))?;
            match dict.get_item(key)? {
                found if found.is_undefined() => Ok(args.get(1, "default")?.unwrap_or_else(|| Value::from(()))),
                found => Ok(found),
            }
        }
        "keys" => Ok(keys()?.collect()),
        "values" => keys()?.map(|key| dict.get_item(&key)).collect(),
        "items" => keys()?.map(|key| Ok(Value::from(Tuple::new(vec![key.clone(), dict.get_item(&key)?])))).collect(),
        "copy" => Ok(dict.clone()),
        _ => Err(Error::from(ErrorKind::UnknownMethod)),
    }
}

fn of_list(list: &Value, method: &str, args: &Args<'_>) -> Result<Value, Error> {
    let wanted = || args.by_place.first().ok_or_else(|| args.wrong("a value is missing"));
    match method {
        "count" => {
            let wanted = wanted()?;
            Ok(Value::from(list.try_iter()?.filter(|item| item == wanted).count()))
        }
        "index" => {
            let wanted = wanted()?;
            let found = list.try_iter()?.position(|item| item == *wanted);
            found.map(Value::from).ok_or_else(|| args.wrong("the value is not in the list"))
        }
        "copy" => Ok(list.clone()),
        _ => Err(Error::from(ErrorKind::UnknownMethod)),
    }
}
