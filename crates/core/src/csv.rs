//! Tables as CSV (RFC 4180).

/// A table with a header.
#[derive(Clone, Debug)]
pub(crate) struct Csv(String);

impl Csv {
    /// A table of these columns, without rows.
    pub(crate) fn new(columns: &[&str]) -> Self {
        let mut csv = Self(String::new());
        csv.row(columns);
        csv
    }

    /// Adds a row.
    pub(crate) fn row<T: AsRef<str>>(&mut self, cells: &[T]) {
        let cells: Vec<String> = cells.iter().map(|cell| quoted(cell.as_ref())).collect();
        self.0.push_str(&cells.join(","));
        self.0.push_str("\r\n");
    }

    /// The file's text.
    pub(crate) fn into_text(self) -> String {
        self.0
    }
}

/// A number, or nothing.
pub(crate) fn maybe(value: Option<f64>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// Spreadsheets treat text that starts with one of `= + - @` as a formula, so a space is put before it unless it is a
/// number.
fn quoted(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@']) && text.parse::<f64>().is_err();
    let text = if is_formula { format!(" {text}") } else { text.to_owned() };
    if text.contains([',', '"', '\r', '\n']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_never_a_formula_and_numbers_stay_numbers() {
        let mut csv = Csv::new(&["name", "value"]);
        csv.row(&["=1+1", "-0.5"]);
        csv.row(&["a \"b\", c", ""]);
        assert_eq!(csv.into_text(), "name,value\r\n =1+1,-0.5\r\n\"a \"\"b\"\", c\",\r\n");
    }
}
