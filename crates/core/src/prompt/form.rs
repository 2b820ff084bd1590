//! A recipe's declaration of the parts of its completions.

/// A part of a completion. The grammar defines how a model marks it: between `<name>` and `</name>` (`tagged`), in a
/// block ```` ```name ```` (`fenced`), or after `<name>` (`compact`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Lower-case letters and `_`, such as `question`.
    pub name: &'static str,
    /// Which of its occurrences are used.
    pub take: Take,
    /// Whether a completion may omit it.
    pub is_optional: bool,
}

/// Which occurrences of a field are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Take {
    First,
    Last,
    /// This many, from the end.
    LastOf(usize),
    /// The last `\boxed{}`; with `compact`, a field like any other.
    Boxed,
}

impl Field {
    /// A field whose last occurrence is used: for texts that models draft and refine, such as a question or an answer.
    pub const fn last(name: &'static str) -> Self {
        Self::new(name, Take::Last)
    }

    /// A field whose first occurrence is used: for a verdict, such as a score, which a model may go on to discuss.
    pub const fn first(name: &'static str) -> Self {
        Self::new(name, Take::First)
    }

    /// A field that must occur `count` times; if there are more, the last `count` are used.
    pub const fn times(name: &'static str, count: usize) -> Self {
        Self::new(name, Take::LastOf(count))
    }

    /// A field in `\boxed{}`, outside the other fields.
    pub const fn boxed(name: &'static str) -> Self {
        Self::new(name, Take::Boxed)
    }

    /// The same field, optional.
    pub const fn optional(self) -> Self {
        Self {
            is_optional: true,
            ..self
        }
    }

    const fn new(name: &'static str, take: Take) -> Self {
        Self {
            name,
            take,
            is_optional: false,
        }
    }

    /// The number of occurrences asked for.
    pub(super) fn count(&self) -> usize {
        match self.take {
            Take::LastOf(count) => count,
            Take::First | Take::Last | Take::Boxed => 1,
        }
    }

    /// The occurrences to use among those `found`, in order.
    pub(super) fn taken<'t>(&self, mut found: Vec<&'t str>) -> Vec<&'t str> {
        let extra = found.len().saturating_sub(self.count());
        match self.take {
            Take::First => found.truncate(1),
            Take::Last | Take::LastOf(_) | Take::Boxed => drop(found.drain(..extra)),
        }
        found
    }
}
