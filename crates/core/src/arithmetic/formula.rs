//! Formulas in signs and words, and patterns with slots for them.

use super::question::{Token, tokens};
use super::wording::{INFIXES, PHRASES};
use super::{Expression, Operator};

/// The deepest nesting of brackets, signs and phrases.
const DEPTH: usize = 16;

/// The formula that `text` consists of, such as `3 * (x + 1)`, with the values of its variables.
#[must_use]
pub fn formula(text: &str, variables: &[(String, Expression)]) -> Option<Expression> {
    let tokens = tokens(text)?;
    let mut reader = Reader::new(&tokens);
    reader.variables = variables.to_vec();
    let read = reader.sum()?;
    reader.is_done().then_some(read)
}

/// Reads tokens from left to right. A method that returns `None` may have moved on; [`Reader::attempt`] moves back.
pub(super) struct Reader<'t> {
    tokens: &'t [Token],
    at: usize,
    pub(super) variables: Vec<(String, Expression)>,
    depth: usize,
    /// Whether the last value was a phrase, which nothing may follow.
    closed: bool,
}

impl<'t> Reader<'t> {
    pub(super) fn new(tokens: &'t [Token]) -> Self {
        Self { tokens, at: 0, variables: Vec::new(), depth: 0, closed: false }
    }

    pub(super) fn is_done(&self) -> bool {
        self.at == self.tokens.len()
    }

    pub(super) fn next(&mut self) -> Option<&'t Token> {
        let token = self.tokens.get(self.at)?;
        self.at += 1;
        Some(token)
    }

    fn peek(&self) -> Option<&'t Token> {
        self.tokens.get(self.at)
    }

    /// Takes the next token if it is as wanted.
    pub(super) fn take(&mut self, is_wanted: impl Fn(&Token) -> bool) -> bool {
        let found = self.peek().is_some_and(is_wanted);
        self.at += usize::from(found);
        found
    }

    /// Runs `read`; if it returns `None`, moves back to the position before.
    pub(super) fn attempt<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let (at, closed) = (self.at, self.closed);
        let found = read(self);
        if found.is_none() {
            (self.at, self.closed) = (at, closed);
        }
        found
    }

    /// The slots of a pattern that the next tokens match. The sign that ends a sentence is not part of a match.
    pub(super) fn pattern(&mut self, pattern: &str) -> Option<Vec<Expression>> {
        self.attempt(|reader| {
            let mut slots = Vec::new();
            for piece in pattern.trim_end_matches(['.', '?']).split_whitespace() {
                match piece {
                    "{}" => slots.push(reader.atom()?),
                    "{+}" => slots.push(reader.sum()?),
                    text => tokens(text)?.iter().try_for_each(|wanted| reader.literal(wanted))?,
                }
                reader.closed = false;
            }
            Some(slots)
        })
    }

    fn literal(&mut self, wanted: &Token) -> Option<()> {
        self.take(|token| token == wanted).then_some(())
    }

    /// A chain of sums and differences.
    pub(super) fn sum(&mut self) -> Option<Expression> {
        let mut left = self.term()?;
        while let Some(operator) = self.operator(false) {
            left = Expression::of(operator, left, self.term()?);
        }
        Some(left)
    }

    /// A chain of products and quotients.
    fn term(&mut self) -> Option<Expression> {
        let mut left = self.atom()?;
        while let Some(operator) = self.operator(true) {
            left = Expression::of(operator, left, self.atom()?);
        }
        Some(left)
    }

    /// The next operator if it is one of products (or of sums) and may follow.
    fn operator(&mut self, products: bool) -> Option<Operator> {
        use Operator::{Add, Divide, Multiply, Remainder, Subtract};
        if self.closed {
            return None;
        }
        let signs = [Add, Subtract, Multiply, Divide, Remainder];
        let wanted = |operator: &Operator| operator.is_product() == products;
        for operator in signs.into_iter().filter(wanted) {
            if self.take(|token| token.is_sign(operator.sign())) {
                return Some(operator);
            }
        }
        let words = INFIXES.iter().filter(|(_, operator)| wanted(operator));
        for (words, operator) in words {
            let taken = self.attempt(|reader| words.split(' ').try_for_each(|word| reader.word(word)));
            if taken.is_some() {
                return Some(*operator);
            }
        }
        None
    }

    fn word(&mut self, wanted: &str) -> Option<()> {
        self.take(|token| token.is_word(wanted)).then_some(())
    }

    /// A number, a variable, a bracketed formula or a phrase, with an optional minus sign.
    fn atom(&mut self) -> Option<Expression> {
        if self.depth == DEPTH {
            return None;
        }
        self.depth += 1;
        self.closed = false;
        let read = self.part_of().or_else(|| self.simple()).or_else(|| self.phrase());
        self.depth -= 1;
        read
    }

    /// `3/4 of 20` or `25 percent of 80`.
    fn part_of(&mut self) -> Option<Expression> {
        self.attempt(|reader| {
            let Token::Number(above) = reader.next()? else { return None };
            let below = if reader.take(|token| token.is_word("percent") || token.is_sign('%')) {
                Expression::whole(100)
            } else {
                reader.literal(&Token::Sign('/'))?;
                match reader.next()? {
                    Token::Number(below) => Expression::Number(*below),
                    _ => return None,
                }
            };
            reader.word("of")?;
            let whole = reader.atom()?;
            reader.closed = true;
            let part = Expression::of(Operator::Divide, Expression::Number(*above), below);
            Some(Expression::of(Operator::Multiply, part, whole))
        })
    }

    fn simple(&mut self) -> Option<Expression> {
        self.attempt(|reader| match reader.next()? {
            Token::Number(number) => Some(Expression::Number(*number)),
            Token::Sign('-') => match reader.next()? {
                Token::Number(number) => Some(Expression::Number(-*number)),
                _ => None,
            },
            Token::Sign('(') => {
                let inside = reader.sum()?;
                reader.closed = false;
                reader.literal(&Token::Sign(')'))?;
                Some(inside)
            }
            Token::Word(name) => {
                let found = reader.variables.iter().find(|(variable, _)| variable == name);
                found.map(|(_, value)| value.clone())
            }
            Token::Sign(_) => None,
        })
    }

    fn phrase(&mut self) -> Option<Expression> {
        let found = PHRASES.iter().find_map(|phrase| {
            self.attempt(|reader| {
                let slots = reader.pattern(phrase.pattern)?;
                phrase.meaning.of(slots)
            })
        });
        self.closed = found.is_some();
        found
    }
}
