//! Rules for proposed programs, checked before they are run: a filter for quality, not for security.

use std::collections::HashSet;

use ruff_python_ast::visitor::source_order::{SourceOrderVisitor, TraversalSignal, walk_body};
use ruff_python_ast::{AnyNodeRef, Expr, ModModule, Stmt, StmtFunctionDef};

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
    let function = named
        .next()
        .ok_or_else(|| form("the program defines no function `f` at its top level"))?;
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
    let mut bans = Bans {
        found: None,
        modules: HashSet::new(),
    };
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
