"""Where the server is, and the token for it."""

from __future__ import annotations

import os
from pathlib import Path

from .errors import Unreachable


def data_folder() -> Path:
    """The data folder of `lyceum up`, as the command line finds it."""
    if folder := os.environ.get("LYCEUM_DATA"):
        return Path(folder)
    # There is no such function on Windows, where clients can still use a server elsewhere.
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        return Path("/var/lib/lyceum")
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share") / "lyceum"


def address_and_token(url: str | None, token: str | None) -> tuple[str, str]:
    """What was given, else `LYCEUM_URL` and `LYCEUM_TOKEN`, else those of the `lyceum up` on this machine."""
    folder = data_folder()
    url = url or os.environ.get("LYCEUM_URL") or _read(folder / "address")
    if not url:
        raise Unreachable(
            f"no server is running in the data folder {folder}; start `lyceum up`, or give the server's address as `url` "
            "or LYCEUM_URL"
        )
    token = token or os.environ.get("LYCEUM_TOKEN") or _read(folder / "admin-token")
    if not token:
        raise Unreachable(f"there is no token in {folder / 'admin-token'}; give one as `token` or LYCEUM_TOKEN")
    return url.rstrip("/"), token


def _read(file: Path) -> str | None:
    try:
        return file.read_text().strip()
    except OSError:
        return None
