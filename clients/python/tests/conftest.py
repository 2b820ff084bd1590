"""The server that the tests talk to is started by server/tests/api/python_client.rs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import lyceum


@pytest.fixture
def lab() -> Iterator[lyceum.Client]:
    """The server named by LYCEUM_URL, which has a finished run called `filled`."""
    with lyceum.connect() as client:
        yield client


@pytest.fixture
def filled(lab: lyceum.Client) -> lyceum.Run:
    """A run with six problems, two attempts at each, one matchup, two members."""
    return next(lab.runs(name="filled"))
