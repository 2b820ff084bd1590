//! Which suites an evaluation measures with, and how.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::str::FromStr;

use super::{Distribution, suite};
use crate::dataset::TestPolicy;
use crate::fault::Fault;
use crate::id::DatasetId;
use crate::seed::derive;
use crate::work::MAX_TEMPERATURE;

/// The most samples of a row.
pub const MAX_SAMPLES: u32 = 10_000;

/// A suite to measure with: its name, or an object that also says with which rows and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum SuiteChoice {
    /// The suite's name: the rows that were imported last, asked as the evaluation says.
    Name(String),
    /// The suite, and what differs from the evaluation.
    Request(Box<SuiteRequest>),
}

/// A suite to measure with. What is left out is as the evaluation says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SuiteRequest {
    /// The suite.
    pub suite: String,
    /// A dataset of the suite, for any purpose but seeds; left out, its benchmark that was imported last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dataset: Option<DatasetId>,
    /// Use rows whose tests have not been checked, or are bad.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_unchecked: bool,
    /// Leave out rows with bad tests.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub leave_out_bad_rows: bool,
    /// Name of its results: 1 to 63 of `a` to `z`, `0` to `9`, `_` and `-`; left out, the suite's. Results under another name
    /// count towards no average.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Samples a row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = MAX_SAMPLES))]
    pub n: Option<u32>,
    /// How many rows to ask, spread over the dataset by a fixed draw; left out, all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub rows: Option<u32>,
    /// The prompt style, such as `azr`, `chat`, `completion`, `evalplus_chat`, `few_shot`, `plain`, `plain_chat` or
    /// `seedling`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompts: Option<String>,
    /// Softmax temperature; 0 is greedy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = MAX_TEMPERATURE))]
    pub temperature: Option<f64>,
    /// Nucleus.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub top_p: Option<f64>,
    /// Maximum number of tokens of an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_tokens: Option<u32>,
    /// Whether mathematical answers may also be in plain notation, such as `pi/2` or `exp(16)-1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plain_notation: Option<bool>,
    /// Whether its questions are from the distribution of the training data: `in` or `out`. An evaluation shows the
    /// averages of both; left out, the suite counts to neither.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distribution: Option<Distribution>,
}

impl SuiteRequest {
    /// What it allows of the tests of its rows.
    pub fn tests(&self) -> TestPolicy {
        TestPolicy { allow_unchecked: self.allow_unchecked, leave_out_bad_rows: self.leave_out_bad_rows }
    }

    /// What its results are called.
    pub fn result_name(&self) -> String {
        let own = suite(&self.suite).map_or(self.suite.as_str(), |suite| suite.name.as_str());
        self.name.clone().unwrap_or_else(|| own.to_owned())
    }
}

impl SuiteChoice {
    /// The choice as an object.
    pub fn request(&self) -> SuiteRequest {
        match self {
            Self::Name(name) => SuiteRequest { suite: name.clone(), ..SuiteRequest::default() },
            Self::Request(request) => (**request).clone(),
        }
    }

    /// JSON pointer to `field` of the choice at `at` in the list at `pointer`, or to the choice where it is a name alone.
    pub fn place(&self, pointer: &str, at: usize, field: &str) -> String {
        match self {
            Self::Name(_) => format!("{pointer}/{at}"),
            Self::Request(_) => format!("{pointer}/{at}/{field}"),
        }
    }

    /// Unknown suites, and names that results cannot have, in `choices`, each at its place below `pointer`.
    pub fn faults<'a>(choices: impl IntoIterator<Item = (usize, &'a Self)>, pointer: &str) -> Vec<Fault> {
        let mut faults = Vec::new();
        let mut named: HashMap<String, usize> = HashMap::new();
        for (at, choice) in choices {
            let place = |field: &str| choice.place(pointer, at, field);
            let request = choice.request();
            let suite = match suite(&request.suite) {
                Ok(suite) => suite,
                Err(unknown) => {
                    faults.push(Fault::new(place("suite"), unknown.to_string()));
                    continue;
                }
            };
            if let Some(name) = request.name.as_deref().filter(|name| *name != suite.name)
                && let Some(detail) = misnomer(name)
            {
                faults.push(Fault::new(place("name"), detail));
            }
            let name = request.result_name();
            match named.get(&name) {
                Some(first) => {
                    let detail = format!("entry {first} is called `{name}` already: give this one a `name` of its own");
                    faults.push(Fault::new(place("name"), detail));
                }
                None => {
                    named.insert(name, at);
                }
            }
        }
        faults
    }
}

/// Why results cannot be called `name`, if they cannot.
fn misnomer(name: &str) -> Option<String> {
    let is_plain = (1..=63).contains(&name.len())
        && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-'));
    match (is_plain, suite(name)) {
        (false, _) => {
            Some(format!("`{name}` cannot be a name: 1 to 63 of `a` to `z`, `0` to `9`, `_` and `-` are valid"))
        }
        (true, Ok(other)) => Some(format!("`{name}` is the suite {}: choose another name", other.title)),
        (true, Err(_)) => None,
    }
}

/// A suite in a command: its name, and after commas `field=value` for the other fields.
impl FromStr for SuiteChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split(',');
        let name = parts.next().unwrap_or_default();
        let mut fields = serde_json::Map::new();
        for part in parts {
            let (field, value) =
                part.split_once('=').ok_or_else(|| format!("`{part}` is not FIELD=VALUE, such as n=8"))?;
            let value = match field {
                "dataset" | "name" | "prompts" => value.into(),
                _ => serde_json::from_str(value).unwrap_or_else(|_| value.into()),
            };
            fields.insert(field.to_owned(), value);
        }
        if fields.is_empty() {
            return Ok(Self::Name(name.to_owned()));
        }
        fields.insert("suite".to_owned(), name.into());
        SuiteRequest::deserialize(serde_json::Value::Object(fields))
            .map(|request| Self::Request(Box::new(request)))
            .map_err(|error| error.to_string())
    }
}

/// `count` of `rows` rows, in order: one of each of as many equally long stretches, so that they are spread over a suite that
/// is sorted by difficulty or source. Which one is drawn with a fixed seed, so that everybody who asks for as many gets the
/// same. All rows, if `count` is no less.
pub fn spread_rows(rows: u32, count: u32) -> Vec<u32> {
    let count = count.min(rows);
    let edge = |place: u32| (u64::from(place) * u64::from(rows) / u64::from(count.max(1))) as u32;
    let draw = |place: u32| {
        let (first, end) = (edge(place), edge(place + 1));
        let offset = derive(0, "sample of rows", place.into()) % u64::from((end - first).max(1));
        first + offset as u32
    };
    (0..count).map(draw).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_name_stays_a_name_and_an_object_says_what_differs() {
        let text = json!(["gsm8k", {"suite": "livecodebench", "n": 100, "temperature": 0.6}]);
        let choices: Vec<SuiteChoice> = serde_json::from_value(text.clone()).unwrap();
        assert_eq!(serde_json::to_value(&choices).unwrap(), text);
        assert_eq!(choices[0].request().suite, "gsm8k");
        assert_eq!((choices[1].request().n, choices[1].request().rows), (Some(100), None));
    }

    #[test]
    fn commands_write_it_in_one_word() {
        let id = "01890a5d-ac96-774b-bcce-b302099a8057";
        let read: SuiteChoice =
            format!("livecodebench,dataset={id},name=goalposts,n=100,temperature=0.6").parse().unwrap();
        let wanted =
            json!({"suite": "livecodebench", "dataset": id, "name": "goalposts", "n": 100, "temperature": 0.6});
        assert_eq!(serde_json::to_value(read).unwrap(), wanted);
        assert_eq!("gsm8k".parse(), Ok(SuiteChoice::Name("gsm8k".to_owned())));
        for (text, told) in [
            ("gsm8k,n", "`n` is not FIELD=VALUE"),
            ("gsm8k,m=1", "unknown field `m`"),
            ("gsm8k,n=many", "invalid type"),
        ] {
            let error = text.parse::<SuiteChoice>().unwrap_err();
            assert!(error.contains(told), "{error}");
        }
    }

    #[test]
    fn suites_are_known_and_results_are_told_apart() {
        let choices: Vec<SuiteChoice> = serde_json::from_value(json!([
            "livecodebench",
            {"suite": "LiveCodeBench", "n": 4},
            {"suite": "livecodebench", "name": "goalposts"},
            {"suite": "livecodebench", "name": "gsm8k"},
            {"suite": "livecodebench", "name": "Goal Posts"},
            {"suite": "livecodbench"},
            "gms8k",
        ]))
        .unwrap();
        let faults = SuiteChoice::faults(choices.iter().enumerate(), "/suites");
        let told: Vec<String> = faults.iter().map(ToString::to_string).collect();
        for (told, wanted) in told.iter().zip([
            "/suites/1/name: entry 0 is called `livecodebench` already",
            "/suites/3/name: `gsm8k` is the suite GSM8K",
            "/suites/4/name: `Goal Posts` cannot be a name",
            "/suites/5/suite: there is no suite `livecodbench` (did you mean `livecodebench`?)",
            "/suites/6: there is no suite `gms8k`",
        ]) {
            assert!(told.starts_with(wanted), "{told}");
        }
        assert_eq!(told.len(), 5);
    }

    #[test]
    fn the_rows_of_a_sample_never_change() {
        // Python: int.from_bytes(hashlib.sha256(struct.pack("<QQ", 0, 14) + b"sample of rows" + struct.pack("<Q", i)).digest()[:8],
        // "little") % 25 + 25 * i for i in range(4)
        assert_eq!(spread_rows(100, 4), [19, 41, 63, 92]);
    }

    proptest! {
        #[test]
        fn every_stretch_of_the_suite_has_one_row(rows in 1_u32..5000, count in 1_u32..5000) {
            let drawn = spread_rows(rows, count);
            prop_assert_eq!(drawn.len() as u32, count.min(rows));
            let width = rows.div_ceil(count.min(rows));
            for (place, row) in (0_u32..).zip(&drawn) {
                let start = u64::from(place) * u64::from(rows) / drawn.len() as u64;
                prop_assert!(*row < rows && (start..start + u64::from(width)).contains(&u64::from(*row)));
            }
            prop_assert!(drawn.is_sorted_by(|a, b| a < b));
            if count >= rows {
                prop_assert_eq!(drawn, (0..rows).collect::<Vec<_>>());
            }
        }
    }
}
