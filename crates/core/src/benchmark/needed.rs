//! What of a program that answers a question counts.

use std::collections::BTreeSet;

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Expr, Stmt};
use ruff_python_parser::parse_module;
use ruff_text_size::Ranged as _;

/// What of a program the function `entry_point` needs, as EvalPlus keeps it: imports, and the definitions and assignments that the
/// function, or its `test`, reaches by name. Tests and examples next to it, which may fail though the function is right, are left out,
/// and so is what does not parse, such as the statement in which a completion was cut. All of `code` if no part that parses defines
/// the function.
pub(super) fn needed_by(entry_point: &str, test: &str, code: &str) -> String {
    if code.len() > MAX_PROGRAM {
        return code.to_owned();
    }
    let names = test.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    let roots: BTreeSet<String> = names.chain([entry_point]).map(str::to_owned).collect();
    // Text may stand before the program.
    let words = ["def ", "class ", "import ", "from ", "async ", "@"];
    let before = code.split_inclusive('\n').take_while(|line| !words.iter().any(|word| line.starts_with(word)));
    let start: usize = before.map(str::len).sum();
    // The tree is as deep as the text nests, and is walked and dropped recursively.
    let stack = (1 << 20) + code.len() * STACK_PER_BYTE;
    stacker::maybe_grow(stack, stack, || {
        let behind = || (start > 0).then(|| reached(entry_point, &roots, &code[start..]))?;
        reached(entry_point, &roots, code).or_else(behind)
    })
    .unwrap_or_else(|| code.to_owned())
}

/// Bytes up to which a program is read.
const MAX_PROGRAM: usize = 256 << 10;

/// The most stack that a level of nesting takes, which is at least one byte of text.
const STACK_PER_BYTE: usize = 4 << 10;

/// How often a text is cut shorter until it parses.
const MAX_CUTS: usize = 200;

/// The statements that `roots` need of the longest part of `code`, from its beginning to the end of a line, that parses.
fn reached(entry_point: &str, roots: &BTreeSet<String>, code: &str) -> Option<String> {
    let mut end = code.len();
    let mut module = parse_module(code);
    for _ in 0..MAX_CUTS {
        let Err(error) = &module else { break };
        // What a bracket that is never closed makes wrong is found at the end.
        let wrong = error.location.start().to_usize().min(end.saturating_sub(1));
        end = code.as_bytes()[..wrong].iter().rposition(|&byte| byte == b'\n')? + 1;
        module = parse_module(&code[..end]);
    }
    let module = module.ok()?.into_syntax();
    let statements: Vec<Statement> = module.body.iter().map(Statement::of).collect();
    let mut needed = roots.clone();
    let mut is_kept = vec![false; statements.len()];
    while let Some(at) = (0..statements.len()).find(|&at| !is_kept[at] && statements[at].is_needed(&needed)) {
        is_kept[at] = true;
        needed.extend(statements[at].names.iter().cloned());
    }
    if !statements.iter().any(|one| one.binds.contains(entry_point)) {
        return None;
    }
    if end == code.len() && !is_kept.contains(&false) {
        return Some(code.to_owned());
    }
    let kept = module.body.iter().zip(is_kept).filter(|(_, is_kept)| *is_kept);
    let texts: Vec<_> = kept.map(|(one, _)| &code[one.range().to_std_range()]).collect();
    Some(texts.join("\n\n") + "\n")
}

/// A statement of a module: what it binds, and the names in it.
#[derive(Default)]
struct Statement {
    is_import: bool,
    binds: BTreeSet<String>,
    names: BTreeSet<String>,
}

impl Statement {
    fn of(statement: &Stmt) -> Self {
        let mut found = Self::default();
        found.visit_stmt(statement);
        let target = |target: &Expr| target.as_name_expr().map(|name| name.id.to_string());
        match statement {
            Stmt::Import(_) | Stmt::ImportFrom(_) => found.is_import = true,
            Stmt::FunctionDef(function) => found.binds.extend([function.name.to_string()]),
            Stmt::ClassDef(class) => found.binds.extend([class.name.to_string()]),
            Stmt::Assign(assign) => found.binds.extend(assign.targets.iter().filter_map(target)),
            Stmt::AnnAssign(assign) => found.binds.extend(target(&assign.target)),
            _ => {}
        }
        found
    }

    fn is_needed(&self, names: &BTreeSet<String>) -> bool {
        self.is_import || !self.binds.is_disjoint(names)
    }
}

impl<'a> Visitor<'a> for Statement {
    fn visit_expr(&mut self, expression: &'a Expr) {
        if let Expr::Name(name) = expression {
            self.names.insert(name.id.to_string());
        }
        visitor::walk_expr(self, expression);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn tests_and_what_does_not_parse_are_left_out() {
        let program = "from functools import cache\nlimit: int = 3\n@cache\ndef g(a):\n    a.append(1)\n\ndef f(a):\n    return g(a) + limit\n";
        let kept = "from functools import cache\n\nlimit: int = 3\n\n@cache\ndef g(a):\n    a.append(1)\n\ndef f(a):\n    return g(a) + limit\n";
        assert_eq!(needed_by("f", "", program), program, "as it is");
        for beside in [
            "assert f(1) == 2",
            "print(f(nothing))  # 3",
            "x = f(nothing)",
            "def test():\n    assert f(1)\n\ntest()",
            "if __name__ == '__main__':\n    f()",
            "'''f\nlimit = 4\n'''",
            // Cut, or not a program.
            "print(f(1), f(",
            "@cache\ndef h(",
            "class A:\n    def g(self):\n        x =",
            "for x in [\n    1,\n",
            "if f(1):\n    pass\nelse:\n    print(",
            "It returns the sum.",
        ] {
            assert_eq!(needed_by("f", "", &format!("{program}{beside}")), kept, "{beside}");
        }
        assert_eq!(needed_by("f", "", &format!("The program:\n{program}assert f(1)\n")), kept);
        let inverse = "def g(a):\n    return a\n\ndef f(a):\n    return a\nassert f(1)\n";
        assert_eq!(needed_by("f", "", inverse), "def f(a):\n    return a\n");
        let both = "def g(a):\n    return a\n\ndef f(a):\n    return a\n";
        assert_eq!(needed_by("f", "def check(f): assert f(g(1)) == 1", inverse), both);
        for whole in ["print(f(", "def f(a):\n    return [\n        1", "x = 1\nassert x", "", "é"] {
            assert_eq!(needed_by("f", "", whole), whole);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "(def f\\(a\\):|    return a|x = \\(|assert f\\(1\\)|'''|é|# f|\\)| |\n){0,20}") {
            let kept = needed_by("f", "", &text);
            prop_assert_eq!(&needed_by("f", "", &kept), &kept);
        }
    }
}
