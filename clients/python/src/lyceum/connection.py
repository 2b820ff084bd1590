"""HTTP: requests with the token, refusals as exceptions, lists to their end."""

from __future__ import annotations

import shutil
import tempfile
import time
import uuid
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

import httpx

from .errors import LyceumError, Unreachable, refusal

Parameter = str | int | float | bool | None

_TRIES = 4
# Their responses have a secret, which the server does not keep to repeat it.
_WITHOUT_KEYS = frozenset({"/api/v1/tokens", "/api/v1/webhooks", "/api/v1/shares"})
_PATIENCE = httpx.Timeout(300.0, connect=10.0)


class Connection:
    """A connection to a server. Requests that change nothing, and creations, are tried again if the network fails."""

    def __init__(self, url: str, token: str) -> None:
        self.url = url
        headers = {"authorization": f"Bearer {token}", "accept": "application/json"}
        self._http = httpx.Client(base_url=url, headers=headers, timeout=_PATIENCE)

    def close(self) -> None:
        self._http.close()

    def get(self, path: str, **parameters: Parameter) -> Any:
        """The document at an address; `None` if there is none (204)."""
        return _document(self._send("GET", path, tries=_TRIES, params=_present(parameters)))

    def create(self, path: str, body: dict[str, Any], **parameters: Parameter) -> Any:
        """Posts a document. The key makes the server create one thing however often the request arrives; what has no key is
        posted once."""
        headers = {"idempotency-key": str(uuid.uuid4())}
        tries = 1 if path in _WITHOUT_KEYS else _TRIES
        sent = self._send("POST", path, tries=tries, params=_present(parameters), json=body, headers=headers)
        return sent.json()

    def act(self, path: str) -> Any:
        return _document(self._send("POST", path, tries=1))

    def patch(self, path: str, body: dict[str, Any]) -> Any:
        return _document(self._send("PATCH", path, tries=1, json=body))

    def delete(self, path: str) -> None:
        self._send("DELETE", path, tries=1)

    def pages(self, path: str, **parameters: Parameter) -> Iterator[Any]:
        """All items of a list, read page by page."""
        given = {"limit": 100, **parameters}
        while True:
            page = self.get(path, **given)
            yield from page["items"]
            if not page.get("next"):
                return
            given["cursor"] = page["next"]

    @contextmanager
    def download(self, path: str, **parameters: Parameter) -> Iterator[BinaryIO]:
        """A file, in a temporary file that is deleted at the end of the block."""
        headers = {"accept": "*/*"}
        with tempfile.TemporaryFile() as file:
            try:
                with self._http.stream("GET", path, params=_present(parameters), headers=headers) as response:
                    if response.is_error:
                        response.read()
                    _accept(response)
                    for chunk in response.iter_bytes():
                        file.write(chunk)
            except httpx.TransportError as error:
                raise self._unreachable(error) from error
            file.seek(0)
            yield cast(BinaryIO, file)

    def unpack(self, path: str, into: str | Path, **parameters: Parameter) -> Path:
        """Downloads a zip archive whose files are in one folder, and returns that folder, below `into`."""
        into = Path(into)
        with self.download(path, **parameters) as file, zipfile.ZipFile(file) as archive:
            names = {name.split("/", 1)[0] for name in archive.namelist()}
            if len(names) != 1:
                raise LyceumError(f"the archive of {path} has {len(names)} folders, not one")
            folder = into / names.pop()
            if folder.exists():
                raise LyceumError(f"{folder} exists; delete it, or choose another folder")
            into.mkdir(parents=True, exist_ok=True)
            # A download that is cut off leaves nothing that looks whole.
            with tempfile.TemporaryDirectory(dir=into, prefix=".lyceum-") as partial:
                archive.extractall(partial)
                shutil.move(Path(partial) / folder.name, folder)
        return folder

    def _send(self, method: str, path: str, tries: int, **request: Any) -> httpx.Response:
        for attempt in range(1, tries + 1):
            try:
                response = self._http.request(method, path, **request)
            except httpx.TransportError as error:
                if attempt == tries:
                    raise self._unreachable(error) from error
            else:
                if response.status_code != 503 or attempt == tries:
                    return _accept(response)
            time.sleep(0.25 * 2**attempt)
        raise AssertionError("tries is positive")

    def _unreachable(self, error: Exception) -> Unreachable:
        return Unreachable(f"cannot reach {self.url}: {error}; check that the server is running and that the address is right")


def _present(parameters: dict[str, Parameter]) -> dict[str, str | int | float]:
    """Parameters that have a value, with booleans as the API writes them."""
    given = {name: value for name, value in parameters.items() if value is not None}
    return {name: str(value).lower() if isinstance(value, bool) else value for name, value in given.items()}


def _accept(response: httpx.Response) -> httpx.Response:
    if response.is_success:
        return response
    try:
        problem: object = response.json()
    except ValueError:
        problem = None
    raise refusal(response.status_code, problem)


def _document(response: httpx.Response) -> Any:
    return response.json() if response.content else None
