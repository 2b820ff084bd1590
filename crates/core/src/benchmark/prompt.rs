//! Renders a row as a prompt and reads the completion.

#[cfg(test)]
mod tests;

use minijinja::{Environment, UndefinedBehavior, context};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use super::format::Format;
use super::needed::needed_by;
use super::{BenchmarkRow, Question, Suite, code_of, mathematics_of};
use crate::problem::Statement;
use crate::prompt::{PromptError, PromptSet, ReadingRule, Style, shipped_templates};
use crate::verify::ProblemKind;
use crate::work::{FinishReason, Message, Prompt};

/// A prompt style: one file of `configs/benchmarks/prompts`.
#[derive(Debug)]
pub struct PromptStyle {
    name: String,
    style: Style,
    environment: Environment<'static>,
    /// How the answer to a code problem begins, which is put into the model's mouth; may be empty.
    begin_code: String,
    self_play: Option<PromptSet>,
    stop: Vec<String>,
    stop_math: Vec<String>,
    sha256: String,
    /// SHA-256 that also covers the templates of self-play problems, of a set whose templates may change.
    self_play_sha256: Option<String>,
    /// Whether no answer to a question of mathematics is read in a completion that was cut.
    is_whole: bool,
}

/// A solution that was found in a completion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Solution {
    pub text: String,
    /// The rule that found it, if there are several.
    pub rule: Option<ReadingRule>,
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
    /// How the answer to a code problem begins, as the end of the prompt.
    #[serde(default)]
    begin_code: String,
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
    ($($name:literal: $self_play:expr),+ $(,)?) => {
        &[$(($name, include_str!(concat!("../../../../configs/benchmarks/prompts/", $name, ".toml")), $self_play)),+]
    };
}

/// The set whose templates follow what models can do; its answers are read by every rule.
const INSTRUCT: &str = "instruct";

/// Names, files, and the sets of `configs/prompts` that render self-play problems where the file does not say so: it came later,
/// and a file's hash must stay, since it identifies results.
const SHIPPED: &[(&str, &str, Option<&str>)] = shipped![
    "azr": Some("azr"),
    "chat": Some(INSTRUCT),
    "completion": None,
    "evalplus_chat": None,
    "few_shot": None,
    "plain": None,
    "plain_chat": None,
    "seedling": None,
    "seedling-math": None,
    "seedling-steps": None,
];

/// The names of all styles.
pub fn prompt_styles() -> impl Iterator<Item = &'static str> {
    SHIPPED.iter().map(|(name, ..)| *name)
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
        let found = SHIPPED.iter().find(|(known, ..)| *known == name);
        let (_, text, self_play) = found.ok_or_else(|| unknown(String::new()))?;
        let described: Described = toml::from_str(text).map_err(|error| unknown(format!(" ({error})")))?;
        Self::compile(name, text, described, *self_play).map_err(|error| unknown(format!(" ({error})")))
    }

    fn compile(name: &str, text: &str, described: Described, self_play: Option<&str>) -> Result<Self, PromptError> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        let mut hash = Sha256::new().chain_update(text);
        let frame = match described.frame.as_deref() {
            None => "{{ content }}",
            Some("azr") => include_str!("../../../../configs/prompts/azr/frame.jinja"),
            Some(other) => return Err(PromptError::Missing(other.to_owned())),
        };
        hash.update(frame);
        let templates = [("code", described.code), ("math", described.math), ("frame", Some(frame.to_owned()))];
        for (template, text) in templates {
            let Some(text) = text else { continue };
            environment.add_template_owned(template, text).map_err(|error| template_error(template, &error))?;
        }
        let sha256 = format!("{:x}", hash.finalize());
        let set = described.self_play.as_deref().or(self_play);
        let self_play = match set {
            Some(INSTRUCT) => Some(PromptSet::shipped(INSTRUCT)?.flexible()),
            other => other.map(PromptSet::shipped).transpose()?,
        };
        let self_play_sha256 = set.filter(|set| *set == INSTRUCT).map(|set| {
            let templates = shipped_templates(set).fold(Sha256::new().chain_update(&sha256), |hash, (name, text)| {
                hash.chain_update(name).chain_update(text)
            });
            format!("{:x}", templates.finalize())
        });
        Ok(Self {
            name: name.to_owned(),
            style: described.style,
            environment,
            begin_code: described.begin_code,
            self_play,
            stop: described.stop,
            stop_math: described.stop_math,
            sha256,
            self_play_sha256,
            is_whole: false,
        })
    }

    /// The same style, with self-play answers read only by the form, as for learning.
    #[must_use]
    pub fn strict(self) -> Self {
        Self { self_play: self.self_play.map(PromptSet::strict), ..self }
    }

    /// The same style, with no answer to a question of mathematics read in a completion that was cut at the limit: the last
    /// number in it is seldom what the model was about to say. The field's suites are read as the field does.
    #[must_use]
    pub fn whole(self) -> Self {
        Self { is_whole: true, ..self }
    }

    /// Whether prompts are sent as messages.
    pub(crate) fn has_conversations(&self) -> bool {
        self.style == Style::Chat
    }

    /// The style's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// SHA-256 of its file and frame, in hex.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// The hash that results on `rows` are compared by: of the style's file and frame, and where the rows are self-play
    /// problems of a set whose templates may change, of those as well. That of mathematics read only in whole completions is
    /// another one.
    pub fn sha256_for(&self, rows: &[BenchmarkRow]) -> String {
        let has = |fits: fn(ProblemKind) -> bool| rows.iter().any(|row| fits(row.oracle.kind()));
        if self.is_whole && has(|kind| kind == ProblemKind::Math) {
            return format!("{:x}", Sha256::new().chain_update(&self.sha256).chain_update("whole").finalize());
        }
        self.self_play_sha256.clone().filter(|_| has(ProblemKind::is_triple)).unwrap_or_else(|| self.sha256.clone())
    }

    /// Why this style cannot render rows of `suite`; `None` if it can.
    pub fn misfit(&self, suite: &Suite) -> Option<String> {
        let template = match suite.format {
            Format::Math { .. } | Format::Verl { .. } | Format::Python { .. } => "math",
            _ if suite.format.is_self_play() => return self.self_play.is_none().then(|| self.lack("self-play", suite)),
            _ => "code",
        };
        let lacks = self.environment.get_template(template).is_err();
        lacks.then(|| self.lack(template, suite))
    }

    fn lack(&self, problems: &str, suite: &Suite) -> String {
        format!(
            "the prompt style `{}` has no prompt for problems of {problems}, such as those of `{}`",
            self.name, suite.name
        )
    }

    /// The prompt for a row.
    ///
    /// # Errors
    /// The style has no template for this kind of row.
    pub fn render(&self, row: &BenchmarkRow) -> Result<Prompt, PromptError> {
        let values = row.values();
        let statement = values.statement(row.oracle.kind(), row.oracle.program().unwrap_or_default());
        let (content, begin) = match statement {
            Statement::Math { question } => {
                let context = context! { question => question.trim_end_matches('\n'), text => question };
                (self.text("math", context)?, "")
            }
            Statement::Code { question, entry_point, starter_code } => {
                let context = context! {
                    question => question.trim_end_matches('\n'),
                    text => question,
                    starter_code => starter_code.unwrap_or_default(),
                    reads_input => entry_point.is_none(),
                    entry_point => entry_point.unwrap_or_default(),
                };
                (self.text("code", context)?, self.begin_code.as_str())
            }
            self_play => {
                let missing = || PromptError::Missing(format!("{} of `{}`", row.task_id, self.name));
                let set = self.self_play.as_ref().ok_or_else(missing)?;
                return Ok(match set.solve(&self_play)?.prompt {
                    Prompt::Text(text) => Prompt::Text(text + &self.begin_code),
                    prompt => prompt,
                });
            }
        };
        let text = self.text("frame", context! { content })?;
        let message = |role: &str, content: String| Message { role: role.to_owned(), content };
        Ok(match self.style {
            Style::Base => Prompt::Text(text + begin),
            Style::Chat => {
                let begun = (!begin.is_empty()).then(|| message("assistant", begin.to_owned()));
                Prompt::Messages([message("user", text)].into_iter().chain(begun).collect())
            }
        })
    }

    /// Texts that end a completion.
    pub fn stops(&self, suite: &Suite) -> Vec<String> {
        match &self.self_play {
            Some(set) if suite.format.is_self_play() => set.grammar.solver_stops(),
            _ if suite.group == super::Group::Math => self.stop_math.clone(),
            _ => self.stop.clone(),
        }
    }

    /// Texts that end a completion of any of `rows`.
    pub fn stops_of<'r>(&self, rows: impl IntoIterator<Item = &'r BenchmarkRow>) -> Vec<String> {
        let mut stops: Vec<String> = Vec::new();
        for row in rows {
            let own = match (&row.oracle, &self.self_play) {
                (Question::Math { .. } | Question::Python { .. }, _) => self.stop_math.clone(),
                (Question::CodeO { .. } | Question::CodeI { .. } | Question::CodeF { .. }, Some(set)) => {
                    set.grammar.solver_stops()
                }
                _ => self.stop.clone(),
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
    pub fn solution(&self, row: &BenchmarkRow, completion: &str, finish: FinishReason) -> Result<Solution, String> {
        let begun = format!("{}{completion}", self.begin_code);
        let function = |entry_point: &str, test: &str, prompt| {
            needed_by(entry_point, test, &code_of(&begun, Some(entry_point), prompt))
        };
        let text = match &row.oracle {
            Question::Script { entry_point, test } => function(entry_point, test, Some(&row.question)),
            Question::Reference { entry_point, .. } => {
                let prompt = row.task_id.starts_with("HumanEval/").then_some(row.question.as_str());
                function(entry_point, "", prompt)
            }
            Question::LiveCodeBench { .. } => code_of(&begun, None, None),
            Question::Math { .. } if self.is_whole && finish == FinishReason::Length => {
                return Err("it was cut at the limit of tokens".to_owned());
            }
            Question::Math { .. } => mathematics_of(completion).ok_or("there is no answer in it")?,
            Question::Python { .. } => completion.to_owned(),
            Question::CodeO { .. } | Question::CodeI { .. } | Question::CodeF { .. } => {
                let Some(set) = &self.self_play else {
                    return Err(format!("the prompt style `{}` cannot read self-play answers", self.name));
                };
                let values = row.values();
                let statement = values.statement(row.oracle.kind(), row.oracle.program().unwrap_or_default());
                let found = set.answer(&statement, completion, finish)?;
                return Ok(Solution { text: found.text, rule: Some(found.rule).filter(|_| set.is_flexible()) });
            }
        };
        Ok(Solution { text, rule: None })
    }

    fn text(&self, template: &str, context: minijinja::Value) -> Result<String, PromptError> {
        let found = self.environment.get_template(template);
        let found = found.map_err(|_| PromptError::Missing(format!("{template} of `{}`", self.name)))?;
        found.render(context).map_err(|error| template_error(template, &error))
    }
}

fn template_error(name: &str, error: &minijinja::Error) -> PromptError {
    PromptError::Template { name: name.to_owned(), detail: error.to_string() }
}
