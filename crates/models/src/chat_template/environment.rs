//! Jinja as transformers sets it up for chat templates.

use hf_chat_template::LocalClock;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, Rest};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, UndefinedBehavior, Value};
use serde_json::Value as Json;

use super::text::{Layout, json, printed};
use super::{methods, operators};

/// The name of the only template.
pub(super) const NAME: &str = "chat";

/// Instructions that a conversation may take, so that a template with endless loops does not run for ever.
const INSTRUCTIONS: u64 = 5_000_000;

/// An environment with the template of this source.
pub(super) fn of(source: &str) -> Result<Environment<'static>, Error> {
    let mut environment = Environment::new();
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?;
    environment.set_syntax(syntax);
    environment.set_undefined_behavior(UndefinedBehavior::Lenient);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_fuel(Some(INSTRUCTIONS));
    environment.set_formatter(|out, _, value| Ok(out.write_str(&printed(value)?)?));
    environment.set_unknown_method_callback(|_, value, method, args| methods::call(value, method, args));
    environment.add_function("raise_exception", |message: String| -> Result<Value, Error> {
        Err(Error::new(ErrorKind::InvalidOperation, message))
    });
    environment.add_function("strftime_now", strftime_now);
    environment.add_filter("tojson", |value: &Value, options: Kwargs| json(value, &Layout::of(&options)?));
    environment.add_filter("string", |value: &Value| printed(value));
    environment.add_filter("join", join);
    environment.add_filter("int", int);
    environment.add_filter("float", float);
    environment.add_filter("format", |format: &str, args: Rest<Value>| methods::printf(format, &args));
    environment.add_filter(operators::MODULO, operators::modulo);
    environment.add_filter(operators::CONCATENATE, operators::concatenate);
    // Jinja ends lines by `\n`, however the file does.
    let source = source.replace("\r\n", "\n").replace('\r', "\n");
    environment.add_template_owned(NAME, operators::as_filters(&source)?)?;
    Ok(environment)
}

/// A whole number, or `default` for what is none.
fn int(value: Value, default: Option<Value>) -> Value {
    let text = value.as_str().map(|text| text.trim().replace('_', ""));
    let whole = match &text {
        Some(text) => text.parse().ok(),
        None if value.is_integer() => return value,
        None => None,
    };
    let number = |value: f64| value.is_finite().then_some(value as i64);
    let whole = whole
        .or_else(|| text.map_or_else(|| f64::try_from(value.clone()).ok(), |text| text.parse().ok()).and_then(number));
    whole.map_or_else(|| default.unwrap_or_else(|| Value::from(0)), Value::from)
}

/// A float, or `default` for what is none.
fn float(value: Value, default: Option<Value>) -> Value {
    let number = match value.as_str() {
        Some(text) => text.trim().parse().ok(),
        None => f64::try_from(value).ok(),
    };
    number.map_or_else(|| default.unwrap_or_else(|| Value::from(0.0)), Value::from)
}

/// The local time as transformers gives it.
fn strftime_now(format: &str) -> Result<String, Error> {
    let clock = hf_chat_template::ChatTemplate::builder("{{ strftime_now(format) }}").clock(LocalClock);
    let text = clock.build().and_then(|clock| clock.render_context(&serde_json::json!({ "format": format })));
    text.map_err(|error| Error::new(ErrorKind::InvalidOperation, error.to_string()))
}

/// The texts of the items, with `separator` between them; with `attribute`, of that attribute of the items.
fn join(items: &Value, separator: Option<&str>, options: Kwargs) -> Result<String, Error> {
    let separator = match separator {
        Some(separator) => separator.to_owned(),
        None => options.get::<Option<String>>("d")?.unwrap_or_default(),
    };
    let attribute: Option<String> = options.get("attribute")?;
    let texts = items.try_iter()?.map(|item| match &attribute {
        Some(name) => printed(&item.get_attr(name)?),
        None => printed(&item),
    });
    Ok(texts.collect::<Result<Vec<_>, _>>()?.join(&separator))
}

/// A JSON value as Jinja's, with its order of keys.
pub(super) fn value(json: &Json) -> Value {
    match json {
        Json::Null => Value::from(()),
        Json::Bool(value) => Value::from(*value),
        Json::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(number), ..) => Value::from(number),
            (_, Some(number), _) => Value::from(number),
            (.., number) => Value::from(number.unwrap_or(f64::NAN)),
        },
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => Value::from(items.iter().map(value).collect::<Vec<_>>()),
        Json::Object(fields) => Value::from_pairs(fields.iter().map(|(name, field)| (name.as_str(), value(field)))),
    }
}
