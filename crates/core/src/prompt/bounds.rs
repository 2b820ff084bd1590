//! Bounds on a template's source, checked token by token before anything recurses over it.
//!
//! Parsing, compiling and dropping a template recurse as deep as it nests, and a stack overflow ends the process. Jinja
//! also counts instructions only, so a value that is joined with itself again and again could fill the memory in a few
//! of them. A template has no state that survives an iteration of a loop (there are no namespaces, and macros do not
//! call macros), so the size of its values follows from the joins in its source.

use minijinja::machinery::{Token, tokenize};
use minijinja::syntax::SyntaxConfig;

use super::filters::FILTERS;

/// Maximum bytes of a template.
const MAX_BYTES: usize = 65_536;
/// Maximum tokens of an expression or statement.
const MAX_TOKENS: usize = 200;
/// Maximum bytes of the quoted texts in an expression or statement.
const MAX_QUOTED: usize = 1_000;
/// Maximum open brackets in an expression or statement.
const MAX_BRACKETS: usize = 16;
/// Maximum blocks within one another; each `elif` counts as one.
const MAX_BLOCKS: usize = 24;
/// Maximum copies of one value that another may contain.
const MAX_COPIES: usize = 32;
/// Maximum lists within one another that a value may contain; each filter counts as one.
const MAX_NESTING: usize = 64;
/// Maximum instructions to render one template; the longest shipped one takes a few thousand.
const INSTRUCTIONS: usize = 50_000;
/// Maximum bytes of plain text that those instructions may write; in macros and blocks that are kept as a value, a
/// sixty-fourth of it.
const MAX_PLAIN: usize = 64 << 20;

/// The statements of a template, without those that end a block.
const STATEMENTS: [&str; 8] = ["if", "elif", "else", "for", "set", "with", "macro", "filter"];
/// The words of an expression that are operators.
const OPERATORS: [&str; 6] = ["and", "or", "not", "in", "if", "else"];

/// What a template may do, by its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    /// Maximum instructions to render it.
    pub(super) instructions: u64,
    /// Maximum copies of one value that another may contain.
    pub(super) copies: u64,
}

impl Extent {
    /// The extent of a template without expressions.
    pub(super) const PLAIN: Self = Self { instructions: INSTRUCTIONS as u64, copies: 1 };

    /// Checks `source`.
    ///
    /// # Errors
    /// What exceeds its limit, with the value found, the limit and the line.
    pub(super) fn of(source: &str) -> Result<Self, String> {
        if source.len() > MAX_BYTES {
            return Err(format!("it has {} bytes: at most {MAX_BYTES} are valid", source.len()));
        }
        let mut scan = Scan::default();
        for token in tokenize(source, false, SyntaxConfig::default()) {
            // The compiler reports what is not a token; it sees no more than this loop has.
            let Ok((token, span)) = token else { break };
            scan.take(&token).map_err(|detail| format!("{detail} (line {})", span.start_line))?;
        }
        Ok(scan.extent())
    }

    /// What a set with both templates may do.
    pub(super) fn and(self, other: Self) -> Self {
        Self { instructions: self.instructions.min(other.instructions), copies: self.copies.max(other.copies) }
    }
}

/// What is known of a template after some of its tokens.
#[derive(Default)]
struct Scan<'t> {
    /// The open blocks with their levels.
    blocks: Vec<(&'t str, usize)>,
    expression: Option<Expression<'t>>,
    /// The longest plain text, and the longest in a block that is kept as a value.
    plain: usize,
    kept_plain: usize,
    keeps: bool,
    /// Copies and nesting of the values that are kept under a name, and of those that are shown.
    kept: Size,
    shown: Size,
}

#[derive(Clone, Copy, Default)]
struct Size {
    joins: usize,
    nesting: usize,
}

impl<'t> Scan<'t> {
    fn take(&mut self, token: &Token<'t>) -> Result<(), String> {
        let in_macro = self.blocks.iter().any(|(block, _)| *block == "macro");
        match token {
            Token::TemplateData(text) => {
                self.plain = self.plain.max(text.len());
                if self.is_kept() {
                    self.kept_plain = self.kept_plain.max(text.len());
                }
            }
            Token::VariableStart => self.expression = Some(Expression::new(false)),
            Token::BlockStart => self.expression = Some(Expression::new(true)),
            Token::VariableEnd | Token::BlockEnd => {
                if let Some(expression) = self.expression.take() {
                    self.end(&expression)?;
                }
            }
            token => {
                if let Some(expression) = &mut self.expression {
                    expression.take(token, in_macro)?;
                }
            }
        }
        Ok(())
    }

    /// Whether what is written here becomes a value.
    fn is_kept(&self) -> bool {
        self.blocks.iter().any(|(block, _)| matches!(*block, "macro" | "set" | "filter"))
    }

    fn end(&mut self, expression: &Expression<'t>) -> Result<(), String> {
        let keyword = expression.keyword.unwrap_or_default();
        let size = Size { joins: expression.joins + 1, nesting: expression.deepest + expression.pipes };
        let binds = matches!(keyword, "set" | "with" | "for" | "macro" | "filter") || expression.calls;
        if binds {
            self.kept.joins = self.kept.joins.max(1).saturating_mul(size.joins);
            self.kept.nesting += size.nesting;
        } else {
            self.shown.joins = self.shown.joins.max(size.joins);
            self.shown.nesting = self.shown.nesting.max(size.nesting);
        }
        let copies = self.copies();
        if copies > MAX_COPIES {
            return Err(format!(
                "`~`, `+`, `,` and `[:]` may put {copies} copies of a value into another: at most {MAX_COPIES} are valid; \
                 show values one after the other instead of joining them"
            ));
        }
        let nesting = self.kept.nesting + self.shown.nesting;
        if nesting > MAX_NESTING {
            return Err(format!("lists and filters may nest a value {nesting} deep: at most {MAX_NESTING} is valid"));
        }
        match keyword {
            "macro" if !self.blocks.is_empty() => {
                return Err("a `macro` is within another block: write it at the top".to_owned());
            }
            "if" | "for" | "with" | "macro" | "filter" => self.blocks.push((keyword, 1)),
            "set" if !expression.assigns => self.blocks.push((keyword, 1)),
            "elif" => {
                if let Some((_, levels)) = self.blocks.last_mut() {
                    *levels += 1;
                }
            }
            _ if keyword.starts_with("end") => drop(self.blocks.pop()),
            _ => {}
        }
        self.keeps |= self.is_kept();
        let depth: usize = self.blocks.iter().map(|(_, levels)| levels).sum();
        match depth > MAX_BLOCKS {
            true => {
                Err(format!("blocks are {depth} deep: at most {MAX_BLOCKS} is valid, where each `elif` counts as one"))
            }
            false => Ok(()),
        }
    }

    fn copies(&self) -> usize {
        self.kept.joins.max(1).saturating_mul(self.shown.joins.max(1))
    }

    fn extent(&self) -> Extent {
        let copies = self.copies();
        // An instruction may move every copy of the longest value. A value that was rendered may be much longer than
        // the values of the prompt.
        let moved = if self.keeps { 20_000 } else { 4 * INSTRUCTIONS } / copies;
        let written = MAX_PLAIN / self.plain.max(1);
        let kept = MAX_PLAIN / 64 / self.kept_plain.max(1);
        let instructions = INSTRUCTIONS.min(moved).min(written).min(kept).max(1);
        Extent { instructions: instructions as u64, copies: copies as u64 }
    }
}

/// An expression or statement so far.
struct Expression<'t> {
    is_statement: bool,
    keyword: Option<&'t str>,
    tokens: usize,
    quoted: usize,
    joins: usize,
    pipes: usize,
    /// The open brackets.
    brackets: Vec<Bracket>,
    deepest: usize,
    /// Whether it calls a macro, which keeps the arguments under names.
    calls: bool,
    /// Whether it has a `=` outside brackets.
    assigns: bool,
    before: Before<'t>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Bracket {
    /// Of a list, a dict or a tuple.
    Builds,
    /// Of a subscript.
    Picks,
    /// Of arguments.
    Calls,
}

/// The part of an expression before the next token.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before<'t> {
    Operator,
    Pipe,
    Is,
    Dot,
    /// The name of a filter or test.
    Function,
    Name(&'t str),
    Value,
}

impl<'t> Expression<'t> {
    fn new(is_statement: bool) -> Self {
        Self {
            is_statement,
            keyword: None,
            tokens: 0,
            quoted: 0,
            joins: 0,
            pipes: 0,
            brackets: Vec::new(),
            deepest: 0,
            calls: false,
            assigns: false,
            before: Before::Operator,
        }
    }

    fn take(&mut self, token: &Token<'t>, in_macro: bool) -> Result<(), String> {
        self.tokens += 1;
        if self.tokens > MAX_TOKENS {
            return Err(format!("an expression has more than {MAX_TOKENS} names, values and operators"));
        }
        self.before = match token {
            Token::Ident(name) => self.name(name)?,
            Token::Str(text) => self.quote(text)?,
            Token::String(text) => self.quote(text)?,
            Token::Int(_) | Token::Int128(_) | Token::Float(_) => Before::Value,
            Token::ParenOpen => self.open_call(in_macro)?,
            Token::BracketOpen => {
                let picks = matches!(self.before, Before::Name(_) | Before::Value);
                self.open(if picks { Bracket::Picks } else { Bracket::Builds })?
            }
            Token::BraceOpen => self.open(Bracket::Builds)?,
            Token::ParenClose | Token::BracketClose | Token::BraceClose => {
                self.brackets.pop();
                Before::Value
            }
            Token::Comma => {
                let builds = self.brackets.last().is_none_or(|bracket| *bracket == Bracket::Builds);
                self.joins += usize::from(builds);
                Before::Operator
            }
            Token::Colon => {
                self.joins += usize::from(self.brackets.last() == Some(&Bracket::Picks));
                Before::Operator
            }
            Token::Tilde | Token::Plus => {
                self.joins += 1;
                Before::Operator
            }
            Token::Mul | Token::Pow => {
                return Err("`*` and `**` are not available, since they repeat texts: write the result".to_owned());
            }
            Token::Assign => {
                self.assigns |= self.brackets.is_empty();
                Before::Operator
            }
            Token::Pipe => {
                self.pipes += 1;
                Before::Pipe
            }
            Token::Dot => Before::Dot,
            _ => Before::Operator,
        };
        Ok(())
    }

    fn name(&mut self, name: &'t str) -> Result<Before<'t>, String> {
        if self.is_statement && self.keyword.is_none() {
            if !STATEMENTS.contains(&name) && !name.starts_with("end") {
                return Err(format!(
                    "the statement `{}` is not available: valid are {}",
                    shown(name),
                    STATEMENTS.join(", ")
                ));
            }
            self.keyword = Some(name);
            return Ok(Before::Operator);
        }
        match self.before {
            Before::Pipe => match FILTERS.iter().any(|(filter, _)| *filter == name) {
                true => Ok(Before::Function),
                false => {
                    let valid: Vec<&str> = FILTERS.iter().map(|(filter, _)| *filter).collect();
                    let valid = valid.join(", ");
                    Err(format!("there is no filter `{}`: valid are {valid}", shown(name)))
                }
            },
            Before::Is if name == "not" => Ok(Before::Is),
            Before::Is => Ok(Before::Function),
            Before::Dot => Ok(Before::Value),
            _ if name == "is" => Ok(Before::Is),
            _ if OPERATORS.contains(&name) => Ok(Before::Operator),
            _ if name == "recursive" && self.keyword == Some("for") => Err("a `for` cannot be `recursive`".to_owned()),
            _ => Ok(Before::Name(name)),
        }
    }

    fn quote(&mut self, text: &str) -> Result<Before<'t>, String> {
        self.quoted += text.len();
        match self.quoted > MAX_QUOTED {
            true => Err(format!(
                "an expression has {} bytes of quoted text: at most {MAX_QUOTED} are valid; write it outside the expression",
                self.quoted
            )),
            false => Ok(Before::Value),
        }
    }

    fn open_call(&mut self, in_macro: bool) -> Result<Before<'t>, String> {
        match self.before {
            // The macro's own parameters.
            Before::Name(_) if self.keyword == Some("macro") && self.tokens == 3 => self.open(Bracket::Calls),
            Before::Name("range") | Before::Function => self.open(Bracket::Calls),
            Before::Name(_) | Before::Value => {
                if in_macro || self.keyword == Some("macro") {
                    return Err("a macro calls another: only `range` and filters are available in it".to_owned());
                }
                self.calls = true;
                self.open(Bracket::Calls)
            }
            _ => self.open(Bracket::Builds),
        }
    }

    fn open(&mut self, bracket: Bracket) -> Result<Before<'t>, String> {
        self.brackets.push(bracket);
        self.deepest = self.deepest.max(self.brackets.len());
        match self.brackets.len() > MAX_BRACKETS {
            true => Err(format!("brackets are more than {MAX_BRACKETS} deep")),
            false => Ok(Before::Operator),
        }
    }
}

/// The start of a name, however long it is.
fn shown(name: &str) -> &str {
    match name.char_indices().nth(60) {
        Some((end, _)) => &name[..end],
        None => name,
    }
}

#[cfg(test)]
mod tests;
