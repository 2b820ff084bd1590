"""A client of Lyceum, a laboratory in which language models teach each other."""

from . import documents
from .client import Client, connect
from .errors import (
    Conflict,
    Denied,
    Failed,
    Fault,
    Invalid,
    LyceumError,
    NotFound,
    Refused,
    TimedOut,
    Unavailable,
    Unreachable,
)
from .evaluation import Evaluation
from .run import Run
from .waiting import wait

__all__ = [
    "Client",
    "Conflict",
    "Denied",
    "Evaluation",
    "Failed",
    "Fault",
    "Invalid",
    "LyceumError",
    "NotFound",
    "Refused",
    "Run",
    "TimedOut",
    "Unavailable",
    "Unreachable",
    "connect",
    "documents",
    "wait",
]
