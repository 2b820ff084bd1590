//! Renders a row as a prompt and reads the completion.

use minijinja::{Environment, UndefinedBehavior, context};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use super::{BenchmarkRow, Question, Suite, code_of, format::Format, mathematics_of};
use crate::{
    problem::Statement,
    prompt::{PromptError, PromptSet, Style},
    verify::ProblemKind,
    work::{FinishReason, Message, Prompt},
};

/// A prompt style: one file of `configs/benchmarks/prompts`.
#[derive(Debug)]
pub struct PromptStyle {
    name: String,
    style: Style,
    environment: Environment<'static>,
    self_play: Option<PromptSet>,
    stop: Vec<String>,
    stop_math: Vec<String>,
    sha256: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Described {
    style: Style,
    /// The set of `configs/prompts` whose frame wraps each prompt.
    frame: Option<String>,
    code: Option<String>,
    math: Option<String>,
    /// The set of `configs/prompts` that renders self-play problems.
    self_play: Option<String>,
    #[serde(default)]
    stop: Vec<String>,
    #[serde(default)]
    stop_math: Vec<String>,
}

/// The prompt style does not exist or cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no prompt style `{name}`{detail}: valid are {known}")]
pub struct UnknownPrompts {
    name: String,
    detail: String,
    known: String,
}

macro_rules! shipped {
    ($($name:literal),+ $(,)?) => {
        &[$(($name, include_str!(concat!("../../../../configs/benchmarks/prompts/", $name, ".toml")))),+]
    };
}

const SHIPPED: &[(&str, &str)] = shipped!["azr", "chat", "completion", "seedling", "seedling-math"];

/// The names of all styles.
pub fn prompt_styles() -> impl Iterator<Item = &'static str> {
    SHIPPED.iter().map(|(name, _)| *name)
}

impl PromptStyle {
    /// The style called `name`.
    ///
    /// # Errors
    /// There is no such style.
    pub fn shipped(name: &str) -> Result<Self, UnknownPrompts> {
        let unknown = |detail: String| UnknownPrompts {
            name: name.to_owned(),
            detail,
            known: prompt_styles().collect::<Vec<_>>().join(", "),
        };
        let found = SHIPPED.iter().find(|(known, _)| *known == name);
        let (_, text) = found.ok_or_else(|| unknown(String::new()))?;
        let described: Described = toml::from_str(text).map_err(|error| unknown(format!(" ({error})")))?;
        Self::compile(name, text, described).map_err(|error| unknown(format!(" ({error})")))
    }

    fn compile(name: &str, text: &str, described: Described) -> Result<Self, PromptError> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        let mut hash = Sha256::new().chain_update(text);
        let frame = match described.frame.as_deref() {
            None => "{{ content }}",
            Some("azr") => include_str!("../../../../configs/prompts/azr/frame.jinja"),
            Some(other) => return Err(PromptError::Missing(other.to_owned())),
        };
        hash.update(frame);
        let templates = [
            ("code", described.code),
            ("math", described.math),
            ("frame", Some(frame.to_owned())),
        ];
        for (template, text) in templates {
            let Some(text) = text else { continue };
            environment
                .add_template_owned(template, text)
                .map_err(|error| template_error(template, &error))?;
        }
        Ok(Self {
            name: name.to_owned(),
            style: described.style,
            environment,
            self_play: described.self_play.as_deref().map(PromptSet::shipped).transpose()?,
            stop: described.stop,
            stop_math: described.stop_math,
            sha256: format!("{:x}", hash.finalize()),
        })
    }

    /// The style's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// SHA-256 of its file and frame, in hex.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// Why this style cannot render rows of `suite`; `None` if it can.
    pub fn misfit(&self, suite: &Suite) -> Option<String> {
        let wants_self_play = suite.format.is_self_play();
        if wants_self_play != self.self_play.is_some() {
            return Some(format!(
                "the rows of `{}` are {} self-play, which the prompt style `{}` is {}for",
                suite.name,
                if wants_self_play {
                    "problems of"
                } else {
                    "not problems of"
                },
                self.name,
                if wants_self_play { "not " } else { "" },
            ));
        }
        let template = match suite.format {
            Format::Math { .. } => "math",
            _ => "code",
        };
        let lacks = self.self_play.is_none() && self.environment.get_template(template).is_err();
        lacks.then(|| {
            format!(
                "the prompt style `{}` has no prompt for problems of {template}, such as those of `{}`",
                self.name, suite.name
            )
        })
    }

    /// The prompt for a row.
    ///
    /// # Errors
    /// The style has no template for this kind of row.
    pub fn render(&self, row: &BenchmarkRow) -> Result<Prompt, PromptError> {
        let values = row.values();
        let statement = values.statement(row.oracle.kind(), row.oracle.program().unwrap_or_default());
        let content = match (&self.self_play, statement) {
            (Some(set), statement) => return set.solve(&statement).map(|rendered| rendered.prompt),
            (None, Statement::Math { question }) => {
                let question = question.trim_end_matches('\n');
                self.text("math", context! { question })?
            }
            (
                None,
                Statement::Code {
                    question,
                    entry_point,
                    starter_code,
                },
            ) => self.text(
                "code",
                context! {
                    question => question.trim_end_matches('\n'),
                    starter_code => starter_code.unwrap_or_default(),
                    reads_input => entry_point.is_none(),
                    entry_point => entry_point.unwrap_or_default(),
                },
            )?,
            (None, _) => return Err(PromptError::Missing(format!("{} of `{}`", row.task_id, self.name))),
        };
        let text = self.text("frame", context! { content })?;
        Ok(match self.style {
            Style::Base => Prompt::Text(text),
            Style::Chat => Prompt::Messages(vec![Message {
                role: "user".to_owned(),
                content: text,
            }]),
        })
    }

    /// Texts that end a completion.
    pub fn stops(&self, suite: &Suite) -> Vec<String> {
        match (&self.self_play, suite.group) {
            (Some(set), _) => set.grammar.solver_stops(),
            (None, super::Group::Math) => self.stop_math.clone(),
            (None, _) => self.stop.clone(),
        }
    }

    /// Texts that end a completion of any of `rows`.
    pub fn stops_of<'r>(&self, rows: impl IntoIterator<Item = &'r BenchmarkRow>) -> Vec<String> {
        let mut stops: Vec<String> = Vec::new();
        for row in rows {
            let own = match (&self.self_play, &row.oracle) {
                (Some(set), _) => set.grammar.solver_stops(),
                (None, Question::Math { .. }) => self.stop_math.clone(),
                (None, _) => self.stop.clone(),
            };
            stops.extend(own);
        }
        stops.sort_unstable();
        stops.dedup();
        stops
    }

    /// Extracts the solution from a completion: a program or an answer.
    ///
    /// # Errors
    /// Why there is no solution.
    pub fn solution(&self, row: &BenchmarkRow, completion: &str, finish: FinishReason) -> Result<String, String> {
        let problem = match &row.oracle {
            Question::Script { entry_point, .. } => {
                return Ok(code_of(completion, Some(entry_point), Some(&row.question)));
            }
            Question::Reference { entry_point, .. } => {
                let prompt = row.task_id.starts_with("HumanEval/").then_some(row.question.as_str());
                return Ok(code_of(completion, Some(entry_point), prompt));
            }
            Question::LiveCodeBench { .. } => return Ok(code_of(completion, None, None)),
            Question::Math { .. } => {
                return mathematics_of(completion).ok_or_else(|| "there is no answer in it".to_owned());
            }
            Question::CodeO { .. } => ProblemKind::CodeO,
            Question::CodeI { .. } => ProblemKind::CodeI,
            Question::CodeF { .. } => ProblemKind::CodeF,
        };
        match &self.self_play {
            Some(set) => set.grammar.answer(problem, completion, finish, set.opening()),
            None => Err(format!(
                "the prompt style `{}` cannot read self-play answers",
                self.name
            )),
        }
    }

    fn text(&self, template: &str, context: minijinja::Value) -> Result<String, PromptError> {
        let found = self.environment.get_template(template);
        let found = found.map_err(|_| PromptError::Missing(format!("{template} of `{}`", self.name)))?;
        found.render(context).map_err(|error| template_error(template, &error))
    }
}

fn template_error(name: &str, error: &minijinja::Error) -> PromptError {
    PromptError::Template {
        name: name.to_owned(),
        detail: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::benchmark::{shipped_suites, suite};

    fn row(oracle: Question) -> BenchmarkRow {
        BenchmarkRow {
            task_id: "HumanEval/0".to_owned(),
            question: "def add(a, b):\n    \"\"\"Adds {{ both }}.\"\"\"\n".to_owned(),
            canonical: None,
            oracle,
            tags: Default::default(),
        }
    }

    fn script() -> Question {
        Question::Script {
            entry_point: "add".to_owned(),
            test: "def check(candidate): pass".to_owned(),
        }
    }

    #[test]
    fn every_style_puts_the_rows_of_every_suite_that_it_fits() {
        let of = |suite: &Suite| match &suite.format {
            Format::HumanEval {} | Format::EvalPlus {} | Format::Tests { .. } => script(),
            Format::LiveCodeBench {} => Question::LiveCodeBench {
                entry_point: None,
                starter_code: String::new(),
                public_test_cases: None,
                private_test_cases: None,
            },
            Format::Math { .. } | Format::Verl { .. } => Question::Math { gold: "1".to_owned() },
            Format::SelfPlay {} | Format::CodeO { .. } | Format::CodeI { .. } | Format::CodeF { .. } => {
                Question::CodeO {
                    program: "def f(a):\n return a".to_owned(),
                    input: "1".to_owned(),
                }
            }
        };
        for name in prompt_styles() {
            let style = PromptStyle::shipped(name).unwrap();
            for suite in shipped_suites() {
                let prompt = style.render(&row(of(suite)));
                assert_eq!(
                    prompt.is_ok(),
                    style.misfit(suite).is_none(),
                    "{name} and {}",
                    suite.name
                );
            }
        }
        assert!(
            PromptStyle::shipped("rhyme")
                .unwrap_err()
                .to_string()
                .contains("azr, chat")
        );
    }

    #[test]
    fn questions_for_the_small_base_for_mathematics_are_put_as_in_its_runs() {
        let question = "What is 3 + 4?";
        let mut asked = row(Question::Math { gold: "7".to_owned() });
        asked.question = question.to_owned();
        let style = PromptStyle::shipped("seedling-math").unwrap();
        let set = PromptSet::shipped("seedling-math").unwrap();
        let in_a_run = set.render("solve", context! { question }).unwrap().prompt;
        assert_eq!(style.render(&asked).unwrap(), in_a_run);
        assert_eq!(
            style.solution(&asked, r"3+4=7;\boxed{7}", FinishReason::Stop).unwrap(),
            "7"
        );
    }

    #[test]
    fn a_question_stands_in_its_prompt_as_it_is() {
        let Prompt::Text(text) = PromptStyle::shipped("completion")
            .unwrap()
            .render(&row(script()))
            .unwrap()
        else {
            panic!("a text")
        };
        assert_eq!(text, "def add(a, b):\n    \"\"\"Adds {{ both }}.\"\"\"");
        let Prompt::Messages(messages) = PromptStyle::shipped("chat").unwrap().render(&row(script())).unwrap() else {
            panic!("messages")
        };
        assert!(messages[0].content.contains("`add`") && messages[0].content.contains("{{ both }}"));
        let azr = PromptStyle::shipped("azr").unwrap();
        let Prompt::Text(text) = azr.render(&row(script())).unwrap() else {
            panic!("a text")
        };
        assert!(text.ends_with("Assistant: <think>"), "{text}");
        assert_ne!(azr.sha256(), PromptStyle::shipped("chat").unwrap().sha256());
    }

    #[test]
    fn answers_are_found_as_the_suite_says() {
        let azr = PromptStyle::shipped("azr").unwrap();
        let said = "It is easy.</think> <answer>```python\ndef add(a, b):\n    return a + b\n```</answer>";
        let program = azr.solution(&row(script()), said, FinishReason::Stop).unwrap();
        assert_eq!(program, "def add(a, b):\n    return a + b");
        let math = row(Question::Math { gold: "1".to_owned() });
        assert_eq!(azr.solution(&math, r"so \boxed{7}", FinishReason::Length).unwrap(), "7");
        assert!(
            azr.solution(&math, "I cannot say anything at all about this one", FinishReason::Stop)
                .is_err()
        );
        let held_out = suite("held-out-seedling").unwrap();
        let seedling = PromptStyle::shipped("seedling").unwrap();
        assert!(azr.misfit(held_out).is_some() && seedling.misfit(held_out).is_none());
    }
}
