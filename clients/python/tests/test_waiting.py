"""Waiting. The preset `demo` of the tests' server ends by itself, `small` never does."""

from __future__ import annotations

import pytest

import lyceum


def test_waiting_returns_when_all_have_ended_and_shows_progress(lab: lyceum.Client) -> None:
    runs = [lab.create_run(preset="demo", overrides={"seed": seed}) for seed in range(2)]
    seen: list[tuple[str, str]] = []
    lyceum.wait(*runs, poll=0.05, progress=lambda one: seen.append((one.id, one.state)))
    assert [run.state for run in runs] == ["completed", "completed"]
    assert {(run.id, "completed") for run in runs} <= set(seen)


def test_a_run_that_does_not_complete_is_raised_unless_asked_not_to(lab: lyceum.Client) -> None:
    run = lab.create_run(preset="small")
    run.cancel()
    lyceum.wait(run, check=False)
    with pytest.raises(lyceum.Failed) as failed:
        lyceum.wait(run)
    assert (failed.value.id, failed.value.state) == (run.id, "cancelled")


def test_a_limit_of_time_leaves_the_run_alone(lab: lyceum.Client) -> None:
    run = lab.create_run(preset="small")
    with pytest.raises(lyceum.TimedOut, match=run.id):
        lyceum.wait(run, timeout=0, poll=0)
    assert run.refresh().state == "running"
    run.cancel()


def test_a_server_that_stays_away_is_told() -> None:
    nobody = lyceum.connect("http://127.0.0.1:1", token="lyc_x")
    run = lyceum.Run(nobody._connection, {"id": "a", "state": "running", "step": 0, "steps": 1})
    with nobody, pytest.raises(lyceum.Unreachable):
        lyceum.wait(run, poll=0, patience=0)
