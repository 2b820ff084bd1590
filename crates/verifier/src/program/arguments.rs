//! Checks arguments as syntax: a text placed in a call must not extend beyond it.

use ruff_python_ast::Expr;
use ruff_python_parser::parse_expression;

use super::{MAX_PROGRAM, with_stack_for};

/// Checks that a text, placed between the parentheses of a call, is the arguments of that call and nothing more: for
/// example, `0) or (True` is refused.
///
/// # Errors
/// If it is anything else.
pub fn check_arguments(text: &str) -> Result<(), String> {
    if text.len() > MAX_PROGRAM {
        return Err(format!(
            "the input has {} bytes; at most {MAX_PROGRAM} are read",
            text.len()
        ));
    }
    let call = format!("f(\n{text}\n)");
    with_stack_for(&call, || match parse_expression(&call) {
        Err(error) => Err(format!("the input does not parse: {}", error.error)),
        Ok(parsed) => match parsed.expr() {
            Expr::Call(call_node)
                if matches!(&*call_node.func, Expr::Name(name) if name.id.as_str() == "f")
                    && usize::from(call_node.arguments.range.start()) == 1
                    && usize::from(call_node.arguments.range.end()) == call.len() =>
            {
                Ok(())
            }
            _ => Err("the input is not a list of arguments".to_owned()),
        },
    })
}
