"""What can go wrong, as exceptions. All of them are `LyceumError`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


class LyceumError(Exception):
    """Something that the caller can act upon."""


class Unreachable(LyceumError):
    """There is no server at the address, or no address or token to use."""


class TimedOut(LyceumError):
    """What was waited for did not end in time. It goes on."""


class Failed(LyceumError):
    """A run or an evaluation ended without completing."""

    def __init__(self, kind: str, id: str, state: str, error: str | None) -> None:
        super().__init__(f"{kind} {id} is {state}" + (f": {error}" if error else ""))
        self.id = id
        self.state = state
        self.error = error


@dataclass(frozen=True)
class Fault:
    """One fault of a request."""

    place: str
    """The field as a JSON pointer, or the parameter's name; empty for the request as a whole."""

    detail: str
    """What is wrong, and what would be valid."""

    def __str__(self) -> str:
        return f"{self.place}: {self.detail}" if self.place else self.detail


class Refused(LyceumError):
    """The server refused a request and said why (RFC 9457). The subclasses stand for statuses."""

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        self.status = status
        """The HTTP status."""
        self.type = str(problem.get("type", "")).rsplit(":", 1)[-1]
        """The type of error, for programs, such as `invalid`. It does not change between releases."""
        self.detail = str(problem.get("detail", f"the server responded with {status}"))
        """What is wrong with this request."""
        self.faults = tuple(
            Fault(str(fault.get("pointer") or fault.get("parameter") or ""), str(fault.get("detail", "")))
            for fault in problem.get("errors", [])
        )
        """Every fault of the request."""
        super().__init__("\n".join([self.detail, *(f"  {fault}" for fault in self.faults)]))


class Invalid(Refused):
    """Fields or parameters are not valid; `faults` lists them all (400, 413, 415, 422)."""


class Denied(Refused):
    """The token is missing or wrong, or its scope does not allow this (401, 403)."""


class NotFound(Refused):
    """There is no such thing (404)."""


class Conflict(Refused):
    """The state does not allow this (409, 412)."""


class Unavailable(Refused):
    """The server cannot answer now; the same request may succeed later (408, 429, 5xx)."""


_KINDS: dict[int, type[Refused]] = {
    400: Invalid,
    401: Denied,
    403: Denied,
    404: NotFound,
    408: Unavailable,
    409: Conflict,
    412: Conflict,
    413: Invalid,
    415: Invalid,
    422: Invalid,
    429: Unavailable,
}


def refusal(status: int, problem: object) -> Refused:
    """The exception for a response."""
    kind = _KINDS.get(status, Unavailable if status >= 500 else Refused)
    return kind(status, problem if isinstance(problem, dict) else {})
