//! Bounds on prompt sizes, computed from their contents, so that no prompt is ever too long for the model.

use uuid::Uuid;

use super::Problem;
use crate::id::ProblemId;
use crate::problem::Values;
use crate::prompt::{CODE_TEMPLATES, PromptError, PromptSet, Template};
use crate::verify::ProblemKind;

/// The size of a prompt as a function of the bytes of its contents.
#[derive(Clone, Copy, Debug)]
struct Cost {
    /// Bytes of the template.
    base: usize,
    /// How often the template shows its contents; the larger count of its two fields.
    growth: usize,
}

impl Cost {
    /// Measures a template by rendering it with both fields empty, and with two lengths of text in either.
    fn measure(render: impl Fn([&str; 2]) -> Result<(String, usize), PromptError>) -> Result<Self, PromptError> {
        let (some, more) = ("0".repeat(TIMES), "0".repeat(2 * TIMES));
        let (some, more) = (some.as_str(), more.as_str());
        let mut growth = 1;
        for [once, twice] in [[[some, ""], [more, ""]], [["", some], ["", more]]] {
            let ((once, bytes), (twice, of_twice)) = (render(once)?, render(twice)?);
            let added = twice.len().saturating_sub(once.len());
            growth = added.div_ceil((of_twice - bytes).max(1)).max(growth);
        }
        let mut base = 0;
        for fields in [["", ""], [some, ""], ["", some], [some, some]] {
            let (text, bytes) = render(fields)?;
            base = text.len().saturating_sub(growth * bytes).max(base);
        }
        Ok(Self { base, growth })
    }

    fn of(self, bytes: usize) -> usize {
        bytes.saturating_mul(self.growth).saturating_add(self.base)
    }
}

/// Letters of a text in a measurement.
const TIMES: usize = 64;

/// The sizes of a set's prompts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Overhead {
    solve: [Cost; 3],
    propose_function: Cost,
    propose_io: [usize; 2],
}

const TYPES: [ProblemKind; 3] = [ProblemKind::CodeI, ProblemKind::CodeO, ProblemKind::CodeF];

impl Overhead {
    /// Measures the templates of `prompts`; a function has `num_inputs` inputs. Types that are not played may lack
    /// templates.
    pub(crate) fn measure(prompts: &PromptSet, types: &[ProblemKind], num_inputs: usize) -> Result<Self, PromptError> {
        let nothing = Cost { base: 0, growth: 1 };
        let mut solve = [nothing; 3];
        let mut propose_io = [0; 2];
        for (index, kind) in TYPES.into_iter().enumerate().filter(|(_, kind)| types.contains(kind)) {
            solve[index] = Cost::measure(|fields| {
                let problem = probe(kind, fields, num_inputs);
                Ok((problem.prompt(prompts)?.text, problem.statement().bytes()))
            })?;
            if index < 2 {
                propose_io[index] = prompts.propose_io(kind, &[])?.text.len();
            }
        }
        let propose_function = match types.contains(&ProblemKind::CodeF) {
            false => nothing,
            true => {
                Cost::measure(|[program, _]| Ok((prompts.propose_function(program, num_inputs)?.text, program.len())))?
            }
        };
        Ok(Self { solve, propose_function, propose_io })
    }

    /// The size of the largest empty template.
    pub(crate) fn largest(&self) -> usize {
        let of_solving = self.solve.iter().map(|cost| cost.base);
        let all = of_solving.chain(self.propose_io).chain([self.propose_function.base]);
        all.max().unwrap_or(0)
    }

    /// Refuses a problem that cannot be shown within `limit` bytes, to a solver or as the program of a function.
    pub(crate) fn check(&self, problem: &Problem, limit: u32) -> Result<(), String> {
        let index = TYPES.iter().position(|kind| *kind == problem.kind).unwrap_or(0);
        let solve = self.solve[index].of(problem.statement().bytes());
        let propose = self.propose_function.of(problem.program.len());
        match solve.max(propose) {
            needed if needed > limit as usize => {
                Err(format!("it takes up to {needed} bytes to show, above max_prompt_bytes of {limit}"))
            }
            _ => Ok(()),
        }
    }
}

/// The first template that lengthens some characters, so that the size of a prompt cannot be computed from that of its
/// contents.
pub(crate) fn stretching(
    prompts: &PromptSet,
    types: &[ProblemKind],
    num_inputs: usize,
) -> Result<Option<&'static Template>, PromptError> {
    let numbers = [("num_inputs", num_inputs as u64)];
    let shows_problems = |template: &&Template| {
        let of_type = |kind: &ProblemKind| template.name.ends_with(kind.name());
        (template.name.starts_with("solve") || template.name == "propose_code_f") && types.iter().any(of_type)
    };
    for template in CODE_TEMPLATES.iter().filter(shows_problems) {
        if prompts.stretched(template, &numbers)?.is_some() {
            return Ok(Some(template));
        }
    }
    Ok(None)
}

/// A problem with `text` as its program or message and `value` as each of its values.
fn probe(kind: ProblemKind, [text, value]: [&str; 2], num_inputs: usize) -> Problem {
    let values = match kind {
        ProblemKind::CodeF => {
            let pairs = vec![value.to_owned(); num_inputs];
            Values::function(pairs.clone(), pairs, text.to_owned())
        }
        _ => Values::Io { input: Some(value.to_owned()), output: Some(value.to_owned()) },
    };
    Problem { id: ProblemId(Uuid::nil()), kind, program: text.to_owned(), values }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::PromptConfig;

    #[test]
    fn the_measured_size_bounds_the_real_one() {
        for set in ["seedling", "azr"] {
            let prompts = PromptSet::shipped(set).unwrap();
            let overhead = Overhead::measure(&prompts, &TYPES, 6).unwrap();
            for kind in TYPES {
                for length in [0, 1, 50, 999] {
                    let problem = probe(kind, [&"1".repeat(length); 2], 6);
                    let real = problem.prompt(&prompts).unwrap().text.len();
                    let real = u32::try_from(real).unwrap();
                    assert!(overhead.check(&problem, real.max(overhead.propose_function.of(length) as u32)).is_ok());
                    assert!(overhead.check(&problem, real - 1).is_err());
                }
            }
            assert!(overhead.largest() > 4);
        }
    }

    /// The shipped compact set with another template for solvers of `code_o`.
    fn with_solve_code_o(template: &str) -> PromptSet {
        let config = PromptConfig {
            set: "seedling".to_owned(),
            templates: [("solve_code_o".to_owned(), template.to_owned())].into(),
            ..PromptConfig::default()
        };
        PromptSet::compile(&config.resolve("", &TYPES).unwrap()).unwrap()
    }

    #[test]
    fn text_that_stands_where_a_field_is_empty_or_not_is_counted_once() {
        let long = "1".repeat(500);
        for template in [
            "{% if program == '' %}Nothing was given, and this stands in its place, at some length.{% endif %}{{ program }}{{ input }}",
            "{% if program %}Here is a program, and this stands before it, at some length:{% endif %}{{ program }}{{ input }}",
            "{{ program }} and again {{ program }} and again {{ program }}{{ input }}",
            "{{ input }}{{ input }}{{ input }}{{ program }}",
        ] {
            let prompts = with_solve_code_o(template);
            let overhead = Overhead::measure(&prompts, &[ProblemKind::CodeO], 6).unwrap();
            for fields in [[long.as_str(), ""], ["", &long], [&long, &long]] {
                let problem = probe(ProblemKind::CodeO, fields, 6);
                let real = u32::try_from(problem.prompt(&prompts).unwrap().text.len()).unwrap();
                assert!(overhead.check(&problem, real - 1).is_err(), "{template}");
                assert!(overhead.check(&problem, 3 * real + 100).is_ok(), "{template}");
            }
            assert_eq!(stretching(&prompts, &[ProblemKind::CodeO], 6), Ok(None), "{template}");
        }
    }

    #[test]
    fn a_filter_that_makes_letters_longer_is_found() {
        for filter in ["escape", "indent(4)"] {
            let prompts = with_solve_code_o(&format!("{{{{ program|{filter} }}}}{{{{ input }}}}"));
            let found = stretching(&prompts, &TYPES, 6).unwrap().map(|template| template.name);
            assert_eq!(found, Some("solve_code_o"), "{filter}");
        }
        for set in ["seedling", "azr"] {
            let prompts = PromptSet::shipped(set).unwrap();
            assert_eq!(stretching(&prompts, &TYPES, 6), Ok(None), "{set}");
        }
    }
}
