//! Programs as syntax trees: admission and complexity.

mod admission;
mod arguments;
mod complexity;
mod suspicion;

use lyceum_core::verify::Complexity;
use ruff_python_ast::ModModule;
use ruff_python_parser::parse_module;

pub use admission::{Refusal, admit};
pub use arguments::check_arguments;
pub use complexity::complexity;
pub(crate) use suspicion::is_suspicious;

/// Maximum length of a program, in bytes.
pub const MAX_PROGRAM: usize = 256 << 10;

/// Stack per byte of source. A level of nesting needs at least one byte of source; this is the most stack it can take
/// while a tree is walked or dropped.
const STACK_PER_BYTE: usize = 4 << 10;

/// Parses a program and passes its tree to `look`, with enough stack for the deepest possible nesting.
pub(crate) fn with_module<T>(source: &str, look: impl FnOnce(&ModModule) -> T) -> Result<T, String> {
    if source.len() > MAX_PROGRAM {
        return Err(format!(
            "the program has {} bytes; at most {MAX_PROGRAM} are read",
            source.len()
        ));
    }
    with_stack_for(source, || match parse_module(source) {
        Ok(parsed) => Ok(look(parsed.syntax())),
        Err(error) => Err(format!("the program does not parse: {error}")),
    })
}

/// Measures a standalone program.
///
/// # Errors
/// If it does not parse.
pub fn measure(source: &str) -> Result<Complexity, String> {
    with_module(source, |module| complexity(source, module))
}

/// Runs a function that recurses into the syntax tree of a text.
pub(crate) fn with_stack_for<T>(source: &str, run: impl FnOnce() -> T) -> T {
    let needed = (1 << 20) + source.len() * STACK_PER_BYTE;
    stacker::maybe_grow(needed, needed, run)
}
