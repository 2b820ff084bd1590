//! The Python that runs programs in the sandbox.

use super::{Finding, ask};

/// Not the one on the path, which may be in a home folder that the sandbox's user cannot read.
const PROGRAM: &str = "/usr/bin/python3";
const OLDEST: (u32, u32) = (3, 11);

pub(super) fn examine() -> Finding {
    let cure = "install it: `apt-get install python3 python3-venv`";
    match ask(PROGRAM, &["--version"]) {
        Some(said) if version(&said).is_some_and(|version| version >= OLDEST) => {
            Finding::good(format!("{said} in {PROGRAM}"))
        }
        Some(said) => Finding::bad(
            format!("{said} in {PROGRAM} is older than {}.{}", OLDEST.0, OLDEST.1),
            cure,
        ),
        None => Finding::bad(format!("there is no {PROGRAM}"), cure),
    }
}

/// Parses `Python 3.11.2` as (3, 11).
fn version(said: &str) -> Option<(u32, u32)> {
    let mut parts = said.strip_prefix("Python ")?.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::version;

    #[test]
    fn versions_compare_as_numbers() {
        assert_eq!(version("Python 3.11.2"), Some((3, 11)));
        assert!(version("Python 3.9.18").unwrap() < super::OLDEST);
    }
}
