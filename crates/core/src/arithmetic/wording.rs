//! The wordings of questions: one table for writing and reading them.
//!
//! In a pattern, `{}` is a number, a bracketed formula or a phrase, and `{+}` any formula. In stories, `{n}` is a whole
//! number, `{who}` the person, `{other}` someone else, and `{what}` the things that are counted.

use self::Meaning::{Difference, Ordered, Scaled, Square, Swapped};
use super::Operator::{Add, Divide, Multiply, Remainder, Subtract};
use super::{Expression, Operator};

/// A pattern and the value of what it describes.
#[derive(Clone, Copy, Debug)]
pub struct Wording {
    /// The text with its slots.
    pub pattern: &'static str,
    /// The operation on the slots.
    pub meaning: Meaning,
}

/// The operation of a wording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// On both slots in the order of the text.
    Ordered(Operator),
    /// On both slots in the other order.
    Swapped(Operator),
    /// The first slot minus the second, which must not be larger: "the difference between 3 and 5" has no definite sign.
    Difference,
    /// The slot times itself.
    Square,
    /// The slot times a fraction.
    Scaled(i64, i64),
}

impl Meaning {
    /// The expression for the slots' contents; `None` if it is ambiguous.
    #[must_use]
    pub fn of(self, slots: Vec<Expression>) -> Option<Expression> {
        let mut slots = slots.into_iter();
        let first = slots.next()?;
        Some(match self {
            Ordered(operator) => Expression::of(operator, first, slots.next()?),
            Swapped(operator) => Expression::of(operator, slots.next()?, first),
            Difference => {
                let second = slots.next()?;
                if first.value()? < second.value()? {
                    return None;
                }
                Expression::of(Subtract, first, second)
            }
            Square => Expression::of(Multiply, first.clone(), first),
            Scaled(number, 1) => Expression::of(Multiply, Expression::whole(number), first),
            Scaled(1, parts) => Expression::of(Divide, first, Expression::whole(parts)),
            Scaled(number, parts) => {
                let fraction = Expression::of(Divide, Expression::whole(number), Expression::whole(parts));
                Expression::of(Multiply, fraction, first)
            }
        })
    }
}

const fn wording(pattern: &'static str, meaning: Meaning) -> Wording {
    Wording { pattern, meaning }
}

/// Questions for the value of a formula.
pub const ASKS: &[&str] = &[
    "What is {+}?",
    "Calculate {+}.",
    "Compute {+}.",
    "How much is {+}?",
    "Work out {+}.",
    "Find the value of {+}.",
    "What do you get for {+}?",
    "{+} = ?",
];

/// Words for the operation between two numbers.
pub const INFIXES: &[(&str, Operator)] = &[
    ("plus", Add),
    ("minus", Subtract),
    ("times", Multiply),
    ("multiplied by", Multiply),
    ("divided by", Divide),
    ("modulo", Remainder),
];

/// Phrases for a value. Nothing may follow one in a formula: "the sum of 1 and 2 times 3" is ambiguous.
pub const PHRASES: &[Wording] = &[
    wording("the sum of {} and {}", Ordered(Add)),
    wording("the total of {} and {}", Ordered(Add)),
    wording("the difference between {} and {}", Difference),
    wording("the product of {} and {}", Ordered(Multiply)),
    wording("the quotient of {} and {}", Ordered(Divide)),
    wording("the remainder of {} divided by {}", Ordered(Remainder)),
    wording("the remainder when {+} is divided by {}", Ordered(Remainder)),
    wording("the square of {}", Square),
    wording("twice {}", Scaled(2, 1)),
    wording("half of {}", Scaled(1, 2)),
    wording("a third of {}", Scaled(1, 3)),
    wording("a quarter of {}", Scaled(1, 4)),
    wording("two thirds of {}", Scaled(2, 3)),
    wording("three quarters of {}", Scaled(3, 4)),
];

/// Whole questions without a formula.
pub const TASKS: &[Wording] = &[
    wording("Add {} and {}.", Ordered(Add)),
    wording("Add {} to {}.", Swapped(Add)),
    wording("Subtract {} from {}.", Swapped(Subtract)),
    wording("Take {} away from {}.", Swapped(Subtract)),
    wording("Multiply {} by {}.", Ordered(Multiply)),
    wording("Divide {} by {}.", Ordered(Divide)),
    wording("How many times does {} go into {}?", Swapped(Divide)),
    wording("Which number plus {} is {}?", Swapped(Subtract)),
    wording("Which number minus {} is {}?", Ordered(Add)),
    wording("Which number times {} is {}?", Swapped(Divide)),
    wording("Which number divided by {} is {}?", Ordered(Multiply)),
    wording("What must be added to {} to get {}?", Swapped(Subtract)),
];

/// Beginnings of a chain of instructions.
pub const CHAIN_STARTS: &[&str] = &["Start with {}", "Begin with {}", "Take {}"];

/// Instructions of a chain; the value so far is the first slot.
pub const CHAIN_LINKS: &[Wording] = &[
    wording("add {}", Ordered(Add)),
    wording("subtract {}", Ordered(Subtract)),
    wording("take away {}", Ordered(Subtract)),
    wording("multiply by {}", Ordered(Multiply)),
    wording("divide by {}", Ordered(Divide)),
    wording("double it", Scaled(2, 1)),
    wording("halve it", Scaled(1, 2)),
];

pub const CHAIN_ENDS: &[&str] = &["What is the result?", "What do you get?", "Where do you end?"];

/// The effect of a story's sentence on the number so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// One number is added.
    More,
    /// One number is taken away.
    Less,
    /// The product of two numbers is added.
    MoreGroups,
    /// The product of two numbers is taken away.
    LessGroups,
    /// The number so far is multiplied by a fraction.
    Scaled(i64, i64),
    /// It is divided among others; only the question about each share may follow.
    Shared,
}

impl Change {
    /// The number of things after this change, with the numbers of its sentence.
    #[must_use]
    pub fn of(self, value: Expression, numbers: Vec<Expression>) -> Option<Expression> {
        let operator = match self {
            Self::More | Self::MoreGroups => Add,
            Self::Less | Self::LessGroups => Subtract,
            Self::Shared => Divide,
            Self::Scaled(number, parts) => return Scaled(number, parts).of(vec![value]),
        };
        Some(Expression::of(operator, value, counted(numbers)?))
    }
}

/// The number of things that a sentence names: one number, or the product of two.
#[must_use]
pub fn counted(numbers: Vec<Expression>) -> Option<Expression> {
    let product = |left, right| Expression::of(Multiply, left, right);
    numbers.into_iter().reduce(product)
}

/// Beginnings of a story; of two numbers the product counts. They are tried in this order, so longer ones come first.
pub const STORY_STARTS: &[&str] = &[
    "{who} has {n} boxes of {n} {what}",
    "{who} has {n} bags with {n} {what} each",
    "{who} has {n} {what}",
    "{who} starts with {n} {what}",
    "{who} collects {n} {what}",
];

/// Sentences of a story, without the person as their subject. They are tried in this order, so longer ones come first.
pub const STORY_CHANGES: &[(&str, Change)] = &[
    ("gives {n} to each of {n} friends", Change::LessGroups),
    ("sells {n} boxes of {n}", Change::LessGroups),
    ("buys {n} boxes of {n}", Change::MoreGroups),
    ("finds {n} bags with {n} each", Change::MoreGroups),
    ("buys {n} more", Change::More),
    ("finds {n} more", Change::More),
    ("gets {n} from {other}", Change::More),
    ("gives {n} to {other}", Change::Less),
    ("loses {n}", Change::Less),
    ("sells {n}", Change::Less),
    ("gives half of them to {other}", Change::Scaled(1, 2)),
    ("keeps a third of them", Change::Scaled(1, 3)),
    ("keeps three quarters of them", Change::Scaled(3, 4)),
    ("doubles them", Change::Scaled(2, 1)),
    ("shares them among {n} friends", Change::Shared),
];

/// Questions about the number in the end.
pub const STORY_ENDS: &[&str] = &[
    "How many {what} does {who} have now?",
    "How many {what} does {who} have?",
    "How many {what} are there in the end?",
];

/// The question about one share.
pub const SHARE_END: &str = "How many {what} does each friend get?";

/// The variables of questions such as "Let x = 3 + 4. What is 2 * x?".
pub const VARIABLES: &[&str] = &["x", "y", "n", "k"];
