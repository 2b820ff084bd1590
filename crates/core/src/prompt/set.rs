//! Templates, compiled and rendered.

use minijinja::{Environment, UndefinedBehavior, Value, context};

use super::{Grammar, PromptConfig, Style, compact_literal};
use crate::{
    fault::Fault,
    verify::ProblemType,
    work::{Message, Prompt},
};

/// Every task that has a template: an act and a type.
pub const TASKS: [(&str, ProblemType); 6] = [
    ("propose", ProblemType::CodeI),
    ("propose", ProblemType::CodeO),
    ("propose", ProblemType::CodeF),
    ("solve", ProblemType::CodeI),
    ("solve", ProblemType::CodeO),
    ("solve", ProblemType::CodeF),
];

/// The name of a task's template, such as `solve_code_o`.
pub fn task_name(act: &str, problem: ProblemType) -> String {
    format!("{act}_{}", problem.name())
}

/// An earlier problem that a proposer is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Its program.
    pub program: String,
    /// Its arguments.
    pub input: String,
    /// Its output.
    pub output: String,
}

/// An input with its output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Arguments.
    pub input: String,
    /// The value.
    pub output: String,
}

/// A prompt that is ready.
#[derive(Clone, Debug, PartialEq)]
pub struct Rendered {
    /// What the engine is given.
    pub prompt: Prompt,
    /// The text of it, before a chat template.
    pub text: String,
}

/// A prompt that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PromptError {
    /// A template is missing.
    #[error("there is no template `{0}`")]
    Missing(String),
    /// A template is wrong, or names a field that its task does not have.
    #[error("template `{name}`: {detail}")]
    Template {
        /// The template.
        name: String,
        /// What is wrong, with its line.
        detail: String,
    },
    /// The config was not resolved.
    #[error("the prompt config has no {0}: it was not resolved")]
    Unresolved(&'static str),
}

/// What one prompt may cost to render: the longest that ships takes a few thousand. A config's own template that loops without
/// end is refused, in place of holding a coordinator.
const INSTRUCTIONS: u64 = 200_000;

/// The templates of a run.
#[derive(Debug)]
pub struct PromptSet {
    environment: Environment<'static>,
    /// How completions are read.
    pub grammar: Grammar,
    style: Style,
    /// The template that goes round every prompt.
    frame: Option<&'static str>,
    opening: String,
}

impl PromptSet {
    /// Compiles a resolved config.
    ///
    /// # Errors
    /// A template that is not Jinja.
    pub fn compile(config: &PromptConfig) -> Result<Self, PromptError> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_fuel(Some(INSTRUCTIONS));
        for (name, text) in &config.templates {
            environment
                .add_template_owned(name.clone(), text.clone())
                .map_err(|error| template_error(name, &error))?;
        }
        let mut set = Self {
            environment,
            grammar: config.grammar.ok_or(PromptError::Unresolved("grammar"))?,
            style: config.style.ok_or(PromptError::Unresolved("style"))?,
            frame: None,
            opening: String::new(),
        };
        if config.templates.contains_key(set.style.frame()) {
            set.frame = Some(set.style.frame());
            let empty = set.render_template(set.style.frame(), context! { content => "" })?;
            // A chat template comes after a message, so only text opens what the model goes on with.
            set.opening = if set.style == Style::Base { empty } else { String::new() };
        }
        Ok(set)
    }

    /// A shipped set as it is.
    ///
    /// # Errors
    /// A name that no shipped set has.
    pub fn shipped(name: &str) -> Result<Self, PromptError> {
        let config = PromptConfig {
            set: name.to_owned(),
            ..PromptConfig::default()
        };
        let resolved = config
            .resolve("", &[])
            .map_err(|_| PromptError::Missing(name.to_owned()))?;
        Self::compile(&resolved)
    }

    /// What every prompt of the set ends with, if the style puts a frame round prompts.
    pub fn opening(&self) -> &str {
        &self.opening
    }

    /// The prompt for a proposal of type `code_i` or `code_o`, showing `references`.
    ///
    /// # Errors
    /// A template that is missing or names an unknown field.
    pub fn propose_io(&self, problem: ProblemType, references: &[Reference]) -> Result<Rendered, PromptError> {
        let shown = references.iter().map(|Reference { program, input, output }| {
            context! { program => program.as_str(), input => self.spell(input), output => self.spell(output) }
        });
        let references: Vec<Value> = shown.collect();
        self.render(&task_name("propose", problem), context! { references })
    }

    /// The prompt for a proposal of type `code_f` about `program`, with `num_inputs` inputs.
    ///
    /// # Errors
    /// A template that is missing or names an unknown field.
    pub fn propose_function(&self, program: &str, num_inputs: usize) -> Result<Rendered, PromptError> {
        self.render("propose_code_f", context! { program, num_inputs })
    }

    /// The prompt for an output.
    ///
    /// # Errors
    /// A template that is missing or names an unknown field.
    pub fn solve_output(&self, program: &str, input: &str) -> Result<Rendered, PromptError> {
        self.render("solve_code_o", context! { program, input => self.spell(input) })
    }

    /// The prompt for an input.
    ///
    /// # Errors
    /// A template that is missing or names an unknown field.
    pub fn solve_input(&self, program: &str, output: &str) -> Result<Rendered, PromptError> {
        self.render("solve_code_i", context! { program, output => self.spell(output) })
    }

    /// The prompt for a program that maps the shown inputs to the shown outputs.
    ///
    /// # Errors
    /// A template that is missing or names an unknown field.
    pub fn solve_function(&self, message: &str, pairs: &[Pair]) -> Result<Rendered, PromptError> {
        let shown = pairs
            .iter()
            .map(|Pair { input, output }| context! { input => self.spell(input), output => self.spell(output) });
        let pairs: Vec<Value> = shown.collect();
        self.render("solve_code_f", context! { message, pairs })
    }

    /// What is wrong with the templates of `problems`.
    pub(super) fn faults(&self, pointer: &str, problems: &[ProblemType]) -> Vec<Fault> {
        let reference = Reference {
            program: "def f(a):\n return a".to_owned(),
            input: "1".to_owned(),
            output: "1".to_owned(),
        };
        let pair = Pair {
            input: "1".to_owned(),
            output: "1".to_owned(),
        };
        let program = &reference.program;
        let references = std::slice::from_ref(&reference);
        let mut faults = Vec::new();
        for &problem in problems {
            let tried = match problem {
                ProblemType::CodeI => [self.propose_io(problem, references), self.solve_input(program, "1")],
                ProblemType::CodeO => [self.propose_io(problem, references), self.solve_output(program, "1")],
                ProblemType::CodeF => [
                    self.propose_function(program, 2),
                    self.solve_function("message", std::slice::from_ref(&pair)),
                ],
            };
            let acts = ["propose", "solve"].map(|act| task_name(act, problem));
            for (name, tried) in acts.iter().zip(tried) {
                let error = match tried {
                    Ok(rendered) if rendered.text.trim().is_empty() => {
                        let detail = "it renders to nothing".to_owned();
                        faults.push(Fault::new(format!("{pointer}/templates/{name}"), detail));
                        continue;
                    }
                    Ok(_) => continue,
                    Err(error) => error,
                };
                faults.push(match error {
                    PromptError::Template { name, detail } => Fault::new(format!("{pointer}/templates/{name}"), detail),
                    PromptError::Missing(name) => Fault::new(
                        format!("{pointer}/templates/{name}"),
                        format!("problems of type {} need this template", problem.name()),
                    ),
                    other => Fault::new(pointer, other.to_string()),
                });
            }
        }
        faults
    }

    /// A value as this set shows it.
    pub fn spell(&self, value: &str) -> String {
        match self.grammar.is_compact() {
            true => compact_literal(value),
            false => value.to_owned(),
        }
    }

    fn render(&self, name: &str, fields: Value) -> Result<Rendered, PromptError> {
        let content = self.render_template(name, fields)?;
        let text = match self.frame {
            None => content,
            Some(frame) => self.render_template(frame, context! { content })?,
        };
        let prompt = match self.style {
            Style::Base => Prompt::Text(text.clone()),
            Style::Chat => Prompt::Messages(vec![Message {
                role: "user".to_owned(),
                content: text.clone(),
            }]),
        };
        Ok(Rendered { prompt, text })
    }

    fn render_template(&self, name: &str, fields: Value) -> Result<String, PromptError> {
        let template = self
            .environment
            .get_template(name)
            .map_err(|_| PromptError::Missing(name.to_owned()))?;
        template.render(fields).map_err(|error| template_error(name, &error))
    }
}

fn template_error(name: &str, error: &minijinja::Error) -> PromptError {
    let line = error.line().map(|line| format!(" (line {line})")).unwrap_or_default();
    let detail = error.detail().unwrap_or("cannot be rendered");
    PromptError::Template {
        name: name.to_owned(),
        detail: format!("{}: {detail}{line}", error.kind()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference() -> Reference {
        Reference {
            program: "def f(a):\n return a".to_owned(),
            input: "[1, 2], 'a b'".to_owned(),
            output: "{'k': 1}".to_owned(),
        }
    }

    #[test]
    fn the_compact_set_writes_what_its_readme_says() {
        let set = PromptSet::shipped("seedling").unwrap();
        let text = |rendered: Result<Rendered, PromptError>| rendered.unwrap().text;
        assert_eq!(text(set.propose_io(ProblemType::CodeO, &[])), "<po><prog>");
        assert_eq!(
            text(set.propose_io(ProblemType::CodeI, &[reference()])),
            "<pi><ref>def f(a):\n return a<in>[1,2],'a b'<out>{'k':1}<prog>"
        );
        assert_eq!(
            text(set.propose_function("def f(a):\n return a", 6)),
            "<pf>def f(a):\n return a<in>"
        );
        assert_eq!(text(set.solve_output("P", "1, 2")), "<so>P<in>1,2<out>");
        assert_eq!(text(set.solve_input("P", "(1, 2)")), "<si>P<out>(1,2)<in>");
        let pair = Pair {
            input: "1".to_owned(),
            output: "'a b'".to_owned(),
        };
        assert_eq!(
            text(set.solve_function("adds", &[pair.clone(), pair])),
            "<sf><msg>adds<in>1<out>'a b'<in>1<out>'a b'<prog>"
        );
    }

    #[test]
    fn the_fenced_set_frames_each_prompt_and_opens_the_thought() {
        let set = PromptSet::shipped("azr").unwrap();
        assert!(set.opening().ends_with("<think>"), "{}", set.opening());
        let prompt = set.propose_io(ProblemType::CodeO, &[reference(), reference()]).unwrap();
        assert!(prompt.text.ends_with("<think>") && matches!(prompt.prompt, Prompt::Text(_)));
        for part in [
            "```python\ndef f(a):",
            "```input\n[1, 2], 'a b'",
            "```output\n{'k': 1}",
            "<snippet_2>",
        ] {
            assert!(prompt.text.contains(part), "{part} is missing in\n{}", prompt.text);
        }
        let function = set.propose_function("def f(a):\n    return a", 10).unwrap();
        assert!(function.text.contains("10") && function.text.contains("```message"));
    }

    #[test]
    fn a_chat_model_gets_a_message_that_asks_for_the_tags() {
        let config = PromptConfig {
            style: Some(Style::Chat),
            ..PromptConfig::default()
        };
        let set = PromptSet::compile(&config.resolve("", &[]).unwrap()).unwrap();
        let prompt = set.solve_output("P", "1").unwrap();
        assert_eq!(set.opening(), "");
        assert!(matches!(&prompt.prompt, Prompt::Messages(messages) if messages[0].role == "user"));
        assert!(prompt.text.contains("<think>") && prompt.text.trim_end().ends_with("</answer>."));
    }

    #[test]
    fn a_wrong_template_is_a_fault_at_its_place() {
        let broken = |name: &str, text: &str| {
            let config = PromptConfig {
                set: "seedling".to_owned(),
                templates: [(name.to_owned(), text.to_owned())].into(),
                ..PromptConfig::default()
            };
            config
                .resolve("/parameters/prompts", &[ProblemType::CodeO])
                .unwrap_err()
        };
        assert_eq!(
            broken("solve_code_o", "{{ x")[0].pointer,
            "/parameters/prompts/templates/solve_code_o"
        );
        assert_eq!(
            broken("solve_code_o", "{{ message }}")[0].pointer,
            "/parameters/prompts/templates/solve_code_o"
        );
        assert!(broken("sovle", "x")[0].detail.contains("solve_code_o"));
        let endless = "{% for a in range(9999) %}{% for b in range(9999) %}.{% endfor %}{% endfor %}";
        assert!(broken("solve_code_o", endless)[0].detail.contains("fuel"));
        let unknown = PromptConfig {
            set: "none".to_owned(),
            ..PromptConfig::default()
        };
        assert!(
            unknown.resolve("", &[]).unwrap_err()[0]
                .detail
                .contains("azr, seedling")
        );
    }
}
