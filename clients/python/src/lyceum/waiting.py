"""Waiting for runs and evaluations to end."""

from __future__ import annotations

import time
from collections.abc import Callable

from .errors import TimedOut, Unreachable
from .execution import Execution


def wait(
    *executions: Execution,
    timeout: float | None = None,
    poll: float = 2.0,
    patience: float = 120.0,
    check: bool = True,
    progress: Callable[[Execution], None] | None = None,
) -> None:
    """Returns when all have ended.

    timeout: seconds after which `TimedOut` is raised; by default there is no limit. Nothing is cancelled.
    poll: seconds between two looks.
    patience: seconds that the server may be away, as during an upgrade, before `Unreachable` is raised.
    check: whether to raise `Failed` for the first that did not complete.
    progress: called with each one that has made progress since the last look.
    """
    started = seen = time.monotonic()
    shown: dict[str, tuple[str, int]] = {}
    while True:
        try:
            for execution in executions:
                if not execution.ended:
                    execution.refresh()
            seen = time.monotonic()
        except Unreachable:
            if time.monotonic() - seen > patience:
                raise
        for execution in executions:
            now = (execution.state, execution.step)
            if progress and shown.get(execution.id) != now:
                progress(execution)
            shown[execution.id] = now
        waiting = [execution for execution in executions if not execution.ended]
        if not waiting:
            break
        if timeout is not None and time.monotonic() - started > timeout:
            raise TimedOut(f"after {timeout:g} s these have not ended: {', '.join(map(repr, waiting))}")
        time.sleep(poll)
    if check:
        for execution in executions:
            execution.check()
