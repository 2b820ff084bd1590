//! Structural complexity (PopuLoRA, section 10), as CPython's `ast` would give it.

use std::collections::HashSet;

use lyceum_core::verify::Complexity;
use ruff_python_ast::visitor::source_order::{SourceOrderVisitor, TraversalSignal};
use ruff_python_ast::{AnyNodeRef, ExprContext, ModModule};

/// Measures a program.
///
/// - depth: levels of CPython's syntax tree, from `Module` = 1; `Load`, `Store` and `Del` are not nodes;
/// - cyclomatic: 1 + the occurrences of the keywords `if` (conditional expressions and filters of comprehensions too),
///   `elif`, `for` (comprehensions too), `while`, `except`, `and`, `or`, `assert`;
/// - lines: those that are neither blank nor start with `#`;
/// - variables: distinct names that are assigned (parameters are not).
#[must_use]
pub fn complexity(source: &str, module: &ModModule) -> Complexity {
    let mut meter = Meter {
        levels: Vec::new(),
        depth: 0,
        deepest: 0,
        branches: 0,
        names: HashSet::new(),
    };
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
