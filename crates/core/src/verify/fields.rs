//! A task as a JSON object: the fields of each kind, with no others accepted.

use serde::de::{DeserializeOwned, Error as _};
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

use super::{
    Check, MAX_REWARD_TIMEOUT, MathPair, Oracle, ProblemKind, Proposal, Reward, Solution, Task, Tests, Tolerance,
    Wordings,
};
use crate::artifact::Digest;

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Propose,
    Solve,
    Tests,
    Math,
    Cluster,
    Repetition,
    Reward,
}

fn not_a_triple(problem: ProblemKind) -> String {
    let valid = ProblemKind::TRIPLES.map(ProblemKind::name).join(", ");
    format!("`type` is `{}`: {valid} are valid here", problem.name())
}

/// The fields not yet taken, and the names of all fields requested.
struct Fields {
    rest: BTreeMap<String, Box<RawValue>>,
    asked: Vec<&'static str>,
}

impl Fields {
    fn optional<T: DeserializeOwned>(&mut self, name: &'static str) -> Result<Option<T>, String> {
        self.asked.push(name);
        match self.rest.remove(name) {
            None => Ok(None),
            Some(raw) if raw.get() == "null" => Ok(None),
            Some(raw) => serde_json::from_str(raw.get()).map(Some).map_err(|error| format!("field `{name}`: {error}")),
        }
    }

    fn required<T: DeserializeOwned>(&mut self, name: &'static str) -> Result<T, String> {
        self.optional(name)?.ok_or_else(|| format!("missing field `{name}`"))
    }

    /// 0 if it is missing.
    fn tolerance(&mut self, name: &'static str) -> Result<Tolerance, String> {
        let value: f64 = self.optional(name)?.unwrap_or(0.0);
        Tolerance::new(value).ok_or_else(|| format!("field `{name}`: {value} is not a finite number >= 0"))
    }

    fn finish(self) -> Result<(), String> {
        match self.rest.keys().next() {
            None => Ok(()),
            Some(name) => {
                Err(format!("unknown field `{name}` for this kind of task, which takes `{}`", self.asked.join("`, `")))
            }
        }
    }

    fn task(mut self) -> Result<Task, String> {
        let id = self.required("id")?;
        let check = match self.required("kind")? {
            Kind::Propose => Check::Propose(self.proposal()?),
            Kind::Solve => Check::Solve(self.solution()?),
            Kind::Tests => Check::Tests(self.tests()?),
            Kind::Math => Check::Math(MathPair {
                gold: self.required("gold")?,
                answer: self.required("answer")?,
                plain: self.optional("plain")?.unwrap_or_default(),
            }),
            Kind::Cluster => Check::Cluster(self.required("answers")?),
            Kind::Repetition => {
                Check::Repetition(Wordings { texts: self.required("texts")?, distance: self.tolerance("distance")? })
            }
            Kind::Reward => Check::Reward(self.reward()?),
        };
        self.finish()?;
        Ok(Task { id, check })
    }

    fn reward(&mut self) -> Result<Reward, String> {
        let source: Option<String> = self.optional("source")?;
        let file = self.optional("file")?.or(source.as_deref().map(|text| Digest::of(text.as_bytes())));
        let timeout = self.optional("timeout")?.unwrap_or(5);
        if !(1..=MAX_REWARD_TIMEOUT).contains(&timeout) {
            return Err(format!("field `timeout`: {timeout} s: 1 to {MAX_REWARD_TIMEOUT} are valid"));
        }
        Ok(Reward {
            file: file.ok_or("missing field `source`: the text of the reward's file")?,
            source,
            timeout,
            packages: self.optional("packages")?.unwrap_or_default(),
            prompt: self.required("prompt")?,
            completion: self.required("completion")?,
            row: self.required("row")?,
        })
    }

    fn proposal(&mut self) -> Result<Proposal, String> {
        let problem = self.required("type")?;
        let program = self.required("program")?;
        Ok(match problem {
            ProblemKind::CodeI | ProblemKind::CodeO => {
                Proposal::Io { problem, program, input: self.required("input")? }
            }
            ProblemKind::CodeF => {
                Proposal::Function { program, inputs: self.required("inputs")?, message: self.required("message")? }
            }
            ProblemKind::Math | ProblemKind::Code => return Err(not_a_triple(problem)),
        })
    }

    fn solution(&mut self) -> Result<Solution, String> {
        let problem = self.required("type")?;
        Ok(match problem {
            ProblemKind::CodeO => Solution::Output {
                program: self.required("program")?,
                input: self.required("input")?,
                answer: self.required("answer")?,
            },
            ProblemKind::CodeI => Solution::Input {
                program: self.required("program")?,
                output: self.required("output")?,
                answer: self.required("answer")?,
            },
            ProblemKind::CodeF => {
                Solution::Function { pairs: self.required("pairs")?, answer: self.required("answer")? }
            }
            ProblemKind::Math | ProblemKind::Code => return Err(not_a_triple(problem)),
        })
    }

    fn tests(&mut self) -> Result<Tests, String> {
        let program = self.required("program")?;
        let entry_point: Option<String> = self.optional("entry_point")?;
        let oracle = if let Some(test) = self.optional("test")? {
            Oracle::Script { test, prompt: self.optional("prompt")? }
        } else if let Some(inputs) = self.optional("inputs")? {
            Oracle::Reference {
                inputs,
                reference: self.required("reference")?,
                atol: self.tolerance("atol")?,
                task_id: self.optional("task_id")?,
            }
        } else if let Some(pairs) = self.optional("pairs")? {
            Oracle::Pairs(pairs)
        } else {
            let public = self.optional("public_test_cases")?;
            let private = self.optional("private_test_cases")?;
            if public.is_none() && private.is_none() {
                return Err("missing what to test against: `test`, or `inputs` with `reference`, or `pairs`, or \
                            `public_test_cases` and `private_test_cases`"
                    .to_owned());
            }
            Oracle::LiveCodeBench { public, private }
        };
        if entry_point.is_none() && matches!(oracle, Oracle::Script { .. } | Oracle::Reference { .. }) {
            return Err("missing field `entry_point`: the name of the function under test".to_owned());
        }
        Ok(Tests { program, entry_point, oracle })
    }
}

impl<'de> Deserialize<'de> for Task {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let rest = BTreeMap::deserialize(deserializer)?;
        Fields { rest, asked: Vec::new() }.task().map_err(D::Error::custom)
    }
}

impl Serialize for Task {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", &self.id)?;
        match &self.check {
            Check::Propose(proposal) => {
                map.serialize_entry("kind", "propose")?;
                match proposal {
                    Proposal::Io { problem, program, input } => {
                        map.serialize_entry("type", problem)?;
                        map.serialize_entry("program", program)?;
                        map.serialize_entry("input", input)?;
                    }
                    Proposal::Function { program, inputs, message } => {
                        map.serialize_entry("type", &ProblemKind::CodeF)?;
                        map.serialize_entry("program", program)?;
                        map.serialize_entry("inputs", inputs)?;
                        map.serialize_entry("message", message)?;
                    }
                }
            }
            Check::Solve(solution) => {
                map.serialize_entry("kind", "solve")?;
                match solution {
                    Solution::Output { program, input, answer } => {
                        map.serialize_entry("type", &ProblemKind::CodeO)?;
                        map.serialize_entry("program", program)?;
                        map.serialize_entry("input", input)?;
                        map.serialize_entry("answer", answer)?;
                    }
                    Solution::Input { program, output, answer } => {
                        map.serialize_entry("type", &ProblemKind::CodeI)?;
                        map.serialize_entry("program", program)?;
                        map.serialize_entry("output", output)?;
                        map.serialize_entry("answer", answer)?;
                    }
                    Solution::Function { pairs, answer } => {
                        map.serialize_entry("type", &ProblemKind::CodeF)?;
                        map.serialize_entry("pairs", pairs)?;
                        map.serialize_entry("answer", answer)?;
                    }
                }
            }
            Check::Tests(tests) => {
                map.serialize_entry("kind", "tests")?;
                map.serialize_entry("program", &tests.program)?;
                if let Some(entry_point) = &tests.entry_point {
                    map.serialize_entry("entry_point", entry_point)?;
                }
                match &tests.oracle {
                    Oracle::Script { test, prompt } => {
                        map.serialize_entry("test", test)?;
                        if let Some(prompt) = prompt {
                            map.serialize_entry("prompt", prompt)?;
                        }
                    }
                    Oracle::Reference { inputs, reference, atol, task_id } => {
                        map.serialize_entry("inputs", inputs)?;
                        map.serialize_entry("reference", reference)?;
                        map.serialize_entry("atol", &atol.get())?;
                        if let Some(task_id) = task_id {
                            map.serialize_entry("task_id", task_id)?;
                        }
                    }
                    Oracle::Pairs(pairs) => map.serialize_entry("pairs", pairs)?,
                    Oracle::LiveCodeBench { public, private } => {
                        if let Some(public) = public {
                            map.serialize_entry("public_test_cases", public)?;
                        }
                        if let Some(private) = private {
                            map.serialize_entry("private_test_cases", private)?;
                        }
                    }
                }
            }
            Check::Math(pair) => {
                map.serialize_entry("kind", "math")?;
                map.serialize_entry("gold", &pair.gold)?;
                map.serialize_entry("answer", &pair.answer)?;
                if pair.plain {
                    map.serialize_entry("plain", &true)?;
                }
            }
            Check::Cluster(answers) => {
                map.serialize_entry("kind", "cluster")?;
                map.serialize_entry("answers", answers)?;
            }
            Check::Repetition(wordings) => {
                map.serialize_entry("kind", "repetition")?;
                map.serialize_entry("texts", &wordings.texts)?;
                map.serialize_entry("distance", &wordings.distance.get())?;
            }
            Check::Reward(reward) => {
                map.serialize_entry("kind", "reward")?;
                map.serialize_entry("file", &reward.file)?;
                if let Some(source) = &reward.source {
                    map.serialize_entry("source", source)?;
                }
                map.serialize_entry("timeout", &reward.timeout)?;
                map.serialize_entry("packages", &reward.packages)?;
                map.serialize_entry("prompt", &reward.prompt)?;
                map.serialize_entry("completion", &reward.completion)?;
                map.serialize_entry("row", &reward.row)?;
            }
        }
        map.end()
    }
}

/// The line cannot be read as a task.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct LineError {
    /// The line's id, if at least that can be read.
    pub id: Option<String>,
    /// What is wrong and what would be valid.
    pub reason: String,
}

/// Reads one line of JSON. Python's `Infinity` is accepted, because EvalPlus's data contains it.
///
/// # Errors
/// The line is not UTF-8, not JSON, or not a task.
pub fn read_line(line: &[u8]) -> Result<Task, LineError> {
    let text = std::str::from_utf8(line)
        .map_err(|error| LineError { id: None, reason: format!("the line is not UTF-8: {error}") })?;
    let error = match serde_json::from_str(text) {
        Ok(task) => return Ok(task),
        Err(error) => error,
    };
    if let Some(text) = finite_spelling(text)
        && let Ok(task) = serde_json::from_str(&text)
    {
        return Ok(task);
    }
    let id = serde_json::from_str::<Value>(text).ok().and_then(|value| value["id"].as_str().map(str::to_owned));
    let reason = match error.classify() {
        serde_json::error::Category::Data => error.to_string(),
        _ => format!("the line is not JSON: {error}"),
    };
    Err(LineError { id, reason })
}

// Python's `json.dumps` writes infinity as a bare word, which JSON does not allow.

/// The text with the bare word `Infinity` replaced by `1e999`; `None` if there is none.
///
/// Words inside strings are left alone. `NaN` has no JSON spelling and stays invalid.
fn finite_spelling(text: &str) -> Option<String> {
    respelled(text, &[("Infinity", "1e999")])
}

/// JSON as Python writes it, with numbers beyond any float for infinities and null for NaN; nothing if it has neither.
pub(crate) fn json_spelling(text: &str) -> Option<String> {
    respelled(text, &[("Infinity", "1e999"), ("NaN", "null")])
}

/// JSON as Python writes it, with null for NaN and infinities; nothing if it has neither.
pub(crate) fn null_spelling(text: &str) -> Option<String> {
    respelled(text, &[("-Infinity", "null"), ("Infinity", "null"), ("NaN", "null")])
}

fn respelled(text: &str, words: &[(&str, &str)]) -> Option<String> {
    let mut spelled = String::new();
    let mut copied = 0;
    let mut in_string = false;
    let mut bytes = text.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'"' => in_string = !in_string,
            b'\\' if in_string => {
                bytes.next();
            }
            b'I' | b'N' | b'-' if !in_string && at >= copied => {
                if let Some((word, spelling)) = words.iter().find(|(word, _)| text[at..].starts_with(word)) {
                    spelled.push_str(&text[copied..at]);
                    spelled.push_str(spelling);
                    copied = at + word.len();
                }
            }
            _ => {}
        }
    }
    (copied > 0).then(|| spelled + &text[copied..])
}

#[cfg(test)]
mod tests {
    use super::{finite_spelling, json_spelling, null_spelling};

    #[test]
    fn only_bare_words_are_spelled() {
        assert_eq!(
            finite_spelling(r#"[Infinity, -Infinity, "Infinity \" Infinity"]"#).unwrap(),
            r#"[1e999, -1e999, "Infinity \" Infinity"]"#
        );
        assert_eq!(finite_spelling(r#"["Infinity"]"#), None);
        assert_eq!(finite_spelling("[NaN]"), None);
        assert_eq!(null_spelling(r#"[NaN, -Infinity, -1, "-Infinity"]"#).unwrap(), r#"[null, null, -1, "-Infinity"]"#);
        assert_eq!(json_spelling(r#"[NaN, -Infinity, "NaN"]"#).unwrap(), r#"[null, -1e999, "NaN"]"#);
    }
}
