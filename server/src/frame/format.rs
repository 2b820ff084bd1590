//! Formats values for people, in pages and on the terminal. Templates call these by path. REST and `.json` have raw numbers.

use chrono::{DateTime, SecondsFormat, Utc};
use lyceum_core::statistics::Interval;
use lyceum_core::verdict::Comparison;

/// The name of a suite as it is shown.
pub(crate) fn suite_title(name: &str) -> &str {
    lyceum_core::benchmark::suite(name).map_or(name, |suite| suite.title.as_str())
}

/// A time for `<time datetime>`.
pub(crate) fn iso(time: &DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// A time of a day, to milliseconds.
pub(crate) fn clock(time: &DateTime<Utc>) -> String {
    time.format("%H:%M:%S%.3f").to_string()
}

/// A time ago, in the words that `web/src/times.ts` updates.
pub(crate) fn ago(time: &DateTime<Utc>) -> String {
    match (Utc::now() - *time).num_seconds() {
        ..=0 => "now".to_owned(),
        seconds @ 1..=59 => format!("{seconds} s ago"),
        seconds @ 60..=3_599 => format!("{} min ago", seconds / 60),
        seconds @ 3_600..=86_399 => format!("{} h ago", seconds / 3_600),
        seconds => format!("{} d ago", seconds / 86_400),
    }
}

/// A duration in its two largest units.
pub(crate) fn duration(seconds: &f64) -> String {
    let seconds = *seconds;
    if !seconds.is_finite() || seconds < 0.0 {
        return "–".to_owned();
    }
    if seconds < 10.0 {
        return format!("{seconds:.1} s");
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a finite number of seconds from 10 on"
    )]
    let whole = seconds.round() as u64;
    match whole {
        ..=59 => format!("{whole} s"),
        60..=3_599 => format!("{} min {} s", whole / 60, whole % 60),
        3_600..=86_399 => format!("{} h {} min", whole / 3_600, whole % 3_600 / 60),
        _ if whole % 86_400 < 3_600 => format!("{} d", whole / 86_400),
        _ => format!("{} d {} h", whole / 86_400, whole % 86_400 / 3_600),
    }
}

/// A count with thousands separators.
pub(crate) fn count(number: &i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3 + 1);
    if *number < 0 {
        text.push('−');
    }
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// A large number, rounded to a count.
#[expect(clippy::cast_possible_truncation, reason = "a number that is not so great is shown as it is")]
pub(crate) fn whole(number: &f64) -> String {
    if (10.0..1e15).contains(&number.abs()) { count(&(number.round() as i64)) } else { value(number) }
}

/// A text with a capital first letter.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// A rating or its uncertainty, to two decimals, so that columns align.
pub(crate) fn rating(value: &f64) -> String {
    if value.is_finite() { format!("{value:.2}").replace('-', "−") } else { "–".to_owned() }
}

/// A count with `noun`, whose plural ends in `s`.
pub(crate) fn counted(number: &i64, noun: &str) -> String {
    let plural = if *number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", count(number))
}

/// A measured value, to four digits.
pub(crate) fn value(value: &f64) -> String {
    let size = value.abs();
    match size {
        _ if !value.is_finite() => "–".to_owned(),
        0.0 => "0".to_owned(),
        _ if !(1e-3..1e7).contains(&size) => {
            format!("{value:.2e}").replacen('-', if *value < 0.0 { "−" } else { "-" }, 1)
        }
        _ if size >= 1000.0 => whole(value),
        _ => trimmed(&format!("{value:.*}", (3.0 - size.log10().floor()) as usize)),
    }
}

/// A measured value with its unit: shares are in per cent.
pub(crate) fn of_unit(number: &f64, unit: &str) -> String {
    match unit {
        "share" if !number.is_finite() => value(number),
        "share" if number.abs() >= 0.01 => format!("{} %", trimmed(&share(number))),
        "share" => format!("{} %", value(&(number * 100.0))),
        _ => value(number),
    }
}

/// A decimal number without the zeros at its end.
fn trimmed(text: &str) -> String {
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text };
    text.replace('-', "−")
}

/// A text split at its backticks: each piece, and whether it was between two of them.
pub(crate) fn pieces(text: &str) -> Vec<(bool, &str)> {
    let cut = text.split('`').enumerate();
    cut.map(|(place, piece)| (place % 2 == 1, piece)).collect()
}

/// A score with its standard error over rows, in per cent. Where all rows came out alike that error is 0, which is no certainty:
/// the score then has its interval of 95 % (Wilson).
pub(crate) fn score(pass_at_1: &f64, standard_error: &f64, rows: &i32) -> String {
    if *standard_error > 0.0 || *rows <= 0 {
        return format!("{} ± {} %", share(pass_at_1), share(standard_error));
    }
    let Interval { low, high } = Interval::of_mean(*pass_at_1, *standard_error, rows.unsigned_abs().into());
    format!("{} ({} to {}) %", share(pass_at_1), share(&low), share(&high))
}

/// A difference of shares in percentage points, signed.
pub(crate) fn points(difference: &f64) -> String {
    format!("{:+.1}", difference * 100.0).replace('-', "−")
}

/// A difference in percentage points, with its interval of 95 %.
pub(crate) fn difference(found: &Comparison) -> String {
    let Interval { low, high } = found.difference;
    format!("{} ({} to {})", points(&found.gain()), points(&low), points(&high))
}

/// A share in per cent, to one decimal and without the sign, for columns that say it.
pub(crate) fn share(share: &f64) -> String {
    format!("{:.1}", share * 100.0)
}

/// A share in per cent.
pub(crate) fn percent(share: &f64) -> String {
    if share.is_finite() { format!("{:.0} %", share * 100.0) } else { "–".to_owned() }
}

/// An interval of shares in per cent.
pub(crate) fn percents(low: &f64, high: &f64) -> String {
    format!("{:.0} to {}", low * 100.0, percent(high))
}

/// A size in bytes.
pub(crate) fn bytes(number: &i64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    #[expect(clippy::cast_precision_loss, reason = "shown to three digits")]
    let mut size = *number as f64;
    let mut unit = 0;
    while size >= 1024.0 && unit < UNITS.len() - 1 {
        size /= 1024.0;
        unit += 1;
    }
    if unit == 0 || size >= 100.0 { format!("{size:.0} {}", UNITS[unit]) } else { format!("{size:.1} {}", UNITS[unit]) }
}

/// The start of an id, enough to tell it from others nearby.
pub(crate) fn id(id: &uuid::Uuid) -> String {
    id.simple().to_string().chars().rev().take(8).collect::<String>().chars().rev().collect()
}

/// The display name of a metric or a phase.
pub(crate) fn words(name: &str) -> String {
    name.replace('_', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_keep_their_size() {
        assert_eq!(count(&-1_234_567), "−1\u{202f}234\u{202f}567");
        assert_eq!(count(&999), "999");
        assert_eq!([0, 1, 2].map(|number| counted(&number, "attempt")), ["0 attempts", "1 attempt", "2 attempts"]);
        assert_eq!([0, 1023, 1536, 1 << 30].map(|number| bytes(&number)), ["0 B", "1023 B", "1.5 KiB", "1.0 GiB"]);
    }

    /// `web/tests/format.test.mjs` holds the scripts of the pages to the same cases.
    #[test]
    fn numbers_read_the_same_on_pages_and_in_charts() {
        #[derive(serde::Deserialize)]
        struct Case(String, f64, String);
        let cases: Vec<Case> = serde_json::from_str(include_str!("../../../web/tests/formats.json")).unwrap();
        for Case(format, number, text) in cases {
            let formatted = match format.as_str() {
                "value" => value(&number),
                "share" => of_unit(&number, "share"),
                "duration" => duration(&number),
                "bytes" => bytes(&(number as i64)),
                _ => panic!("there is no format {format}"),
            };
            assert_eq!(formatted, text, "{number} as {format}");
        }
    }

    #[test]
    fn what_is_not_finite_is_a_dash() {
        assert_eq!([value(&f64::NAN), of_unit(&f64::INFINITY, "share")], ["–", "–"]);
    }

    #[test]
    fn a_score_without_spread_is_no_certainty() {
        assert_eq!(score(&0.25, &0.05, &80), "25.0 ± 5.0 %");
        assert_eq!(score(&0.0, &0.0, &60), "0.0 (0.0 to 6.0) %");
        assert_eq!(score(&1.0, &0.0, &60), "100.0 (94.0 to 100.0) %");
        assert_eq!(score(&0.0, &0.0, &0), "0.0 ± 0.0 %", "nothing was asked");
    }

    #[test]
    fn what_is_between_backticks_is_code() {
        assert_eq!(pieces("Set `n` to 1."), [(false, "Set "), (true, "n"), (false, " to 1.")]);
        assert_eq!(pieces("plain"), [(false, "plain")]);
    }

    #[test]
    fn only_the_first_letter_becomes_capital() {
        assert_eq!(["critic", "élève b", ""].map(capital), ["Critic", "Élève b", ""]);
    }

    #[test]
    fn durations_have_two_units_at_most() {
        let read = [0.26, 59.6, 61.0, 3_725.0, 90_000.0, f64::INFINITY].map(|seconds| duration(&seconds));
        assert_eq!(read, ["0.3 s", "1 min 0 s", "1 min 1 s", "1 h 2 min", "1 d 1 h", "–"]);
    }
}
