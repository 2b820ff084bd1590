//! The filters of templates, and the bytes that a rendering may take.
//!
//! An instruction is the unit of minijinja's fuel, whatever it does. These filters therefore count the bytes they read
//! and write, and those that lengthen a text find out by how much before they do. Filters that make lists of any length
//! from a short one (`slice`, `batch`) or that print (`pprint`, `format`) are left out.

use minijinja::value::{Rest, ValueKind, ValueOrKwargs};
use minijinja::{Environment, Error, ErrorKind, Output, State, Value, escape_formatter, filters};
use std::iter;
use std::sync::LazyLock;

/// Maximum bytes that a rendering may show and that its filters may read and write.
const MAX_BYTES: usize = 1 << 20;
/// Maximum numbers of a `range`.
const MAX_NUMBERS: usize = 10_000;

/// A filter of minijinja's that takes values as they are.
type Filter = fn() -> Value;

/// The filters by name.
pub(super) const FILTERS: [(&str, Filter); 39] = [
    ("abs", || Value::from_function(filters::abs)),
    ("attr", || Value::from_function(filters::attr)),
    ("bool", || Value::from_function(filters::bool)),
    ("capitalize", || Value::from_function(filters::capitalize)),
    ("count", || Value::from_function(filters::length)),
    ("d", || Value::from_function(filters::default)),
    ("default", || Value::from_function(filters::default)),
    ("dictsort", || Value::from_function(filters::dictsort)),
    ("e", || Value::from_function(filters::escape)),
    ("escape", || Value::from_function(filters::escape)),
    ("first", || Value::from_function(filters::first)),
    ("float", || Value::from_function(filters::float)),
    ("indent", || Value::from_function(filters::indent)),
    ("int", || Value::from_function(filters::int)),
    ("items", || Value::from_function(filters::items)),
    ("join", || Value::from_function(filters::join)),
    ("last", || Value::from_function(filters::last)),
    ("length", || Value::from_function(filters::length)),
    ("lines", || Value::from_function(filters::lines)),
    ("list", || Value::from_function(filters::list)),
    ("lower", || Value::from_function(filters::lower)),
    ("map", || Value::from_function(filters::map)),
    ("max", || Value::from_function(filters::max)),
    ("min", || Value::from_function(filters::min)),
    ("reject", || Value::from_function(filters::reject)),
    ("rejectattr", || Value::from_function(filters::rejectattr)),
    ("replace", || Value::from_function(filters::replace)),
    ("reverse", || Value::from_function(filters::reverse)),
    ("round", || Value::from_function(filters::round)),
    ("safe", || Value::from_function(filters::safe)),
    ("select", || Value::from_function(filters::select)),
    ("selectattr", || Value::from_function(filters::selectattr)),
    ("sort", || Value::from_function(filters::sort)),
    ("split", || Value::from_function(filters::split)),
    ("string", || Value::from_function(filters::string)),
    ("title", || Value::from_function(filters::title)),
    ("trim", || Value::from_function(filters::trim)),
    ("unique", || Value::from_function(filters::unique)),
    ("upper", || Value::from_function(filters::upper)),
];

/// The bytes that the current rendering has taken.
#[derive(Default)]
struct Taken(usize);

/// Gives `environment` the filters and functions of templates, and a formatter that counts what it shows.
pub(super) fn install(environment: &mut Environment<'static>) {
    static BUILT_IN: LazyLock<Vec<(&str, Value)>> =
        LazyLock::new(|| FILTERS.iter().map(|(name, filter)| (*name, filter())).collect());
    for name in REMOVED {
        environment.remove_filter(name);
    }
    for (name, filter) in BUILT_IN.iter() {
        environment.add_filter(*name, move |state: &mut State, values: Rest<ValueOrKwargs>| {
            let values = values.into_values();
            let added = added_bytes(name, &values);
            take(state, values.iter().map(bytes).sum::<usize>().saturating_add(added))?;
            let value = filter.call(state, &values)?;
            take(state, bytes(&value))?;
            Ok::<_, Error>(value)
        });
    }
    for global in ["namespace", "dict", "debug"] {
        environment.remove_global(global);
    }
    environment.add_function("range", range);
    environment.set_formatter(|output: &mut Output, state: &mut State, value: &Value| {
        let length = match value.as_str() {
            Some(text) => text.len(),
            None => value.to_string().len(),
        };
        take(state, length)?;
        escape_formatter(output, state, value)
    });
}

/// The filters of minijinja's that templates do not have. `map` could reach them by name.
const REMOVED: [&str; 10] =
    ["batch", "chain", "format", "groupby", "pprint", "slice", "sum", "tojson", "urlencode", "zip"];

/// Jinja's `range`, with at most [`MAX_NUMBERS`].
fn range(lower: i64, upper: Option<i64>, step: Option<i64>) -> Result<Value, Error> {
    let refused = |detail: String| Error::new(ErrorKind::InvalidOperation, format!("range: {detail}"));
    let (from, to) = upper.map_or((0, lower), |upper| (lower, upper));
    let step = step.unwrap_or(1);
    if step == 0 {
        return Err(refused("a step of 0".to_owned()));
    }
    let next = |at: &i64| at.checked_add(step);
    let is_within = |at: &i64| if step > 0 { *at < to } else { *at > to };
    let numbers: Vec<i64> = iter::successors(Some(from), next).take_while(is_within).take(MAX_NUMBERS + 1).collect();
    match numbers.len() > MAX_NUMBERS {
        true => Err(refused(format!("more than {MAX_NUMBERS} numbers"))),
        false => Ok(Value::from(numbers)),
    }
}

/// The bytes that the filter `name` adds to those of `values`.
fn added_bytes(name: &str, values: &[Value]) -> usize {
    let text = |at: usize| values.get(at).and_then(Value::as_str).unwrap_or_default();
    let option = |at: usize, name: &str| {
        let options = values.last().filter(|value| value.is_kwargs());
        let named = options.and_then(|options| options.get_attr(name).ok());
        let placed = values.get(at).filter(|value| !value.is_kwargs()).cloned();
        placed.or(named)
    };
    match name {
        "replace" => text(0).matches(text(1)).count().saturating_mul(text(2).len()),
        "indent" => {
            let width = option(1, "width").and_then(|width| width.as_usize()).unwrap_or(4);
            (text(0).matches('\n').count() + 1).saturating_mul(width)
        }
        "join" => {
            let joiner = option(1, "d").map_or(0, |joiner| bytes(&joiner));
            values.first().map_or(0, items).saturating_mul(joiner)
        }
        "escape" | "e" => text(0).len().saturating_mul(5),
        _ => 0,
    }
}

/// About how many bytes a filter reads or writes with `value`: those of a text, of the texts in a list, and one for
/// anything else. Stops beyond the limit.
fn bytes(value: &Value) -> usize {
    match (value.as_str(), value.kind()) {
        (Some(text), _) => text.len() + 1,
        (None, ValueKind::Seq | ValueKind::Iterable | ValueKind::Map) => {
            let mut bytes = 1;
            for item in value.try_iter().into_iter().flatten() {
                bytes += item.as_str().map_or(8, |text| text.len() + 1);
                if bytes > MAX_BYTES {
                    break;
                }
            }
            bytes
        }
        _ => 1,
    }
}

/// The items of a list, or the characters of a text.
fn items(value: &Value) -> usize {
    value.try_iter().into_iter().flatten().take(MAX_BYTES).count()
}

/// Counts `bytes` of this rendering.
fn take(state: &mut State, bytes: usize) -> Result<(), Error> {
    let taken = state.get_or_insert_extension_with(Taken::default);
    taken.0 = taken.0.saturating_add(bytes);
    match taken.0 > MAX_BYTES {
        true => Err(Error::new(ErrorKind::OutOfFuel, format!("it shows or filters more than {MAX_BYTES} bytes"))),
        false => Ok(()),
    }
}
