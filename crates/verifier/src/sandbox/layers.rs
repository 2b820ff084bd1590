//! The layers of confinement.

use std::fmt::{self, Display, Formatter};

/// Whether to use namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Namespaces {
    /// If the machine allows them.
    #[default]
    Auto,
    /// Required; the start fails without them.
    Require,
    /// Never; for tests of the fallback.
    Never,
}

/// The active layers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layers {
    /// An empty file system, and process, network, IPC, host name and cgroup namespaces; or the reason there are none.
    pub namespaces: Result<(), String>,
    /// Whether programs run as a different user from the host.
    pub other_user: bool,
    /// Whether Landlock restricts files and network.
    pub landlock: bool,
    /// Whether a cgroup limits the memory and processes of a zygote with its child; or the reason there is none.
    pub cgroup: Result<(), String>,
}

impl Default for Layers {
    fn default() -> Self {
        Self {
            namespaces: Err("not tried".to_owned()),
            other_user: false,
            landlock: false,
            cgroup: Err("not tried".to_owned()),
        }
    }
}

impl Display for Layers {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let reasoned = |name: &str, state: &Result<(), String>| match state {
            Ok(()) => name.to_owned(),
            Err(reason) => format!("no {name} ({reason})"),
        };
        let plain = |name: &str, active: bool| if active { name.to_owned() } else { format!("no {name}") };
        let layers = [
            "seccomp, resource limits".to_owned(),
            reasoned("namespaces", &self.namespaces),
            plain("landlock", self.landlock),
            plain("separate user", self.other_user),
            reasoned("cgroup", &self.cgroup),
        ];
        out.write_str(&layers.join(", "))
    }
}
