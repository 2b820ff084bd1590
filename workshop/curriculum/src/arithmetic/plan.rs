//! Plans: the operations of a question in order, without their results.
//!
//! Every operation has a name, which later ones use: `a=3*4;b=a+5`.

use lyceum_core::arithmetic::{Expression, Rational, formula};

/// The plan for an expression; `None` if it has no operation, or too many for the letters.
#[must_use]
pub fn plan(expression: &Expression) -> Option<Vec<String>> {
    let mut operations = Vec::new();
    planned(expression, &mut operations)?;
    (!operations.is_empty()).then_some(operations)
}

/// Adds the operations of an expression; returns the name of its value, or the number if it needs none.
fn planned(expression: &Expression, operations: &mut Vec<String>) -> Option<String> {
    let Expression::Operation(operator, sides) = expression else {
        return Some(expression.to_string());
    };
    if expression.is_fraction() {
        return Some(expression.to_string());
    }
    let left = planned(&sides[0], operations)?;
    let right = planned(&sides[1], operations)?;
    let name = char::from(b'a' + u8::try_from(operations.len()).ok().filter(|&at| at < 26)?);
    // A fraction is a number in a plan, so it needs brackets where it is divided by.
    let right = if right.contains('/') {
        format!("({right})")
    } else {
        right
    };
    operations.push(format!("{name}={left}{}{right}", operator.sign()));
    Some(name.to_string())
}

/// The value of a plan: that of its last operation.
#[must_use]
pub fn plan_value(plan: &str) -> Option<Rational> {
    let mut variables: Vec<(String, Expression)> = Vec::new();
    for operation in plan.split(';') {
        let (name, text) = operation.split_once('=')?;
        let is_name = name.len() == 1 && name.bytes().all(|byte| byte.is_ascii_lowercase());
        // Values instead of expressions, so that a long plan is not evaluated again and again.
        let value = formula(text, &variables)?.value().filter(|_| is_name)?;
        variables.retain(|(known, _)| known != name);
        variables.push((name.to_owned(), Expression::Number(value)));
    }
    variables.pop()?.1.value()
}

#[cfg(test)]
mod tests {
    use super::{plan, plan_value};
    use lyceum_core::arithmetic::read_question;

    #[test]
    fn operations_are_named_in_order() {
        for (question, expected) in [
            ("What is 3 + 4 * 5?", "a=4*5;b=3+a"),
            ("What is 3/4 of 20?", "a=3/4*20"),
            ("What is 1/2 - 1/3?", "a=1/2-(1/3)"),
            ("Start with 7. Double it. Subtract 3.", "a=2*7;b=a-3"),
        ] {
            let expression = read_question(question).unwrap();
            let planned = plan(&expression).unwrap().join(";");
            assert_eq!(planned, expected, "{question}");
            assert_eq!(plan_value(&planned), expression.value(), "{question}");
        }
        for text in ["", "a", "a=", "a=b+1", "3=3", "a=1/0", "a=1;;b=2", "ab=1+1"] {
            assert_eq!(plan_value(text), None, "{text}");
        }
    }
}
