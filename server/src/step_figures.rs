//! The main figures of a step, on one line.

use chrono::TimeDelta;

/// The main figures of a step that its recipe has, and how long it took, separated by commas. `value` looks up a metric of
/// the run by name.
pub(crate) fn step_figures(value: impl Fn(&str) -> Option<f64>, took: Option<TimeDelta>) -> String {
    let mut parts = Vec::new();
    if let (Some(valid), Some(proposals)) = (value("valid_problems"), value("proposals")) {
        parts.push(format!("{valid} of {proposals} problems valid"));
    }
    if let Some(share) = value("solve_rate") {
        parts.push(format!("{:.0} % of attempts right", 100.0 * share));
    }
    if let (Some(teacher), Some(student)) = (value("teacher_mu"), value("student_mu")) {
        parts.push(format!("ratings: teachers {teacher:.1}, students {student:.1}"));
    }
    if let Some(share) = value("coverage") {
        parts.push(format!("coverage {:.2} %", 100.0 * share));
    }
    if let Some(born) = value("births").filter(|born| *born > 0.0) {
        parts.push(format!("{born} born"));
    }
    if let Some(took) = took {
        parts.push(format!("{:.1} s", took.num_milliseconds() as f64 / 1000.0));
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recipe_is_told_by_the_figures_that_it_has() {
        let populora = |name: &str| match name {
            "valid_problems" => Some(23.0),
            "proposals" => Some(24.0),
            "solve_rate" => Some(0.168),
            "teacher_mu" => Some(25.94),
            "student_mu" => Some(24.06),
            "coverage" => Some(0.0061),
            "births" => Some(2.0),
            _ => None,
        };
        assert_eq!(
            step_figures(populora, Some(TimeDelta::milliseconds(3610))),
            "23 of 24 problems valid, 17 % of attempts right, ratings: teachers 25.9, students 24.1, coverage 0.61 %, 2 born, 3.6 s"
        );
        let quiet = |name: &str| (name == "births").then_some(0.0);
        assert_eq!(step_figures(quiet, None), "");
    }
}
