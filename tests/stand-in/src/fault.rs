//! What can go wrong.

/// What is wrong with one answer of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An error of this status.
    Status(u16),
    /// The connection breaks in the middle of the answer.
    Cut,
    /// No answer comes, until the client breaks off.
    Hang,
    /// One log-probability is missing.
    WrongLengths,
    /// More tokens than were asked for.
    TooLong,
    /// The prompt that it says it completed is another.
    OtherPrompt,
    /// The model that it says completed the prompt is another.
    OtherModel,
    /// A completion is missing.
    TooFew,
    /// The completions of another adapter, as if the one that was asked were.
    Stale,
    /// A log-probability of minus infinity, as vLLM writes it.
    NotFinite,
    /// The end `length` too early.
    ShortLength,
    /// The adapter is not there, although it was loaded.
    Forgotten,
}
