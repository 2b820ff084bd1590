//! Programs as syntax trees: admission and complexity.

use std::collections::HashSet;

use lyceum_core::verify::Complexity;
use ruff_python_ast::visitor::source_order::{SourceOrderVisitor, TraversalSignal, walk_body};
use ruff_python_ast::{AnyNodeRef, Expr, ExprContext, ModModule, Stmt, StmtFunctionDef};
use ruff_python_parser::{parse_expression, parse_module};

/// Maximum length of a program, in bytes.
pub const MAX_PROGRAM: usize = 256 << 10;

/// Stack per byte of source. A level of nesting needs at least one byte of source; this is the most stack it can take
/// while a tree is walked or dropped.
const STACK_PER_BYTE: usize = 4 << 10;

/// Parses a program and passes its tree to `look`, with enough stack for the deepest possible nesting.
pub(crate) fn with_module<T>(source: &str, look: impl FnOnce(&ModModule) -> T) -> Result<T, String> {
    if source.len() > MAX_PROGRAM {
        return Err(format!("the program has {} bytes; at most {MAX_PROGRAM} are read", source.len()));
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

/// Modules whose import the papers ban (Absolute Zero's list, reused by PopuLoRA and GASP): they are random, depend on
/// time or the machine, or start processes.
const BANNED: &[&str] = &[
    "logging",
    "random",
    "multiprocessing",
    "pebble",
    "subprocess",
    "threading",
    "datetime",
    "time",
    "hashlib",
    "hmac",
    "bcrypt",
    "calendar",
];

/// Members of modules banned by the same list. (In the original these entries could never match; here they do.)
const BANNED_MEMBERS: &[(&str, &str)] = &[("os", "sys"), ("os", "path"), ("os", "environ"), ("sys", "exit")];

/// The reason a program is not admitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is not a single function `f` with parameters and a return.
    Form(String),
    /// It imports or uses something banned.
    Banned(String),
}

/// Checks the form of a program, then its imports.
///
/// # Errors
/// If the program is not admitted.
pub fn admit(module: &ModModule) -> Result<(), Refusal> {
    let form = |reason: &str| Refusal::Form(reason.to_owned());
    let mut named = module.body.iter().filter_map(|statement| match statement {
        Stmt::FunctionDef(function) if function.name.as_str() == "f" => Some(function),
        _ => None,
    });
    let function = named.next().ok_or_else(|| form("the program defines no function `f` at its top level"))?;
    if named.next().is_some() {
        return Err(form("the program defines `f` more than once"));
    }
    if function.is_async {
        return Err(form("`f` is a coroutine; it must be a plain function"));
    }
    if function.parameters.is_empty() {
        return Err(form("`f` has no parameters"));
    }
    if !returns_a_value(function) {
        return Err(form("`f` has no `return` with a value"));
    }
    let mut bans = Bans { found: None, modules: HashSet::new() };
    walk_body(&mut bans, &module.body);
    match bans.found {
        None => Ok(()),
        Some(name) => Err(Refusal::Banned(format!("`{name}` may not be used in a proposal"))),
    }
}

/// Whether it contains a `return` with a value anywhere: a `return` in an inner function counts.
fn returns_a_value(function: &StmtFunctionDef) -> bool {
    struct Returns(bool);
    impl<'a> SourceOrderVisitor<'a> for Returns {
        fn enter_node(&mut self, node: AnyNodeRef<'a>) -> TraversalSignal {
            if let AnyNodeRef::StmtReturn(statement) = node {
                self.0 |= statement.value.is_some();
            }
            TraversalSignal::Traverse
        }
    }
    let mut returns = Returns(false);
    walk_body(&mut returns, &function.body);
    returns.0
}

struct Bans<'a> {
    found: Option<String>,
    /// Modules with banned members, imported under their own name.
    modules: HashSet<&'a str>,
}

impl Bans<'_> {
    fn check_module(&mut self, name: &str) {
        let mut parts = name.split('.');
        let (first, second) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
        if BANNED.contains(&first) || BANNED_MEMBERS.contains(&(first, second)) {
            self.found.get_or_insert_with(|| name.to_owned());
        }
    }
}

impl<'a> SourceOrderVisitor<'a> for Bans<'a> {
    fn enter_node(&mut self, node: AnyNodeRef<'a>) -> TraversalSignal {
        match node {
            AnyNodeRef::StmtImport(import) => {
                for alias in &import.names {
                    self.check_module(alias.name.as_str());
                    self.modules.insert(alias.name.as_str());
                }
            }
            AnyNodeRef::StmtImportFrom(import) => {
                let module = import.module.as_ref().map_or("", |name| name.as_str());
                self.check_module(module);
                for alias in &import.names {
                    self.check_module(&format!("{module}.{}", alias.name));
                }
            }
            AnyNodeRef::ExprAttribute(attribute) => {
                if let Expr::Name(module) = &*attribute.value
                    && self.modules.contains(module.id.as_str())
                {
                    self.check_module(&format!("{}.{}", module.id, attribute.attr));
                }
            }
            _ => {}
        }
        TraversalSignal::Traverse
    }
}

/// Checks that a text, placed between the parentheses of a call, is the arguments of that call and nothing more: for
/// example, `0) or (True` is refused.
///
/// # Errors
/// If it is anything else.
pub fn check_arguments(text: &str) -> Result<(), String> {
    if text.len() > MAX_PROGRAM {
        return Err(format!("the input has {} bytes; at most {MAX_PROGRAM} are read", text.len()));
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

/// Measures a program.
///
/// - depth: levels of CPython's syntax tree, from `Module` = 1; `Load`, `Store` and `Del` are not nodes;
/// - cyclomatic: 1 + the occurrences of the keywords `if` (conditional expressions and filters of comprehensions too),
///   `elif`, `for` (comprehensions too), `while`, `except`, `and`, `or`, `assert`;
/// - lines: those that are neither blank nor start with `#`;
/// - variables: distinct names that are assigned (parameters are not).
#[must_use]
pub fn complexity(source: &str, module: &ModModule) -> Complexity {
    let mut meter = Meter { levels: Vec::new(), depth: 0, deepest: 0, branches: 0, names: HashSet::new() };
    ruff_python_ast::visitor::source_order::walk_node(&mut meter, module.into());
    let is_code = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    Complexity {
        ast_depth: meter.deepest,
        cyclomatic: 1 + meter.branches,
        loc: count(source.lines().filter(is_code).count()),
        variables: count(meter.names.len()),
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

struct Meter<'a> {
    /// The depth outside of each open node.
    levels: Vec<u32>,
    depth: u32,
    deepest: u32,
    branches: u32,
    names: HashSet<&'a str>,
}

impl<'a> SourceOrderVisitor<'a> for Meter<'a> {
    fn enter_node(&mut self, node: AnyNodeRef<'a>) -> TraversalSignal {
        self.levels.push(self.depth);
        if is_level(node) {
            self.depth += 1;
            self.deepest = self.deepest.max(self.depth);
        }
        self.branches += branches(node);
        if let AnyNodeRef::ExprName(name) = node
            && name.ctx == ExprContext::Store
        {
            self.names.insert(name.id.as_str());
        }
        TraversalSignal::Traverse
    }

    fn leave_node(&mut self, node: AnyNodeRef<'a>) {
        let outside = self.levels.pop().unwrap_or(0);
        // In CPython's tree each `elif` is nested in the one before it, so its depth is kept until the whole `if` ends.
        if !matches!(node, AnyNodeRef::ElifElseClause(_)) {
            self.depth = outside;
        }
    }
}

/// Whether CPython's tree has a node here; the other nodes exist only in this parser.
fn is_level(node: AnyNodeRef<'_>) -> bool {
    match node {
        AnyNodeRef::ElifElseClause(clause) => clause.test.is_some(),
        AnyNodeRef::Arguments(_)
        | AnyNodeRef::ParameterWithDefault(_)
        | AnyNodeRef::Decorator(_)
        | AnyNodeRef::TypeParams(_)
        | AnyNodeRef::PatternArguments(_)
        | AnyNodeRef::PatternKeyword(_)
        | AnyNodeRef::FString(_)
        | AnyNodeRef::TString(_)
        | AnyNodeRef::StringLiteral(_)
        | AnyNodeRef::BytesLiteral(_)
        | AnyNodeRef::Identifier(_) => false,
        _ => true,
    }
}

fn branches(node: AnyNodeRef<'_>) -> u32 {
    match node {
        AnyNodeRef::StmtIf(_)
        | AnyNodeRef::ExprIf(_)
        | AnyNodeRef::StmtFor(_)
        | AnyNodeRef::StmtWhile(_)
        | AnyNodeRef::ExceptHandlerExceptHandler(_)
        | AnyNodeRef::StmtAssert(_) => 1,
        AnyNodeRef::ElifElseClause(clause) => u32::from(clause.test.is_some()),
        AnyNodeRef::Comprehension(comprehension) => 1 + count(comprehension.ifs.len()),
        AnyNodeRef::ExprBoolOp(operation) => count(operation.values.len().saturating_sub(1)),
        _ => 0,
    }
}

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
