//! EvalPlus' rows: HumanEval+ and MBPP+. Its files have no expected outputs; the reference program computes them.

use super::line::Line;
use crate::{
    benchmark::{BenchmarkRow, Question},
    verify::Tolerance,
};

pub(super) fn row(line: &Line) -> Result<BenchmarkRow, String> {
    let task_id = line.filled("task_id")?;
    let prompt = line.filled("prompt")?;
    let entry_point = line.filled("entry_point")?;
    let reference = format!("{prompt}{}", line.text("canonical_solution")?);
    let base_inputs = line.elements("base_input")?;
    let plus_inputs = line.elements("plus_input")?;
    if base_inputs.is_empty() {
        return Err("field `base_input` has no inputs".to_owned());
    }
    let atol: f64 = line.get("atol")?;
    if Tolerance::new(atol).is_none() {
        return Err(format!("field `atol` is {atol}; it must be finite and not negative"));
    }
    Ok(BenchmarkRow {
        task_id,
        question: prompt,
        canonical: Some(reference.clone()),
        oracle: Question::Reference {
            entry_point,
            reference,
            base_inputs,
            plus_inputs,
            atol,
        },
        tags: Default::default(),
    })
}
