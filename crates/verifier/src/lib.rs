//! Judges untrusted Python in a sandbox. Nothing that a model wrote is evaluated outside it, and no verdict is read from inside it.
