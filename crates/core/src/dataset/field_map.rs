//! Which column of any file is what: a format that the user gives at import.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use strum::{IntoStaticStr, VariantArray};

use crate::benchmark::format::{Format, Gold, RewardUse};
use crate::fault::nearest;
use crate::verify::{MAX_REWARD_TIMEOUT, RewardPackage};

/// What judges the answers to the rows of a field map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, IntoStaticStr, VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum OracleKind {
    /// The correct answer to a mathematics question.
    Math,
    /// Code that tests a function.
    Tests,
    /// A program and its input; the output is asked.
    CodeO,
    /// A program and its output; an input is asked.
    CodeI,
    /// Inputs and outputs of a program, which is asked.
    CodeF,
    /// A reward of one's own: a stored Python file.
    Python,
}

crate::named!(OracleKind, "a kind of oracle");

use OracleKind::{CodeF, CodeI, CodeO, Math, Python, Tests};

/// Names the column of each field of a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FieldMap {
    /// What judges the answers.
    pub oracle: OracleKind,
    /// Columns by field ([`MapField::ALL`]).
    pub columns: BTreeMap<String, String>,
}

/// A field that a map may name.
#[derive(Clone, Copy, Debug)]
pub struct MapField {
    pub name: &'static str,
    /// What its column holds.
    pub about: &'static str,
    pub oracles: &'static [OracleKind],
    /// Those of them that need it.
    pub needed: &'static [OracleKind],
}

impl MapField {
    /// Every field that a map may name.
    pub const ALL: [Self; 22] = [
        Self::new("question", "the question or task", &[Math, Tests, Python], &[Math, Tests, Python]),
        Self::new("gold", "the correct answer", &[Math], &[Math]),
        Self::new("gold_after", "not a column: the mark that the answer follows, such as ####", &[Math], &[]),
        Self::new("gold_boxed", "not a column: `true` takes the answer from the last \\boxed{}", &[Math], &[]),
        Self::new("gold_first", "not a column: `true` takes the first of a list of answers", &[Math], &[]),
        Self::new("tests", "Python code that tests the function, or a list of assertions", &[Tests], &[Tests]),
        Self::new("entry_point", "the function's name; without it, the function that the tests call", &[Tests], &[]),
        Self::new("setup", "code to run before the tests", &[Tests], &[]),
        Self::new("solution", "a correct program", &[Tests], &[]),
        Self::new("program", "the program, with a function `f`", &[CodeO, CodeI, CodeF], &[CodeO, CodeI]),
        Self::new("input", "the arguments of `f`", &[CodeO, CodeI], &[CodeO]),
        Self::new("output", "what `f` returns", &[CodeO, CodeI], &[CodeI]),
        Self::new("message", "the description shown to the solver", &[CodeF], &[CodeF]),
        Self::new("pairs", "a list of pairs of an input and an output", &[CodeF], &[]),
        Self::new("inputs", "instead of pairs: a list of inputs", &[CodeF], &[]),
        Self::new("outputs", "instead of pairs: the list of their outputs", &[CodeF], &[]),
        Self::new("answer", "an answer to try the reward with", &[Python], &[]),
        Self::new(
            "reward",
            "not a column: the digest of a stored reward, as `lyceum reward add` prints it",
            &[Python],
            &[Python],
        ),
        Self::new("timeout", "not a column: seconds of CPU time for a completion; 5 without it", &[Python], &[]),
        Self::new(
            "packages",
            "not a column: packages that the reward needs, numpy or sympy, with commas between them",
            &[Python],
            &[],
        ),
        Self::new("task_id", "the task's name; without it, the row's number", &OracleKind::ALL, &[]),
        Self::new("tags", "columns to keep as tags, with commas between them", &OracleKind::ALL, &[]),
    ];

    const fn new(
        name: &'static str,
        about: &'static str,
        oracles: &'static [OracleKind],
        needed: &'static [OracleKind],
    ) -> Self {
        Self { name, about, oracles, needed }
    }

    /// Whether rows with this oracle have the field.
    pub fn belongs_to(&self, oracle: OracleKind) -> bool {
        self.oracles.contains(&oracle)
    }
}

impl FieldMap {
    /// The format that it describes.
    ///
    /// # Errors
    /// Every field that is missing, unknown, or belongs to another oracle, and every malformed value.
    pub fn format(&self) -> Result<Format, Vec<String>> {
        let faults = self.faults();
        if !faults.is_empty() {
            return Err(faults);
        }
        let optional = |name: &str| self.columns.get(name).cloned();
        let column = |name: &str| optional(name).unwrap_or_default();
        let columns = |name: &str| optional(name).into_iter().collect::<Vec<_>>();
        let is_set = |name: &str| self.columns.get(name).is_some_and(|text| text == "true");
        let id = columns("task_id");
        let tags = column("tags").split(',').map(str::trim).filter(|tag| !tag.is_empty()).map(str::to_owned).collect();
        Ok(match self.oracle {
            Math => Format::Math {
                question: columns("question"),
                gold: Gold {
                    field: column("gold"),
                    after: optional("gold_after"),
                    boxed: is_set("gold_boxed"),
                    first: is_set("gold_first"),
                    ..Gold::default()
                },
                id,
                tags,
            },
            Tests => Format::Tests {
                question: columns("question"),
                tests: column("tests"),
                entry_point: optional("entry_point"),
                setup: columns("setup"),
                solution: optional("solution"),
                shows_first_test: false,
                id,
                tags,
            },
            CodeO => Format::CodeO {
                program: column("program"),
                input: column("input"),
                output: optional("output"),
                id,
                tags,
            },
            CodeI => Format::CodeI {
                program: column("program"),
                input: optional("input"),
                output: column("output"),
                id,
                tags,
            },
            Python => Format::Python {
                question: columns("question"),
                answer: optional("answer"),
                reward: self.reward().map_err(|fault| vec![fault])?,
                id,
                tags,
            },
            CodeF => Format::CodeF {
                message: column("message"),
                pairs: optional("pairs"),
                inputs: optional("inputs"),
                outputs: optional("outputs"),
                program: optional("program"),
                id,
                tags,
            },
        })
    }

    fn reward(&self) -> Result<RewardUse, String> {
        let value = |name: &str| self.columns.get(name).map(|text| text.trim());
        let file = value("reward").unwrap_or_default();
        let timeout = value("timeout").unwrap_or("5");
        let packages = value("packages").unwrap_or_default().split(',').map(str::trim);
        let packages = packages.filter(|name| !name.is_empty()).map(|name| {
            let known = RewardPackage::VARIANTS.iter().find(|package| package.name() == name);
            let unknown =
                || format!("field `packages`: the sandbox does not offer `{name}`: numpy and sympy are valid");
            known.copied().ok_or_else(unknown)
        });
        Ok(RewardUse {
            file: file.parse().map_err(|error| format!("field `reward`: {error}"))?,
            timeout: match timeout.parse() {
                Ok(seconds) if (1..=MAX_REWARD_TIMEOUT).contains(&seconds) => seconds,
                _ => {
                    return Err(format!(
                        "field `timeout` is `{timeout}`: 1 to {MAX_REWARD_TIMEOUT} whole seconds are valid"
                    ));
                }
            },
            packages: packages.collect::<Result<_, _>>()?,
        })
    }

    fn faults(&self) -> Vec<String> {
        let oracle = self.oracle;
        let own = || MapField::ALL.iter().filter(move |field| field.belongs_to(oracle));
        let valid = || own().map(|field| field.name).collect::<Vec<_>>().join(", ");
        let mut faults = Vec::new();
        for (name, column) in &self.columns {
            if !own().any(|field| field.name == name) {
                let near = nearest(name, own().map(|field| field.name));
                let hint = near.map(|near| format!(" (did you mean `{near}`?)"));
                faults.push(format!(
                    "rows with oracle `{oracle}` have no field `{name}`{}: valid are {}",
                    hint.unwrap_or_default(),
                    valid()
                ));
            } else if column.trim().is_empty() {
                faults.push(format!("field `{name}` names no column"));
            } else if matches!(name.as_str(), "gold_boxed" | "gold_first")
                && !matches!(column.as_str(), "true" | "false")
            {
                faults.push(format!("field `{name}` is `{column}`: true and false are valid"));
            }
        }
        let is_named = |name: &str| self.columns.contains_key(name);
        for field in own().filter(|field| field.needed.contains(&oracle) && !is_named(field.name)) {
            faults.push(format!("oracle `{oracle}` needs a column for `{}`: {}", field.name, field.about));
        }
        if oracle == CodeF {
            match (is_named("pairs"), is_named("inputs"), is_named("outputs")) {
                (true, false, false) | (false, true, true) => {}
                _ => faults.push(
                    "oracle `code_f` needs a column for `pairs`, or one each for `inputs` and `outputs`".to_owned(),
                ),
            }
        }
        faults
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(oracle: OracleKind, columns: &[(&str, &str)]) -> FieldMap {
        let own = |(name, column): &(&str, &str)| ((*name).to_owned(), (*column).to_owned());
        FieldMap { oracle, columns: columns.iter().map(own).collect() }
    }

    #[test]
    fn a_map_is_a_format() {
        let format = map(Math, &[("question", "a"), ("gold", "b"), ("gold_after", "=>"), ("tags", "c, d")]);
        let Format::Math { question, gold, tags, .. } = format.format().unwrap() else { panic!("another format") };
        assert_eq!((question, tags), (vec!["a".to_owned()], vec!["c".to_owned(), "d".to_owned()]));
        assert_eq!((gold.field.as_str(), gold.after.as_deref()), ("b", Some("=>")));
        for (oracle, columns) in [
            (Tests, &[("question", "a"), ("tests", "b")][..]),
            (CodeO, &[("program", "a"), ("input", "b")]),
            (CodeI, &[("program", "a"), ("output", "b")]),
            (CodeF, &[("message", "a"), ("pairs", "b")]),
            (CodeF, &[("message", "a"), ("inputs", "b"), ("outputs", "c")]),
            (Python, &[("question", "a"), ("reward", &"0".repeat(64)), ("packages", "numpy, sympy")]),
        ] {
            assert!(map(oracle, columns).format().is_ok(), "{oracle}");
        }
    }

    #[test]
    fn a_reward_that_cannot_be_used_is_refused() {
        let digest = "0".repeat(64);
        for (field, value, said) in [
            ("reward", "reward.py", "`reward.py` is not a digest"),
            ("timeout", "0", "1 to 60 whole seconds"),
            ("timeout", "1.5", "1 to 60 whole seconds"),
            ("timeout", "61", "1 to 60 whole seconds"),
            ("packages", "numpy,torch", "does not offer `torch`: numpy and sympy"),
        ] {
            let mut map = map(Python, &[("question", "a"), ("reward", &digest)]);
            map.columns.insert(field.to_owned(), value.to_owned());
            let faults = map.format().unwrap_err();
            assert!(faults.len() == 1 && faults[0].contains(said), "{field}={value}: {faults:?}");
        }
    }

    #[test]
    fn every_fault_of_a_map_is_named() {
        let faults =
            map(Math, &[("qestion", "a"), ("tests", "b"), ("gold_boxed", "yes")]).format().unwrap_err().join("\n");
        for said in [
            "no field `qestion` (did you mean `question`?)",
            "no field `tests`",
            "field `gold_boxed` is `yes`",
            "needs a column for `question`",
            "needs a column for `gold`",
        ] {
            assert!(faults.contains(said), "{said}: {faults}");
        }
        let faults = map(CodeF, &[("message", "a"), ("inputs", "b")]).format().unwrap_err();
        assert_eq!(faults.len(), 1, "{faults:?}");
    }
}
