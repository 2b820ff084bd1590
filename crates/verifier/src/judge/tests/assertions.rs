//! Notes in a test's text where it asserts something, so that a test in which nothing was asserted is told from one that
//! holds.

use ruff_python_ast::visitor::source_order::{SourceOrderVisitor, TraversalSignal, walk_body};
use ruff_python_ast::{AnyNodeRef, ExceptHandler, Expr, ModModule, Stmt};
use ruff_text_size::{Ranged as _, TextSize};

/// The test with a call of `__lyceum_asserted__` at every assertion. Lines stay where they are.
///
/// Assertions are `assert`, a condition that decides whether something is raised, a handler of what is expected to be
/// raised, and calls of `assert..` (such as unittest's) or `raises`.
pub(super) fn noted(test: &str, module: &ModModule) -> String {
    let mut notes = Notes::default();
    walk_body(&mut notes, &module.body);
    // Of two at one place, the outer came first.
    notes.0.sort_by_key(|(at, _)| *at);
    let mut text = String::with_capacity(test.len() + 40 * notes.0.len());
    let mut done = 0;
    for (at, inserted) in notes.0 {
        let at = at.to_usize();
        text.push_str(&test[done..at]);
        text.push_str(inserted);
        done = at;
    }
    text.push_str(&test[done..]);
    text
}

/// What is inserted where.
#[derive(Default)]
struct Notes(Vec<(TextSize, &'static str)>);

impl Notes {
    fn around(&mut self, expression: &Expr) {
        self.0.push((expression.start(), "(__lyceum_asserted__() or ("));
        self.0.push((expression.end(), "))"));
    }
}

impl<'a> SourceOrderVisitor<'a> for Notes {
    fn enter_node(&mut self, node: AnyNodeRef<'a>) -> TraversalSignal {
        match node {
            AnyNodeRef::StmtAssert(assert) => self.0.push((assert.start(), "__lyceum_asserted__();")),
            AnyNodeRef::StmtIf(branches) => {
                let others = branches.elif_else_clauses.iter().map(|clause| (clause.test.as_ref(), &clause.body));
                let all: Vec<_> = std::iter::once((Some(&*branches.test), &branches.body)).chain(others).collect();
                if all.iter().any(|(_, body)| body.iter().any(Stmt::is_raise_stmt)) {
                    all.into_iter().filter_map(|(test, _)| test).for_each(|test| self.around(test));
                }
            }
            AnyNodeRef::StmtTry(attempt) if may_fail(&attempt.body) || may_fail(&attempt.orelse) => {
                for ExceptHandler::ExceptHandler(handler) in &attempt.handlers {
                    match &handler.type_ {
                        Some(class) => self.around(class),
                        None => {
                            let after_except = handler.start() + TextSize::of("except");
                            self.0.push((after_except, "(__lyceum_asserted__() or BaseException)"));
                        }
                    }
                }
            }
            AnyNodeRef::ExprCall(call) => {
                let name = match &*call.func {
                    Expr::Name(name) => name.id.as_str(),
                    Expr::Attribute(member) => member.attr.as_str(),
                    _ => "",
                };
                if name.starts_with("assert") || name == "raises" {
                    self.around(&call.func);
                }
            }
            _ => {}
        }
        TraversalSignal::Traverse
    }
}

/// Whether it says by itself that something is wrong.
fn may_fail(body: &[Stmt]) -> bool {
    struct Fails(bool);
    impl<'a> SourceOrderVisitor<'a> for Fails {
        fn enter_node(&mut self, node: AnyNodeRef<'a>) -> TraversalSignal {
            self.0 |= matches!(node, AnyNodeRef::StmtAssert(_) | AnyNodeRef::StmtRaise(_));
            TraversalSignal::Traverse
        }
    }
    let mut fails = Fails(false);
    walk_body(&mut fails, body);
    fails.0
}

#[cfg(test)]
mod tests {
    use super::noted;
    use crate::program::with_module;

    fn of(test: &str) -> String {
        let text = with_module(test, |module| noted(test, module)).expect("it parses");
        with_module(&text, |_| ()).expect("it still parses");
        assert_eq!(text.lines().count(), test.lines().count(), "{text}");
        text
    }

    #[test]
    fn every_assertion_is_noted_in_its_own_line() {
        let note = "__lyceum_asserted__";
        assert_eq!(of("x = 1; assert x"), format!("x = 1; {note}();assert x"));
        assert_eq!(of("if x: assert x"), format!("if x: {note}();assert x"));
        assert_eq!(of("self.assertEqual(a, b)"), format!("({note}() or (self.assertEqual))(a, b)"));
        for (test, count) in [
            ("if(a):\n    raise E\nelif[b]:\n    pass\nelse:\n    pass", 2),
            ("if a:\n    pass", 0),
            ("try:\n    f()\nexcept(A, B):\n    pass\nelse:\n    assert False", 2),
            ("try:\n    f(); raise E\nexcept:\n    pass", 1),
            ("try:\n    f()\nexcept A:\n    pass", 0),
            ("with pytest.raises(A), self.assertRaises(B): f()", 2),
            ("if x := assert_it(y)(z):\n    raise E", 2),
            ("assertion(a)\nf'{assert_it(1)}'", 2),
            ("'assert x' # assert y", 0),
        ] {
            assert_eq!(of(test).matches(note).count(), count, "{test}: {}", of(test));
        }
    }
}
