//! A task as a JSON object: the fields of each kind, with no others accepted.

use std::collections::BTreeMap;

use serde::de::{DeserializeOwned, Error as _};
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::ProblemKind;
use super::task::{Check, MathPair, Oracle, Proposal, Solution, Task, Tests, Tolerance, Wordings};

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Propose,
    Solve,
    Tests,
    Math,
    Cluster,
    Repetition,
}

fn not_a_triple(problem: ProblemKind) -> String {
    let valid = ProblemKind::TRIPLES.map(ProblemKind::name).join(", ");
    format!("`type` is `{}`: {valid} are valid here", problem.name())
}

/// The fields not yet taken, and the names of all fields asked for.
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
            Some(raw) => serde_json::from_str(raw.get())
                .map(Some)
                .map_err(|error| format!("field `{name}`: {error}")),
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
            Some(name) => Err(format!(
                "unknown field `{name}` for this kind of task, which takes `{}`",
                self.asked.join("`, `")
            )),
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
            Kind::Repetition => Check::Repetition(Wordings {
                texts: self.required("texts")?,
                distance: self.tolerance("distance")?,
            }),
        };
        self.finish()?;
        Ok(Task { id, check })
    }

    fn proposal(&mut self) -> Result<Proposal, String> {
        let problem = self.required("type")?;
        let program = self.required("program")?;
        Ok(match problem {
            ProblemKind::CodeI | ProblemKind::CodeO => Proposal::Io {
                problem,
                program,
                input: self.required("input")?,
            },
            ProblemKind::CodeF => Proposal::Function {
                program,
                inputs: self.required("inputs")?,
                message: self.required("message")?,
            },
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
            ProblemKind::CodeF => Solution::Function {
                pairs: self.required("pairs")?,
                answer: self.required("answer")?,
            },
            ProblemKind::Math | ProblemKind::Code => return Err(not_a_triple(problem)),
        })
    }

    fn tests(&mut self) -> Result<Tests, String> {
        let program = self.required("program")?;
        let entry_point: Option<String> = self.optional("entry_point")?;
        let oracle = if let Some(test) = self.optional("test")? {
            Oracle::Script {
                test,
                prompt: self.optional("prompt")?,
            }
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
                return Err(
                    "missing what to test against: `test`, or `inputs` with `reference`, or `pairs`, or \
                            `public_test_cases` and `private_test_cases`"
                        .to_owned(),
                );
            }
            Oracle::LiveCodeBench { public, private }
        };
        if entry_point.is_none() && matches!(oracle, Oracle::Script { .. } | Oracle::Reference { .. }) {
            return Err("missing field `entry_point`: the name of the function under test".to_owned());
        }
        Ok(Tests {
            program,
            entry_point,
            oracle,
        })
    }
}

impl<'de> Deserialize<'de> for Task {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let rest = BTreeMap::deserialize(deserializer)?;
        Fields {
            rest,
            asked: Vec::new(),
        }
        .task()
        .map_err(D::Error::custom)
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
                    Proposal::Io {
                        problem,
                        program,
                        input,
                    } => {
                        map.serialize_entry("type", problem)?;
                        map.serialize_entry("program", program)?;
                        map.serialize_entry("input", input)?;
                    }
                    Proposal::Function {
                        program,
                        inputs,
                        message,
                    } => {
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
                    Solution::Input {
                        program,
                        output,
                        answer,
                    } => {
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
                    Oracle::Reference {
                        inputs,
                        reference,
                        atol,
                        task_id,
                    } => {
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
        }
        map.end()
    }
}
