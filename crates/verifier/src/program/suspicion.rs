//! Signs that a program may do something else each time.

use ruff_python_ast::visitor::source_order::{SourceOrderVisitor, TraversalSignal, walk_body};
use ruff_python_ast::{AnyNodeRef, ModModule};

/// Modules, functions and attributes that lead to clocks, addresses, the state of the process or names made at run time.
const SIGNS: &[&str] = &[
    "__builtins__",
    "__dict__",
    "__getattribute__",
    "__globals__",
    "__import__",
    "__loader__",
    "__subclasses__",
    "_getframe",
    "builtins",
    "compile",
    "ctypes",
    "datetime",
    "eval",
    "exec",
    "gc",
    "getattr",
    "globals",
    "hash",
    "id",
    "importlib",
    "inspect",
    "locals",
    "now",
    "object",
    "open",
    "operator",
    "os",
    "perf_counter",
    "posix",
    "process_time",
    "random",
    "repr",
    "resource",
    "secrets",
    "signal",
    "sys",
    "tempfile",
    "threading",
    "time",
    "time_ns",
    "today",
    "traceback",
    "tracemalloc",
    "types",
    "urandom",
    "uuid",
    "vars",
    "weakref",
];

/// Whether the program mentions any of them.
pub(crate) fn is_suspicious(module: &ModModule) -> bool {
    struct Signs(bool);
    impl<'a> SourceOrderVisitor<'a> for Signs {
        fn enter_node(&mut self, node: AnyNodeRef<'a>) -> TraversalSignal {
            let mut note = |name: &str| self.0 |= name.split('.').any(|part| SIGNS.contains(&part));
            match node {
                AnyNodeRef::ExprName(name) => note(name.id.as_str()),
                AnyNodeRef::ExprAttribute(attribute) => note(attribute.attr.as_str()),
                AnyNodeRef::Alias(alias) => note(alias.name.as_str()),
                AnyNodeRef::StmtImportFrom(import) => note(import.module.as_ref().map_or("", |name| name.as_str())),
                _ => {}
            }
            TraversalSignal::Traverse
        }
    }
    let mut signs = Signs(false);
    walk_body(&mut signs, &module.body);
    signs.0
}
