//! The account that Postgres runs as: this process's user or, if that is root, an unprivileged one.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::unistd::{Gid, Uid, User, chown, geteuid};

use crate::{Error, Result};

/// The account used if this process is root; Postgres packages create it.
const UNPRIVILEGED: &str = "postgres";

/// An account, and whether it differs from this process's root user.
#[derive(Clone, Debug)]
pub(crate) struct Account {
    name: String,
    uid: Uid,
    gid: Gid,
    drop_root: bool,
}

impl Account {
    /// The account for the cluster in `home`, which may not exist yet.
    ///
    /// `home` belongs to this process's user and the cluster in it to the account; root keeps the account of an
    /// existing cluster.
    pub(crate) fn for_home(home: &Path) -> Result<Self> {
        let me = geteuid();
        if let Some(owner) = owner(home).filter(|owner| *owner != me) {
            return Err(Error::OtherOwner { path: home.to_owned(), owner: name_of(owner), me: name_of(me) });
        }
        let user = if !me.is_root() {
            User::from_uid(me).ok().flatten().ok_or(Error::NoPasswdEntry { uid: me.as_raw() })?
        } else {
            let user = match owner(&home.join("cluster")).filter(|owner| !owner.is_root()) {
                Some(owner) => User::from_uid(owner),
                None => User::from_name(UNPRIVILEGED),
            };
            user.ok().flatten().ok_or(Error::NoAccount)?
        };
        Ok(Self { name: user.name, uid: user.uid, gid: user.gid, drop_root: me.is_root() })
    }

    /// A command that runs as this account, with a clean environment: `PGDATA` and similar variables would change what
    /// Postgres does.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("LC_ALL", "C.UTF-8").env("TZ", "UTC");
        command.current_dir("/").stdin(Stdio::null());
        if self.drop_root {
            command.uid(self.uid.as_raw()).gid(self.gid.as_raw());
        }
        command
    }

    /// Makes the folder `path`, owned by this account and closed to everybody else.
    pub(crate) fn own_folder(&self, path: &Path) -> Result<()> {
        make_folder(path, 0o700)?;
        if self.drop_root {
            chown(path, Some(self.uid), Some(self.gid))
                .map_err(|errno| Error::io("change the owner of", path)(errno.into()))?;
        }
        Ok(())
    }

    /// Makes the folder `path`, owned by this process's user; the account may pass through it.
    pub(crate) fn passage(&self, path: &Path) -> Result<()> {
        make_folder(path, if self.drop_root { 0o711 } else { 0o700 })
    }

    /// Checks that this account can enter `folder`; only the account used instead of root can lack access.
    pub(crate) fn check_can_enter(&self, folder: &Path) -> Result<()> {
        if !self.drop_root || self.can_enter(folder)? {
            return Ok(());
        }
        let mut ancestors: Vec<_> = folder.ancestors().collect();
        ancestors.reverse();
        for ancestor in ancestors {
            if !self.can_enter(ancestor)? {
                return Err(Error::Unreachable { account: self.name.clone(), blocked: ancestor.to_owned() });
            }
        }
        Ok(())
    }

    /// Asks the kernel as this account, so that access control lists are respected.
    fn can_enter(&self, folder: &Path) -> Result<bool> {
        let status = self.command(Path::new("test")).arg("-x").arg(folder).status();
        Ok(status.map_err(Error::io("run `test -x` on", folder))?.success())
    }
}

/// An empty file that only this process's user can read, also if it was there with another mode.
pub(crate) fn private_file(path: &Path) -> Result<File> {
    let failed = || Error::io("write", path);
    let mut options = File::options();
    let file = options.create(true).truncate(true).write(true).mode(0o600).open(path).map_err(failed())?;
    file.set_permissions(Permissions::from_mode(0o600)).map_err(failed())?;
    Ok(file)
}

fn make_folder(path: &Path, mode: u32) -> Result<()> {
    fs::create_dir_all(path).map_err(Error::io("make the folder", path))?;
    fs::set_permissions(path, Permissions::from_mode(mode)).map_err(Error::io("set the mode of", path))
}

fn owner(path: &Path) -> Option<Uid> {
    path.metadata().ok().map(|meta| Uid::from_raw(meta.uid()))
}

/// The name of a user, or its number if it has none.
fn name_of(uid: Uid) -> String {
    User::from_uid(uid).ok().flatten().map_or_else(|| uid.to_string(), |user| user.name)
}
