//! Members of populations, and their relations.

mod family;
mod page;
mod write;

pub use family::{MemberName, Relative, children, family, lives, living, names, relative};
pub use page::{LatestVersion, Member, MemberFilter, find, page};
pub(crate) use write::{write, write_deaths, write_populations};
