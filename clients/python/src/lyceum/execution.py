"""What runs and evaluations have in common: they have a state, and they end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Self

from . import documents
from .connection import Connection
from .errors import Failed


class Execution:
    """A run or an evaluation: its id, and the document that the server last gave."""

    kind: ClassVar[str]
    path: ClassVar[str]

    def __init__(self, connection: Connection, document: Any) -> None:
        self._connection = connection
        self._document = document

    @property
    def id(self) -> str:
        return str(self._document["id"])

    @property
    def state(self) -> str:
        """`running`, `paused`, `completed`, `failed` or `cancelled`, as of the last `refresh`."""
        return str(self._document["state"])

    @property
    def step(self) -> int:
        """The number of steps that have ended, as of the last `refresh`."""
        return int(self._document["step"])

    @property
    def steps(self) -> int:
        """The number of steps that there will be."""
        return int(self._document["steps"])

    @property
    def error(self) -> str | None:
        """Why it failed."""
        error: str | None = self._document.get("error")
        return error

    @property
    def ended(self) -> bool:
        return self.state in ("completed", "failed", "cancelled")

    def refresh(self) -> Self:
        """Asks the server for the newest document."""
        self._document = self._connection.get(self._address())
        return self

    def cancel(self) -> Self:
        self._connection.act(self._address("cancel"))
        return self.refresh()

    def events(self, after: int = 0) -> Iterator[documents.Event]:
        """What has happened so far, after the event of this number."""
        while page := self._connection.get(self._address("events"), after=after):
            if not page["items"]:
                return
            yield from page["items"]
            after = page["items"][-1]["number"]

    def check(self) -> Self:
        """Raises `Failed` if it ended without completing."""
        if self.ended and self.state != "completed":
            raise Failed(self.kind, self.id, self.state, self.error)
        return self

    def _address(self, *parts: str) -> str:
        return "/".join([f"/api/v1/{self.path}/{self.id}", *parts])

    def __repr__(self) -> str:
        return f"<{self.kind} {self.id}: {self.state}, step {self.step} of {self.steps}>"
