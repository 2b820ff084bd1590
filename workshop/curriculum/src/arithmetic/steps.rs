//! The working of an expression, in steps small enough to be learned one by one.
//!
//! Sums and differences go digit by digit of the second number, products by the digits of the longer one, quotients by
//! the digits of the result: `47+38` is `47+30=77;77+8=85`.

use lyceum_core::arithmetic::{Expression, Operator, Rational, formula};

/// The largest factor, divisor or quotient that is used without splitting it: the tables up to 12.
const TABLE: i128 = 12;

/// The steps, separated by `;`; `None` if the expression has no value.
#[must_use]
pub fn steps(expression: &Expression) -> Option<String> {
    expression.value()?;
    let mut working = Working { steps: Vec::new() };
    working.expression(expression)?;
    Some(working.steps.join(";"))
}

struct Working {
    steps: Vec<String>,
}

impl Working {
    fn expression(&mut self, expression: &Expression) -> Option<Rational> {
        let Expression::Operation(operator, sides) = expression else { return expression.value() };
        // A fraction such as 3/4 is a number already, unless it can be reduced.
        if expression.is_fraction() {
            let value = expression.value()?;
            if value.to_string() != expression.to_string() {
                self.step(format!("{expression}={value}"));
            }
            return Some(value);
        }
        let (left, right) = (self.expression(&sides[0])?, self.expression(&sides[1])?);
        match left.is_integer() && right.is_integer() {
            true => self.whole(*operator, *left.numer(), *right.numer()),
            false => self.fractions(*operator, left, right),
        }
    }

    fn step(&mut self, step: String) {
        self.steps.push(step);
    }

    /// One operation in one step.
    fn direct(&mut self, operator: Operator, left: i128, right: i128, result: i128) -> i128 {
        self.step(format!("{left}{}{right}={result}", operator.sign()));
        result
    }

    fn whole(&mut self, operator: Operator, left: i128, right: i128) -> Option<Rational> {
        let whole = match operator {
            Operator::Add => self.sum(left, right),
            Operator::Subtract => self.difference(left, right),
            Operator::Multiply => self.product(left, right),
            Operator::Remainder => self.remainder(left, right)?,
            Operator::Divide if left % right == 0 => self.quotient(left, right),
            Operator::Divide => return Some(self.reduced(left, right)),
        };
        Some(whole.into())
    }

    fn sum(&mut self, left: i128, right: i128) -> i128 {
        if left < 0 || right < 0 {
            return self.direct(Operator::Add, left, right, left + right);
        }
        let mut sum = left;
        for part in parts(right) {
            sum = self.direct(Operator::Add, sum, part, sum + part);
        }
        sum
    }

    fn difference(&mut self, left: i128, right: i128) -> i128 {
        if left < 0 || right < 0 {
            return self.direct(Operator::Subtract, left, right, left - right);
        }
        if left < right {
            let opposite = self.difference(right, left);
            return self.direct(Operator::Subtract, left, right, -opposite);
        }
        let mut rest = left;
        for part in parts(right) {
            rest = self.direct(Operator::Subtract, rest, part, rest - part);
        }
        rest
    }

    fn product(&mut self, left: i128, right: i128) -> i128 {
        let is_round = |number: i128| parts(number).len() <= 1;
        let is_known = |number: i128| number <= TABLE;
        let is_simple = match (left, right) {
            _ if left < 0 || right < 0 => true,
            _ if is_known(left) || is_known(right) => {
                let (small, large) = (left.min(right), left.max(right));
                is_known(large) || (is_round(large) && is_known(small))
            }
            _ => is_round(left) && is_round(right),
        };
        if is_simple {
            return self.direct(Operator::Multiply, left, right, left * right);
        }
        let (split, other) = if parts(left).len() >= parts(right).len() { (left, right) } else { (right, left) };
        let products: Vec<i128> = parts(split).into_iter().map(|part| self.product(part, other)).collect();
        products.into_iter().reduce(|sum, product| self.sum(sum, product)).unwrap_or(0)
    }

    /// A division without remainder.
    fn quotient(&mut self, left: i128, right: i128) -> i128 {
        let result = left / right;
        if left < 0 || right < 0 || result <= TABLE {
            return self.direct(Operator::Divide, left, right, result);
        }
        let digits = parts(result);
        let mut rest = left;
        for &digit in digits.iter().take(digits.len() - 1) {
            let product = self.product(right, digit);
            rest = self.difference(rest, product);
        }
        self.direct(Operator::Divide, rest, right, rest / right);
        digits.into_iter().reduce(|sum, digit| self.sum(sum, digit)).unwrap_or(result)
    }

    fn remainder(&mut self, left: i128, right: i128) -> Option<i128> {
        let value = Operator::Remainder.apply(left.into(), right.into())?.to_integer();
        if left < right || right <= 0 {
            return Some(self.direct(Operator::Remainder, left, right, value));
        }
        let product = self.product(left / right, right);
        Some(self.difference(left, product))
    }

    fn fractions(&mut self, operator: Operator, left: Rational, right: Rational) -> Option<Rational> {
        match operator {
            Operator::Add | Operator::Subtract => self.common(operator, left, right),
            Operator::Multiply => Some(self.scaled(left, right)),
            Operator::Divide => Some(self.scaled(left, right.recip())),
            Operator::Remainder => None,
        }
    }

    /// A sum or difference by a common denominator.
    fn common(&mut self, operator: Operator, left: Rational, right: Rational) -> Option<Rational> {
        let below = multiple(*left.denom(), *right.denom());
        let [left, right] = [left, right].map(|side| {
            let above = side.numer() * (below / side.denom());
            if *side.denom() != below {
                self.step(format!("{side}={above}/{below}"));
            }
            above
        });
        let above = match operator {
            Operator::Add => self.sum(left, right),
            _ => self.difference(left, right),
        };
        Some(self.reduced(above, below))
    }

    fn scaled(&mut self, left: Rational, right: Rational) -> Rational {
        // A whole number is divided first where it can be.
        for (whole, part) in [(left, right), (right, left)] {
            if whole.is_integer() && whole.numer() % part.denom() == 0 && *part.denom() > 1 {
                let quotient = self.quotient(*whole.numer(), *part.denom());
                let is_done = *part.numer() == 1;
                return if is_done { quotient } else { self.product(quotient, *part.numer()) }.into();
            }
        }
        let above = self.factor(*left.numer(), *right.numer());
        let below = self.factor(*left.denom(), *right.denom());
        self.reduced(above, below)
    }

    /// A product that needs no step if a factor is 1.
    fn factor(&mut self, left: i128, right: i128) -> i128 {
        match (left, right) {
            (1, other) | (other, 1) => other,
            _ => self.product(left, right),
        }
    }

    fn reduced(&mut self, above: i128, below: i128) -> Rational {
        let value = Rational::new(above, below);
        if *value.denom() != below {
            self.step(format!("{above}/{below}={value}"));
        }
        value
    }
}

/// The digits of a number with their places, largest first: 385 is 300, 80 and 5.
fn parts(number: i128) -> Vec<i128> {
    let mut parts = Vec::new();
    let (mut rest, mut place) = (number, 1);
    while rest > 0 {
        if rest % 10 > 0 {
            parts.push(rest % 10 * place);
        }
        rest /= 10;
        place *= 10;
    }
    parts.reverse();
    parts
}

/// The least common multiple of two positive numbers.
fn multiple(left: i128, right: i128) -> i128 {
    let (mut a, mut b) = (left, right);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    left / a * right
}

/// The plan for an expression; `None` if it has no operation, or too many for the letters.
#[must_use]
pub fn plan(expression: &Expression) -> Option<Vec<String>> {
    let mut operations = Vec::new();
    planned(expression, &mut operations)?;
    (!operations.is_empty()).then_some(operations)
}

/// Adds the operations of an expression; returns the name of its value, or the number if it needs none.
fn planned(expression: &Expression, operations: &mut Vec<String>) -> Option<String> {
    let Expression::Operation(operator, sides) = expression else { return Some(expression.to_string()) };
    if expression.is_fraction() {
        return Some(expression.to_string());
    }
    let left = planned(&sides[0], operations)?;
    let right = planned(&sides[1], operations)?;
    let name = char::from(b'a' + u8::try_from(operations.len()).ok().filter(|&at| at < 26)?);
    // A fraction is a number in a plan, so it needs brackets where it is divided by.
    let right = if right.contains('/') { format!("({right})") } else { right };
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
    use lyceum_core::arithmetic::read_question;

    use super::{plan, plan_value, steps};

    #[test]
    fn every_operation_is_worked_in_small_steps() {
        for (question, expected) in [
            ("What is 47 + 38?", "47+30=77;77+8=85"),
            ("What is 47 - 38?", "47-30=17;17-8=9"),
            ("What is 38 - 47?", "47-30=17;17-8=9;38-47=-9"),
            ("What is 3 * 4?", "3*4=12"),
            ("What is 34 * 7?", "30*7=210;4*7=28;210+20=230;230+8=238"),
            ("What is 84 / 6?", "6*10=60;84-60=24;24/6=4;10+4=14"),
            ("What is 36 / 9?", "36/9=4"),
            ("What is 47 % 6?", "7*6=42;47-40=7;7-2=5"),
            ("What is 3 + 4 * 5?", "4*5=20;3+20=23"),
            ("What is 1/2 + 1/3?", "1/2=3/6;1/3=2/6;3+2=5"),
            ("What is 1/6 + 1/3?", "1/3=2/6;1+2=3;3/6=1/2"),
            ("What is 2/4 * 3/5?", "2/4=1/2;2*5=10"),
            ("What is 3/4 of 20?", "20/4=5;5*3=15"),
            ("What is 3/4 of 7?", "3*7=21"),
            ("What is 25 percent of 80?", "25/100=1/4;80/4=20"),
            ("What is 12 / 8?", "12/8=3/2"),
        ] {
            let expression = read_question(question).unwrap();
            assert_eq!(steps(&expression).unwrap(), expected, "{question}");
        }
    }

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
