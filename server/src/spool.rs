//! Files without a name, for what is too large for memory.

use std::{
    env,
    fs::File,
    io,
    path::{Path, PathBuf},
};

/// A new file, which is gone once it is closed.
pub(crate) fn file() -> io::Result<File> {
    tempfile::tempfile_in(folder())
}

/// `TMPDIR`, or else `/var/tmp`: `/tmp` is in memory on some systems.
fn folder() -> PathBuf {
    let persistent = Path::new("/var/tmp");
    match env::var_os("TMPDIR") {
        None if persistent.is_dir() => persistent.to_owned(),
        _ => env::temp_dir(),
    }
}
