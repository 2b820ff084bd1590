//! Finds faults in a set's templates before a run is accepted.

use minijinja::Value;

use super::{PromptError, PromptSet, Template, shipped::sets_with, template::Variable};

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
const FRAME: Template = Template {
    name: "frame",
    doc: "Wraps every prompt.",
    variables: &[Variable::text("content", "content")],
};

impl PromptSet {
    /// Faults in the frame and in the templates a run needs; `set` is the name of the set it started from.
    pub(super) fn faults(&self, set: &str, needed: &[&Template]) -> Vec<TemplateFault> {
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
        }
        faults
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
    let detail = format!(
        "the run needs this template and the set `{set}` lacks it: {cure}. {}",
        template.doc
    );
    fault(template.name, detail)
}

fn fault(name: &str, detail: impl Into<String>) -> TemplateFault {
    TemplateFault {
        name: name.to_owned(),
        detail: detail.into(),
    }
}
