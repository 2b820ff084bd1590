//! How large prompts become, told from their parts, so that no prompt is ever too long for the model.

use super::{Problem, problem::Values};
use crate::{
    id::ProblemId,
    prompt::{PromptError, PromptSet},
    verify::ProblemType,
};
use uuid::Uuid;

/// The size of a prompt as a function of the bytes that are put into it.
#[derive(Clone, Copy, Debug)]
struct Cost {
    /// Bytes of the template.
    base: usize,
    /// How often the template shows what is put into it.
    growth: usize,
}

impl Cost {
    /// Measures a template by rendering it with empty and with long fields.
    fn measure(render: impl Fn(&str) -> Result<(String, usize), PromptError>) -> Result<Self, PromptError> {
        const PROBE: &str = "0000000000000000000000000000000000000000000000000000000000000000";
        let (empty, _) = render("")?;
        let (full, bytes) = render(PROBE)?;
        Ok(Self {
            base: empty.len(),
            growth: (full.len() - empty.len()).div_ceil(bytes.max(1)).max(1),
        })
    }

    fn of(self, bytes: usize) -> usize {
        bytes.saturating_mul(self.growth).saturating_add(self.base)
    }
}

/// The sizes of a set's prompts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Overhead {
    solve: [Cost; 3],
    propose_function: Cost,
    propose_io: [usize; 2],
}

const TYPES: [ProblemType; 3] = [ProblemType::CodeI, ProblemType::CodeO, ProblemType::CodeF];

impl Overhead {
    /// Measures the templates of `prompts`; a function has `num_inputs` inputs. Types that are not played may have none.
    pub(crate) fn measure(prompts: &PromptSet, types: &[ProblemType], num_inputs: usize) -> Result<Self, PromptError> {
        let nothing = Cost { base: 0, growth: 1 };
        let mut solve = [nothing; 3];
        let mut propose_io = [0; 2];
        for (index, kind) in TYPES.into_iter().enumerate().filter(|(_, kind)| types.contains(kind)) {
            solve[index] = Cost::measure(|field| {
                let problem = probe(kind, field, num_inputs);
                Ok((problem.prompt(prompts)?.text, problem.shown_bytes()))
            })?;
            if index < 2 {
                propose_io[index] = prompts.propose_io(kind, &[])?.text.len();
            }
        }
        let propose_function = match types.contains(&ProblemType::CodeF) {
            false => nothing,
            true => Cost::measure(|field| Ok((prompts.propose_function(field, num_inputs)?.text, field.len())))?,
        };
        Ok(Self {
            solve,
            propose_function,
            propose_io,
        })
    }

    /// The largest prompt that has nothing in it but its template.
    pub(crate) fn largest(&self) -> usize {
        let of_solving = self.solve.iter().map(|cost| cost.base);
        let all = of_solving.chain(self.propose_io).chain([self.propose_function.base]);
        all.max().unwrap_or(0)
    }

    /// Refuses a problem that could not be shown within `limit` bytes, to a solver or as the program of a function.
    pub(crate) fn check(&self, problem: &Problem, limit: u32) -> Result<(), String> {
        let index = TYPES.iter().position(|kind| *kind == problem.kind).unwrap_or(0);
        let solve = self.solve[index].of(problem.shown_bytes());
        let propose = self.propose_function.of(problem.program.len());
        match solve.max(propose) {
            needed if needed > limit as usize => Err(format!(
                "showing it takes up to {needed} bytes, beyond the {limit} of max_prompt_bytes"
            )),
            _ => Ok(()),
        }
    }
}

fn probe(kind: ProblemType, field: &str, num_inputs: usize) -> Problem {
    let field = field.to_owned();
    let fields = vec![field.clone(); num_inputs];
    let values = match kind {
        ProblemType::CodeF => Values::function(fields.clone(), fields, field.clone()),
        ProblemType::CodeI | ProblemType::CodeO => Values::Io {
            input: field.clone(),
            output: field.clone(),
        },
    };
    Problem {
        id: ProblemId(Uuid::nil()),
        kind,
        program: field,
        values,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_measured_size_bounds_the_real_one() {
        for set in ["seedling", "azr"] {
            let prompts = PromptSet::shipped(set).unwrap();
            let overhead = Overhead::measure(&prompts, &TYPES, 6).unwrap();
            for kind in TYPES {
                for length in [0, 1, 50, 999] {
                    let problem = probe(kind, &"1".repeat(length), 6);
                    let real = problem.prompt(&prompts).unwrap().text.len();
                    let real = u32::try_from(real).unwrap();
                    assert!(
                        overhead
                            .check(&problem, real.max(overhead.propose_function.of(length) as u32))
                            .is_ok()
                    );
                    assert!(overhead.check(&problem, real - 1).is_err());
                }
            }
            assert!(overhead.largest() > 4);
        }
    }
}
