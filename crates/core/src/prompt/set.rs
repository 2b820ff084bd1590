//! Compiles and renders templates.

#[cfg(test)]
mod tests;

use minijinja::{Environment, UndefinedBehavior, Value, context};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

use super::bounds::Extent;
use super::config::{sets_with, shipped};
use super::template::{example_names, system_name};
use super::{AnswerReading, Field, Grammar, PromptConfig, Style, Template, Variable, compact_literal, filters};
use crate::work::{FinishReason, Message, Prompt};

/// A rendered prompt.
#[derive(Clone, Debug, PartialEq)]
pub struct Rendered {
    /// The input for the engine.
    pub prompt: Prompt,
    /// Its text before a chat template, with an empty line between messages.
    pub text: String,
}

/// Why a prompt cannot be rendered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PromptError {
    /// A template is missing.
    #[error("there is no template `{0}`")]
    Missing(String),
    /// A template is invalid or uses a variable it is not given.
    #[error("template `{name}`: {detail}")]
    Template {
        /// The template.
        name: String,
        /// The fault, with its line.
        detail: String,
    },
    /// The config was not resolved.
    #[error("the prompt config has no {0}: it was not resolved")]
    Unresolved(&'static str),
}

/// Maximum instructions of all trial renderings of a set; a tenth is enough for each of the shipped ones.
const TRIAL_INSTRUCTIONS: u64 = 4_000_000;

/// The templates of a run, by name.
#[derive(Debug)]
pub struct PromptSet {
    environment: Environment<'static>,
    /// How completions are read.
    pub grammar: Grammar,
    pub(super) reading: AnswerReading,
    style: Style,
    has_frame: bool,
    opening: String,
    extent: Extent,
    /// The instructions of the renderings so far.
    spent: AtomicU64,
}

impl PromptSet {
    /// Compiles a resolved config.
    ///
    /// # Errors
    /// A template is not valid Jinja, or a frame cannot be rendered.
    pub fn compile(config: &PromptConfig) -> Result<Self, PromptError> {
        let grammar = config.grammar.ok_or(PromptError::Unresolved("grammar"))?;
        let style = config.style.ok_or(PromptError::Unresolved("style"))?;
        let templates = config.templates.iter();
        let set = Self::open(grammar, style, templates.map(|(name, text)| (name.as_str(), text.as_str())))?;
        Ok(Self { reading: config.reading, ..set })
    }

    /// A shipped set, unmodified.
    ///
    /// # Errors
    /// There is no shipped set with this name.
    pub fn shipped(name: &str) -> Result<Self, PromptError> {
        let set = shipped(name).ok_or_else(|| PromptError::Missing(name.to_owned()))?;
        Self::open(set.grammar, set.style, set.templates())
    }

    fn open<'t>(
        grammar: Grammar,
        style: Style,
        templates: impl Iterator<Item = (&'t str, &'t str)>,
    ) -> Result<Self, PromptError> {
        let (mut set, errors) = Self::assemble(grammar, style, templates);
        if let Some(error) = errors.into_iter().next() {
            return Err(error);
        }
        if let Some(frame) = set.frame() {
            let empty = set.fill(frame, context! { content => "" })?;
            // A chat template follows the message, so the end of a message opens nothing.
            set.opening = if style == Style::Base { empty } else { String::new() };
        }
        Ok(set)
    }

    /// The set without its opening, and the errors of invalid templates.
    pub(super) fn assemble<'t>(
        grammar: Grammar,
        style: Style,
        templates: impl Iterator<Item = (&'t str, &'t str)>,
    ) -> (Self, Vec<PromptError>) {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        filters::install(&mut environment);
        let mut extent = Extent::PLAIN;
        let mut errors = Vec::new();
        for (name, text) in templates {
            match Extent::of(text) {
                Ok(measured) => extent = extent.and(measured),
                Err(detail) => {
                    let name = name.to_owned();
                    errors.push(PromptError::Template { name, detail });
                    continue;
                }
            }
            if let Err(error) = environment.add_template_owned(name.to_owned(), text.to_owned()) {
                errors.push(template_error(name, &error));
            }
        }
        environment.set_fuel(Some(extent.instructions));
        let has_frame = environment.get_template(style.frame()).is_ok();
        let set = Self {
            environment,
            grammar,
            reading: AnswerReading::Strict,
            style,
            has_frame,
            opening: String::new(),
            extent,
            spent: AtomicU64::new(0),
        };
        (set, errors)
    }

    /// The text at the end of every prompt of the set, if the style has a frame.
    pub fn opening(&self) -> &str {
        &self.opening
    }

    /// The prompt of the template `name`, with its system message and its example if the set has them. `variables` is a
    /// map by name, such as one made by minijinja's `context!`.
    ///
    /// With the style `base` all are one text: the system message, the example, the prompt. With `chat` they are messages,
    /// the example an earlier turn of the dialogue, and the frame wraps the user's.
    ///
    /// # Errors
    /// The template is missing, or uses a variable that `variables` lacks.
    pub fn render(&self, name: &str, variables: impl Into<Value>) -> Result<Rendered, PromptError> {
        let variables = variables.into();
        let optional = |name: &str| self.has(name).then(|| self.fill(name, variables.clone())).transpose();
        let [asked, answered] = example_names(name);
        let before = [
            ("system", optional(&system_name(name))?),
            ("user", optional(&asked)?),
            ("assistant", optional(&answered)?),
        ];
        let parts = before.into_iter().filter_map(|(role, text)| Some((role, text?)));
        let parts = parts.chain([("user", self.fill(name, variables.clone())?)]);
        if self.style == Style::Base {
            let parts: Vec<String> = parts.map(|(_, text)| text).collect();
            let text = self.framed(parts.join("\n\n"))?;
            return Ok(Rendered { prompt: Prompt::Text(text.clone()), text });
        }
        let messages = parts.map(|(role, text)| {
            let content = if role == "user" { self.framed(text)? } else { text };
            Ok(Message { role: role.to_owned(), content })
        });
        let messages = messages.collect::<Result<Vec<_>, PromptError>>()?;
        let texts: Vec<&str> = messages.iter().map(|message| message.content.as_str()).collect();
        Ok(Rendered { text: texts.join("\n\n"), prompt: Prompt::Messages(messages) })
    }

    /// The answer in a template's example where there is no earlier problem to show in its place.
    pub(super) fn example_answer(&self, template: &Template) -> Option<String> {
        let [_, answered] = template.example();
        self.has(&answered).then(|| self.fill(&answered, Value::from(template.samples(true))).ok())?
    }

    /// Whether the fields of an answer can be read.
    ///
    /// # Errors
    /// Why one cannot.
    pub fn reads(&self, fields: &[Field], answer: &str) -> Result<(), String> {
        let reading = self.grammar.read(fields, answer, FinishReason::Stop, self.opening());
        fields.iter().filter(|field| !field.is_optional).try_for_each(|field| reading.texts(field.name).map(drop))
    }

    /// A value in the notation of this set.
    pub fn spell(&self, value: &str) -> String {
        if self.grammar.is_compact() { compact_literal(value) } else { value.to_owned() }
    }

    /// The template that wraps every prompt, if there is one.
    pub(super) fn frame(&self) -> Option<&'static str> {
        self.has_frame.then(|| self.style.frame())
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.environment.get_template(name).is_ok()
    }

    /// The variables a template uses, in any branch, without those it sets itself.
    fn variables_of(&self, name: &str) -> BTreeSet<String> {
        let Ok(template) = self.environment.get_template(name) else { return BTreeSet::new() };
        let mut named: BTreeSet<String> = template.undeclared_variables(false).into_iter().collect();
        for (global, _) in self.environment.globals() {
            named.remove(global);
        }
        named
    }

    /// Renders one template, without frame and system message.
    fn fill(&self, name: &str, variables: Value) -> Result<String, PromptError> {
        let template = self.environment.get_template(name).map_err(|_| PromptError::Missing(name.to_owned()))?;
        let rendered = template.render_captured(variables);
        let levels = rendered.as_ref().ok().and_then(|rendered| rendered.state().fuel_levels());
        let spent = levels.map_or(self.extent.instructions, |(consumed, _)| consumed);
        self.spent.fetch_add(spent, Ordering::Relaxed);
        let text = rendered.map_err(|error| template_error(name, &error))?;
        Ok(text.into_output())
    }

    /// Ends trial renderings of `template` that take too long. Copies of long values weigh more.
    pub(super) fn check_trials(&self, template: &str) -> Result<(), PromptError> {
        let limit = TRIAL_INSTRUCTIONS / self.extent.copies;
        match self.spent.load(Ordering::Relaxed) > limit {
            true => Err(PromptError::Template {
                name: template.to_owned(),
                detail: format!("trying it out takes more than {limit} instructions: shorten its loops"),
            }),
            false => Ok(()),
        }
    }

    fn framed(&self, content: String) -> Result<String, PromptError> {
        match self.frame() {
            Some(frame) => self.fill(frame, context! { content }),
            None => Ok(content),
        }
    }
}

fn template_error(name: &str, error: &minijinja::Error) -> PromptError {
    let line = error.line().map(|line| format!(" (line {line})")).unwrap_or_default();
    let detail = error.detail().unwrap_or("cannot be rendered");
    PromptError::Template { name: name.to_owned(), detail: format!("{}: {detail}{line}", error.kind()) }
}

/// Reads an answer to a template of a set; an error says why it cannot be read.
pub type Reads<'r> = &'r dyn Fn(&PromptSet, &str, &str) -> Result<(), String>;

/// A fault in the template with this name.
#[derive(Debug)]
pub(super) struct TemplateFault {
    pub(super) name: String,
    pub(super) detail: String,
}

impl From<PromptError> for TemplateFault {
    fn from(error: PromptError) -> Self {
        let detail = error.to_string();
        match error {
            PromptError::Template { name, detail } => Self { name, detail },
            PromptError::Missing(name) => Self { name, detail },
            PromptError::Unresolved(field) => fault(field, detail),
        }
    }
}

/// The template that wraps every prompt, whatever its name.
const FRAME: Template =
    Template { name: "frame", doc: "Wraps every prompt.", variables: &[Variable::text("content", "content")] };

impl PromptSet {
    /// Faults in the frame and in the templates a run needs; `set` is the name of the set it started from.
    pub(super) fn faults(&self, set: &str, needed: &[&Template], reads: Reads<'_>) -> Vec<TemplateFault> {
        let mut faults = Vec::new();
        if let Some(frame) = self.frame() {
            faults.extend(self.faults_of(frame, &FRAME));
            if !self.variables_of(frame).contains("content") {
                let detail = "it does not show `content`: every prompt would be the same, so write {{ content }} in it";
                faults.push(fault(frame, detail));
            }
        }
        for template in needed {
            match self.has(template.name) {
                true => faults.extend(self.faults_of(template.name, template)),
                false => faults.push(missing(set, template)),
            }
            let system = template.system();
            if self.has(&system) {
                faults.extend(self.faults_of(&system, template));
            }
            faults.extend(self.example_faults(template, reads));
        }
        faults
    }

    /// Faults in the example of a template: half of it is missing, or its answer does not have the form that is asked for.
    fn example_faults(&self, template: &Template, reads: Reads<'_>) -> Vec<TemplateFault> {
        let [asked, answered] = template.example();
        match [&asked, &answered].map(|name| self.has(name)) {
            [false, false] => return Vec::new(),
            [true, true] => {}
            [has_question, _] => {
                let (given, lacking) = if has_question { (asked, answered) } else { (answered, asked) };
                return vec![fault(&given, format!("an example has two turns: write `{lacking}` as well"))];
            }
        }
        let faults: Vec<TemplateFault> =
            [&asked, &answered].into_iter().flat_map(|name| self.faults_of(name, template)).collect();
        if !faults.is_empty() {
            return faults;
        }
        // It may show an earlier problem, and something else if there is none.
        let unread = [false, true].into_iter().find_map(|is_scarce| {
            let answer = self.fill(&answered, Value::from(template.samples(is_scarce)));
            answer.map_err(|error| error.to_string()).and_then(|answer| reads(self, template.name, &answer)).err()
        });
        let detail = |reason| {
            format!(
                "the example's answer cannot be read ({reason}): write it in the form that `{}` asks for",
                template.name
            )
        };
        unread.map(|reason| fault(&answered, detail(reason))).into_iter().collect()
    }

    /// Faults in the template called `name`, which may use the variables of `template`.
    fn faults_of(&self, name: &str, template: &Template) -> Vec<TemplateFault> {
        let valid: Vec<&str> = template.variables.iter().map(|variable| variable.name).collect();
        let named = self.variables_of(name);
        let unknown = named.iter().filter(|variable| !valid.contains(&variable.as_str()));
        let unknown: Vec<TemplateFault> = unknown
            .map(|variable| {
                let valid = match valid.is_empty() {
                    true => "this template has no variables".to_owned(),
                    false => format!("valid are {}", valid.join(", ")),
                };
                fault(name, format!("the variable `{variable}` is undefined: {valid}"))
            })
            .collect();
        if !unknown.is_empty() {
            return unknown;
        }
        let tried = match self.fill(name, Value::from(template.samples(false))) {
            Ok(text) if text.trim().is_empty() => Some(fault(name, "it renders to nothing")),
            Ok(_) => None,
            Err(error) => Some(error.into()),
        };
        let tried = tried.or_else(|| {
            let error = self.fill(name, Value::from(template.samples(true))).err()?;
            let TemplateFault { name, detail } = error.into();
            let detail = format!("{detail}, when its lists are empty: show their records in a `for`");
            Some(TemplateFault { name, detail })
        });
        tried.into_iter().collect()
    }
}

fn missing(set: &str, template: &Template) -> TemplateFault {
    let sets = sets_with(&[template]);
    let cure = match sets.is_empty() {
        true => "write it here".to_owned(),
        false => format!("write it here, or choose a set that has it ({})", sets.join(", ")),
    };
    let detail = format!("the run needs this template and the set `{set}` lacks it: {cure}. {}", template.doc);
    fault(template.name, detail)
}

fn fault(name: &str, detail: impl Into<String>) -> TemplateFault {
    TemplateFault { name: name.to_owned(), detail: detail.into() }
}
