//! The steps of a program's run, as a student would write them down before the answer.
//!
//! A step is `name=value` for what is assigned (by statements and by loops), `9%5=4` for arithmetic of whole numbers, and
//! `value` for any other operation inside an expression, in the order of the run. A value that the next step or the answer
//! shows is not a step of its own, except for arithmetic.

use std::collections::HashSet;

use lyceum_core::prompt::compact_literal;
use lyceum_verifier::Verifier;
use lyceum_verifier::value::Value;
use ruff_python_ast::visitor::source_order::{SourceOrderVisitor, TraversalSignal, walk_body};
use ruff_python_ast::{AnyNodeRef, Comprehension, Expr, ExprContext};
use ruff_python_parser::parse_module;
use ruff_text_size::{Ranged, TextRange, TextSize};

use crate::execute::{Executed, Function, call, compact};

/// Returns the value of an instrumented function and its steps, or None instead of steps that are too many or too long
/// for any trace.
const CALLER: &str = "\
def _step(q,e):
 q.append(f'{e!r}')
 return e
def _sum(q,shown,o,a,b):
 if o=='+':
  e=a+b
 elif o=='-':
  e=a-b
 elif o=='*':
  e=a*b
 elif o=='//':
  e=a//b
 else:
  e=a%b
 if type(a) is int and type(b) is int:
  q.append(f'{a}{o}{b}={e}')
 elif shown:
  q.append(f'{e!r}')
 return e
def _name(q,n,e):
 q.append(f'{n}={e!r}')
def _loop(q,n,x):
 for e in x:
  if len(n)==1:
   _name(q,n[0],e)
  else:
   for a,b in zip(n,e):
    _name(q,a,b)
  yield e
def t(g,*a):
 q=[]
 try:
  r=g(q,*a)
 except Exception:
  return None
 s=';'.join(q)
 return [r,s if len(s)<400 else None]
";

/// The steps for each input, separated by `;`, and the output. `None` for an input whose steps are too many.
pub(crate) type Run = Vec<Option<(String, String)>>;

/// Runs programs on inputs step by step; an entry is `None` if the program used too much.
pub(crate) fn runs<'a>(
    verifier: &Verifier,
    programs: impl Iterator<Item = (&'a str, Vec<String>)>,
) -> Vec<Option<Run>> {
    let functions: Vec<Function> =
        programs.map(|(source, inputs)| Function { source: instrumented(source), inputs }).collect();
    let mut runs: Vec<Option<Run>> = functions.iter().map(|_| None).collect();
    for (number, values) in call(verifier, CALLER, &functions) {
        runs[number] = Some(values.iter().map(steps_and_output).collect());
    }
    runs
}

fn steps_and_output(value: &Value) -> Option<(String, String)> {
    let Value::List(both) = value else { return None };
    match both.as_slice() {
        [output, Value::Str(steps)] => Some((compact_literal(steps.as_str()?), compact(output))),
        _ => None,
    }
}

/// Adds the steps of every run whose output is the recorded one.
pub(crate) fn trace(verifier: &Verifier, executed: &mut [Executed]) {
    let inputs = |executed: &Executed| executed.pairs.iter().map(|(input, _)| input.clone()).collect();
    let runs = runs(verifier, executed.iter().map(|executed| (executed.source.as_str(), inputs(executed))));
    for (executed, run) in executed.iter_mut().zip(runs) {
        let run = run.unwrap_or_default();
        let steps = |(at, (_, output)): (usize, &(String, String))| match run.get(at) {
            Some(Some((steps, found))) if found == output => Some(steps.clone()),
            _ => None,
        };
        executed.traces = executed.pairs.iter().enumerate().map(steps).collect();
    }
}

/// Functions whose values are not literals, or are listed item by item by the loop around them.
const UNSHOWN: &[&str] = &["range", "enumerate", "zip", "set", "items", "values", "append"];

/// The program with a list `_q` as its first parameter, to which it appends its steps by `_step`, `_sum`, `_name` and
/// `_loop`. A source that is no Python comes back as it is.
fn instrumented(source: &str) -> String {
    let Ok(parsed) = parse_module(source) else { return source.to_owned() };
    let mut rewriting = Rewriting { source, unshown: HashSet::new(), edits: Vec::new() };
    walk_body(&mut rewriting, &parsed.syntax().body);
    rewriting.apply().replacen("def f(", "def f(_q,", 1)
}

/// Where a text is inserted among others at the same place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// Behind an expression.
    Closing,
    /// Behind the statement that ends there.
    After,
    /// Before an expression, the outer ones first.
    Opening,
}

struct Rewriting<'a> {
    source: &'a str,
    /// Expressions whose values are not steps.
    unshown: HashSet<TextRange>,
    edits: Vec<Edit>,
}

struct Edit {
    at: TextSize,
    place: Place,
    /// How much of the source is left out after `at`.
    without: TextSize,
    text: String,
}

impl Rewriting<'_> {
    fn hide(&mut self, expression: &Expr) {
        self.unshown.insert(expression.range());
    }

    fn insert(&mut self, at: TextSize, place: Place, text: impl Into<String>) {
        self.edits.push(Edit { at, place, without: TextSize::new(0), text: text.into() });
    }

    fn wrap(&mut self, range: TextRange, opening: String) {
        self.insert(range.start(), Place::Opening, opening);
        self.insert(range.end(), Place::Closing, ")");
    }

    /// Puts `text` in the place of `operator`, which stands between two expressions, perhaps beside parentheses.
    fn replace(&mut self, between: TextRange, operator: &str, text: String) {
        let Some(offset) = self.source[between].find(operator) else { return };
        self.edits.push(Edit {
            at: between.start() + size(&self.source[between][..offset]),
            place: Place::After,
            without: size(operator),
            text,
        });
    }

    /// Lists the value of a changed variable after the statement.
    fn changed(&mut self, statement: TextRange, target: &Expr) {
        let name = match target {
            Expr::Subscript(item) => item.value.range(),
            other => other.range(),
        };
        let name = &self.source[name];
        let text = format!(";_name(_q,'{name}',{name})");
        self.insert(statement.end(), Place::After, text);
    }

    fn looped(&mut self, target: &Expr, over: &Expr) {
        let names: Vec<String> = self.source[target.range()].split(',').map(|name| format!("'{name}'")).collect();
        if !is_call(over, "sorted") {
            self.hide(over);
        }
        self.wrap(over.range(), format!("_loop(_q,[{}],", names.join(",")));
    }

    /// The value of each item stands in the list or dictionary, and so is not a step.
    fn comprehension(&mut self, item: &Expr, generators: &[Comprehension]) {
        self.hide(item);
        for generator in generators {
            if !is_call(&generator.iter, "sorted") {
                self.hide(&generator.iter);
            }
        }
    }

    fn apply(mut self) -> String {
        self.edits.sort_by_key(|edit| (edit.at, edit.place));
        let mut text = String::with_capacity(3 * self.source.len());
        let mut done = TextSize::new(0);
        for edit in &self.edits {
            text.push_str(&self.source[TextRange::new(done, edit.at)]);
            text.push_str(&edit.text);
            done = edit.at + edit.without;
        }
        text.push_str(&self.source[done.to_usize()..]);
        text
    }
}

fn size(text: &str) -> TextSize {
    TextSize::of(text)
}

impl<'a> SourceOrderVisitor<'a> for Rewriting<'_> {
    fn enter_node(&mut self, node: AnyNodeRef<'a>) -> TraversalSignal {
        match node {
            AnyNodeRef::StmtAssign(statement) => {
                self.hide(&statement.value);
                for target in &statement.targets {
                    self.changed(statement.range(), target);
                }
            }
            AnyNodeRef::StmtAugAssign(statement) => {
                let (target, operator) = (statement.target.range(), statement.op.as_str());
                let opening = format!("=_sum(_q,0,'{operator}',{},", &self.source[target]);
                let between = TextRange::new(target.end(), statement.value.start());
                self.replace(between, &format!("{operator}="), opening);
                self.insert(statement.value.end(), Place::Closing, ")");
                self.changed(statement.range(), &statement.target);
            }
            AnyNodeRef::StmtReturn(statement) => {
                if let Some(value) = &statement.value {
                    self.hide(value);
                }
            }
            AnyNodeRef::StmtExpr(statement) => {
                if let Expr::Call(call) = &*statement.value
                    && let Expr::Attribute(method) = &*call.func
                {
                    self.hide(&statement.value);
                    call.arguments.args.iter().for_each(|argument| self.hide(argument));
                    self.changed(statement.range(), &method.value);
                }
            }
            AnyNodeRef::StmtFor(statement) => self.looped(&statement.target, &statement.iter),
            AnyNodeRef::ExprListComp(list) => self.comprehension(&list.elt, &list.generators),
            AnyNodeRef::ExprDictComp(dictionary) => self.comprehension(&dictionary.value, &dictionary.generators),
            AnyNodeRef::ExprBinOp(sum) => {
                let (operator, shown) = (sum.op.as_str(), !self.unshown.contains(&sum.range()));
                self.wrap(sum.range(), format!("_sum(_q,{},'{operator}',", u8::from(shown)));
                let between = TextRange::new(sum.left.end(), sum.right.start());
                self.replace(between, operator, ",".to_owned());
            }
            AnyNodeRef::ExprIf(choice) if self.unshown.contains(&choice.range()) => {
                self.hide(&choice.body);
                self.hide(&choice.orelse);
            }
            _ => {}
        }
        if is_operation(node) && !self.unshown.contains(&node.range()) {
            self.wrap(node.range(), "_step(_q,".to_owned());
        }
        TraversalSignal::Traverse
    }
}

/// Whether a node computes a value that a literal can show; sums and the like are written with their operands.
fn is_operation(node: AnyNodeRef<'_>) -> bool {
    match node {
        AnyNodeRef::ExprListComp(_) | AnyNodeRef::ExprDictComp(_) => true,
        AnyNodeRef::ExprSubscript(item) => item.ctx == ExprContext::Load,
        AnyNodeRef::ExprCall(call) => match &*call.func {
            Expr::Name(name) => !UNSHOWN.contains(&name.id.as_str()),
            Expr::Attribute(method) => !UNSHOWN.contains(&method.attr.as_str()),
            _ => false,
        },
        _ => false,
    }
}

fn is_call(expression: &Expr, function: &str) -> bool {
    matches!(expression, Expr::Call(call) if matches!(&*call.func, Expr::Name(name) if name.id.as_str() == function))
}

#[cfg(test)]
mod tests {
    use super::instrumented;

    #[test]
    fn assignments_loops_and_inner_operations_are_steps() {
        for (source, expected) in [
            ("def f(a):\n return a+1", "def f(_q,a):\n return _sum(_q,0,'+',a,1)"),
            (
                "def f(a):\n return (a+1)*(2-a)",
                "def f(_q,a):\n return _sum(_q,0,'*',(_sum(_q,1,'+',a,1)),(_sum(_q,1,'-',2,a)))",
            ),
            (
                "def f(x):\n r=0\n for v in x:\n  if v%2==0:\n   r-=v\n return r",
                "def f(_q,x):\n r=0;_name(_q,'r',r)\n for v in _loop(_q,['v'],x):\n  if _sum(_q,1,'%',v,2)==0:\n   \
                 r=_sum(_q,0,'-',r,v);_name(_q,'r',r)\n return r",
            ),
            (
                "def f(d):\n r=[]\n for k,v in d.items():\n  r.append(v*2)\n return r",
                "def f(_q,d):\n r=[];_name(_q,'r',r)\n for k,v in _loop(_q,['k','v'],d.items()):\n  \
                 r.append(_sum(_q,0,'*',v,2));_name(_q,'r',r)\n return r",
            ),
            (
                "def f(x,a):\n return [v//a for v in x] if len(x)>2 else sorted(x)[1:]",
                "def f(_q,x,a):\n return [_sum(_q,0,'//',v,a) for v in x] if _step(_q,len(x))>2 else \
                 _step(_q,sorted(x))[1:]",
            ),
            (
                "def f(s):\n r={}\n for c in s[::-1]:\n  r[c]=r.get(c,0)+1\n return r",
                "def f(_q,s):\n r={};_name(_q,'r',r)\n for c in _loop(_q,['c'],s[::-1]):\n  \
                 r[c]=_sum(_q,0,'+',_step(_q,r.get(c,0)),1);_name(_q,'r',r)\n return r",
            ),
            (
                "def f(n):\n r=0\n while n>0:\n  r+=n\n  n//=2\n return r",
                "def f(_q,n):\n r=0;_name(_q,'r',r)\n while n>0:\n  r=_sum(_q,0,'+',r,n);_name(_q,'r',r)\n  \
                 n=_sum(_q,0,'//',n,2);_name(_q,'n',n)\n return r",
            ),
        ] {
            assert_eq!(instrumented(source), expected);
        }
    }
}
